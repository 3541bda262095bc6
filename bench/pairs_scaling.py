#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pairs_scaling.py -- `pairs --candidates all` against a plain prefix filter, and as the corpus grows; whole processes.

bench/plain_prefix_filter.c is a plain program of the kind that everybody writes first: one thread, integers by rarity, lists
of prefixes, a merge that ends early. Both read the same JSON Lines and write the same pairs; that they are the same, to the
sixth decimal, is checked, and against the truth file where there is one. Programs take turns; one core means one processor.

    bench/pairs_scaling.py --program build/release/bandmill --plain build/release/bench/plain_prefix_filter \\
        --truth-documents docs.jsonl --truth truth.tsv --documents corpus-40000.jsonl --out pairs-scaling.json
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import measure

TEXT = ["--words", "space", "--normalize", "none", "--shingle", "word:5"]


def pairs_of(path, header):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1 if header else 0:]
    return {frozenset(row[:2]): row[2] for row in rows}


def digest(path, header):
    """Of the rows in byte order. By a process of its own: a child's peak memory counts that of the process that starts it."""
    command = 'tail -n +"$1" "$0" | LC_ALL=C sort | sha256sum'
    return subprocess.run(["sh", "-c", command, path, "2" if header else "1"], stdout=subprocess.PIPE, check=True).stdout


def remove(path):
    def now():
        if os.path.exists(path):
            os.remove(path)
    return now


def head(path, n, target):
    with open(path, "rb") as source, open(target, "wb") as out:
        for _, line in zip(range(n), source):
            out.write(line)
    return target


def compare(args, scratch, documents, threshold, threads):
    """Both programs in turns: {name: figures} and where the pairs lie; ends the program where their pairs differ."""
    plain_out = os.path.join(scratch, "plain.tsv")
    jobs = {"plain, 1 thread": (["sh", "-c", 'exec "$0" "$1" "$2" >"$3"', args.plain, str(threshold), documents, plain_out], None)}
    for n in threads:
        target = os.path.join(scratch, f"pairs-{n}.tsv")
        jobs[f"bandmill, {n} thread{'s' if n > 1 else ''}"] = (
            [args.program, "pairs", "-q", "--candidates", "all", "--threshold", str(threshold), "--threads", str(n), *TEXT, "-o",
             target, documents], remove(target))
    runs = {}
    for n_cpus in sorted({1, *threads}):  # as many processors as threads
        some = {name: job for name, job in jobs.items() if f", {n_cpus} " in name}
        runs.update(measure.alternate(some, args.repeats, list(range(n_cpus))))
    wanted = digest(plain_out, False)
    for n in threads:
        if digest(os.path.join(scratch, f"pairs-{n}.tsv"), True) != wanted:
            sys.exit(f"{documents} at {threshold}: the pairs of {n} threads are not those of the plain program")
    plain = measure.summary(runs["plain, 1 thread"])["median"]
    figures = {"plain_says": json.loads(runs["plain, 1 thread"][-1]["stderr"])}
    for name, taken in runs.items():
        seconds = measure.summary(taken)
        figures[name] = {"seconds": seconds, "peak_mb": measure.summary(taken, "peak_mb"),
                         "share_of_plain": round(seconds["median"] / plain, 3)}
        print(f"  {name:<22} {seconds['median']:8.3f} s  {figures[name]['peak_mb']['median']:6.0f} MB"
              f"  {figures[name]['share_of_plain']:6.3f} of plain")
    return figures, plain_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--plain", required=True)
    parser.add_argument("--truth-documents", help="JSON Lines whose pairs at 0.8 are known")
    parser.add_argument("--truth", help="rows id, id, similarity")
    parser.add_argument("--documents", help="JSON Lines to take 10, 20, 40 thousand documents of")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10000, 20000, 40000])
    parser.add_argument("--thresholds", type=float, nargs="+", default=[0.8, 0.5])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out")
    args = parser.parse_args()
    result = measure.provenance(args.program)
    result.update({"what": "all pairs, exactly: whole processes from JSON Lines to pairs", "text": TEXT, "truth": None, "scaling": []})
    ok = True
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
        for threshold in args.thresholds if args.documents else []:
            for size in args.sizes:
                print(f"{size} documents at {threshold}")
                part = head(args.documents, size, os.path.join(scratch, "part.jsonl"))
                figures, _ = compare(args, scratch, part, threshold, args.threads)
                result["scaling"].append({"documents": size, "threshold": threshold, **figures})
        if args.truth_documents:
            print(f"{os.path.basename(args.truth_documents)} at 0.8")
            figures, found = compare(args, scratch, args.truth_documents, 0.8, [1])
            if args.truth:
                found = pairs_of(found, False)
                truth = {pair: value for pair, value in pairs_of(args.truth, False).items() if float(value) >= 0.8}
                figures["equals_truth"] = ok = found == truth
                print(f"  {len(found)} pairs, {'equal to' if ok else 'NOT'} the truth")
                del found, truth
            ok = ok and figures["bandmill, 1 thread"]["share_of_plain"] <= 1
            result["truth"] = figures
    if args.out:
        measure.write(args.out, result)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
