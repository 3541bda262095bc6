# SPDX-License-Identifier: Apache-2.0
"""FastSketchLSH: fast similarity sketches of 128 slots, 16 bands, on its own threads; shingles are cut in Python."""
import adapter
import numpy
from FastSketchLSH import LSH, FastSimilaritySketch


def sign(texts, job):
    with job.stage("shingles"):
        tokens = [adapter.shingles(text) for text in texts]
    with job.stage("sign"):
        return FastSimilaritySketch(size=job.perms, seed=42).batch(tokens, num_threads=job.threads)


def pairs(job):
    matrix = sign(job.read(), job)
    with job.stage("index"):
        index = LSH(num_perm=job.perms, num_bands=job.bands, num_threads=job.threads)
        index.insert(matrix)
    with job.stage("query"):
        found, starts = index.query(matrix, format="csr")
        rows = numpy.repeat(numpy.arange(len(matrix)), numpy.diff(starts.astype(numpy.int64)))
        return adapter.unique_pairs(rows, found)


if __name__ == "__main__":
    adapter.main("FastSketchLSH", sign, pairs)
