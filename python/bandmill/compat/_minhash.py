# SPDX-License-Identifier: Apache-2.0
"""MinHash with the interface of datasketch 2."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Callable

import numpy as np

from bandmill.compat._schemes import (
    LOW32,
    NAMES,
    SCHEMES,
    Scheme,
    Signer,
    can_be_signed,
    can_sign,
    kept_signer,
    modulo_mersenne,
)

_AT_ONCE = 1 << 16  # tokens in a batch of bulk
_WORTH = 16  # update_batch passes a batch to the library if it has at least this many items
_SAME = ("permutation schemes", "seeds", "numbers of permutation functions")


class MinHash:
    """A sketch of a set: the least hash of its items in each of ``num_perm`` permutations.

    ``num_perm``: the number of permutations; ignored if ``hashvalues`` is given. ``seed`` determines the permutations.
    ``hashfunc``: a function from an item to an integer of 32 bits (``affine64``: 64). None: the first bytes of SHA-1, for items
    that are bytes. ``hashvalues``: values to begin with. ``permutations``: coefficients (a, b), instead of those from ``seed``.
    If one of these two is given, ``scheme`` must be given too. ``scheme``: ``affine32`` (the default), ``affine64``, or
    ``legacy``, the scheme of datasketch before 2. ``gpu_mode``: with "always", `update_batch` raises RuntimeError; any other
    value means the CPU. ``hashobj``: deprecated and ignored, with a warning.

    Raises ValueError: the number of permutations, the scheme or the values do not fit.
    """

    scheme: str
    seed: Any
    num_perm: int
    hashfunc: Callable[[Any], Any]
    hashvalues: np.ndarray[Any, Any]
    permutations: Any

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: Callable[[Any], Any] | None = None,
        hashobj: object | None = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: str | None = None,
    ) -> None:
        """Make the sketch of the empty set, or a sketch with ``hashvalues``."""
        if scheme is None and (hashvalues is not None or permutations is not None):
            raise ValueError(
                "hashvalues and permutations do not say how they were made: give scheme beside them "
                "('legacy' for those of datasketch before 2)"
            )
        self.scheme = "affine32" if scheme is None else scheme
        kind = scheme_of(self.scheme)
        if hashvalues is not None:
            num_perm = len(hashvalues)
        if num_perm < 1:
            raise ValueError("num_perm must be positive")
        if num_perm > LOW32 + 1:
            raise ValueError(f"num_perm may be at most {LOW32 + 1}")
        self.seed = seed
        self.num_perm = num_perm
        self.hashfunc = kind.hashfunc if hashfunc is None else hashfunc
        if not callable(self.hashfunc):
            raise ValueError("hashfunc must be callable")
        if hashobj is not None:
            warnings.warn("hashobj does nothing: use hashfunc", DeprecationWarning, stacklevel=2)
        if hashvalues is not None:
            self.hashvalues = self._as_words(hashvalues)
        else:
            self.hashvalues = np.full(num_perm, kind.empty)
        if permutations is not None:
            self.permutations = _parse_permutations(permutations, kind)
        else:
            self.permutations = kind.coefficients(seed, num_perm)
        self._gpu_mode = gpu_mode
        if len(self.permutations[0]) != len(self):
            raise ValueError("as many permutations as hash values are needed")

    def _as_words(self, values: Any) -> np.ndarray[Any, Any]:
        kind = SCHEMES[self.scheme]
        return kind.array(values, "hash values") if kind.affine else np.array(values, dtype=kind.dtype)

    def _check_same(self, other: Any, doing: str) -> None:
        kinds = (
            getattr(other, "scheme", None) == self.scheme,
            lambda: bool(other.seed == self.seed),
            lambda: len(self) == len(other),
        )
        for same, what in zip(kinds, _SAME):
            if not (same() if callable(same) else same):
                raise ValueError(f"cannot {doing} MinHash of different {what}")

    def update(self, b: Any) -> None:
        """Add an item of a type that ``hashfunc`` accepts, usually bytes.

        Raises ValueError: the hash does not fit the scheme. Exceptions of ``hashfunc`` are passed on.
        """
        kind = SCHEMES[self.scheme]
        value = self.hashfunc(b)
        first, second = self.permutations
        values = first * kind.mixed_one(value) + second if kind.affine else modulo_mersenne(first * value + second)
        self.hashvalues = np.minimum(values, self.hashvalues)

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add items.

        Raises ValueError: a hash does not fit the scheme; RuntimeError: there are items, and ``gpu_mode`` is "always".
        Exceptions of ``hashfunc`` are passed on.
        """
        kind = SCHEMES[self.scheme]
        items = list(b)
        if not items:
            return
        hashes = kind.hash_sets([items], self.hashfunc)
        permutations = self.permutations
        if self._gpu_mode == "always":
            raise RuntimeError("gpu_mode 'always': these batches are done by the CPU")
        if not isinstance(hashes, np.ndarray):
            hashes = kind.hashes(hashes).reshape(-1)
        if len(hashes) >= _WORTH and can_sign(kind, self.seed, permutations) and can_be_signed(kind, hashes):
            signer = kept_signer(kind.name, self.seed, len(permutations[0]))
            self.hashvalues = np.minimum(self.hashvalues, signer.sign(hashes, [len(hashes)])[0])
            return
        step = max(1, (1 << 18) // max(1, len(self)))  # as much as the caches hold
        for at in range(0, len(hashes), step):
            self.hashvalues = np.minimum(self.hashvalues, kind.minima(hashes[at : at + step], permutations))

    def jaccard(self, other: MinHash) -> float:
        """Estimate the similarity of the two sets, from 0 to 1.

        Raises ValueError: the permutations differ.
        """
        self._check_same(other, "compare")
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / float(len(self))

    def count(self) -> float:
        """Estimate the number of distinct items of the set."""
        share = np.sum(self.hashvalues / float(SCHEMES[self.scheme].empty))
        estimate: float = float(len(self)) / share - 1.0
        return estimate

    def merge(self, other: MinHash) -> None:
        """Make this the sketch of the union of both sets.

        Raises ValueError: the permutations differ.
        """
        self._check_same(other, "merge")
        self.hashvalues = np.minimum(other.hashvalues, self.hashvalues)

    def digest(self) -> np.ndarray[Any, Any]:
        """Return a copy of the hash values, an array of the shape (num_perm,)."""
        copied: np.ndarray[Any, Any] = self.hashvalues.copy()
        return copied

    def is_empty(self) -> bool:
        """Return whether the set is empty."""
        return not np.any(self.hashvalues != SCHEMES[self.scheme].empty)

    def clear(self) -> None:
        """Make this the sketch of the empty set."""
        self.hashvalues = np.full(len(self), SCHEMES[self.scheme].empty)

    def copy(self) -> MinHash:
        """Return a copy, which shares the permutations."""
        return MinHash(
            seed=self.seed,
            hashfunc=self.hashfunc,
            hashvalues=self.digest(),
            permutations=self.permutations,
            gpu_mode=self._gpu_mode,
            scheme=self.scheme,
        )

    def __len__(self) -> int:
        """Return the number of hash values."""
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        """Return whether type, scheme, seed and hash values are the same."""
        if type(self) is not type(other) or not isinstance(other, MinHash):
            return False
        return (
            self.scheme == other.scheme and bool(self.seed == other.seed) and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """Return the union of two or more sketches, with the hash function and permutations of the first.

        Raises ValueError: there are fewer than two, or they differ in seed, number of permutations or scheme.
        """
        first, values = union_of(mhs)
        return cls(
            num_perm=len(first),
            seed=first.seed,
            hashfunc=first.hashfunc,
            hashvalues=values,
            permutations=first.permutations,
            gpu_mode=first._gpu_mode,
            scheme=first.scheme,
        )

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[MinHash]:
        """Return a list with a MinHash for each set of items, all made with the same keywords.

        Raises the errors of ``MinHash`` and ``update_batch``.
        """
        if cls is not MinHash:
            return list(cls.generator(b, **minhash_kwargs))
        model = MinHash(**minhash_kwargs)
        if model._gpu_mode == "always" or model.hashvalues.ndim != 1:
            return list(_one_by_one(model, b))
        return _bulk(model, b)

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Generator[MinHash, None, None]:
        """Yield a MinHash for each set of items, made when it is requested. The values are those of `bulk`."""
        yield from _one_by_one(cls(**minhash_kwargs), b)

    def __getstate__(self) -> Any:
        """Return the attributes."""
        return self.__dict__.copy()

    def __setstate__(self, state: Any) -> None:
        """Restore the attributes. A state without a scheme is older than schemes, so its scheme is legacy."""
        self.__dict__.update({"scheme": "legacy", **state})


def scheme_of(name: Any) -> Scheme:
    """Return the scheme with a name. Raises ValueError if there is no such scheme."""
    if name not in NAMES:
        raise ValueError(f"scheme must be one of {', '.join(NAMES)}, not {name!r}")
    return SCHEMES[name]


def union_of(sketches: tuple[MinHash, ...]) -> tuple[MinHash, np.ndarray[Any, Any]]:
    """Return the first sketch, and the least values of all sketches. Raises ValueError: there are fewer than two, or their
    seeds, sizes or schemes differ.
    """
    if len(sketches) < 2:
        raise ValueError("a union needs two MinHash at least")
    first = sketches[0]
    size, seed, scheme = len(first), first.seed, first.scheme
    if any(seed != m.seed or size != len(m) or scheme != m.scheme for m in sketches):
        raise ValueError("a union needs MinHash of the same seed, number of permutations and scheme")
    return first, np.minimum.reduce([m.hashvalues for m in sketches])


def _parse_permutations(given: Any, kind: Scheme) -> Any:
    """Return the given permutations as an array (2, num_perm) of the scheme's type. An array that has this type already is
    returned unchanged, and so is anything for legacy. Raises ValueError if a number does not fit, or an a is even.
    """
    if not kind.affine:
        return given
    ready = isinstance(given, np.ndarray) and given.dtype == kind.dtype
    parsed = given if ready else np.array([kind.array(given[i], "permutations") for i in range(2)])
    if np.any(parsed[0] & kind.dtype(1) == 0):
        raise ValueError(f"each a of the permutations must be odd for scheme {kind.name!r}")
    return parsed


def _one_by_one(model: MinHash, sets: Iterable[Iterable[Any]]) -> Iterator[MinHash]:
    usual = type(model) is MinHash
    for items in sets:
        made = _again(model, model.hashvalues.copy()) if usual else model.copy()
        made.update_batch(items)
        yield made


def _again(model: MinHash, values: np.ndarray[Any, Any]) -> MinHash:
    """Make a sketch with these values and the other attributes of the model. Nothing is checked.

    Attributes are set one by one in the order of __init__, so that all such objects share the keys of their dictionaries.
    """
    made = MinHash.__new__(MinHash)
    made.scheme = model.scheme
    made.seed = model.seed
    made.num_perm = model.num_perm
    made.hashfunc = model.hashfunc
    made.hashvalues = values
    made.permutations = model.permutations
    made._gpu_mode = model._gpu_mode
    return made


def _batches(sets: Iterable[Iterable[Any]]) -> Iterator[list[list[Any]]]:
    """Divide sets into batches of about as many items as are processed at once."""
    batch: list[list[Any]] = []
    items = 0
    for one in sets:
        batch.append(one if type(one) is list else list(one))
        items += len(batch[-1])
        if items >= _AT_ONCE or len(batch) >= _AT_ONCE:
            yield batch
            batch, items = [], 0
    yield batch


def _bulk(model: MinHash, sets: Iterable[Iterable[Any]]) -> list[MinHash]:
    """Make a sketch of each set, with the attributes of the model. The library computes the values of a batch if it makes the
    same permutations and the hashes fit; otherwise NumPy does.
    """
    kind = SCHEMES[model.scheme]
    signer = Signer(kind.name, model.seed, model.num_perm) if can_sign(kind, model.seed, model.permutations) else None
    fresh = model.is_empty()
    made: list[MinHash] = []
    try:
        for batch in _batches(sets):
            lengths = [len(items) for items in batch]
            hashes = kind.hash_sets(batch, model.hashfunc)
            if not isinstance(hashes, np.ndarray):
                hashes = kind.hashes(hashes) if hashes else np.empty(0, dtype=kind.dtype)
                if hashes.ndim != 1:  # the hash function returned arrays; then sets are processed one by one
                    hashes = hashes.reshape(sum(lengths), -1)
            if signer is not None and can_be_signed(kind, hashes):
                rows: Iterable[np.ndarray[Any, Any]] = signer.sign(hashes, lengths)
            else:
                rows = _rows(model, kind, hashes, lengths)
            if fresh:
                made.extend(_again(model, row.astype(kind.dtype)) for row in rows)
            else:
                made.extend(_again(model, np.minimum(model.hashvalues, row)) for row in rows)
    finally:
        if signer is not None:
            signer.close()
    return made


def _rows(model: MinHash, kind: Scheme, hashes: np.ndarray[Any, Any], lengths: list[int]) -> Iterator[np.ndarray[Any, Any]]:
    empty = np.full(model.num_perm, kind.empty)
    at = 0
    for n in lengths:
        yield kind.minima(hashes[at : at + n], model.permutations) if n else empty
        at += n
