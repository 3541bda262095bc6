#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overlap_growth.py -- how the work of `overlap` grows where documents hold much of a test set, or items much of each other.

Each case is made in two sizes, n and 2n, and the two take turns. A ratio is of processor seconds, the best of the rounds; work that grows with
the product of documents and items would show 4. Words are random: no two items have a shingle in common but those that the case gives them.

    copies          the corpus is the test set, a thousand times: each item a document of its own
    one_document    the same as a single document
    one_shingle     n items that begin with the same 13 words, and n documents that have these, and nothing else of an item
    phrase          n items that have a phrase which suffices for the threshold, and 20 documents that have it: each holds every item
    equal           n equal items, and a document that has one
    one_item        an item of n bytes, and a document that is the same

    bench/overlap_growth.py --program build/release/bandmill --out overlap-growth.json
"""
import argparse
import json
import os
import random
import tempfile

import measure

SIZES = {"copies": 100, "one_document": 100, "one_shingle": 50000, "phrase": 20000, "equal": 500000, "one_item": 50_000_000}


def words(rng, n):
    return " ".join([f"w{rng.randrange(10**7)}" for _ in range(n)])


def items_of(case, n, rng):
    if case in ("copies", "one_document"):
        return [words(rng, 60) for _ in range(n)]
    if case == "one_shingle":
        start = words(rng, 13)
        return [start + " " + words(rng, 20) for _ in range(n)]
    if case == "phrase":
        start = words(rng, 60)
        return [start + " " + words(rng, 20) for _ in range(n)]
    if case == "equal":
        return [words(rng, 20)] * n
    return [words(rng, n // 9)]


def documents_of(case, n, items, rng):
    if case == "copies":
        return (item for _ in range(1000) for item in items)
    if case == "one_document":
        return [" ".join(items * 1000)]
    if case == "one_shingle":
        start = " ".join(items[0].split()[:13])
        return (start + " " + words(rng, 20) for _ in range(n))
    if case == "phrase":
        start = " ".join(items[0].split()[:60])
        return [start + " " + words(rng, 20) for _ in range(20)]
    return [items[0]]


def write(path, texts):
    with open(path, "w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            file.write(json.dumps({"id": f"d{i}", "text": text}) + "\n")
    return os.path.getsize(path)


def measured(args, case, folder):
    jobs, bytes_ = {}, {}
    for times in (1, 2):
        rng, n = random.Random(f"{case} {times}"), int(args.scale * times * SIZES[case])
        train, tests, out = (os.path.join(folder, f"{case}-{times}.{end}") for end in ("train.jsonl", "items.jsonl", "out"))
        items = items_of(case, n, rng)
        bytes_[times] = {"items": write(tests, items), "train": write(train, documents_of(case, n, items, rng))}
        jobs[times] = ([args.program, "overlap", train, "--against", tests, "--threads", "1", "--kept", "no", "-q", "-o", out], measure.remove(out))
    runs = measure.alternate(jobs, args.rounds, warm_up=False)
    best = {times: measure.summary(runs[times], "cpu_seconds")["min"] for times in jobs}
    return {"n": [int(args.scale * times * SIZES[case]) for times in jobs], "bytes": list(bytes_.values()), "cpu_seconds": list(best.values()),
            "ratio": round(best[2] / best[1], 2), "peak_mb": [max(run["peak_mb"] for run in runs[times]) for times in jobs]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", required=True)
    parser.add_argument("cases", nargs="*", default=list(SIZES))
    args = parser.parse_args()
    result = {"question": "how does the work of overlap grow?", **measure.provenance(args.program), "cases": {}}
    for case in args.cases:
        with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
            result["cases"][case] = measured(args, case, folder)
        print(case, json.dumps(result["cases"][case]), flush=True)
    measure.write(args.out, result)


if __name__ == "__main__":
    main()
