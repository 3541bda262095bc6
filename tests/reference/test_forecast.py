# SPDX-License-Identifier: Apache-2.0
"""What `tune` forecasts from documents against what `pairs` finds, on four corpora.

The truth: pairs at the threshold from `--candidates all`, exact; candidates and verified pairs of a plan as the means of
`pairs` over LSH_SEEDS seeds of the permutations, which have a standard error of their own.

  exact    where all documents are sampled: the pairs at the threshold are those of `--candidates all`, errors are 0, and the
           expected candidates, verified and missed pairs lie within 3.7 standard errors of the means over seeds (Student's t
           with 11 degrees of freedom: .003).
  sampled  over SAMPLE_SEEDS samples, drawn by as many seeds, z = (forecast - that of all documents) / stated error: |z| is at
           most 3 for all of them but one, for each of the three numbers, and the mean square of the differences at most 2.6
           times that of the stated errors (chi-squared of 16 degrees: .0005); errors stated too small by half would make it
           4. What `pairs` finds, in the mean over seeds, is within 3 of both errors together for all of them but two, since
           the error of that mean is the same for all of them.
  counts   documents, empty and identical ones are those of the report."""
import json
import math
import os
import statistics

import harness

LSH_SEEDS, SAMPLE_SEEDS = 12, 16
NUMBERS = ["candidates", "verified_pairs", "missed_pairs"]


def unpacked(folder, name, path, step):
    packed = harness.corpus_file(*path)
    if not packed:
        return None
    plain = os.path.join(folder, name)
    with open(plain, "wb") as file:
        file.write(b"".join(harness.unzstd(packed).splitlines(keepends=True)[::step]))
    return plain


TSV = ["--id-field", "1", "--text-field", "3"]
STEPS = {"scancode_rules": 5, "er_cddb": 3, "oeb_us_uk": 2}  # every third document, and so on
CORPORA = {  # file, path, arguments, threshold, bands, rows, sample
    "scancode_rules": ("sc.jsonl", ("scancode_rules", "docs.jsonl.zst"), [], .8, 13, 7, 1200),
    "spdx_texts": ("spdx.tsv", ("spdx_texts", "docs.tsv.zst"), TSV + ["--shingle", "word:3"], .5, 20, 4, 200),
    "er_cddb": ("cddb.tsv", ("er_cddb", "docs.tsv.zst"), TSV + ["--shingle", "char:5"], .4, 25, 5, 650),
    "oeb_us_uk": ("oeb.tsv", ("oeb_us_uk", "docs.tsv.zst"), TSV + ["--shingle", "word:2"], .7, 10, 6, 1000)}


class Corpus:
    def __init__(self, name, folder, bandmill):
        file, path, self.text, self.threshold, self.bands, self.rows, self.sample = CORPORA[name]
        self.name, self.bandmill, self.report = name, bandmill, os.path.join(folder, name + ".json")
        self.path = unpacked(folder, file, path, STEPS.get(name, 1))
        self.rest = [*self.text, "--threshold", self.threshold, "-q", *([self.path] if self.path else [])]

    def counts(self, *more):
        """Of one run of `pairs`; its rows go nowhere."""
        self.bandmill.run("pairs", *more, *self.rest, "-o", self.report + ".tsv", "--force", "--report", self.report)
        with open(self.report, encoding="utf-8") as file:
            return json.load(file)["counts"]

    def tune(self, seed, sample):
        done = self.bandmill.run("tune", "--bands", self.bands, "--rows", self.rows, "--seed", seed, "--sample", sample, "--json",
                                 *self.rest)
        (found,) = json.loads(done.stdout)["samples"]
        return found


def truth_of(corpus, all_pairs):
    """{number: (mean, standard error of the mean)}."""
    runs = [corpus.counts("--bands", corpus.bands, "--rows", corpus.rows, "--seed", seed) for seed in range(1, LSH_SEEDS + 1)]
    found = {"candidates": [run["candidates"] for run in runs], "verified_pairs": [run["edges"] for run in runs],
             "missed_pairs": [all_pairs["edges"] - run["edges"] for run in runs]}
    return {name: (statistics.fmean(n), statistics.stdev(n) / math.sqrt(LSH_SEEDS)) for name, n in found.items()}


def check_exact(claims, corpus, all_pairs, truth):
    sample = corpus.tune(1, 10 ** 8)
    (plan,) = sample["forecasts"]
    claims.check(f"{corpus.name}: {sample['documents']} documents, {sample['empty']} empty, {sample['identical']} identical",
                 all(sample[name] == all_pairs[name] for name in ("documents", "empty", "identical")), all_pairs)
    claims.check(f"{corpus.name}: of all documents, {sample['similar_pairs']} pairs at {corpus.threshold}, as all pairs are",
                 sample["similar_pairs"] == all_pairs["edges"] and sample["similar_pairs_error"] == 0, all_pairs["edges"])
    for name in NUMBERS:
        mean, error = truth[name]
        z = (plan[name] - mean) / error if error else 0.0 if plan[name] == mean else math.inf
        claims.check(f"{corpus.name}: {name} of all documents {plan[name]:.1f}, mean of {LSH_SEEDS} seeds {mean:.1f}, z {z:.2f}",
                     abs(z) <= 3.7 and plan[name + "_error"] == 0)
    return plan


def check_sampled(claims, corpus, truth, exact):
    samples = [corpus.tune(seed, corpus.sample) for seed in range(1, SAMPLE_SEEDS + 1)]
    plans = [sample["forecasts"][0] for sample in samples]
    for name in NUMBERS:
        mean, error = truth[name]
        found = [abs(plan[name] - mean) / math.hypot(plan[name + "_error"], error) for plan in plans]
        z = [(plan[name] - exact[name]) / plan[name + "_error"] for plan in plans]
        square = sum((plan[name] - exact[name]) ** 2 for plan in plans) / sum(plan[name + "_error"] ** 2 for plan in plans)
        stated = statistics.fmean(plan[name + "_error"] for plan in plans)
        claims.check(f"{corpus.name}: {name} {exact[name]:.1f}, stated error {stated:.1f}; of {SAMPLE_SEEDS} samples of {corpus.sample} "
                     f"the greatest |z| is {max(map(abs, z)):.2f}, the mean square {square:.2f} of that stated",
                     sorted(map(abs, z))[-2] <= 3 and square <= 2.6 and sorted(found)[-3] <= 3, (z, found))


def main():
    args = harness.arguments("forecasts of tune against pairs", ("--corpus", {"choices": CORPORA}))
    harness.need_corpora()
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        few = ["spdx_texts", "oeb_us_uk"] if args.size == "small" else CORPORA
        for name in [args.corpus] if args.corpus else few:
            corpus = Corpus(name, folder, bandmill)
            if corpus.path:
                all_pairs = corpus.counts("--candidates", "all")
                truth = truth_of(corpus, all_pairs)
                exact = check_exact(claims, corpus, all_pairs, truth)
                check_sampled(claims, corpus, truth, exact)
    claims.end()


if __name__ == "__main__":
    main()
