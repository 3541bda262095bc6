# SPDX-License-Identifier: Apache-2.0
"""text-dedup: its program text_dedup.minhash, run in this process; signatures alone by its embed_func. It cuts words at
every character that is no letter or digit and lowers them, and answers with groups, which count as all their pairs."""
import os
import pickle
import sys

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1",
                  HF_HOME=os.path.join(sys.argv[sys.argv.index("--scratch") + 1], "hf"))

import adapter  # noqa: E402  (after the environment)
import numpy  # noqa: E402
from text_dedup import minhash  # noqa: E402
from text_dedup.utils import xxh3_32hash  # noqa: E402


def sign(texts, job):
    prime = numpy.uint64((1 << 61) - 1)
    random = numpy.random.RandomState(42)
    options = {"num_perm": job.perms, "ngram_size": adapter.WORDS, "min_length": adapter.WORDS,
               "hashranges": [(i * job.rows, (i + 1) * job.rows) for i in range(job.bands)],
               "permutations": tuple(random.randint(low, prime, size=job.perms, dtype=numpy.uint64) for low in (1, 0)),
               "hash_func": xxh3_32hash, "dtype": numpy.uint64, "max_hash": numpy.uint32((1 << 32) - 1),
               "modulo_prime": prime}
    global matrix_of  # found again by name in the forked processes

    def matrix_of(part):
        signed = (minhash.embed_func(text, 0, **options)[minhash.SIGNATURE_COLUMN] for text in part)
        return numpy.stack([numpy.frombuffer(b"".join(bands), dtype=">u8") for bands in signed])

    with job.stage("sign"):  # shingles within
        return adapter.in_processes(matrix_of, texts, job.threads)


def pairs(job):
    output = os.path.join(job.scratch, "out")
    with job.stage("all"):
        minhash.main(["--path", "json", "--data_files", job.documents, "--split", "train", "--cache_dir",
                      os.path.join(job.scratch, "cache"), "--output", output, "--debug", "--column", "text", "--ngram",
                      str(adapter.WORDS), "--min_length", str(adapter.WORDS), "--num_perm", str(job.perms), "--b",
                      str(job.bands), "--r", str(job.rows), "--threshold", str(job.threshold), "--hash_func", "xxh3",
                      "--num_proc", str(job.threads)], standalone_mode=False)
    with open(os.path.join(output, "uf.pkl"), "rb") as file:
        union = pickle.load(file)
    groups = {}
    for row in union.parent:
        groups.setdefault(union.find(row), []).append(row)
    return adapter.pairs_of_groups(groups.values())


if __name__ == "__main__":
    adapter.main("text-dedup", sign, pairs)
