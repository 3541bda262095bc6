# SPDX-License-Identifier: Apache-2.0
"""MinHashLSH with the interface of datasketch 2."""

from __future__ import annotations

import functools
import gc
import pickle
import struct
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Callable

import numpy as np

from bandmill._apart import apart
from bandmill._native import lib
from bandmill.compat._lean import LeanMinHash
from bandmill.compat._minhash import MinHash
from bandmill.compat._storage import Lists, Sets, Storage

_WORDS: dict[int, np.dtype[Any]] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
_MADE = ("_buckets", "_calm", "_keys", "_late", "_lock", "_tables", "_take")
_MANY = 1000  # from this number of waiting insertions on, the tables are filled without garbage collection
_ELSEWHERE = ("redis", "cassandra", "mongodb", "aioredis", "aiomongo")


class MinHashLSH:
    """An index of sketches, which finds similar sketches. It has b bands of r neighbouring hash values. Sketches that share a
    band count as similar.

    ``threshold``: the similarity to find. b and r are chosen for it, so that few pairs below it are found and few above it are
    missed. ``weights`` are the weights of these two errors, in this order; their sum is 1. ``params``: (b, r), instead of this
    choice. ``num_perm``: number of hash values of a sketch. ``storage_config``: only the type "dict". ``prepickle``: keys are
    stored pickled. ``hashfunc``: a function from bytes to bytes; the tables store its results instead of whole bands.

    Raises ValueError: an argument is out of range; NotImplementedError: the storage is outside this process.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Make an empty index."""
        check_storage(storage_config or {"type": "dict"})
        if threshold > 1.0 or threshold < 0.0:
            raise ValueError("threshold must be in [0.0, 1.0]")
        if num_perm < 2:
            raise ValueError("num_perm must be 2 or more")
        if any(w < 0.0 or w > 1.0 for w in weights):
            raise ValueError("weights must be in [0.0, 1.0]")
        if sum(weights) != 1.0:
            raise ValueError("weights must sum to 1.0")
        self._buffer_size = 50000
        self.h = num_perm
        if params is None:
            found, missed = weights
            self.b, self.r = best_bands(threshold, num_perm, found, missed)
        else:
            self.b, self.r = params
            if self.b * self.r > num_perm:
                raise ValueError(f"params of {self.b} * {self.r} hash values are more than num_perm {num_perm}")
        if self.b < 2:
            raise ValueError("too few bands (b < 2)")
        self.prepickle = False if prepickle is None else prepickle
        self.hashfunc = hashfunc
        self._tables: list[Storage] = [Sets() for _ in range(self.b)]
        self.hashranges = [(i * self.r, (i + 1) * self.r) for i in range(self.b)]
        self._keys: Storage = Lists()
        self._shared_scheme: str | None = None
        self._shown = False
        self._apart = hashfunc is not None or type(self.b) is not int or type(self.r) is not int or self.r < 1
        self._buckets: _Buckets | None = None
        self._begin()
        if not self._apart:
            self._buckets = _Buckets(self.b, self.r)

    # An insertion is checked first. Then the key and the bytes of the hash values are stored in _keys, in _late for the tables,
    # and in the waiting list of _buckets. The tables are filled when something needs them (_settle). As long as there were only
    # insertions, queries are answered by _buckets, which has the same entries as the tables. A removal drops _buckets, and it
    # is made again once enough queries have come to make this worthwhile. If the caller has got the tables, it may change them.
    # From then on the tables are filled at once, and only they answer queries (_apart). If the caller has got the keys, it may
    # look for a key in them. From then on keys and tables are filled at once (_shown).

    def _begin(self) -> None:
        self._buckets = None
        self._late: list[tuple[Hashable, bytes]] = []
        self._lock = threading.RLock()
        self._take = None if self._apart or self._shown else _taker()

    @property
    def hashtables(self) -> list[Storage]:
        """A table for each band, from the bytes of the band to the keys of the sketches with these bytes."""
        self._part()
        return self._tables

    @hashtables.setter
    def hashtables(self, tables: list[Storage]) -> None:
        self._part()
        self._tables = tables

    @property
    def keys(self) -> Storage:
        """The table from keys to the bands of their sketches."""
        self._show()
        return self._keys

    @keys.setter
    def keys(self, keys: Storage) -> None:
        self._show()
        self._keys = keys

    def _part(self) -> None:
        self._take = None
        self._settle()
        self._buckets, self._apart = None, True

    def _show(self) -> None:
        self._take = None
        self._settle()
        self._shown = True

    def _settle(self) -> None:
        """Fill the tables with the late insertions. Doing it twice changes nothing."""
        if not self._late:
            return
        with self._lock:
            if len(self._late) < _MANY or not gc.isenabled():
                self._fill()
            else:
                apart(self._fill_at_once)

    def _fill_at_once(self) -> None:
        """Fill the tables without garbage collection, which would find nothing among many new sets, but take twice as long as
        the rest.
        """
        gc.disable()
        try:
            self._fill()
        finally:
            gc.enable()

    def _fill(self) -> None:
        while n := len(self._late):
            late = self._late[:n]
            rows = [self._cut(raw) for _, raw in late]
            for table, column in zip(self._tables, zip(*rows)):
                for band, (key, _) in zip(column, late):
                    table.setdefault(band, set()).add(key)
            self._keys.update((key, list(bands)) for (key, _), bands in zip(late, rows))
            del self._late[:n]

    def _cut(self, raw: bytes) -> tuple[bytes, ...]:
        """Cut the bytes of hash values into bands."""
        width = len(raw) // self.h
        turned = np.frombuffer(raw, _WORDS[width], self.b * self.r).byteswap().tobytes()
        return _cutter(self.b, self.r * width)(turned)

    def _mend(self) -> None:
        """Count a query without buckets, and make the buckets again after enough of them: a quarter of the number of keys."""
        if self._apart or self._shown:
            return
        self._calm = getattr(self, "_calm", 0) + 1
        if 4 * self._calm >= len(self._keys):
            self._settle()
            made = _Buckets(self.b, self.r)
            made.waiting.extend((key, tuple(bands)) for key, bands in self._keys.items())
            self._buckets = made  # set when complete, because other threads may be asking

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes except those that `__setstate__` can make from the others."""
        self._settle()
        state = {name: value for name, value in self.__dict__.items() if name not in _MADE}
        return {**state, "hashtables": self._tables, "keys": self._keys}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes, and make the others."""
        state = dict(state)
        self._tables, self._keys = state.pop("hashtables"), state.pop("keys")
        self.__dict__.update({"_apart": False, "_shown": False, **state})
        self._begin()

    def __copy__(self) -> MinHashLSH:
        """Return another index that uses the same tables and keys."""
        self._part()
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    @property
    def buffer_size(self) -> int:
        """A number that has no effect, because insertions are never buffered."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = value
        for storage in (self._keys, *self._tables):
            storage.buffer_size = value

    def _check(self, minhash: Any) -> str | None:
        """Check a sketch, and return the scheme that the index has with it."""
        if len(minhash) != self.h:
            raise ValueError(f"a MinHash of length {self.h} is wanted, not of {len(minhash)}")
        return scheme_beside(minhash, self._shared_scheme)

    def _bands(self, minhash: Any) -> tuple[bytes, ...]:
        """Return the bytes that are stored for each band of a sketch."""
        if self.r < 1:
            bands = tuple(bytes(minhash.hashvalues[start:end].byteswap().data) for start, end in self.hashranges)
        else:
            raw = minhash.hashvalues[: self.b * self.r].byteswap().tobytes()
            bands = _cutter(self.b, len(raw) // self.b)(raw)
        return bands if self.hashfunc is None else tuple(map(self.hashfunc, bands))

    def _kept(self, key: Hashable) -> Hashable:
        return pickle.dumps(key) if self.prepickle else key

    def _given(self, kept: Iterable[Any]) -> list[Hashable]:
        return [pickle.loads(key) for key in kept] if self.prepickle else list(kept)

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Add a sketch under a key.

        Raises ValueError: the key is there already (unless ``check_duplication=False``), or the sketch does not fit.
        """
        self._insert(key, minhash, check_duplication)

    def _insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        take = self._take
        raw = None if take is None else take(minhash, self._shared_scheme, self.h)
        if raw is None:
            self._shared_scheme = self._check(minhash)
        if self.prepickle:
            key = pickle.dumps(key)
        if check_duplication and key in self._keys:
            raise ValueError("the key is there already")
        if raw is None or (not check_duplication and key in self._keys):
            self._insert_now(key, self._bands(minhash))
            return
        self._keys[key] = raw
        one = (key, raw)
        self._late.append(one)
        if self._buckets is not None:
            self._buckets.waiting.append(one)

    def _insert_now(self, key: Hashable, bands: tuple[bytes, ...]) -> None:
        self._settle()
        if key in self._keys:
            self._part()
        self._keys.insert(key, *bands)
        for table, band in zip(self._tables, bands):
            table.insert(band, key)
        if self._buckets is not None:
            self._buckets.waiting.append((key, bands))

    def query(self, minhash: Any) -> list[Hashable]:
        """Return the keys of the sketches that share a band with this sketch, in no order.

        Raises ValueError: the sketch does not fit.
        """
        buckets = self._buckets
        if buckets is not None:
            keys = buckets.look(minhash, self._shared_scheme, self.h, buckets.keys, buckets.waiting)
            if keys is not None:
                return keys if not self.prepickle else self._given(keys)
            if buckets.waiting:  # entries that the buckets do not take
                self._part()
        else:
            self._mend()
        self._check(minhash)
        self._settle()
        found = set().union(*filter(None, map(dict.get, self._tables, self._bands(minhash))))
        return self._given(found)

    def _query_b(self, minhash: Any, b: int) -> list[Hashable]:
        """Query with only the first ``b`` bands. Raises ValueError: the index has fewer bands, or the sketch does not fit."""
        self._check(minhash)
        if b > self.b:
            raise ValueError(f"an index of {self.b} bands has no {b}")
        self._settle()
        return self._given(set().union(*filter(None, map(dict.get, self._tables[:b], self._bands(minhash)))))

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Add a query to the buffer, for `collect_query_buffer`. Raises ValueError: the sketch does not fit."""
        self._check(minhash)
        self._settle()
        for table, band in zip(self._tables, self._bands(minhash)):
            table.add_to_select_buffer([band])

    def collect_query_buffer(self) -> list[Hashable]:
        """Return the keys that every query in the buffer finds, and empty the buffer. No queries: no keys."""
        self._settle()  # so that the buckets of earlier look-ups are complete
        by_query = zip(*[table.collect_select_buffer() for table in self._tables])
        found = [set().union(*bands) for bands in by_query]
        return self._given(set.intersection(*found)) if found else []

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the key is there."""
        return self._kept(key) in self._keys

    def remove(self, key: Hashable) -> None:
        """Remove a key and its sketch.

        Raises ValueError: the key is not there.
        """
        key = self._kept(key)
        if key not in self._keys:
            raise ValueError("the key is not there")
        self._settle()
        self._buckets, self._calm = None, 0
        for band, table in zip(self._keys[key], self._tables):
            table.remove_val(band, key)
            if not table.get(band):
                table.remove(band)
        self._keys.remove(key)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Add all sketches of another index to this one.

        Raises ValueError: ``other`` has other bands, another scheme or another type, or (only with ``check_overlap=True``) a
        key is in both.
        """
        if type(self) is not type(other):
            raise ValueError(f"a MinHashLSH does not merge with a {type(other).__name__}")
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("indexes of other bands do not merge")
        known, more = self._shared_scheme, other._shared_scheme
        if known is not None and more is not None and known != more:
            raise ValueError(f"an index of scheme {more!r} does not merge into one of scheme {known!r}")
        if check_overlap and not self._keys.keys().isdisjoint(other._keys.keys()):
            raise ValueError("a key is in both")
        self._shared_scheme = known or more
        other._settle()
        for key in other._keys:
            self._insert_now(key, tuple(other._keys[key]))

    def is_empty(self) -> bool:
        """Return whether the index has no key."""
        return not self._late and any(len(table) == 0 for table in self._tables)

    def get_counts(self) -> list[dict[Hashable, int]]:
        """Return, for each band, how many keys each bucket has."""
        self._settle()
        return [table.itemcounts() for table in self._tables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[Hashable, int]]:
        """Return, for each band, how many of these keys each bucket has. Keys that are not in the index are ignored."""
        self._settle()
        tables = [Sets() for _ in range(self.b)]
        for key in {self._kept(key) for key in set(keys)}:
            for band, table in zip(self._keys[key], tables):
                table.insert(band, key)
        return [table.itemcounts() for table in tables]

    def insertion_session(self, buffer_size: int = 50000) -> MinHashLSHInsertionSession:
        """Return an object for a with-statement, whose method ``insert`` adds sketches."""
        return MinHashLSHInsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = 50000) -> MinHashLSHDeletionSession:
        """Return an object for a with-statement, whose method ``remove`` removes keys."""
        return MinHashLSHDeletionSession(self, buffer_size)


class _Buckets:
    """A copy of the tables in a form that is only for queries (tools/buckets.c)."""

    def __init__(self, bands: int, rows: int) -> None:
        """Make empty buckets."""
        made: list[Callable[..., list[Hashable] | None]] = []
        if not lib.bm_py_buckets(id(made), id(MinHash), id(LeanMinHash), bands, rows):
            raise MemoryError("no memory for buckets")
        self.look = made[0]
        self.keys: list[Hashable] = []
        self.waiting: list[tuple[Hashable, bytes | tuple[bytes, ...]]] = []


@functools.lru_cache(maxsize=1)
def _taker() -> Callable[..., bytes | None]:
    """Return a function that returns the bytes of a sketch's hash values, or None if the sketch must be inserted at once
    (tools/buckets.c).
    """
    known = [id(kind) for kind in (MinHash, LeanMinHash, np.ndarray, _WORDS[4], _WORDS[8])]
    made: list[Callable[..., bytes | None]] = []
    if not lib.bm_py_taker(id(made), known):
        raise MemoryError("no memory for sketches")
    return made[0]


class _Session:
    """The common part of both sessions. Changes are made at once, so closing does nothing."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        """Begin a session of an index, and set the index's ``buffer_size``."""
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        """End the session."""
        self.close()

    def close(self) -> None:
        """End the session."""


