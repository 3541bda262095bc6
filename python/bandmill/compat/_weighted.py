# SPDX-License-Identifier: Apache-2.0
"""WeightedMinHash and its generator with the interface of datasketch 2: Ioffe's consistent weighted sampling."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sized
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class WeightedMinHash:
    """A sketch of a vector of weights. ``hashvalues`` (sample_size, 2) has a dimension and a level for each sample."""

    def __init__(self, seed: Any, hashvalues: Any) -> None:
        """Make a sketch with this seed and these values. WeightedMinHashGenerator makes sketches of vectors."""
        self.seed = seed
        self.hashvalues = hashvalues

    def jaccard(self, other: WeightedMinHash) -> float:
        """Estimate the weighted similarity of the two vectors, from 0 to 1.

        Raises ValueError: the seeds or the numbers of samples differ.
        """
        if other.seed != self.seed:
            raise ValueError("cannot compare WeightedMinHash of different seeds")
        if len(self) != len(other):
            raise ValueError("cannot compare WeightedMinHash of different numbers of hash values")
        return sum(map(np.array_equal, self.hashvalues, other.hashvalues)) / len(self)

    def digest(self) -> Any:
        """Return a copy of the hash values."""
        return copy.copy(self.hashvalues)

    def copy(self) -> WeightedMinHash:
        """Return a copy, with hash values of its own."""
        return WeightedMinHash(self.seed, self.digest())

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        """Return whether type, seed and hash values are the same."""
        if type(self) is not type(other) or not isinstance(other, WeightedMinHash):
            return False
        return bool(self.seed == other.seed) and np.array_equal(self.hashvalues, other.hashvalues)

    __hash__ = None  # type: ignore[assignment]


class WeightedMinHashGenerator:
    """Makes sketches of vectors of ``dim`` weights. A sketch has ``sample_size`` samples. ``seed`` sets the parameters."""

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        """Draw the parameters: three arrays of float32, of the shape (sample_size, dim)."""
        self.dim = dim
        self.sample_size = sample_size
        self.seed = seed
        draw = np.random.RandomState(seed=seed)
        self.rs = draw.gamma(2, 1, (sample_size, dim)).astype(np.float32)
        self.ln_cs = np.log(draw.gamma(2, 1, (sample_size, dim))).astype(np.float32)
        self.betas = draw.uniform(0, 1, (sample_size, dim)).astype(np.float32)

    def minhash(self, v: Any) -> WeightedMinHash:
        """Return the sketch of a vector. Weights that are not above 0 do not count.

        Raises TypeError: ``v`` has no length; ValueError: its length is not ``dim``, or no weight is above 0; OverflowError: a
        weight is infinite.
        """
        if not isinstance(v, Sized):
            raise TypeError("a vector of weights is wanted")
        if len(v) != self.dim:
            raise ValueError(f"a vector of {self.dim} weights is wanted, not of {len(v)}")
        weights = np.array(v, dtype=np.float32)
        weights[weights == 0] = np.nan
        logs = np.log(weights)
        there = np.flatnonzero(~np.isnan(logs))
        if len(there) == 0:
            raise ValueError("no weight is above 0")
        k, levels = self._least(logs[there], there, False)
        if not np.all(np.abs(levels) < 2.0**63):
            raise OverflowError("a weight is infinite")
        return WeightedMinHash(self.seed, np.stack((k, levels.astype(int)), axis=1))

    def _least(self, logs: Array, there: Array, many: bool) -> tuple[Array, Array]:
        """Return, for each sample, the dimension with the least value, and the level of this dimension. ``there`` has the
        dimension of each logarithm.

        ``many``: compute as datasketch does for many vectors. The order of the last subtractions is then another than for one
        vector, so results may differ.
        """
        rs, betas, ln_cs = self.rs[:, there], self.betas[:, there], self.ln_cs[:, there]
        levels = np.floor(logs / rs + betas)
        values = ln_cs - (levels - betas + 1) * rs if many else ln_cs - (levels - betas) * rs - rs
        least = np.argmin(values, axis=1)
        return there[least], levels[np.arange(len(levels)), least]

    def minhash_many(self, X: Any) -> list[WeightedMinHash | None]:
        """Return the sketches of the rows of a matrix: a NumPy array or a sparse matrix of scipy. A row of zeros gives None.

        As in datasketch, they must not be compared with sketches of `minhash`. Raises TypeError: ``X`` is no such matrix;
        ValueError: ``X`` does not have two dimensions, or a row does not have ``dim`` weights.
        """
        sparse = sys.modules.get("scipy.sparse")
        is_sparse = sparse is not None and isinstance(X, sparse.spmatrix)
        if not is_sparse and not isinstance(X, np.ndarray):
            raise TypeError("an array or a sparse matrix of scipy's is wanted")
        if X.ndim != 2:
            raise ValueError("a matrix of two dimensions is wanted")
        if X.shape[1] != self.dim:
            raise ValueError(f"rows of {self.dim} weights are wanted, not of {X.shape[1]}")
        if is_sparse:
            rows = X.tocsr().astype(np.float32)
            rows.sum_duplicates()
            rows.eliminate_zeros()
            there, weights, ends = rows.indices.astype(np.int64), rows.data, rows.indptr
        else:
            dense = X.astype(np.float32)
            found, there = np.nonzero(dense)
            weights, ends = dense[found, there], np.searchsorted(found, np.arange(len(dense) + 1))
        logs = np.log(weights)
        made: list[WeightedMinHash | None] = []
        for start, end in zip(ends[:-1], ends[1:]):
            if start == end:
                made.append(None)
                continue
            k, levels = self._least(logs[start:end], there[start:end], True)
            made.append(WeightedMinHash(self.seed, np.stack((k, levels.astype(int)), axis=1)))
        return made
