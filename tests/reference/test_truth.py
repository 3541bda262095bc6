# SPDX-License-Identifier: Apache-2.0
"""Pairs against exact truth: scancode_rules at 0.8, spdx_texts at 0.7, minhash_articles.

The truth files hold every pair at or above a similarity, computed elsewhere, exactly. Shown here, with `--words space
--normalize none --shingle word:5`:

  all      `--candidates all` equals the truth: no pair more, none less, each similarity to the sixth decimal.
  lsh      no pair outside the truth, each similarity to the sixth decimal; seed 1 finds at least 0.95 of them.
  recall   the mean over the seeds lies within 3 standard errors of what the S-curve 1-(1-s^r)^b predicts from the truth's
           similarities (identical documents count as found). Pairs share documents, so that the pairs of one seed are not
           independent: the standard error is that of the mean of the seeds, from their spread, and not one from the count
           of pairs. The number of seeds is 100 with --size full, else 12; below 100 the 3 becomes Student's quantile of the same probability.
  articles every planted pair and no other. At which thresholds follows from SOURCE.txt: planted pairs have 0.977 and more
           over word 3-shingles, no other pair reaches 0.3. So word:3 at 0.95, and all candidates at 0.3.

Pairs are compared unordered. `--corpus NAME` runs one of scancode_rules, spdx_texts and minhash_articles."""
import json
import math
import os
import statistics

import harness

np, _ = harness.need_modules("numpy", "xxhash")
import minhash_model

TEXT = ["--words", "space", "--normalize", "none", "--shingle", "word:5"]
PAIRS_HEADER = ["id_a", "id_b", "jaccard"]


class Corpus:
    def __init__(self, name, threshold, truth_path, arguments):
        self.name, self.threshold, self.arguments = name, threshold, arguments
        rows = harness.read_rows(harness.unzstd(truth_path))
        self.truth = {frozenset(row[:2]): row[2] for row in rows if float(row[2]) >= threshold}


def scancode_rules(folder):
    docs = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    truth = harness.corpus_file("scancode_rules", "truth_whitespace_word5_j0.80.tsv.zst")
    if docs and truth:
        plain = os.path.join(folder, "scancode_rules.jsonl")  # unpacked once: it is read a hundred times
        with open(plain, "wb") as file:
            file.write(harness.unzstd(docs))
        return Corpus("scancode_rules", 0.8, truth, [plain])
    return None


def spdx_texts(_):
    docs = harness.corpus_file("spdx_texts", "docs.tsv.zst")
    truth = harness.corpus_file("spdx_texts", "truth_whitespace_word5_j0.30.tsv.zst")
    if docs and truth:
        return Corpus("spdx_texts", 0.7, truth, ["--id-field", "1", "--text-field", "3", docs])
    return None


class Reader:
    """Reads output of `pairs`. Most lines come again with the next seed: what one says is worked out once."""

    def __init__(self):
        self.seen = {}

    def read(self, data):
        """{pair: similarity as written}; None where a pair stands twice."""
        lines = data.split(b"\n")
        for line in {*lines[1:-1]} - self.seen.keys():
            (row,) = harness.read_rows(line + b"\n")
            self.seen[line] = frozenset(row[:2]), row[2]
        if harness.read_rows(lines[0] + b"\n") != [PAIRS_HEADER] or lines[-1]:
            raise ValueError(f"header {lines[0]}, expected {PAIRS_HEADER}, and a newline at the end")
        found = dict(map(self.seen.__getitem__, lines[1:-1]))
        return found if len(found) == len(lines) - 2 else None


def pairs(bandmill, corpus, reader, *more, text=TEXT):
    return reader.read(bandmill.run("pairs", *text, "--threshold", corpus.threshold, *more, *corpus.arguments).stdout)


def difference(found, truth):
    """What found has that the truth has not, or otherwise; empty where found lies within it."""
    if found is None:
        return "a pair stands twice"
    if found.items() <= truth.items():
        return ""
    extra = [pair for pair in found if pair not in truth]
    wrong = [pair for pair in found if pair in truth and found[pair] != truth[pair]]
    some = [f"{sorted(pair)} {found[pair]}" + (f" not {truth[pair]}" if pair in truth else "") for pair in (extra + wrong)[:3]]
    return f"{len(extra)} not in the truth, {len(wrong)} with another value: {some}" if some else ""


