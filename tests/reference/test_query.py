# SPDX-License-Identifier: Apache-2.0
"""query against exact truth: the study case, and spdx_texts and scancode_rules (its first half, but with --size full) with even
rows indexed and odd rows asked.

  study     five sentences and three edits of each. Expected rows come from Python: lower case, no punctuation, sets of 9
            characters, exact fractions. Each query gets its own targets and no other, in order; the mean recall over the
            seeds lies within 3 standard errors of what 50 bands of 2 rows predict, as does the share of seeds that find all.
  corpora   the answers lie within the truth, each similarity to the sixth decimal, best first; the mean recall over the
            seeds (12, 24, 100 by size) within 3 standard errors of the curve 1-(1-s^r)^b; an index gives the same bytes as
            --targets, and both the rows of `pairs` between queries and targets.
  follow    a client that sends a line and waits for its answer gets the same rows, in less than 200 us in the median."""
import json
import math
import os
import statistics
import subprocess
import time
import unicodedata
from fractions import Fraction

import harness

HEADER = ["query", "target", "jaccard"]
STUDY = ["--format", "lines", "--shingle", "char:9", "--perms", 100, "--bands", 50, "--rows", 2, "--threshold", .25,
         "--normalize", "lower,punct"]
TEXT = ["--words", "space", "--normalize", "none", "--shingle", "word:5"]
SEEDS = {"small": 12, "normal": 12, "full": 100}
# Student's t of the probability that 3 is of with 99 degrees of freedom (two-sided .0034), for a number of seeds.
T_LIMITS = {12: 3.71, 24: 3.27, 100: 3.0}


def chance(similarity, bands, rows):
    return 1 - (1 - similarity ** rows) ** bands


def recall_claim(claims, what, recalls, wanted):
    """The mean over the seeds against what is predicted, in standard errors from their spread."""
    n = len(recalls)
    mean, spread = statistics.fmean(recalls), statistics.stdev(recalls)
    error = max(spread, 1e-9) / math.sqrt(n)
    claims.check(f"{what}: mean recall {mean:.5f} over {n} seeds, predicted {wanted:.5f}, standard error {error:.5f}",
                 abs(mean - wanted) <= T_LIMITS.get(n, 3) * error, f"{(mean - wanted) / error:.2f} standard errors")


# --- the study case ---

def nine_characters(line):
    text = "".join(c for c in line.lower() if unicodedata.category(c)[0] != "P")
    text = " ".join(text.split())
    return {text[i:i + 9] for i in range(max(1, len(text) - 8))}


def study_case(claims, bandmill, n_seeds):
    targets = harness.corpus_file("study_case", "targets.txt")
    queries = harness.corpus_file("study_case", "queries.txt")
    if not targets or not queries:
        return
    sets = [[nine_characters(line) for line in harness.read_file(path).decode().splitlines()] for path in (queries, targets)]
    wanted = []
    for q, asked in enumerate(sets[0]):
        found = [(Fraction(len(asked & target), len(asked | target)), t) for t, target in enumerate(sets[1])]
        wanted += [(q, t, j) for j, t in sorted(found, key=lambda row: (-row[0], row[1])) if j >= Fraction(1, 4)]
    rows = [[f"{queries}:{q + 1}", f"{targets}:{t + 1}", f"{float(j):.6f}"] for q, t, j in wanted]
    claims.check("study case: 12 pairs at .25, each of a query and its own target",
                 len(wanted) == 12 and all(t % 5 == q for q, t, _ in wanted), wanted)
    recalls, wrong = [], ""
    for seed in range(1, n_seeds + 1):
        done = bandmill.run("query", "--targets", targets, *STUDY, "--seed", seed, queries)
        got = harness.read_rows(done.stdout, HEADER)
        if got != [row for row in rows if row in got]:
            wrong = wrong or f"seed {seed}: {got}"
        if seed == 1:
            claims.check("study case: seed 1 finds them all", got == rows, got)
        recalls.append(len(got) / len(rows))
    claims.check(f"study case: no other answer, and best first, {n_seeds} seeds", not wrong, wrong)
    recall_claim(claims, "study case", recalls, statistics.fmean(chance(float(j), 50, 2) for _, _, j in wanted))
    whole = math.prod(chance(float(j), 50, 2) for _, _, j in wanted)
    share = sum(recall == 1 for recall in recalls) / n_seeds
    claims.check(f"study case: {share:.3f} of the seeds find all, predicted {whole:.3f}",
                 abs(share - whole) <= 3 * math.sqrt(whole * (1 - whole) / n_seeds) + 1 / n_seeds)


# --- corpora ---

class Corpus:
    def __init__(self, name, threshold, fields, lines, id_of, truth):
        self.name, self.threshold, self.fields, self.lines, self.id_of = name, threshold, fields, lines, id_of
        self.even, odd = ({id_of(line) for line in lines[first::2]} for first in (0, 1))
        self.truth = {}
        for a, b, j in harness.read_rows(harness.unzstd(truth)):
            for asked, target in ((a, b), (b, a)):
                if asked in odd and target in self.even and float(j) >= threshold:
                    self.truth[asked, target] = j


