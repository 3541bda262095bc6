# SPDX-License-Identifier: Apache-2.0
"""LeanMinHash and bBitMinHash with the interface and the bytes of datasketch 2."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from bandmill.compat._minhash import MinHash, scheme_of, union_of
from bandmill.compat._schemes import SCHEMES

_BY_CODE = {kind.code: kind for kind in SCHEMES.values() if kind.affine}


class LeanMinHash(MinHash):
    """A MinHash that has only hash values, seed and scheme. No items can be added.

    It is made from ``minhash``, or from ``seed``, ``hashvalues`` and ``scheme``. Raises ValueError: one of these three is
    missing, ``scheme`` differs from that of ``minhash``, or the values do not fit the scheme.

    In serialised form it is the seed (int64), the number of values (int32) and the values. With ``legacy`` the values are
    uint32. With the other schemes the number is negated, and a byte for the scheme follows (1: affine32, with uint32 values;
    2: affine64, with uint64 values).
    """

    __slots__ = ("hashvalues", "scheme", "seed")

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Any = None,
        scheme: str | None = None,
    ) -> None:
        """Copy the values."""
        if minhash is not None:
            if scheme is not None and scheme != minhash.scheme:
                raise ValueError(f"scheme {scheme!r} beside a MinHash of scheme {minhash.scheme!r}")
            self._take(minhash.seed, minhash.hashvalues, minhash.scheme)
        elif seed is None or hashvalues is None:
            raise ValueError("a LeanMinHash is made of a MinHash, or of a seed and hash values")
        elif scheme is None:
            raise ValueError("hashvalues do not say how they were made: give scheme beside them ('legacy' before datasketch 2)")
        else:
            self._take(seed, hashvalues, scheme)

    def _take(self, seed: Any, hashvalues: Any, scheme: str = "legacy") -> None:
        kind = scheme_of(scheme)
        self.seed = seed
        self.scheme = scheme
        self.hashvalues = self._as_words(hashvalues)
        if kind.affine and len(self.hashvalues) == 0:
            raise ValueError("hashvalues must not be empty")

    def update(self, b: Any) -> None:
        """Raise TypeError, because no items can be added."""
        raise TypeError("a LeanMinHash takes no items")

    def copy(self) -> LeanMinHash:
        """Return a copy."""
        return _lean(self.seed, self.hashvalues, self.scheme)

    def _format(self, byteorder: str) -> str:
        kind = SCHEMES[self.scheme]
        return f"{byteorder}qi{'B' if kind.affine else ''}{len(self)}{kind.letter}"

    def bytesize(self, byteorder: str = "@") -> int:
        """Return how many bytes `serialize` fills. ``byteorder``: as in the module struct."""
        return struct.calcsize(self._format(byteorder))

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Write the serialised form to the beginning of ``buf``.

        Raises ValueError: the buffer is too small.
        """
        if len(buf) < self.bytesize(byteorder):
            raise ValueError("the buffer is too small for this MinHash")
        kind = SCHEMES[self.scheme]
        head = (self.seed, -len(self), kind.code) if kind.affine else (self.seed, len(self))
        struct.pack_into(self._format(byteorder), buf, 0, *head, *self.hashvalues.tolist())

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """Make a LeanMinHash from its serialised form.

        Raises struct.error: there are too few bytes; ValueError: the scheme is unknown.
        """
        return _lean(*_read(buf, byteorder))

    def __getstate__(self) -> bytearray:
        """Return the serialised form."""
        buf = bytearray(self.bytesize())
        self.serialize(buf)
        return buf

    def __setstate__(self, buf: Any) -> None:
        """Fill the object from its serialised form."""
        self._take(*_read(buf, "@"))

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash of scheme, seed and values."""
        return hash((self.scheme, self.seed, tuple(self.hashvalues)))

    @classmethod
    def union(cls, *lmhs: MinHash) -> LeanMinHash:
        """Return the union of two or more sketches.

        Raises ValueError: there are fewer than two, or they have different permutations.
        """
        first, values = union_of(lmhs)
        return _lean(first.seed, values, first.scheme)


def _lean(seed: Any, values: Any, scheme: str) -> LeanMinHash:
    made = LeanMinHash.__new__(LeanMinHash)
    made._take(seed, values, scheme)
    return made


def _read(buf: Any, byteorder: str) -> tuple[int, np.ndarray[Any, Any], str]:
    """Return seed, values and scheme from the serialised form."""
    head = f"{byteorder}qi"
    buf = memoryview(buf)
    seed, count = struct.unpack_from(head, buf, 0)
    kind, before = SCHEMES["legacy"], head
    if count < 0:
        (code,) = struct.unpack_from(f"{byteorder}B", buf, struct.calcsize(head))
        if code not in _BY_CODE:
            raise ValueError(f"no scheme has the number {code}")
        kind, before, count = _BY_CODE[code], f"{head}B0{_BY_CODE[code].letter}", -count
    values = struct.unpack_from(f"{byteorder}{count}{kind.letter}", buf, struct.calcsize(before))
    return seed, np.array(values, dtype=kind.dtype), kind.name


class bBitMinHash:
    """The lowest ``b`` bits of each hash value of a MinHash. A bBitMinHash can only be compared and pickled.

    ``r``: the share of all items that is in the set, as far as this is known; 0: the share is tiny. Raises ValueError: b is not
    in 0 to 32, r is above 1, or the scheme is unknown.

    The state in a pickle is little-endian: seed (int64), b (uint8), r (float64), then the number of values and the scheme as in
    a LeanMinHash, then words of 64 bits. A word has values of 1, 2, 4, 8, 16 or 32 bits, with the first value in its highest
    bits.
    """

    __slots__ = ("b", "hashvalues", "r", "scheme", "seed")

    def __init__(self, minhash: Any, b: int = 1, r: float = 0.0) -> None:
        """Copy the bits from a sketch that has a scheme."""
        b, r = int(b), float(r)
        if not 0 <= b <= 32:
            raise ValueError("b must be in [0, 32]")
        if r > 1.0:
            raise ValueError("r must be in [0.0, 1.0]")
        self.hashvalues = np.bitwise_and(minhash.hashvalues, (1 << b) - 1).astype(np.uint32)
        self.seed, self.scheme, self.b, self.r = minhash.seed, minhash.scheme, b, r
        scheme_of(self.scheme)

    def _facts(self) -> tuple[Any, ...]:
        return self.scheme, self.seed, self.b, self.r

    def __eq__(self, other: object) -> bool:
        """Return whether type, scheme, seed, b, r and values are the same."""
        if type(self) is not type(other) or not isinstance(other, bBitMinHash):
            return False
        return self._facts() == other._facts() and np.array_equal(self.hashvalues, other.hashvalues)

    __hash__ = None  # type: ignore[assignment]

    def jaccard(self, other: bBitMinHash) -> float:
        """Estimate the similarity of the two sets. The estimate may be less than 0.

        Raises ValueError: b, scheme or seed differ.
        """
        if (self.b, self.scheme, self.seed) != (other.b, other.scheme, other.seed):
            raise ValueError("cannot compare bBitMinHash of different b, schemes or seeds")
        equal = float(np.count_nonzero(self.hashvalues == other.hashvalues)) / float(self.hashvalues.size)
        first, second = self._chance(), other._chance()
        if self.r != 0.0 or other.r != 0.0:
            share = 1 / (self.r + other.r)
            first, second = (first * other.r + second * self.r) * share, (first * self.r + second * other.r) * share
        return (equal - first) / (1 - second)

    def _chance(self) -> float:
        """Return the chance that the lowest bits of two values are equal by accident, as in datasketch."""
        if self.r == 0.0:
            return 1.0 / (1 << self.b)
        rest = 1 - self.r
        chance: float = self.r * rest ** (2**self.b - 1) / (1 - rest ** (2 * self.b))
        return chance

    def _layout(self, n: int) -> tuple[str, int, int]:
        """Return the format of the head, the bits of a value, and how many words ``n`` values take."""
        slot = next(bits for bits in ((1, 2, 4, 8, 16, 32) if self.b else (4,)) if bits >= self.b)
        return "<qBdiB" if SCHEMES[self.scheme].affine else "<qBdi", slot, -(-n * slot // 64)

    def bytesize(self) -> int:
        """Return how many bytes the state in a pickle has."""
        head, _, words = self._layout(self.hashvalues.size)
        return struct.calcsize(f"{head}{words}Q")

    def __getstate__(self) -> bytearray:
        """Return the state for a pickle."""
        n, kind = self.hashvalues.size, SCHEMES[self.scheme]
        head, slot, words = self._layout(n)
        values = np.zeros((words, 64 // slot), dtype=np.uint64)
        values.reshape(-1)[:n] = self.hashvalues
        blocks = np.bitwise_or.reduce(values << _shifts(slot), axis=1).tolist()
        count = (-n, kind.code) if kind.affine else (n,)
        return bytearray(struct.pack(f"{head}{words}Q", self.seed, self.b, self.r, *count, *blocks))

    def __setstate__(self, buf: Any) -> None:
        """Fill the object from the state in a pickle."""
        buf = memoryview(buf)
        self.seed, self.b, self.r, n = struct.unpack_from("<qBdi", buf, 0)
        self.scheme = "legacy"
        if n < 0:
            n, code = -n, buf[struct.calcsize("<qBdi")]
            if code not in _BY_CODE:
                raise ValueError(f"no scheme has the number {code}")
            self.scheme = _BY_CODE[code].name
        head, slot, words = self._layout(n)
        blocks = np.array(struct.unpack_from(f"{words}Q", buf, struct.calcsize(head)), dtype=np.uint64)
        values = (blocks[:, None] >> _shifts(slot)) & np.uint64((1 << slot) - 1)
        self.hashvalues = values.reshape(-1)[:n].astype(np.uint32)


def _shifts(slot: int) -> np.ndarray[Any, Any]:
    """Return by how many bits each value in a word is shifted, from the first value on."""
    return np.arange(64 - slot, -1, -slot).astype(np.uint64)
