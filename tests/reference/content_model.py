# SPDX-License-Identifier: Apache-2.0
"""content_model.py -- the content hash again, in NumPy's: that of a sequence from the head comment of kernels/content_hash.h
alone, and of a document from src/model/stream_hash.h.

As a program it prints the known answers of tests/unit/model/test_content_sums.c: of sequences of n numbers of SplitMix64 from
state 1."""
import functools

import numpy as np
import xxhash

import text_model

MASK, MASK_LOW = (1 << 64) - 1, (1 << 32) - 1
STEP = 0x9E3779B97F4A7C15


def split_mix(state):
    while True:
        state = (state + STEP) & MASK
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        yield z ^ z >> 31


def fmix64(k):
    """Of an int, or of an array of uint64."""
    k = ((k ^ k >> 33) * 0xFF51AFD7ED558CCD) & MASK
    k = ((k ^ k >> 33) * 0xC4CEB9FE1A85EC53) & MASK
    return k ^ k >> 33


@functools.lru_cache(maxsize=None)
def keys():
    """(a, b): the factors of the 16 rows."""
    numbers = [z for z, _ in zip(split_mix(0), range(16))]
    return [z & 0xFFFFFFFF | 1 for z in numbers], [z >> 32 | 1 for z in numbers]


def content_hash(hashes, whole=None):
    """(lo, hi) of a document: of its shingle hashes, in order, with repeats, and a second hash, of the joined text `whole`; where
    it has none, as an array of hashes or stop word shingles have, of the hashes."""
    if not len(hashes):
        return 0, 0
    lo, hi = sequence_hash(hashes)
    return lo, hi ^ xxhash.xxh3_64_intdigest(np.array(hashes, np.uint64).tobytes() if whole is None else whole)


def text_content(text, options):
    """The same of a text."""
    if text_model.unreadable(text):
        return 0, 1
    if options["short"] == "skip" and 1 <= len(text_model.units(text, options)[0]) < text_model.units_of(options):
        return 0, 2
    hashes = [xxhash.xxh3_64_intdigest(shingle) for shingle in text_model.sequence(text, options)]
    return content_hash(hashes, None if options["kind"] == "stopword" else text_model.joined(text, options))


def sequence_hash(hashes):
    """(lo, hi) of shingle hashes, in order, with repeats."""
    # Block j is of one lane of a stretch of 128: every eighth of them, a row each.
    stretches = -(-len(hashes) // 128)
    h = np.zeros(128 * stretches, np.uint64)
    h[:len(hashes)] = hashes
    h, there = h.reshape(stretches, 16, 8), (np.arange(len(h)) < len(hashes)).reshape(stretches, 16, 8)
    a_keys, b_keys = np.array(keys(), np.uint64).reshape(2, 16, 1)
    x = h & MASK_LOW
    a, b = (x * a_keys).sum(axis=1), ((x ^ h >> 32) * b_keys * there).sum(axis=1)
    j = np.arange(8 * stretches, dtype=np.uint64).reshape(stretches, 8)
    v = fmix64(b + (j + 1) * STEP)
    u = fmix64(a + v)
    c, d = (int(part.sum(where=there[:, 0], dtype=np.uint64)) for part in (u, v ^ (u << 32 | u >> 32)))
    lo = fmix64((c + len(hashes) * STEP) & MASK)
    return lo, fmix64((d + lo) & MASK)


if __name__ == "__main__":
    for n in (0, 1, 2, 7, 8, 9, 16, 100, 127, 128, 129, 1000, 5000):
        lo, hi = sequence_hash([z for z, _ in zip(split_mix(1), range(n))])
        print(f"    {{{n}, {{UINT64_C(0x{lo:016X}), UINT64_C(0x{hi:016X})}}}},")
