# SPDX-License-Identifier: Apache-2.0
"""datasketch: MinHash.bulk (scheme affine32, XXH3 as token hash), MinHashLSH. It has no threads: one process a core."""
import adapter
import numpy
import xxhash
from datasketch import MinHash, MinHashLSH


def token_hash(token):
    return xxhash.xxh3_64_intdigest(token) & 0xFFFFFFFF


def encoded(texts):
    return ([token.encode() for token in adapter.shingles(text)] for text in texts)


def matrix_of(texts):
    return numpy.stack([m.hashvalues for m in MinHash.generator(encoded(texts), num_perm=128, hashfunc=token_hash)])


def sign(texts, job):
    assert job.perms == 128
    with job.stage("sign"):  # shingles within
        return adapter.in_processes(matrix_of, texts, job.threads)


def pairs(job):
    texts = job.read()
    matrix = sign(texts, job)
    a, b = [], []
    with job.stage("index"):
        first = MinHash(num_perm=job.perms, hashfunc=token_hash)
        sketches = [MinHash(hashvalues=row, permutations=first.permutations, scheme="affine32") for row in matrix]
        index = MinHashLSH(num_perm=job.perms, params=(job.bands, job.rows))
        with index.insertion_session() as session:
            for row, sketch in enumerate(sketches):
                session.insert(row, sketch, check_duplication=False)
    with job.stage("query"):
        for row, sketch in enumerate(sketches):
            found = index.query(sketch)
            if len(found) > 1:
                a += [row] * len(found)
                b += found
        return adapter.unique_pairs(a, b)


if __name__ == "__main__":
    adapter.main("datasketch", sign, pairs)
