#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cws.py -- weighted documents to signatures of 128 words, one core: scheme cws (weighted_signer.c) and datasketch's
WeightedMinHashGenerator, on the same vectors.

datasketch has two ways: minhash, a vector of all dimensions at a time, and minhash_many, a sparse matrix. Both draw for each dimension
beforehand (which is not in their time), so a vocabulary must be known and fit the memory; cws draws for an element when it comes, and
keeps a byte of it for each word: "cws, new" is a signer that knows no element yet, "cws" one that signed these vectors before.
The ways take turns, bound to one processor. Vectors: weights tf * ln(N/df) of documents of about 120 different words of 5,000,
as Zipf has them; and two kinds that are not of texts, every element in every vector.

    bench/cws.py --signer build/release/bench/weighted_signer [--out FILE.json] [--min-ratio 20]
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import measure

PERMS = 128


def zipf_documents(np, n_docs, vocabulary):
    generator = np.random.RandomState(3)
    share = 1 / np.arange(2, vocabulary + 2)
    counts = np.stack([np.bincount(generator.choice(vocabulary, 200, p=share / share.sum()), minlength=vocabulary)
                       for _ in range(n_docs)])
    df = np.maximum((counts > 0).sum(axis=0), 1)
    return counts * np.log((n_docs + 1) / df)


def write_documents(np, matrix, path):
    rows, columns = np.nonzero(matrix)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))]).astype("<u8")
    # any 64-bit hash will do: an odd multiplier spreads the columns' numbers
    hashes = columns.astype("<u8") * np.uint64(0x9E3779B97F4A7C15)
    with open(path, "wb") as file:
        file.write(struct.pack("<QQ", len(matrix), len(columns)))
        for values in (offsets, hashes, matrix[rows, columns].astype("<f8")):
            file.write(values.tobytes())
    return len(columns)


def measure_set(np, sparse, generator, matrix, signer, repeats, folder):
    """{way: [seconds of each repeat]}, and the number of elements."""
    path = os.path.join(folder, "documents")
    n_elements = write_documents(np, matrix, path)
    rows = sparse.csr_matrix(matrix)

    def signer_seconds(*options):
        done = subprocess.run([signer, "--perms", str(PERMS), *options, path], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["seconds"]

    def known():
        return statistics.median(signer_seconds("--repeats", "9")[4:])  # datasketch's process is warm too

    def new():
        return signer_seconds("--seeds", "1:8")[0] / 8  # a signer for each seed

    def timed(work):
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    ways = {"datasketch minhash": lambda: timed(lambda: [generator.minhash(row) for row in matrix]),
            "datasketch minhash_many": lambda: timed(lambda: generator.minhash_many(rows)), "cws, new": new, "cws": known}
    taken = {name: [] for name in ways}
    for i in range(repeats + 1):
        for name, way in ways.items():
            seconds = way()
            if i > 0:  # the first warms caches
                taken[name].append(seconds)
    return taken, n_elements


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--signer", required=True)
    parser.add_argument("--program", help="whose version is written down; default: bandmill beside the signer's folder")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--out")
    parser.add_argument("--min-ratio", type=float, default=0.0, help="exit 1 when cws is less than this times datasketch")
    args = parser.parse_args()
    os.sched_setaffinity(0, [args.cpu])
    import datasketch
    import numpy as np
    from scipy import sparse
    program = args.program or os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(args.signer))), "bandmill")
    result = measure.provenance(program)
    dense = np.random.RandomState(4)
    sets = {"texts, 120 of 5,000 words": zipf_documents(np, 200, 5000), "dense, 1,000 elements": dense.exponential(1, (20, 1000)),
            "dense, 5,000 elements": dense.exponential(1, (8, 5000))}
    result.update({"what": "weighted documents to 128 words, one core", "datasketch": datasketch.__version__, "numpy": np.__version__,
                   "cpu": args.cpu, "sets": {}})
    print(f"{'':<28}{'way':<26}{'ns an element and word':>24}{'cws is':>10}")
    least = float("inf")
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as folder:
        for name, matrix in sets.items():
            generator = datasketch.WeightedMinHashGenerator(matrix.shape[1], PERMS, 1)
            taken, n_elements = measure_set(np, sparse, generator, matrix, args.signer, args.repeats, folder)
            rows = {}
            for way, seconds in taken.items():
                ratio = statistics.median(x / y for x, y in zip(seconds, taken["cws"]))
                rows[way] = {"ns": {key: round(value * 1e9 / n_elements / PERMS, 3) for key, value in
                                    (("median", statistics.median(seconds)), ("min", min(seconds)), ("max", max(seconds)))},
                             "times_cws": round(ratio, 1), "repeats": len(seconds)}
                print(f"{name:<28}{way:<26}{rows[way]['ns']['median']:>24.3f}{ratio:>9.1f}x")
            result["sets"][name] = {"vectors": len(matrix), "dimensions": matrix.shape[1], "elements": n_elements, "ways": rows}
            least = min([least] + [row["times_cws"] for way, row in rows.items() if way.startswith("datasketch")])
    if args.out:
        measure.write(args.out, result)
    if least < args.min_ratio:
        sys.exit(f"cws is {least} times as fast as datasketch ({args.min_ratio} was wanted)")


if __name__ == "__main__":
    main()
