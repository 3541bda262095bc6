# SPDX-License-Identifier: Apache-2.0
"""minhash_model.py -- the scheme affine32 and the band keys in NumPy, from their definition (design.md 5, cli.md 5), apart
from both the library under test and datasketch."""
import numpy as np
import xxhash

NO_WORD, NO_KEY = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def coefficients(seed, k):
    """All a, then all b, each one 32-bit output of NumPy's RandomState(seed)."""
    outputs = np.frombuffer(np.random.RandomState(seed).bytes(8 * k), dtype="<u4")
    return (outputs[:k] & np.uint32(0x7FFFFFFF)) * np.uint32(2) + np.uint32(1), outputs[k:].copy()


def token_hash(shingle):
    return xxhash.xxh3_64_intdigest(shingle)


def fmix32(h):
    h = h.astype(np.uint32)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def signature(hashes, a, b):
    """Words of one document from its 64-bit (or 32-bit) shingle hashes."""
    if not len(hashes):
        return np.full(len(a), NO_WORD, dtype=np.uint32)
    x = fmix32((np.asarray(hashes, dtype=np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32))
    out = np.full(len(a), NO_WORD, dtype=np.uint32)
    for i in range(0, len(x), 4096):
        part = x[i:i + 4096]
        np.minimum(out, (a[:, None] * part[None, :] + b[:, None]).min(axis=1), out=out)
    return out


def fmix64(k):
    k ^= k >> np.uint64(33)
    k *= np.uint64(0xFF51AFD7ED558CCD)
    k ^= k >> np.uint64(33)
    k *= np.uint64(0xC4CEB9FE1A85EC53)
    return k ^ (k >> np.uint64(33))


def band_keys(words, bands, rows, n_shingles):
    """(N, bands) keys of (N, K) words; all one bits where a document has no shingles."""
    keys = np.empty((len(words), bands), dtype=np.uint64)
    for band in range(bands):
        k = np.full(len(words), band + 1, dtype=np.uint64)
        for row in range(rows):
            k = k * np.uint64(0x9E3779B97F4A7C15) + words[:, band * rows + row].astype(np.uint64)
        keys[:, band] = fmix64(k)
    keys[np.asarray(n_shingles) == 0] = np.uint64(NO_KEY)
    return keys


def found_with(similarity, bands, rows):
    """1 - (1 - s^r)^b."""
    return 1 - (1 - np.asarray(similarity, dtype=float) ** rows) ** bands


def band_plan(threshold, recall, k):
    """design.md 6: the largest r for which some b <= floor(k/r) has P(threshold) >= recall, and the smallest such b."""
    for rows in range(k, 0, -1):
        for bands in range(1, k // rows + 1):
            if found_with(threshold, bands, rows) >= recall:
                return bands, rows
    return None