def scancode_rules(size):
    docs = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    truth = harness.corpus_file("scancode_rules", "truth_whitespace_word5_j0.80.tsv.zst")
    if docs and truth:
        lines = harness.unzstd(docs).splitlines(True)
        lines = lines if size == "full" else lines[:len(lines) // 2]
        return Corpus("scancode_rules", .8, [], lines, lambda line: json.loads(line)["id"], truth)
    return None


def spdx_texts(_):
    docs = harness.corpus_file("spdx_texts", "docs.tsv.zst")
    truth = harness.corpus_file("spdx_texts", "truth_whitespace_word5_j0.30.tsv.zst")
    if docs and truth:
        lines = harness.unzstd(docs).splitlines(True)
        return Corpus("spdx_texts", .7, ["--format", "tsv", "--id-field", "1", "--text-field", "3"], lines,
                      lambda line: line.split(b"\t")[0].decode(), truth)
    return None


def write_lines(path, lines):
    with open(path, "wb") as file:
        file.writelines(lines)
    return path


def answers_of(data):
    rows = harness.read_rows(data, HEADER)
    return rows, {(query, target): j for query, target, j in rows}


def order_is_wrong(rows, positions):
    keys = [(positions[query], -float(j), positions[target]) for query, target, j in rows]
    return "" if keys == sorted(keys) else "rows are not in order"


def check_corpus(claims, bandmill, corpus, folder, n_seeds):
    even = write_lines(os.path.join(folder, "even"), corpus.lines[::2])
    odd = write_lines(os.path.join(folder, "odd"), corpus.lines[1::2])
    options = [*TEXT, "--threshold", corpus.threshold]
    fields = corpus.fields or ["--format", "jsonl"]
    positions = {corpus.id_of(line): i for i, line in enumerate(corpus.lines)}
    recalls, wrong, plan, first = [], "", None, None
    for seed in range(1, n_seeds + 1):
        report = os.path.join(folder, f"{seed}.json")
        done = bandmill.run("query", "--targets", even, *options, *fields, "--seed", seed, "--report", report, odd)
        rows, found = answers_of(done.stdout)
        extra = [pair for pair in found if corpus.truth.get(pair) != found[pair]]
        wrong = wrong or (f"seed {seed}: {extra[:3]}" if extra or len(found) < len(rows) else order_is_wrong(rows, positions))
        recalls.append(len(found) / len(corpus.truth))
        if seed == 1:
            first = done.stdout
            plan = json.loads(harness.read_file(report))["plan"]
    claims.check(f"{corpus.name}: answers lie within the truth, best first, {n_seeds} seeds", not wrong, wrong)
    bands, rows = plan["bands"], plan["rows"]
    recall_claim(claims, corpus.name, recalls,
                 statistics.fmean(chance(float(j), bands, rows) for j in corpus.truth.values()))
    index = os.path.join(folder, "index")
    bandmill.run("index", "build", index, even, *options, *fields, "--device", "cpu")
    for more in ([], ["--threads", 1], ["--threads", 3, "--batch-docs", 7, "--memory", "64M"]):
        done = bandmill.run("query", index, *fields, *more, odd)
        claims.check(f"{corpus.name}: the index gives the same bytes {' '.join(map(str, more))}", done.stdout == first)
    both = write_lines(os.path.join(folder, "both"), [*corpus.lines[::2], *corpus.lines[1::2]])
    of_pairs = set()
    for a, b, j in harness.read_rows(bandmill.run("pairs", *options, *fields, both).stdout)[1:]:
        if a in corpus.even and b not in corpus.even:
            of_pairs.add((b, a, j))
    got = {tuple(row) for row in answers_of(first)[0]}
    claims.check(f"{corpus.name}: {len(got)} answers are the rows of pairs between the two", got == of_pairs,
                 f"{len(got - of_pairs)} more, {len(of_pairs - got)} less")
    return index, odd, fields, first


# --- one line at a time ---

def follow(claims, bandmill, index, queries, fields, first):
    lines = harness.read_file(queries).splitlines(True)
    command = [bandmill.path, "query", index, "--follow", "-q", *fields]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    times, got = [], []
    for line in lines[:10000]:
        begin = time.perf_counter()
        process.stdin.write(line)
        process.stdin.flush()
        row = process.stdout.readline()
        while row not in (b"\n", b""):
            got.append(row)
            row = process.stdout.readline()
        times.append(time.perf_counter() - begin)
    process.stdin.close()
    claims.check("follow: it ends when its input does", process.wait() == 0)
    ids = {json.loads(line)["id"] for line in lines[:10000]}
    wanted = [row for row in first.splitlines(True)[1:] if harness.unescape(row.split(b"\t")[0].decode()) in ids]
    claims.check(f"follow: {len(times)} answers are those of the batch", got == wanted)
    median = statistics.median(times) * 1e6
    print(f"       follow: {median:.1f} us in the median")


def main():
    args = harness.arguments("query against exact truth")
    harness.need_corpora()
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        study_case(claims, bandmill, 100)
        for make in (spdx_texts, scancode_rules):
            corpus = make(args.size)
            if corpus is None:
                continue
            place = os.path.join(folder, corpus.name)
            os.mkdir(place)
            made = check_corpus(claims, bandmill, corpus, place, SEEDS[args.size])
            if corpus.name == "scancode_rules":
                follow(claims, bandmill, *made)
    claims.end()


if __name__ == "__main__":
    main()
