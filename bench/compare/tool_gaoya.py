# SPDX-License-Identifier: Apache-2.0
"""gaoya: MinHashStringIndex, 32-bit hashes, its own word analyser (cuts in Rust, on all threads)."""
import adapter
from gaoya.minhash import MinHashStringIndex


def index_of(job):
    return MinHashStringIndex(hash_size=32, jaccard_threshold=job.threshold, num_bands=job.bands, band_size=job.rows,
                              num_hashes=None, analyzer="word", lowercase=False, ngram_range=(5, 5), id_container="smallvec")


def sign(texts, job):
    index = index_of(job)
    with job.stage("sign"):  # shingles within
        return index.minhash_index.bulk_hash_docs(texts)


def pairs(job):
    texts = job.read()
    index = index_of(job)
    with job.stage("sign"):  # and insert
        index.par_bulk_insert_docs(list(range(len(texts))), texts)
    with job.stage("query"):
        a, b = [], []
        for row, found in enumerate(index.par_bulk_query(texts)):
            if len(found) > 1:
                a += [row] * len(found)
                b += found
        return adapter.unique_pairs(a, b)


if __name__ == "__main__":
    adapter.main("gaoya", sign, pairs)
