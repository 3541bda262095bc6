#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_gaoya.py -- the whole job from a JSON Lines file: `bandmill dedup` and gaoya (PyPI), in turns, in one run.

Both: the same file, word 5-shingles, 128 permutations in 16 bands of 8 rows, the same threshold, the same processors.
What differs, and in whose favour: gaoya reads with Python's json module (its share stands in the result), answers with the
pairs whose signatures agree, verifies none, groups none and writes nothing; bandmill verifies each pair exactly, groups,
and writes kept.jsonl, removed.tsv, groups.jsonl and a report with digests. Contenders of bandmill:

  same       --words space --normalize none --bands 16 --rows 8: what gaoya's word analyser does
  lower      the same bands with the default normaliser and word rule
  default    no options at all but the output (threshold 0.8, the band plan that follows)

The ratio that counts is gaoya / lower, the slower of the first two in work; all are reported.

    bench/compare_gaoya.py --program build/release/bandmill --documents FILE.jsonl [--repeats 5] [--out FILE.json]
"""
import argparse
import json
import os
import sys
import tempfile

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
BANDS, ROWS = 16, 8


def contenders(args, scratch):
    def bandmill(name, options):
        target = os.path.join(scratch, name)
        command = [args.program, "dedup", "-q", "--device", args.device, "--threads", str(len(args.cpus)), *options, "-o",
                   target, args.documents]
        return command, measure.remove(target)

    bands = ["--threshold", str(args.threshold), "--bands", str(BANDS), "--rows", str(ROWS)]
    gaoya = [sys.executable, os.path.join(HERE, "gaoya_job.py"), args.documents, "--threshold", str(args.threshold),
             "--bands", str(BANDS), "--rows", str(ROWS)]
    return {
        "gaoya": (gaoya, None),
        "bandmill same": bandmill("same", bands + ["--words", "space", "--normalize", "none"]),
        "bandmill lower": bandmill("lower", bands),
        "bandmill default": bandmill("default", []),
    }


def counts_of(scratch, name):
    with open(os.path.join(scratch, name, "report.json"), encoding="utf-8") as file:
        return json.load(file).get("counts", {})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--documents", required=True)
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cpus", type=lambda text: [int(cpu) for cpu in text.split(",")], default=[0, 1])
    parser.add_argument("--out")
    parser.add_argument("--min-ratio", type=float, default=0.0, help="exit 1 below this ratio of gaoya to 'bandmill lower'")
    parser.add_argument("--max-mb", type=float, default=0.0, help="exit 1 over this peak memory of 'bandmill lower'")
    args = parser.parse_args()
    result = measure.provenance(args.program)
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
        jobs = contenders(args, scratch)
        runs = measure.alternate(jobs, args.repeats, args.cpus)
        counts = {name: counts_of(scratch, name.split()[1]) for name in jobs if name != "gaoya"}
    result.update({"what": "whole job, JSON Lines to groups", "file_bytes": os.path.getsize(args.documents),
                   "cpus": args.cpus, "threshold": args.threshold, "commands": {k: [measure.short(word) for word in v[0]] for k, v in jobs.items()},
                   "gaoya": json.loads(runs["gaoya"][-1]["stdout"]), "counts": counts, "systems": {}})
    base = measure.summary(runs["gaoya"])["median"]
    base_cpu = measure.summary(runs["gaoya"], "cpu_seconds")["median"]
    print(f"{'':<20}{'seconds':>9}{'min':>8}{'max':>8}{'CPU s':>8}{'peak MB':>9}{'gaoya / it':>12}{'in CPU s':>10}")
    for name, taken in runs.items():
        seconds, cpu, peak = (measure.summary(taken, key) for key in ("seconds", "cpu_seconds", "peak_mb"))
        ratio, ratio_cpu = round(base / seconds["median"], 2), round(base_cpu / cpu["median"], 2)
        result["systems"][name] = {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak,
                                   "times_faster_than_gaoya": ratio, "times_less_cpu_than_gaoya": ratio_cpu}
        print(f"{name:<20}{seconds['median']:>9.3f}{seconds['min']:>8.3f}{seconds['max']:>8.3f}{cpu['median']:>8.2f}"
              f"{peak['median']:>9.0f}{ratio:>12.2f}{ratio_cpu:>10.2f}")
    if args.out:
        measure.write(args.out, result)
    checked = result["systems"]["bandmill lower"]
    if checked["times_faster_than_gaoya"] < args.min_ratio or (args.max_mb and checked["peak_mb"]["max"] > args.max_mb):
        print(f"below the mark: {args.min_ratio} times gaoya, {args.max_mb or 'any'} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
