# SPDX-License-Identifier: Apache-2.0
"""The permutation schemes: how tokens are hashed, how coefficients are drawn, and how minima are computed."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from typing import Any, Callable, Final

import numpy as np

from bandmill._apart import owned
from bandmill._errors import error_of
from bandmill._native import ffi, lib

MERSENNE: Final = (1 << 61) - 1
LOW32: Final = (1 << 32) - 1
NAMES: Final = ("affine32", "affine64", "legacy")


def sha1_hash32(data: Any) -> int:
    """Return the first 4 bytes of the SHA-1 of ``data``, little-endian."""
    return int.from_bytes(hashlib.sha1(data).digest()[:4], "little")


def sha1_hash64(data: Any) -> int:
    """Return the first 8 bytes of the SHA-1 of ``data``, little-endian."""
    return int.from_bytes(hashlib.sha1(data).digest()[:8], "little")


class Scheme:
    """A way to permute hashes: its types and its arithmetic."""

    def __init__(self, name: str, dtype: type[np.unsignedinteger[Any]], bits: int, code: int) -> None:
        """``bits``: size of a value; ``code``: its number in a serialised sketch, 0 for none."""
        self.name = name
        self.dtype = dtype
        self.code = code
        self.empty = dtype((1 << bits) - 1)
        self.most = (1 << bits) - 1
        self.letter = "Q" if bits == 64 else "I"
        self.hashfunc: Callable[[Any], int] = sha1_hash64 if bits == 64 else sha1_hash32

    @property
    def affine(self) -> bool:
        """Are values reduced only modulo the size of a word (affine32, affine64)?"""
        return self.code != 0

    def coefficients(self, seed: Any, count: int) -> np.ndarray[Any, Any]:
        """Return the (2, count) coefficients of a seed. The caller owns the array."""
        if type(seed) is int and type(count) is int:
            return np.array(_known_coefficients(self.name, seed, count))
        return _draw_coefficients(self.name, seed, count)

    def mixed(self, hashes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Apply MurmurHash3's finaliser to each hash."""
        first, second, third, one, two = _FINALISER[self.dtype]
        hashes = (hashes ^ (hashes >> first)) * one
        hashes = (hashes ^ (hashes >> second)) * two
        mixed: np.ndarray[Any, Any] = hashes ^ (hashes >> third)
        return mixed

    def mixed_one(self, value: Any) -> Any:
        """Mix the result of a hash function, in a type that can be multiplied by coefficients."""
        if type(value) is not int or not 0 <= value <= self.most:
            return self.mixed(self.hashes([value]))
        first, second, third, one, two = _FINALISER_INTS[self.dtype]
        value = (value ^ (value >> first)) * one & self.most
        value = (value ^ (value >> second)) * two & self.most
        return self.dtype(value ^ (value >> third))

    def minima(self, hashes: np.ndarray[Any, Any], permutations: Any) -> np.ndarray[Any, Any]:
        """Return the least value of each permutation over hashes (n,), n > 0."""
        a, b = permutations
        column = hashes.reshape(-1, 1)
        values = self.mixed(column) * a + b if self.affine else modulo_mersenne(column * a + b)
        least: np.ndarray[Any, Any] = values.min(axis=0)
        return least

    def array(self, values: Any, what: str) -> np.ndarray[Any, Any]:
        """Return numbers given by the caller as an array of this scheme's type. Raises ValueError if one does not fit."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.size:
            if int(values.min()) < 0 or int(values.max()) > int(self.empty):
                raise ValueError(f"{what} out of range for scheme {self.name!r}")
            return values.astype(self.dtype)
        try:
            return np.array(values, dtype=self.dtype)
        except OverflowError as e:
            raise ValueError(f"{what} out of range for scheme {self.name!r}: {e}") from e

    def hashes(self, values: Any) -> np.ndarray[Any, Any]:
        """Return the results of a hash function as an array of this scheme's type."""
        try:
            return np.array(values, dtype=self.dtype)
        except OverflowError as e:
            if not self.affine:
                raise
            raise ValueError(f"hashfunc returned a value that does not fit scheme {self.name!r}: {e}") from e

    def hash_sets(self, sets: list[list[Any]], hashfunc: Callable[[Any], Any]) -> np.ndarray[Any, Any] | list[Any]:
        """Return the hash of each item, set after set.

        The result is an array if all items are bytes and the function is SHA-1, else what the function returns.
        """
        if hashfunc is sha1_hash32 or hashfunc is sha1_hash64:
            words = 1 if hashfunc is sha1_hash32 else 2
            lengths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
            out = np.empty(int(lengths.sum()), dtype=np.uint32 if words == 1 else np.uint64)
            given = ffi.from_buffer("int64_t[]", lengths) if len(sets) else ffi.NULL
            room = ffi.from_buffer("uint32_t[]", out) if len(out) else ffi.NULL
            if lib.bm_py_token_hashes(id(sets), given, len(sets), words, room):
                fits = words == 1 or self.dtype is np.uint64
                return out.astype(self.dtype, copy=False) if fits else [int(value) for value in out]
        return [hashfunc(item) for items in sets for item in items]


_WIDE: Final = 1024  # from this many values on, several passes are faster than a division


def modulo_mersenne(values: Any) -> Any:
    """Return the low 32 bits of 64-bit values modulo 2^61 - 1, without a division."""
    if not isinstance(values, np.ndarray) or values.dtype != np.uint64 or values.size < _WIDE:
        return np.bitwise_and(values % np.uint64(MERSENNE), np.uint64(LOW32))
    p = np.uint64(MERSENNE)
    values = (values & p) + (values >> np.uint64(61))
    return np.where(values >= p, values - p, values) & np.uint64(LOW32)


