# SPDX-License-Identifier: Apache-2.0
"""news.py BANDMILL FOLDER PAGES -- what an article among advertisements is like under three kinds of shingles; and pages at six thresholds by
three kinds of candidates. Writes FOLDER/numbers, lines of `what, work, here, within, why`, and FOLDER/times; ends with 1 where the exact ways differ from each
other, or LSH finds what is no pair."""
import itertools
import json
import os
import struct
import sys
import time

import pages
import program

SENTENCE = "A spokesperson for the Sudzo Corporation revealed today that studies have shown it is good for people to buy Sudzo products"
ADVERT = "Buy Sudzo"
KINDS = "stopword:2", "word:3", "char:9"
THRESHOLDS = ".5", ".6", ".7", ".8", ".9", ".95"
WAYS = "all", "lsh"


class Notes:
    def __init__(self, folder):
        self.folder, self.numbers, self.times = folder, [], []

    def path(self, name):
        return os.path.join(self.folder, name)

    def number(self, what, here, work="none", within="none", why=""):
        self.numbers.append(f"{what}\t{work}\t{here}\t{within}\t{why}\n")

    def write(self):
        for name in "numbers", "times":
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.writelines(getattr(self, name))


def decimals(value):
    return f"{value:.3f}".replace("0.", ".", 1)


def write_pages(path, texts):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts)


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file][1:]


# --- the example of the work ---

def stop_words_of_an_advert(bandmill, notes):
    with open(notes.path("two.txt"), "w", encoding="utf-8") as file:
        file.write(f"{SENTENCE}\n{ADVERT}\n")
    program.output(bandmill, "sign", notes.path("two.txt"), "--format", "lines", "--shingle", "stopword:2", "--short", "skip",
                   "-q", "-o", notes.path("two"))
    with open(notes.path("two/n_shingles.npy"), "rb") as file:
        sentence, advert = struct.unpack("<2I", file.read()[-8:])
    notes.number("stop word shingles of the sentence about Sudzo", sentence, 9, "exact")
    notes.number("stop word shingles of \"Buy Sudzo\"", advert, 0, "exact")


# --- one article on many sites ---

def mean_similarities(path, texts):
    """Of pages with the same article; of pages of the same site. A pair that is not listed shares nothing."""
    sums = {"article": 0, "site": 0}
    for a, b, jaccard in rows(path):
        (article, site), (other_article, other_site) = a.split(" "), b.split(" ")
        if article == other_article:
            sums["article"] += float(jaccard)
        elif site == other_site:
            sums["site"] += float(jaccard)
    same = [(x[0] == y[0], x[1] == y[1]) for x, y in itertools.combinations(texts, 2)]
    return sums["article"] / sum(article for article, _ in same), sums["site"] / sum(site for _, site in same)


def articles_and_sites(bandmill, notes, n_articles=12, n_sites=8):
    texts = pages.pages_of(n_articles, n_sites, 1)
    write_pages(notes.path("sites.jsonl"), [(f"{article} {site}", text) for article, site, text in texts])
    for kind in KINDS:
        program.output(bandmill, "pairs", notes.path("sites.jsonl"), "--shingle", kind, "--candidates", "all", "--threshold", ".001", "-q",
            "-o", notes.path(f"{kind}.tsv"))
        article, site = mean_similarities(notes.path(f"{kind}.tsv"), texts)
        notes.number(f"{kind}: similarity of the same article on another site", decimals(article))
        notes.number(f"{kind}: similarity of another article on the same site", decimals(site))
        if (article > site) != (kind == "stopword:2"):
            sys.exit(f"news.py: {kind} has {article:.3f} for the same article, {site:.3f} for the same site")


# --- three ways to candidates ---

def timed(bandmill, notes, way, threshold):
    """The bytes of the pairs, seconds of the whole command, seconds to match."""
    out, report = notes.path(f"{way}{threshold}"), notes.path("report.json")
    begin = time.perf_counter()
    program.output(bandmill, "pairs", notes.path("pages.jsonl"), "--shingle", "stopword:2", "--candidates", way, "--threshold", threshold, "-q",
        "-o", out, "--report", report)
    seconds = time.perf_counter() - begin
    with open(report, encoding="utf-8") as file:
        stages = json.load(file)["run"]["stages"]
    os.remove(report)
    return rows(out), seconds, sum(stage["seconds"] for stage in stages if stage["stage"] == "match")


def ways_to_candidates(bandmill, notes, n_pages):
    write_pages(notes.path("pages.jsonl"), [(str(i), text) for i, text in enumerate(pages.collection(n_pages, 2))])
    notes.times.append("threshold  " + "".join(f"{way:>24}" for way in WAYS) + "   seconds of the command (of matching)\n")
    for threshold in THRESHOLDS:
        done = {way: timed(bandmill, notes, way, threshold) for way in WAYS}
        found, exact = ({tuple(row) for row in done[way][0]} for way in ("lsh", "all"))
        if not found <= exact:
            sys.exit(f"news.py: at {threshold} the ways differ: {', '.join(f'{way} {len(done[way][0])}' for way in WAYS)}")
        share = f", of which lsh finds {decimals(len(found) / len(exact))}" if exact else ""
        notes.number(f"{n_pages:,} pages at {threshold}: pairs, by all", f"{len(exact):,}{share}")
        notes.times.append(f"{threshold:>9}  " + "".join(f"{done[way][1]:>15.2f} ({done[way][2]:6.3f})" for way in WAYS) + "\n")


def main():
    bandmill, folder, n_pages = sys.argv[1:]
    notes = Notes(folder)
    stop_words_of_an_advert(bandmill, notes)
    articles_and_sites(bandmill, notes)
    ways_to_candidates(bandmill, notes, int(n_pages))
    notes.write()


if __name__ == "__main__":
    main()
