# SPDX-License-Identifier: Apache-2.0
"""Reads the files of results as tables with the same columns."""

from __future__ import annotations

import json
import pathlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from bandmill._ids import TEXT, typed
from bandmill._tables import filtered_column

if TYPE_CHECKING:
    import pyarrow as pa

_ESCAPES = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def unescape(text: str) -> str:
    """Unescape an id or path as written in a file."""
    return re.sub(r"\\[\\tnr]", lambda m: _ESCAPES[m[0]], text) if "\\" in text else text


def arrow() -> Any:
    """Return the module pyarrow, which tables need. Raises Error if it is not installed."""
    try:
        import pyarrow
    except ImportError as e:
        raise ImportError("tables come as pyarrow.Table: pip install './python[parquet]' in bandmill's source tree") from e
    return pyarrow


def filtered(data: Any, kept: np.ndarray[Any, Any]) -> Any:
    """Return the chosen rows of a pyarrow table or column. Columns of string views are converted for it, because Arrow cannot
    filter them.
    """
    pa = arrow()
    mask = pa.array(kept)
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return type(data).from_arrays([filtered_column(column, mask) for column in data.columns], schema=data.schema)
    return filtered_column(data, mask)


def read_tsv(path: pathlib.Path, columns: dict[str, str]) -> pa.Table:
    """Read a TSV table of ours. ``columns`` are names and types; columns of text are unescaped."""
    pa = arrow()
    import pyarrow.csv as csv

    types = {name: getattr(pa, kind)() for name, kind in columns.items()}
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False),
        convert_options=csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=False),
    )
    for i, name in enumerate(table.column_names):
        if columns.get(name) == "string":
            column = table.column(i)
            if _has_escapes(column):
                texts = pa.chunked_array([[unescape(t) for t in column.to_pylist()]], pa.string())
                table = table.set_column(i, name, texts)
    return table


def _has_escapes(column: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring(column, "\\")).as_py())


def read_lines(data: bytes) -> list[str]:
    """Read ids, one on each line."""
    return [unescape(line) for line in data.decode("utf-8").split("\n")[:-1]]


def read_groups(path: pathlib.Path, ids: str = TEXT, known: str | None = None, units: bool = False) -> pa.Table:
    """Read groups.jsonl: group, kept, size, members, and also known if some document was known before.

    ``ids``, ``known``: the kinds of the ids of documents and of known documents. ``units``: members are parts of documents.
    """
    pa = arrow()
    rows = [json.loads(line) for line in path.read_bytes().decode("utf-8").split("\n")[:-1]]
    of_ids = getattr(pa, ids)()
    if units:
        of_ids = pa.struct([("id", of_ids), ("from", pa.int64())])

    def of(members: Any) -> Any:
        if not units:
            return typed(members, ids)
        return [
            {"id": name, "from": begin} for name, begin in zip(typed([m[0] for m in members], ids), (m[1] for m in members))
        ]

    columns: dict[str, Any] = {
        "group": pa.array([r["group"] for r in rows], pa.int64()),
        "kept": pa.array([None if r["kept"] is None else of([r["kept"]])[0] for r in rows], of_ids),
        "size": pa.array([r["size"] for r in rows], pa.int64()),
        "members": pa.array([of(r["members"]) for r in rows], pa.list_(of_ids)),
    }
    if any("known" in r for r in rows):
        of_known = known or TEXT
        names = [typed(r["known"], of_known) if "known" in r else None for r in rows]
        columns["known"] = pa.array(names, pa.list_(getattr(pa, of_known)()))
    return pa.table(columns)


def removed_rows(path: pathlib.Path) -> np.ndarray[Any, Any]:
    """For a table, return the row, counted from 0, of each document that removed.tsv lists."""
    lines = []
    with path.open("rb") as file:
        place = next(file).rstrip(b"\n").split(b"\t").index(b"line")
        for row in file:
            lines.append(int(row.split(b"\t")[place]))
    return np.array(lines, dtype=np.int64) - 1
