#!/usr/bin/env python3
"""text_ratio.py -- text to signatures, whole processes, one core: `bandmill sign` of a TSV file against bench/limit.c.

limit.c is a plain program with nothing of the library: it reads the same file, splits at white space, hashes each run of
five words and signs with a hand-written loop, and writes nothing. The contenders take turns on one processor; `sign` also
writes its directory (signatures, ids, sources, digests), to memory where there is /dev/shm.

    bench/text_ratio.py --program build/release/bandmill --limit build/release/bench/limit --documents FILE.tsv
"""
import argparse
import json
import os
import sys
import tempfile

import measure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--limit", required=True)
    parser.add_argument("--documents", required=True, help="TSV: id, text")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--out")
    parser.add_argument("--min-ratio", type=float, default=0.0, help="exit 1 when 'sign' comes below this share of the limit")
    args = parser.parse_args()
    result = measure.provenance(args.program)
    n_bytes = os.path.getsize(args.documents)
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
        def sign(name, options):
            target = os.path.join(scratch, name)
            command = [args.program, "sign", "-q", "--device", "cpu", "--threads", "1", "--format", "tsv", "--id-field", "1",
                       "--text-field", "2", "--shingle", "word:5", *options, "-o", target, args.documents]
            return command, measure.remove(target)

        jobs = {
            "limit": ([args.limit, args.documents], None),
            "sign --words space --normalize none": sign("space", ["--words", "space", "--normalize", "none"]),
            "sign --words space": sign("lower", ["--words", "space"]),
            "sign (default text options)": sign("default", []),
        }
        runs = measure.alternate(jobs, args.repeats, [args.cpu])
    limit = measure.summary(runs["limit"])["median"]
    result.update({"what": "text to signatures, whole process, one core", "file_bytes": n_bytes, "cpu": args.cpu,
                   "commands": {k: v[0] for k, v in jobs.items()}, "limit_says": runs["limit"][-1]["stdout"].strip(),
                   "systems": {}})
    print(f"{'':<40}{'seconds':>9}{'min':>8}{'max':>8}{'MB/s':>8}{'of limit':>10}")
    for name, taken in runs.items():
        seconds = measure.summary(taken)
        share = round(limit / seconds["median"], 3)
        result["systems"][name] = {"seconds": seconds, "mb_per_s": round(n_bytes / 1e6 / seconds["median"], 1),
                                   "peak_mb": measure.summary(taken, "peak_mb"), "share_of_limit": share}
        print(f"{name:<40}{seconds['median']:>9.3f}{seconds['min']:>8.3f}{seconds['max']:>8.3f}"
              f"{n_bytes / 1e6 / seconds['median']:>8.0f}{share:>10.3f}")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 1 if result["systems"]["sign --words space --normalize none"]["share_of_limit"] < args.min_ratio else 0


if __name__ == "__main__":
    sys.exit(main())
