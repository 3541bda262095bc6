# SPDX-License-Identifier: Apache-2.0
"""adapter.py -- what the adapters of the comparison share: one tool, one question, one process.

An adapter is tool_NAME.py with two functions: sign(texts, job) makes signatures of texts in memory, pairs(job) goes from
the file to an array of pairs (n, 2). Both wrap their steps in `job.stage(name)`; the steps "shingles" and "sign" together
are the answer to "text to signatures", reading and preparing are apart. Prints one JSON object.

    tool_NAME.py signatures|pairs DOCUMENTS.jsonl --threads N --scratch DIR [--pairs-to FILE] [--perms K …]

Documents are {"id": row, "text": words with one blank between two}. Several processes (`in_processes`) are for tools that
have no threads of their own; their processor time counts, as they end within the stage."""
import argparse
import contextlib
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import time

import numpy

WORDS = 5


class Job:
    def __init__(self, args):
        self.documents, self.threads, self.scratch = args.documents, args.threads, args.scratch
        self.perms, self.bands, self.rows, self.threshold = args.perms, args.bands, args.rows, args.threshold
        self.stages = {}

    @contextlib.contextmanager
    def stage(self, name):
        wall, cpu = time.perf_counter(), sum(os.times()[:4])
        yield
        seconds, cpu_seconds = time.perf_counter() - wall, sum(os.times()[:4]) - cpu
        old = self.stages.get(name, (0.0, 0.0))
        self.stages[name] = (old[0] + seconds, old[1] + cpu_seconds)

    def read(self):
        with self.stage("read"), open(self.documents, encoding="utf-8") as file:
            return [json.loads(line)["text"] for line in file]


def shingles(text):
    """The runs of five words, joined by a blank; all of the words where there are fewer. Repeats stay: a minimum does not
    mind them, and taking them out costs these tools more than it saves."""
    words = text.split(" ")
    if len(words) < WORDS:
        return [text] if text else []
    return list(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:])))


_shared = None  # what the forked processes read


def _part(arguments):
    function, begin, end = arguments
    return function(_shared[begin:end])


def in_processes(function, texts, n):
    """function(part of texts) -> matrix, for n parts at a time, put together in order."""
    global _shared
    if n == 1:
        return function(texts)
    _shared = texts
    step = max(1, -(-len(texts) // (4 * n)))
    parts = [(function, i, min(i + step, len(texts))) for i in range(0, len(texts), step)]
    with multiprocessing.get_context("fork").Pool(n) as pool:
        matrices = pool.map(_part, parts, chunksize=1)
        pool.close()
        pool.join()
    return numpy.concatenate(matrices)


def unique_pairs(a, b):
    a, b = numpy.asarray(a, dtype=numpy.uint64), numpy.asarray(b, dtype=numpy.uint64)
    both = numpy.unique((numpy.minimum(a, b) << 32 | numpy.maximum(a, b))[a != b])
    return numpy.stack([both >> 32, both & 0xFFFFFFFF], axis=1).astype(numpy.uint32)


def pairs_of_groups(groups):
    """Every pair within each group of row numbers."""
    a, b = [], []
    for members in groups:
        members = numpy.sort(numpy.asarray(members))
        low, high = numpy.triu_indices(len(members), 1)
        a.append(members[low])
        b.append(members[high])
    return unique_pairs(numpy.concatenate(a), numpy.concatenate(b)) if a else numpy.empty((0, 2), numpy.uint32)


def pairs_of_bands(matrix, bands, rows):
    """For tools that make signatures only: rows of the matrix that agree in a whole band, by sorting a 64-bit hash of each
    band. This is ours, and quicker than a dictionary a band in Python, which is what their manuals show."""
    multipliers = numpy.random.default_rng(1).integers(0, 2**63, size=(bands, rows), dtype=numpy.uint64) * 2 + 1
    groups = []
    for band in range(bands):
        words = matrix[:, band * rows:(band + 1) * rows].astype(numpy.uint64)
        words ^= words >> 15
        keys = (words * multipliers[band]).sum(axis=1)
        order = numpy.argsort(keys, kind="stable")
        starts = numpy.flatnonzero(numpy.diff(keys[order], prepend=keys[order[:1]] + numpy.uint64(1)))
        sizes = numpy.diff(starts, append=len(order))
        groups += [order[starts[i]:starts[i] + sizes[i]] for i in numpy.flatnonzero(sizes > 1)]
    return pairs_of_groups(groups)


def version_of(package):
    """Of a package that stands in a build folder there is no metadata."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return importlib.import_module(package).__version__


def main(package, sign, pairs):
    parser = argparse.ArgumentParser()
    parser.add_argument("question", choices=["signatures", "pairs"])
    parser.add_argument("documents")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--pairs-to")
    parser.add_argument("--perms", type=int, default=128)
    parser.add_argument("--bands", type=int, default=16)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--threshold", type=float, default=0.7)
    args = parser.parse_args()
    job, result = Job(args), {"version": version_of(package)}
    if args.question == "signatures":
        result["signatures"] = len(sign(job.read(), job))
    else:
        found = pairs(job)
        result["pairs"] = len(found)
        if args.pairs_to:
            found.astype("<u4").tofile(args.pairs_to)
    result["stages"] = {name: round(wall, 4) for name, (wall, _) in job.stages.items()}
    result["stages_cpu"] = {name: round(cpu, 4) for name, (_, cpu) in job.stages.items()}
    print(json.dumps(result))
