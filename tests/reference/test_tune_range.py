# SPDX-License-Identifier: Apache-2.0
"""Do nine runs of ten lie in the range that `tune` gives? The one thing that was chosen after a look at
these corpora is how many trial runs are left out on either side.

On unlike corpora: runs of `pairs`, each with a seed of its own, and ranges of `tune`, each of a sample of its own. Of a corpus
the coverage is the share of all (run, range) whose candidates lie inside. All seeds are fixed, so that it is the same number
each time.

  full     six corpora, 60 runs and 10 ranges of each: 0.9 of all together, and of no corpus less than 0.8. Where a corpus has
           few documents the range is an exact statement about 94 of 100 runs; 60 runs alone make a standard deviation of 0.031
           of that, and the 99 runs that it comes of another of 0.024, which the 10 ranges have partly in common.
  normal   two of them, made here, 30 runs and 3 ranges.

By hand, all of it, some minutes: .venv/bin/python tests/reference/test_tune_range.py --program build/release/bandmill --size full"""
import json
import os
import random

import harness

TSV = ["--id-field", "1", "--text-field", "3"]
CORPORA = {  # file, path, arguments, threshold, bands, rows
    "scancode_rules": ("sc.jsonl", ("scancode_rules", "docs.jsonl.zst"), [], .8, 13, 7),
    "spdx_texts": ("spdx.tsv", ("spdx_texts", "docs.tsv.zst"), TSV + ["--shingle", "word:3"], .5, 20, 4),
    "er_cddb": ("cddb.tsv", ("er_cddb", "docs.tsv.zst"), TSV + ["--shingle", "char:5"], .4, 25, 5),
    "oeb_us_uk": ("oeb.tsv", ("oeb_us_uk", "docs.tsv.zst"), TSV + ["--shingle", "word:2"], .7, 10, 6)}


def crowds(rng):
    """Short texts out of words of which a few stand nearly everywhere: unlike documents come in crowds."""
    return [[f"w{int(rng.paretovariate(0.9))}" for _ in range(rng.randint(4, 30))] for _ in range(1500)]


def templates(rng):
    """Letters of 40 forms, a word or more of each another, between others; 4,000, so that 2,000 are drawn."""
    words, docs = [f"w{i}" for i in range(3000)], []
    for _ in range(40):
        form = rng.choices(words[:400], k=rng.randint(30, 90))
        for _ in range(min(400, int(rng.paretovariate(1) * 10))):
            doc = list(form)
            for _ in range(rng.randint(1, 8)):
                doc[rng.randrange(len(doc))] = rng.choice(words)
            docs.append(doc)
    docs += [rng.choices(words, k=rng.randint(20, 80)) for _ in range(4000 - len(docs))]
    rng.shuffle(docs)
    return docs


MADE = {"crowds": (crowds, ["--shingle", "word:1"], .5, 16, 4), "templates": (templates, ["--shingle", "word:2"], .7, 13, 7)}


class Corpus:
    def __init__(self, name, folder, bandmill):
        self.name, self.bandmill, self.report = name, bandmill, os.path.join(folder, "report.json")
        if name in MADE:
            make, text, threshold, bands, rows = MADE[name]
            data = "".join(json.dumps({"id": i, "text": " ".join(doc)}) + "\n" for i, doc in enumerate(make(random.Random(name)))).encode()
            file = name + ".jsonl"
        else:
            file, path, text, threshold, bands, rows = CORPORA[name]
            packed = harness.corpus_file(*path)
            data = harness.unzstd(packed) if packed else None
        self.there = data is not None
        if self.there:
            with open(os.path.join(folder, file), "wb") as out:
                out.write(data)
        self.rest = [*text, "--threshold", threshold, "--bands", bands, "--rows", rows, "-q", os.path.join(folder, file)]

    def run(self, seed):
        self.bandmill.run("pairs", "--seed", seed, *self.rest, "-o", self.report + ".tsv", "--force", "--report", self.report)
        with open(self.report, encoding="utf-8") as file:
            return json.load(file)["counts"]["candidates"]

    def range(self, seed):
        (sample,) = json.loads(self.bandmill.run("tune", "--json", "--seed", seed, *self.rest).stdout)["samples"]
        return sample["candidates_low"], sample["candidates_high"]


def main():
    args = harness.arguments("ranges of tune against runs of pairs")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    names, n_runs, n_ranges = ([*MADE, *CORPORA], 60, 10) if args.size == "full" else ([*MADE], 30, 3)
    coverages = []
    with harness.scratch() as folder:
        for name in names:
            corpus = Corpus(name, folder, bandmill)
            if not corpus.there:
                continue
            runs = [corpus.run(seed) for seed in range(1, n_runs + 1)]
            ranges = [corpus.range(seed) for seed in range(501, 501 + n_ranges)]
            coverages.append(sum(low <= run <= high for run in runs for low, high in ranges) / (n_runs * n_ranges))
            claims.check(f"{name}: {coverages[-1]:.3f} of {n_runs} runs in {n_ranges} ranges; runs {min(runs)} to {max(runs)}, "
                         f"first range {ranges[0][0]:.0f} to {ranges[0][1]:.0f}", coverages[-1] >= .8)
    claims.check(f"of all together {sum(coverages) / len(coverages):.3f}", sum(coverages) >= .9 * len(coverages))
    claims.end()


if __name__ == "__main__":
    main()
