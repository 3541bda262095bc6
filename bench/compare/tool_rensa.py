# SPDX-License-Identifier: Apache-2.0
"""rensa: full R-MinHash in one call, RMinHashLSH. Signing runs on its own threads; shingles are cut in Python. (Its `rho`
sketches, which sample the tokens, do not answer this question.)"""
import adapter
from rensa import RMinHash, RMinHashLSH


def cut(texts, job):
    with job.stage("shingles"):
        return [adapter.shingles(text) for text in texts]


def sign(texts, job):
    tokens = cut(texts, job)
    with job.stage("sign"):
        matrix = RMinHash.digest_matrix_from_token_sets(tokens, job.perms, 42)
    return range(matrix.len())


def pairs(job):
    tokens = cut(job.read(), job)
    with job.stage("sign"):
        sketches = RMinHash.from_token_sets(tokens, num_perm=job.perms, seed=42)
    with job.stage("index"):
        index = RMinHashLSH(job.threshold, job.perms, job.bands)
        index.insert_many(sketches)
    with job.stage("query"):
        a, b = [], []
        for row, found in enumerate(index.query_all(sketches)):
            if len(found) > 1:
                a += [row] * len(found)
                b += found
        return adapter.unique_pairs(a, b)


if __name__ == "__main__":
    adapter.main("rensa", sign, pairs)
