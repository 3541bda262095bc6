"""LeanMinHash with the interface and the bytes of datasketch 2."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from bandmill.compat._minhash import MinHash, scheme_of, union_of
from bandmill.compat._schemes import SCHEMES

_BY_CODE = {kind.code: kind for kind in SCHEMES.values() if kind.affine}


class LeanMinHash(MinHash):
    """A MinHash of hash values, seed and scheme alone, which takes no more items.

    Of ``minhash``, or of ``seed``, ``hashvalues`` and ``scheme``. Raises ValueError: neither is whole, or they do not fit.

    Its bytes are a seed (int64), a number (int32) and the values: of ``legacy`` the number of uint32 that follow, of the others
    that number negated, then a byte for the scheme (1 affine32, 2 affine64), then uint32 or uint64.
    """

    __slots__ = ("hashvalues", "scheme", "seed")

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Any = None,
        scheme: str | None = None,
    ) -> None:
        """Shares nothing with what it is made of."""
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
        """Raises TypeError: it takes no items."""
        raise TypeError("a LeanMinHash takes no items")

    def copy(self) -> LeanMinHash:
        """Another of the same state."""
        return _lean(self.seed, self.hashvalues, self.scheme)

    def _format(self, byteorder: str) -> str:
        kind = SCHEMES[self.scheme]
        return f"{byteorder}qi{'B' if kind.affine else ''}{len(self)}{kind.letter}"

    def bytesize(self, byteorder: str = "@") -> int:
        """How many bytes ``serialize`` fills. ``byteorder``: as of the module struct."""
        return struct.calcsize(self._format(byteorder))

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Writes its bytes at the beginning of ``buf``.

        Raises ValueError: too small a buffer.
        """
        if len(buf) < self.bytesize(byteorder):
            raise ValueError("the buffer is too small for this MinHash")
        kind = SCHEMES[self.scheme]
        head = (self.seed, -len(self), kind.code) if kind.affine else (self.seed, len(self))
        struct.pack_into(self._format(byteorder), buf, 0, *head, *self.hashvalues.tolist())

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """One of its bytes.

        Raises struct.error: too few of them; ValueError: an unknown scheme.
        """
        return _lean(*_read(buf, byteorder))

    def __getstate__(self) -> bytearray:
        """Its bytes."""
        buf = bytearray(self.bytesize())
        self.serialize(buf)
        return buf

    def __setstate__(self, buf: Any) -> None:
        """Of its bytes."""
        self._take(*_read(buf, "@"))

    def __hash__(self) -> int:  # type: ignore[override]
        """Of scheme, seed and values."""
        return hash((self.scheme, self.seed, tuple(self.hashvalues)))

    @classmethod
    def union(cls, *lmhs: MinHash) -> LeanMinHash:
        """The union of two or more.

        Raises ValueError: fewer than two, or other permutations.
        """
        first, values = union_of(lmhs)
        return _lean(first.seed, values, first.scheme)


def _lean(seed: Any, values: Any, scheme: str) -> LeanMinHash:
    made = LeanMinHash.__new__(LeanMinHash)
    made._take(seed, values, scheme)
    return made


def _read(buf: Any, byteorder: str) -> tuple[int, np.ndarray[Any, Any], str]:
    """Seed, values and scheme."""
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
