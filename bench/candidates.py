#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""candidates.py -- `pairs` by `--candidates all` and `lsh` over the same documents, one threshold after another:
seconds, pairs that were compared, pairs that were found; from where on is LSH faster, and what does it miss?

Whole processes, which take turns; one core unless --threads says otherwise. That `lsh` gives no pair that `all` has not is checked. What follows `--` goes to `pairs` as it is (--shingle, --format …).

    bench/candidates.py --program build/release/bandmill --out candidates.json documents.jsonl -- --shingle word:5
"""
import argparse
import json
import os
import sys
import tempfile

import measure

RULES = ["all", "lsh"]


def rows_of(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")[1:-1]


def compare(args, scratch, threshold):
    """{rule: figures} at one threshold; ends the program where the rules do not agree."""
    def target(rule, ending):
        return os.path.join(scratch, rule + ending)
    jobs = {rule: ([args.program, "pairs", "-q", "--device", "cpu", "--candidates", rule, "--threshold", repr(threshold), "--threads",
                    str(args.threads), "-o", target(rule, ".tsv"), "--report", target(rule, ".json"), "--force", *args.pass_on,
                    *args.documents], None) for rule in RULES}
    runs = measure.alternate(jobs, args.repeats, list(range(args.threads)))
    rows = {rule: rows_of(target(rule, ".tsv")) for rule in RULES}
    if not set(rows["lsh"]) <= set(rows["all"]):
        sys.exit(f"at {threshold}: bands found pairs that all has not")
    figures = {"threshold": threshold, "pairs": len(rows["all"])}
    for rule in RULES:
        with open(target(rule, ".json"), encoding="utf-8") as file:
            told = json.load(file)
        figures[rule] = {"seconds": measure.summary(runs[rule]), "compared": told["counts"]["candidates"],
                         "found": round(len(rows[rule]) / len(rows["all"]), 4) if rows["all"] else 1}
    return figures


def main():
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--thresholds", default="0.5,0.6,0.7,0.8,0.9,0.95", help="parted by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out")
    parser.add_argument("documents", nargs="+")
    args = parser.parse_args(words[:split])
    args.pass_on = words[split + 1:]
    result = measure.provenance(args.program)
    result.update({"what": "pairs by all and lsh, whole processes", "options": args.pass_on, "threads": args.threads, "rows": []})
    print(f"{'T':>5} {'pairs':>8}  " + "  ".join(f"{rule:>8} s {'compared':>12}" for rule in RULES) + f"  {'lsh finds':>9}")
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
        for threshold in map(float, args.thresholds.split(",")):
            row = compare(args, scratch, threshold)
            result["rows"].append(row)
            print(f"{threshold:5.2f} {row['pairs']:8d}  " +
                  "  ".join(f"{row[rule]['seconds']['median']:10.3f} {row[rule]['compared']:12d}" for rule in RULES) +
                  f"  {row['lsh']['found']:9.4f}", flush=True)
    if args.out:
        measure.write(args.out, result)


if __name__ == "__main__":
    main()
