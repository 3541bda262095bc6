# SPDX-License-Identifier: Apache-2.0
"""Converts columns of Arrow to arrays of NumPy and back, by their buffers.

pyarrow's own conversions import pandas if it is installed. This costs a worker of an engine a second of CPU and 40 MB.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bandmill import _files

Array = np.ndarray[Any, Any]
_KINDS = {"double": "float64", "float": "float32"}  # types that have different names in Arrow and NumPy


def one_chunk(column: Any) -> Any:
    """Return a column of a table or batch as one array. An array is returned unchanged."""
    found = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return found.chunk(0) if hasattr(found, "chunk") else found


def numbers(column: Any, null: float | None = None) -> Array:
    """Return a column of integers or floats. Nulls become ``null``; without ``null`` their values are undefined."""
    column = one_chunk(column)
    kind = str(column.type)
    dtype = np.dtype(_KINDS.get(kind, kind))
    if len(column) == 0:
        return np.zeros(0, dtype)
    found: Array = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)
    return found if null is None or column.null_count == 0 else np.where(flags(column.is_valid()), found, dtype.type(null))


def flags(column: Any) -> Array:
    """Return a column of booleans, which must have no nulls."""
    column = one_chunk(column)
    if len(column) == 0:
        return np.zeros(0, bool)
    bits = np.frombuffer(column.buffers()[1], np.uint8)
    found: Array = np.unpackbits(bits, count=column.offset + len(column), bitorder="little")[column.offset :].view(bool)
    return found


def array(values: Array, null: Array | None = None) -> Any:
    """Return integers, floats or booleans as an array of Arrow. ``null`` is true where the array is null."""
    pa = _files.arrow()
    mask = None if null is None or not null.any() else pa.py_buffer(np.packbits(~null, bitorder="little"))
    values = np.ascontiguousarray(values)
    data = np.packbits(values, bitorder="little") if values.dtype == bool else values
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [mask, pa.py_buffer(data)])


def table(data: Any) -> Any:
    """Return a table unchanged, and make a table of anything else."""
    pa = _files.arrow()
    return data if isinstance(data, pa.Table) else pa.table(data)
