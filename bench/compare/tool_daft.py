# SPDX-License-Identifier: Apache-2.0
"""Daft: read_json and the expression minhash (XXH3). It has no LSH: bands are sorted with NumPy, which is ours."""
import os

os.environ.update(DAFT_PROGRESS_BAR="0", DAFT_ANALYTICS_ENABLED="0", DO_NOT_TRACK="true")

import adapter  # noqa: E402  (after the environment)
import daft  # noqa: E402
import numpy  # noqa: E402
from daft.functions import minhash  # noqa: E402

BATCH = 4096


def signed(frame, job):
    return minhash(frame["text"], num_hashes=job.perms, ngram_size=adapter.WORDS, seed=1, hash_function="xxhash")


def sign(texts, job):
    with job.stage("load"):
        frame = daft.from_pydict({"text": texts}).into_batches(BATCH).collect()  # one batch would keep to one core
    with job.stage("sign"):  # shingles within
        return frame.select(signed(frame, job).alias("words")).collect()


def pairs(job):
    with job.stage("sign"):  # and read
        frame = daft.read_json(job.documents)
        table = frame.select(frame["id"], signed(frame, job).alias("words")).to_arrow()
    with job.stage("bands"):
        rows = table["id"].to_numpy()
        words = table["words"].combine_chunks().flatten().to_numpy().reshape(-1, job.perms)
        matrix = numpy.empty_like(words)
        matrix[rows] = words
        return adapter.pairs_of_bands(matrix, job.bands, job.rows)


if __name__ == "__main__":
    adapter.main("daft", sign, pairs)
