#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""text_ratio.py -- text to signatures, whole processes, one core: `bandmill sign` of a TSV file against bench/limit.c.

limit.c is a plain program with nothing of the library: it reads the same file, splits at white space, hashes each run of
five words and signs with a hand-written loop, and writes nothing; with --distinct it takes each shingle of a text once, as
`sign` must. Shares are of the one without. The contenders take turns on one processor; `sign` also
writes its directory (signatures, ids, sources, digests), to memory where there is /dev/shm. The checksum that limit.c prints
of its signatures must be that of signatures.npy: both did the same work.

    bench/text_ratio.py --program build/release/bandmill --limit build/release/bench/limit --documents FILE.tsv
"""
import argparse
import array
import json
import operator
import os
import sys
import tempfile

import measure


def checksum(path):
    """Of a signatures.npy: the sum of word[i] * (2i + 1) mod 2^64 over all its words, row after row, as limit.c takes it."""
    with open(path, "rb") as file:
        data = file.read()
    words = array.array("I", data[10 + int.from_bytes(data[8:10], "little"):])
    if sys.byteorder == "big":
        words.byteswap()
    return sum(map(operator.mul, words, range(1, 2 * len(words), 2))) % 2**64


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
            "limit": ([args.limit, "--repeat", "1", args.documents], None),
            "limit --distinct": ([args.limit, "--repeat", "1", "--distinct", args.documents], None),
            "sign --words space --normalize none": sign("space", ["--words", "space", "--normalize", "none"]),
            "sign --words space": sign("lower", ["--words", "space"]),
            "sign (default text options)": sign("default", []),
        }
        runs = measure.alternate(jobs, args.repeats, [args.cpu])
        ours = checksum(os.path.join(scratch, "space", "signatures.npy"))
    limit_says = json.loads(runs["limit"][-1]["stdout"])
    if int(limit_says["checksum"], 16) != ours:
        sys.exit(f"signatures differ: checksum {limit_says['checksum']} of limit, {ours:016x} of sign")
    limit = measure.summary(runs["limit"])["median"]
    limit_cpu = measure.summary(runs["limit"], "cpu_seconds")["median"]
    result.update({"what": "text to signatures, whole process, one core", "file_bytes": n_bytes, "cpu": args.cpu,
                   "commands": {k: [measure.short(word) for word in v[0]] for k, v in jobs.items()}, "limit_says": limit_says,
                   "systems": {}})
    print(f"{'':<40}{'seconds':>9}{'min':>8}{'max':>8}{'MB/s':>8}{'of limit':>10}{'in CPU s':>10}")
    for name, taken in runs.items():
        seconds, cpu = measure.summary(taken), measure.summary(taken, "cpu_seconds")
        share, share_cpu = round(limit / seconds["median"], 3), round(limit_cpu / cpu["median"], 3)
        result["systems"][name] = {"seconds": seconds, "cpu_seconds": cpu,
                                   "mb_per_s": round(n_bytes / 1e6 / seconds["median"], 1),
                                   "peak_mb": measure.summary(taken, "peak_mb"), "share_of_limit": share,
                                   "share_of_limit_in_cpu": share_cpu}
        print(f"{name:<40}{seconds['median']:>9.3f}{seconds['min']:>8.3f}{seconds['max']:>8.3f}"
              f"{n_bytes / 1e6 / seconds['median']:>8.0f}{share:>10.3f}{share_cpu:>10.3f}")
    if args.out:
        measure.write(args.out, result)
    return 1 if result["systems"]["sign --words space --normalize none"]["share_of_limit"] < args.min_ratio else 0


if __name__ == "__main__":
    sys.exit(main())