_FINALISER_INTS: Final[dict[Any, tuple[int, ...]]] = {
    np.uint32: (16, 13, 16, 0x85EBCA6B, 0xC2B2AE35),
    np.uint64: (33, 33, 33, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53),
}
_FINALISER: Final = {dtype: tuple(map(dtype, constants)) for dtype, constants in _FINALISER_INTS.items()}
SCHEMES: Final = {
    "affine32": Scheme("affine32", np.uint32, 32, 1),
    "affine64": Scheme("affine64", np.uint64, 64, 2),
    "legacy": Scheme("legacy", np.uint64, 32, 0),
}


def _draw_coefficients(name: str, seed: Any, count: int) -> np.ndarray[Any, Any]:
    draw = np.random.RandomState(seed)
    if name == "legacy":
        pairs = [(draw.randint(1, MERSENNE, dtype=np.uint64), draw.randint(0, MERSENNE, dtype=np.uint64)) for _ in range(count)]
        drawn: np.ndarray[Any, Any] = np.array(pairs, dtype=np.uint64).T.copy()
        return drawn
    dtype = SCHEMES[name].dtype
    bits = 8 * np.dtype(dtype).itemsize
    half = draw.randint(0, 1 << (bits - 1), size=count, dtype=dtype)
    b = draw.randint(0, 1 << bits, size=count, dtype=dtype)
    return np.array([half * dtype(2) + dtype(1), b], dtype=dtype)


@functools.lru_cache(maxsize=64)
def _known_coefficients(name: str, seed: int, count: int) -> np.ndarray[Any, Any]:
    return _draw_coefficients(name, seed, count)


class Signer:
    """The library's signer, for hashes of items."""

    def __init__(self, name: str, seed: int, count: int, threads: int = 0) -> None:
        """Open the signer in this process. In a forked child, `sign` raises Error."""
        self._err = ffi.new("bm_error *")
        options = ffi.new("bm_signer_options *")
        lib.bm_signer_options_init_sized(options, ffi.sizeof("bm_signer_options"))
        options.sketch.perms = count
        options.sketch.seed = seed
        options.sketch.scheme = _SIGNED[name]
        options.text.hash = lib.bm_scheme_hash(options.sketch.scheme)
        options.resources.threads = threads
        self._word = np.uint32 if SCHEMES[name].letter == "I" else np.uint64
        self._signer = owned("signer")
        self._check(lib.bm_signer_open(options, self._signer, self._err))
        self._count = count

    def _check(self, status: int) -> None:
        if status != lib.BM_OK:
            raise error_of(self._err)

    def sign(self, hashes: np.ndarray[Any, Any], lengths: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return the values (n, count) of documents, in words of the library. The hashes of the documents follow each other."""
        hashes = hashes.astype(self._word, copy=False)
        n = len(lengths)
        offsets = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum(lengths, out=offsets[1:])
        words = np.empty((n, self._count), dtype=self._word)
        if n == 0:
            return words
        documents = ffi.new("bm_documents *")
        documents.struct_size = ffi.sizeof("bm_documents")
        documents.n_docs = n
        wide = self._word is not np.uint32
        alive = [ffi.from_buffer("uint64_t[]", offsets), ffi.from_buffer("uint64_t[]" if wide else "uint32_t[]", words)]
        documents.offsets = alive[0]
        if len(hashes) and not wide:
            alive.append(ffi.from_buffer("uint32_t[]", hashes))
            documents.hashes32 = alive[2]
        elif len(hashes):
            alive.append(ffi.from_buffer("uint64_t[]", hashes))
            documents.hashes = alive[2]
        out = ffi.new("bm_signer_out *")
        out.struct_size = ffi.sizeof("bm_signer_out")
        if wide:
            out.signatures64 = alive[1]
        else:
            out.signatures = alive[1]
        self._check(lib.bm_signer_sign(self._signer[0], documents, out, self._err))
        return words

    def close(self) -> None:
        """End the threads of the signer."""
        ffi.release(self._signer)


_SIGNED: Final = {
    "affine32": lib.BM_SCHEME_AFFINE32,
    "affine64": lib.BM_SCHEME_AFFINE64,
    "legacy": lib.BM_SCHEME_LEGACY,
}


def can_sign(kind: Scheme, seed: Any, permutations: Any) -> bool:
    """Does the library make the same permutations from the seed?"""
    count = len(permutations[0])
    fits = type(seed) is int and 0 <= seed <= LOW32 and 0 < count <= int(lib.BM_PERMS_MAX)
    if not fits or not isinstance(permutations, np.ndarray):
        return False
    own = _known_coefficients(kind.name, seed, count)
    return permutations.dtype == own.dtype and np.array_equal(own, permutations)


def can_be_signed(kind: Scheme, hashes: np.ndarray[Any, Any]) -> bool:
    """Is each hash one number with the bits of the scheme?"""
    whole = kind.letter == "Q" or hashes.dtype == np.uint32
    return hashes.ndim == 1 and (whole or len(hashes) == 0 or int(hashes.max()) <= LOW32)


@functools.lru_cache(maxsize=16)
def kept_signer(name: str, seed: int, count: int) -> Signer:
    """Return a signer with one thread, for sets that come one by one. The last signers stay open for further sets."""
    return Signer(name, seed, count, threads=1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=kept_signer.cache_clear)  # a child opens its own signer
