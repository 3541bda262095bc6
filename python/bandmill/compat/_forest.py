# SPDX-License-Identifier: Apache-2.0
"""MinHashLSHForest and MinHashLSHEnsemble with the interface of datasketch 2."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from bandmill.compat._lsh import MinHashLSH, scheme_beside

Array = np.ndarray[Any, Any]


class MinHashLSHForest:
    """An index that finds the sketches most similar to a query. The more first values of one of ``l`` bands a sketch shares
    with the query, the more similar it counts.

    ``num_perm``: least number of hash values of a sketch, rounded down to a multiple of ``l``. Raises ValueError: an argument
    is out of range.
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741
        """Make an empty index."""
        if l <= 0 or num_perm <= 0:
            raise ValueError("num_perm and l must be positive")
        if l > num_perm:
            raise ValueError("l must not be greater than num_perm")
        self.l = l
        self.k = int(num_perm / l)
        self.hashtables: list[dict[bytes, list[Hashable]]] = [defaultdict(list) for _ in range(l)]
        self.hashranges = [(i * self.k, (i + 1) * self.k) for i in range(l)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self.sorted_hashtables: list[list[bytes]] = [[] for _ in range(l)]
        self._shared_scheme: str | None = None

    def _check(self, minhash: Any) -> str | None:
        if len(minhash) < self.k * self.l:
            raise ValueError(f"a MinHash of length {self.k * self.l} at least is wanted, not of {len(minhash)}")
        return scheme_beside(minhash, self._shared_scheme)

    def add(self, key: Hashable, minhash: Any) -> None:
        """Add a sketch under a key. Queries find it only after a call of `index`.

        Raises ValueError: the key is there already, or the sketch does not fit.
        """
        self._shared_scheme = self._check(minhash)
        if key in self.keys:
            raise ValueError("the key is there already")
        self.keys[key] = [_swapped(minhash.hashvalues[start:end]) for start, end in self.hashranges]
        for table, band in zip(self.hashtables, self.keys[key]):
            table[band].append(key)

    def index(self) -> None:
        """Let queries find all sketches that were added so far."""
        self.sorted_hashtables = [sorted(table) for table in self.hashtables]

    def _query(self, minhash: Any, r: int, b: int) -> Iterator[Hashable]:
        """Yield the keys that share the first ``r`` values of any band, table by table. ``b`` is only checked: 1 to ``l``."""
        if r > self.k or r <= 0 or b > self.l or b <= 0:
            raise ValueError("r or b is out of range")
        for bands, table, (start, _) in zip(self.sorted_hashtables, self.hashtables, self.hashranges):
            head = _swapped(minhash.hashvalues[start : start + r])
            for at in range(bisect.bisect_left(bands, head), len(bands)):
                if not bands[at].startswith(head):
                    break
                yield from table[bands[at]]

    def query(self, minhash: Any, k: int) -> list[Hashable]:
        """Return at most ``k`` keys, approximately those of the most similar sketches, in no order.

        Raises ValueError: k is not positive, or the sketch does not fit.
        """
        if k <= 0:
            raise ValueError("k must be positive")
        self._check(minhash)
        found: set[Hashable] = set()
        for r in range(self.k, 0, -1):
            for key in self._query(minhash, r, self.l):
                found.add(key)
                if len(found) >= k:
                    return list(found)
        return list(found)

    def get_minhash_hashvalues(self, key: Hashable) -> Array:
        """Return the hash values that are stored under a key: those of whole bands.

        Raises KeyError: the key is not there; ValueError: the stored bytes are not values of 4 or 8 bytes.
        """
        if self.keys.get(key) is None:
            raise KeyError(f"the key {key!r} is not there")
        bands = self.keys[key]
        width, rest = divmod(len(bands[0]), self.k)
        if rest or width not in (4, 8) or any(len(band) != len(bands[0]) for band in bands):
            raise ValueError("what stands there are no hash values of 4 or 8 bytes")
        values: Array = np.frombuffer(b"".join(bands), f"u{width}").byteswap()
        return values

    def is_empty(self) -> bool:
        """Return whether queries find nothing: no sketch was added, or `index` was not called after the first one."""
        return any(len(bands) == 0 for bands in self.sorted_hashtables)

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the key was added, with or without a call of `index`."""
        return key in self.keys


def _swapped(values: Any) -> bytes:
    return bytes(values.byteswap().data)


class MinHashLSHEnsemble:
    """An index that finds the sets which hold at least the share ``threshold`` of a query.

    Sets are divided by size among ``num_part`` partitions. For several ratios of sizes, the best numbers of bands and rows are
    computed, with at most ``m`` rows. A partition has an index for each of these numbers of rows. ``weights``: the weights of
    wrongly found and of missed sets; their sum is 1. ``storage_config``, ``prepickle``: as in MinHashLSH. Raises ValueError: an
    argument is out of range.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        """Make an empty index."""
        if threshold > 1.0 or threshold < 0.0:
            raise ValueError("threshold must be in [0.0, 1.0]")
        if num_perm < 2:
            raise ValueError("num_perm must be 2 or more")
        if num_part < 1:
            raise ValueError("num_part must be positive")
        if m < 2 or m > num_perm:
            raise ValueError("m must be in [2, num_perm]")
        if any(w < 0.0 or w > 1.0 for w in weights):
            raise ValueError("weights must be in [0.0, 1.0]")
        if sum(weights) != 1.0:
            raise ValueError("weights must sum to 1.0")
        self.threshold = threshold
        self.h = num_perm
        self.m = m
        self.xqs = np.exp(np.linspace(-5, 5, 10))
        self.params = np.array([_best_bands(threshold, num_perm, m, xq, *weights) for xq in self.xqs], dtype=int)
        rows = {int(r) for _, r in self.params}
        made: dict[str, Any] = {"num_perm": num_perm, "storage_config": storage_config, "prepickle": prepickle}
        self.indexes = [{r: MinHashLSH(params=(int(num_perm / r), r), **made) for r in rows} for _ in range(num_part)]
        self.lowers: list[Any] = [None] * num_part
        self.uppers: list[Any] = [None] * num_part

    def index(self, entries: Iterable[tuple[Hashable, Any, int]]) -> None:
        """Add all sets, each as a key, a sketch and a size. This can be done only once.

        Raises ValueError: the index has sets already, or ``entries`` is empty, or a size is not positive (not checked if
        ``entries`` is a list).
        """
        if not self.is_empty():
            raise ValueError("an index that is not empty takes no more")
        if not isinstance(entries, list):
            entries = list(entries)
            if any(size <= 0 for _, _, size in entries):
                raise ValueError("a size must be positive")
        if len(entries) == 0:
            raise ValueError("there are no entries")
        parts = _partitions(*np.unique([size for _, _, size in entries], return_counts=True), len(self.indexes))
        for i, (lower, upper) in enumerate(parts):
            self.lowers[i], self.uppers[i] = lower, upper
        entries.sort(key=lambda entry: entry[2])
        part = 0
        for key, minhash, size in entries:
            if size > self.uppers[part]:
                part += 1
            for lsh in self.indexes[part].values():
                lsh.insert(key, minhash)

    def query(self, minhash: Any, size: int) -> Iterator[Hashable]:
        """Yield the keys of sets that may hold the share, partition by partition. ``size``: the size of the query's set.

        Raises ValueError: the sketch does not fit.
        """
        for upper, indexes in zip(self.uppers, self.indexes):
            if upper is not None:
                at = int(np.searchsorted(self.xqs, float(upper) / float(size), side="left"))
                b, r = self.params[min(at, len(self.params) - 1)]
                yield from indexes[r]._query_b(minhash, b)

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the key is there."""
        return any(key in lsh for indexes in self.indexes for lsh in indexes.values())

    def is_empty(self) -> bool:
        """Return whether the index has no key."""
        return all(lsh.is_empty() for indexes in self.indexes for lsh in indexes.values())


_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(100)


def _best_bands(threshold: float, num_perm: int, m: int, xq: float, found: float, missed: float) -> tuple[int, int]:
    """Return the b and r, with r at most ``m``, for which the weighted sum of two areas is least. One is the area under the
    chance that a set below the threshold is found; the other is that under the chance that a set above it is missed.

    ``xq``: the size of a set divided by the size of the query. A set of containment t then has the similarity t / (1 + xq - t).
    Gauss's rule with a hundred points gives the areas to the last digits. Of equal sums, the first is chosen.
    """
    most = min(xq, 1.0)
    r = np.arange(1, m + 1)

    def lost(start: float, end: float) -> tuple[Array, Array]:
        """Return two arrays for the points of an interval: for every r, the chances that one band does not match; and the
        weights of the points.
        """
        t = start + (end - start) * (_POINTS + 1) / 2
        return 1 - (t / (1 + xq - t)) ** r[:, None], _WEIGHTS * (end - start) / 2

    (wrong, w), (right, v) = lost(0.0, min(threshold, xq)), lost(min(threshold, most), most)
    best, least = (0, 0), np.inf
    for b in range(1, num_perm + 1):
        errors = ((1 - wrong**b) @ w * found + right**b @ v * missed)[: num_perm // b]
        at = int(np.argmin(errors))
        if errors[at] < least:
            best, least = (b, at + 1), errors[at]
    return best


def _partitions(sizes: Array, counts: Array, n: int) -> list[tuple[Any, Any]]:
    """Return the least and the greatest size of each partition. They are chosen so that few sets are much smaller than the
    greatest set of their partition.

    The choice is that of datasketch. For all bounds but the last, it prefers as many sizes from the beginning as there are
    partitions, which is not always the least cost.
    """
    if n < 2:
        return [(sizes[0], sizes[-1])]
    if n >= len(sizes):
        return [(size, size) for size in sizes]
    m = len(sizes)
    one = np.zeros((m, m))  # cost of a partition from one size to another
    for u in range(m):
        parts = (float(sizes[u]) - sizes[: u + 1]) / float(sizes[u]) * counts[: u + 1]
        one[: u + 1, u] = [np.sum(parts[start:]) for start in range(u + 1)]
    costs = {1: one[0]}  # for each number of partitions: the cost of all sizes up to each size
    for p in range(2, n):
        costs[p] = np.zeros(m)
        for u in range(p - 1, m):
            costs[p][u] = np.min(costs[p - 1][p - 2 : u] + one[p - 1 : u + 1, u])
    ends = [m - 1]
    for p in range(n, 1, -1):
        before, first, u = costs[p - 1 if p == n else p], p - 2, ends[0]
        ends.insert(0, first + int(np.argmin(before[first:u] + one[first + 1 : u + 1, u])))
    starts = [0, *(end + 1 for end in ends[:-1])]
    return [(sizes[start], sizes[end]) for start, end in zip(starts, ends)]
