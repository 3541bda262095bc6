# SPDX-License-Identifier: Apache-2.0
"""On an executor: sorted rows to runs of equal keys, whatever the batches that they come in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]
Batches = Iterator[pa.RecordBatch]


def numbers(batch: pa.RecordBatch, name: str) -> Array:
    """A column of numbers without nulls."""
    found: Array = batch.column(name).to_numpy(zero_copy_only=False)
    return found


def begins_of(keys: Sequence[Array]) -> Array:
    """Where runs of equal keys begin, and the end of the last."""
    n = len(keys[0])
    if n == 0:
        return np.zeros(1, dtype=np.int64)
    differs = np.zeros(n - 1, dtype=bool)
    for key in keys:
        differs |= key[1:] != key[:-1]
    return np.concatenate([[0], np.flatnonzero(differs) + 1, [n]])


def whole_runs(batches: Iterator[pa.RecordBatch], keys: Sequence[str], names: Sequence[str]) -> Iterator[dict[str, Array]]:
    """Columns ``names`` in pieces that cut no run of equal ``keys`` in two. Holds a batch and the run that it ends in."""
    kept: list[dict[str, Array]] = []
    for batch in batches:
        if batch.num_rows == 0:
            continue
        piece = {name: numbers(batch, name) for name in names}
        begins = begins_of([piece[k] for k in keys])
        if kept and all(kept[-1][k][-1] == piece[k][0] for k in keys):
            if len(begins) == 2:  # all of it goes on with the run
                kept.append(piece)
                continue
            first = int(begins[1])
            kept.append({name: values[:first] for name, values in piece.items()})
        else:
            first = 0
        if kept:
            yield _joined(kept)
        last = int(begins[-2])
        if last > first:
            yield {name: values[first:last] for name, values in piece.items()}
        kept = [{name: values[last:] for name, values in piece.items()}]
    if kept:
        yield _joined(kept)


def _joined(pieces: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}


def batch_of(**columns: Array) -> pa.RecordBatch:
    """A batch of plain arrays."""
    return pa.RecordBatch.from_arrays([pa.array(values) for values in columns.values()], names=list(columns))
