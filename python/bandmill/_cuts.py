# SPDX-License-Identifier: Apache-2.0
"""Cuts ranges out of the texts of the caller's data. The type of the data does not change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from bandmill._errors import Error
from bandmill._texts import bytes_of, is_missing

if TYPE_CHECKING:
    from bandmill._kinds import Names

Array = np.ndarray[Any, Any]


class Cuts:
    """Ranges of bytes to cut out of texts, each with the row of its text. They ascend, and ranges of one row do not overlap."""

    def __init__(self, rows: Array, begins: Array, ends: Array) -> None:
        """Take ranges in any order. Overlapping ranges are merged."""
        order = np.lexsort((begins, rows))
        rows, begins, ends = rows[order], begins[order], ends[order]
        if len(rows) > 0:
            longest = int(ends.max()) + 1  # separates the positions of different rows
            reach = np.maximum.accumulate(rows * longest + ends)
            first = np.append(True, (rows * longest + begins)[1:] > reach[:-1])
            last = np.append(np.flatnonzero(first)[1:] - 1, len(rows) - 1)
            rows, begins, ends = rows[first], begins[first], reach[last] - rows[last] * longest
        self.rows, self.begins, self.ends = rows, begins, ends

    def of(self, places: Array) -> Cuts:
        """Return the ranges with other row numbers. ``places`` has the old row of each new row. Ranges of rows that are not in
        ``places`` are dropped.
        """
        if len(self.rows) == 0:
            return self
        now = np.full(max(int(self.rows.max()), int(places.max(initial=0))) + 1, -1, dtype=np.int64)
        now[places] = np.arange(len(places))
        rows = now[self.rows]
        there = rows >= 0
        return Cuts(rows[there], self.begins[there], self.ends[there])

    def out_of(self, data: Any, text: Names) -> Any:
        """Return ``data`` without the ranges. If there are ranges, only texts are shared with ``data``. ``text``: the columns
        of a table.
        """
        if len(self.rows) == 0:
            return data
        names = [text] if isinstance(text, str) else list(text or ["text"])
        if isinstance(data, (list, tuple)):
            return type(data)(self._out_of_items(list(data)))
        if isinstance(data, np.ndarray):
            left = data.copy()
            self._out_of_items(left)
            return left
        if hasattr(data, "iloc"):
            return self._out_of_pandas(data, names)
        if type(data).__module__.startswith("polars"):
            return self._out_of_polars(data, names)
        if hasattr(data, "select") and hasattr(data, "features"):
            return self._out_of_dataset(data, names)
        return self._out_of_arrow(data, names)

    # --- texts that are Python objects ---

    def _out_of_items(self, items: Any) -> Any:
        rows = np.unique(self.rows)
        column = [items[row] for row in rows]
        self._cut([column])
        for row, item in zip(rows, column):
            items[row] = item
        return items

    def _cut(self, columns: list[list[Any]]) -> None:
        """Replace the texts that have ranges to cut. ``columns``: for each text field, its texts in the rows that have ranges.

        Positions are those in the texts of a row, one after another with a byte between two of them.
        """
        rows, first = np.unique(self.rows, return_index=True)
        begins, ends = self.begins.tolist(), self.ends.tolist()
        for i, (row, low, high) in enumerate(zip(rows.tolist(), first.tolist(), [*first.tolist()[1:], len(begins)])):
            before = done = 0  # before: bytes of the earlier fields; done: number of cuts in these
            for column in columns:
                data = bytes_of(row, column[i])
                end = before + len(data)
                own = [
                    (begins[k] - before, ends[k] - before) for k in range(low, high) if before <= begins[k] and ends[k] <= end
                ]
                if own:
                    column[i] = _without(column[i], data, own)
                before, done = end + 1, done + len(own)
            if done < high - low:
                raise _other_text(row)

    def _out_of_pandas(self, data: Any, names: list[str]) -> Any:
        is_frame = hasattr(data, "columns")
        rows = np.unique(self.rows)
        series = [data[name] for name in _known(names, data.columns)] if is_frame else [data]
        columns = [one.iloc[rows].tolist() for one in series]
        self._cut(columns)
        left = data.copy(deep=False)
        for name, one, column in zip(names, series, columns):
            fixed = str(one.dtype) == "category"  # a categorical column cannot hold new texts
            one = one.astype(object) if fixed else one.copy()
            one.iloc[rows] = column
            one = one.astype("category") if fixed else one
            if not is_frame:
                return one
            left[name] = one
        return left

    # --- columns of Arrow ---

    def _out_of_arrow(self, data: Any, names: list[str]) -> Any:
        import pyarrow as pa

        if not isinstance(data, (pa.Table, pa.RecordBatch)):
            return self._columns([data], names)[0]
        texts = self._columns([data.column(name) for name in _known(names, data.column_names)], names)
        places = [data.schema.get_field_index(name) for name in names]
        columns = list(data.columns)
        for place, column in zip(places, texts):
            columns[place] = column
        return type(data).from_arrays(columns, schema=data.schema)

    def _out_of_polars(self, data: Any, names: list[str]) -> Any:
        import polars

        series = [data[name] for name in _known(names, data.columns)] if hasattr(data, "columns") else [data]
        texts = self._columns([one.to_arrow() for one in series], names)
        left = [polars.Series(one.name, text).cast(one.dtype) for one, text in zip(series, texts)]
        return data.with_columns(left) if hasattr(data, "columns") else left[0]

    def _out_of_dataset(self, data: Any, names: list[str]) -> Any:
        in_memory: Any = importlib.import_module("datasets.table").InMemoryTable
        table = self._out_of_arrow(data.with_format("arrow")[:], names)
        return type(data)(in_memory(table), info=data.info.copy(), split=data.split)

    def _columns(self, columns: list[Any], names: list[str]) -> list[Any]:
        """Cut columns of text. The ranges refer to the texts of these columns, joined by newlines."""
        import pyarrow as pa

        before = np.zeros(len(columns[0]), dtype=np.int64)
        left, done = [], 0
        for column, name in zip(columns, names):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            cells = [_cells(pa, chunk, name) for chunk in chunks]
            sizes = np.concatenate([np.diff(offsets) for _, offsets in cells])
            begins, ends = self.begins - before[self.rows], self.ends - before[self.rows]
            own = np.flatnonzero((begins >= 0) & (ends <= sizes[self.rows]))
            done += len(own)
            parts, first = [], 0
            for chunk, (data, offsets) in zip(chunks, cells):
                low, high = np.searchsorted(self.rows[own], (first, first + len(chunk)))
                which, rows = own[low:high], self.rows[own[low:high]] - first
                at = offsets[rows]
                parts.append(
                    chunk if low == high else _shorter(pa, chunk, data, offsets, (at + begins[which], at + ends[which]))
                )
                first += len(chunk)
            left.append(pa.chunked_array(parts, column.type) if isinstance(column, pa.ChunkedArray) else parts[0])
            before += sizes + 1
        if done < len(self.rows):
            raise Error("these rows have other texts, from which nothing can be cut", field="data")
        return left


def _other_text(row: int) -> Error:
    return Error(f"row {row} has another text, from which nothing can be cut", field="data")


def _known(names: list[str], columns: Any) -> list[str]:
    missing = [name for name in names if name not in columns]
    if missing:
        raise Error(
            f"take cuts texts that are columns, not fields or lists in them ({', '.join(missing)}; cuts has the ranges)",
            field="data",
        )
    return names


def _without(item: Any, data: bytes, ranges: list[tuple[int, int]]) -> Any:
    """Return a text without ranges of its bytes ``data``."""
    if is_missing(item):
        return item
    if not isinstance(item, str):
        pieces = zip([0, *(end for _, end in ranges)], [*(begin for begin, _ in ranges), len(data)])
        return b"".join(data[a:b] for a, b in pieces)
    if len(item) != len(data):  # cut by characters, because a lone surrogate has no bytes
        starts = np.append(0, np.cumsum((np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80))
        ranges = [(int(starts[begin]), int(starts[end])) for begin, end in ranges]
    pieces = zip([0, *(end for _, end in ranges)], [*(begin for begin, _ in ranges), len(item)])
    return "".join(item[a:b] for a, b in pieces)


def _cells(pa: Any, chunk: Any, name: str) -> tuple[Array, Array]:
    """Return the bytes of a column, and where each text begins and ends in them."""
    cells = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
    try:
        cells = cells.cast(pa.large_binary())
    except pa.ArrowException:
        raise Error(f"take cuts no text of column {name!r}, of type {chunk.type}", field="data") from None
    cells = cells.fill_null(b"") if cells.null_count else cells
    if len(cells) == 0:
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    _, starts, data = cells.buffers()
    offsets = np.frombuffer(starts, dtype=np.int64)[cells.offset : cells.offset + len(cells) + 1]
    return np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8), offsets


def _shorter(pa: Any, chunk: Any, data: Array, offsets: Array, ranges: tuple[Array, Array]) -> Any:
    """Return a column of the same type without ranges of its bytes."""
    low = int(offsets[0])
    change = np.zeros(int(offsets[-1]) - low + 1, dtype=np.int8)
    np.add.at(change, ranges[0] - low, 1)
    np.add.at(change, ranges[1] - low, -1)
    stays = np.cumsum(change, dtype=np.int8)[:-1] == 0
    bytes_before = np.append(0, np.cumsum(stays, dtype=np.int64))
    left = np.ascontiguousarray(data[low : int(offsets[-1])][stays])
    starts = np.ascontiguousarray(bytes_before[offsets - low])
    out = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(chunk), [None, pa.py_buffer(starts), pa.py_buffer(left)])
    if chunk.null_count:
        import pyarrow.compute as pc

        out = pc.if_else(chunk.is_valid(), out, None)
    kind = chunk.type
    if not pa.types.is_dictionary(kind):
        return out.cast(kind)
    coded = out.cast(kind.value_type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), coded.dictionary, ordered=kind.ordered)