class MinHashLSHInsertionSession(_Session):
    """A session of insertions."""

    def __enter__(self) -> MinHashLSHInsertionSession:
        """Return the session."""
        return self

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Insert as ``MinHashLSH.insert`` does."""
        self.lsh._insert(key, minhash, check_duplication)


class MinHashLSHDeletionSession(_Session):
    """A session of removals."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        """Return the session."""
        return self

    def remove(self, key: Hashable) -> None:
        """Remove as ``MinHashLSH.remove`` does."""
        self.lsh.remove(key)


def scheme_beside(minhash: Any, known: str | None) -> str | None:
    """Return the scheme of an index after a sketch is added: ``known``, or the sketch's scheme if ``known`` is None. Raises
    ValueError if the two schemes differ. A sketch without a scheme fits every index.
    """
    scheme: str | None = getattr(minhash, "scheme", None)
    if scheme is not None and known is not None and scheme != known:
        raise ValueError(f"a MinHash of scheme {scheme!r} beside those of scheme {known!r}")
    return scheme or known


def check_storage(config: Mapping[str, Any]) -> None:
    """Refuse every storage except "dict", and a basename that is not bytes."""
    kind = config["type"]
    if kind in _ELSEWHERE:
        raise NotImplementedError(f"storage_config of type {kind!r}: only 'dict' is there")
    if kind != "dict":
        raise ValueError(f"unknown storage type {kind!r}")
    if not isinstance(config.get("basename", b""), (bytes, bytearray, memoryview)):
        raise TypeError("basename must be bytes")


@functools.lru_cache(maxsize=64)
def _cutter(pieces: int, width: int) -> Callable[[bytes], tuple[bytes, ...]]:
    return struct.Struct(f"{width}s" * pieces).unpack


def _plans(num_perm: int) -> Iterator[tuple[int, int]]:
    return ((b, r) for b in range(1, num_perm + 1) for r in range(1, num_perm // b + 1))


@functools.lru_cache(maxsize=256)
def best_bands(threshold: float, num_perm: int, found: float, missed: float) -> tuple[int, int]:
    """Return the b and r for which the weighted sum of two areas is least: the area under the chance to be found, for
    similarities below the threshold, and the area under the chance to be missed, for those above. Of equal sums, the first is
    chosen.

    The chance 1 - (1 - s^r)^b that a pair of similarity s is found is a polynomial of degree b r, at most ``num_perm``. So
    Gauss's rule with enough points gives the areas exactly.
    """
    points, weights = np.polynomial.legendre.leggauss(num_perm // 2 + 1)
    below, above = threshold * (points + 1) / 2, threshold + (1 - threshold) * (points + 1) / 2
    best, least = (0, 0), np.inf
    for b, r in _plans(num_perm):
        wrong = threshold / 2 * float(weights @ (1 - (1 - below**r) ** b))
        lost = (1 - threshold) / 2 * float(weights @ (1 - (1 - (1 - above**r) ** b)))
        error = wrong * found + lost * missed
        if error < least:
            best, least = (b, r), error
    return best