def check_all(claims, bandmill, corpus):
    found = pairs(bandmill, corpus, Reader(), "--candidates", "all")
    wrong = difference(found, corpus.truth)
    if not wrong and len(found) != len(corpus.truth):
        missing = [sorted(pair) for pair in corpus.truth if pair not in found]
        wrong = f"{len(missing)} missing: {missing[:3]}"
    claims.check(f"{corpus.name}: --candidates all equals the truth, {len(corpus.truth)} pairs", not wrong, wrong)


def predicted(corpus, bands, rows):
    return float(np.mean(minhash_model.found_with([float(j) for j in corpus.truth.values()], bands, rows)))


def check_recall(claims, bandmill, corpus, folder, n_seeds):
    """Each seed's pairs lie within the truth; the recalls agree with the curve."""
    bands, rows = minhash_model.band_plan(corpus.threshold, 0.95, 128)
    report = os.path.join(folder, f"{corpus.name}.json")
    recalls, wrong, reader = [], "", Reader()
    for seed in range(1, n_seeds + 1):
        found = pairs(bandmill, corpus, reader, "--seed", seed, *(["--report", report] if seed == 1 else []))
        wrong = wrong or (f"seed {seed}: " + difference(found, corpus.truth) if difference(found, corpus.truth) else "")
        recalls.append(len(found or {}) / len(corpus.truth))
    claims.check(f"{corpus.name}: no pair outside the truth, {n_seeds} seeds", not wrong, wrong)
    claims.check(f"{corpus.name}: seed 1 finds {recalls[0]:.4f} of {len(corpus.truth)} pairs (at least .95)", recalls[0] >= 0.95)
    with open(report, encoding="utf-8") as file:
        plan = json.load(file).get("plan", {})
    claims.check(f"{corpus.name}: the plan is {bands} x {rows}, as docs/pairing.md chooses",
                 (plan.get("bands"), plan.get("rows")) == (bands, rows), plan)
    mean, wanted = statistics.fmean(recalls), predicted(corpus, bands, rows)
    error = statistics.stdev(recalls) / math.sqrt(n_seeds)
    limit = T_LIMITS[n_seeds]
    claims.check(f"{corpus.name}: mean recall {mean:.5f} over {n_seeds} seeds, predicted {wanted:.5f}, standard error "
                 f"{error:.5f}", abs(mean - wanted) <= limit * error, f"{(mean - wanted) / error:.2f} standard errors")


def check_articles(claims, bandmill, folder):
    docs = harness.corpus_file("minhash_articles", "articles_1000.train")
    truth = harness.corpus_file("minhash_articles", "articles_1000.truth")
    if not docs or not truth:
        return
    path = os.path.join(folder, "articles.tsv")
    with open(path, "wb") as file:
        file.write(harness.articles_as_tsv(docs))
    planted = {frozenset(line.split()) for line in harness.read_file(truth).decode().splitlines() if line.strip()}
    for what, threshold, more in [("LSH at 0.95", 0.95, []), ("all candidates at 0.95", 0.95, ["--candidates", "all"]),
                                  ("all candidates at 0.3", 0.3, ["--candidates", "all"])]:
        done = bandmill.run("pairs", "--shingle", "word:3", "--threshold", threshold, *more, "--id-field", "1", "--text-field",
                            "2", path)
        found = {frozenset(row[:2]) for row in harness.read_rows(done.stdout, PAIRS_HEADER)}
        claims.check(f"minhash_articles: {what} finds the {len(planted)} planted pairs and no other", found == planted,
                     f"missing {[sorted(p) for p in planted - found]}, more {[sorted(p) for p in found - planted][:5]}")


SEEDS = {"small": 12, "normal": 12, "full": 100}
# Student's t of the probability that 3 is of with 99 degrees of freedom (two-sided .0034), for a number of seeds.
T_LIMITS = {12: 3.71, 100: 3.0}
CORPORA = {"scancode_rules": scancode_rules, "spdx_texts": spdx_texts, "minhash_articles": None}


def main():
    args = harness.arguments("pairs against exact truth", ("--corpus", {"choices": CORPORA}))
    harness.need_corpora()
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        for name in [args.corpus] if args.corpus else CORPORA:
            if name == "minhash_articles":
                check_articles(claims, bandmill, folder)
                continue
            corpus = CORPORA[name](folder)
            if corpus:
                check_all(claims, bandmill, corpus)
                check_recall(claims, bandmill, corpus, folder, SEEDS[args.size])
    claims.end()


if __name__ == "__main__":
    main()
