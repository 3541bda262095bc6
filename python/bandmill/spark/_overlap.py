# SPDX-License-Identifier: Apache-2.0
"""Finds the items of a test set in documents. Every task gets the test set, so one scan without an exchange is enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import pyarrow as pa
from pyspark.sql import DataFrame

import bandmill
from bandmill._errors import Error
from bandmill._kinds import Names
from bandmill.spark._settings import Columns, documents, given_of, id_type, no_rows
from bandmill.spark._sign import skips
from bandmill.spark._tasks import Batches, folder, told

SCAN_BYTES = 1 << 26  # bytes of texts that are searched at once
_ABSENT = {
    "against_text": "items_text names columns of items",
    "against_id": "items_id names a column of items",
    "stop_shingles": "they stand in more documents than a task has",
    "cut": "documents stay as they are",
    "max_errors": "a task sees its own documents",
}
_NUMBERS = ("hits", "longest", "from", "to")


def overlap(
    df: DataFrame,
    items: Any,
    text: Names = "text",
    id: str | None = None,
    *,
    items_text: Names | None = None,
    items_id: str | None = None,
    **options: Any,
) -> DataFrame:
    """Find which documents hold which items of a test set. Returns a DataFrame of id, item, coverage, hits, longest, from, to,
    as in overlap.tsv.

    ``items``: a DataFrame, or items in memory as `bandmill.overlap` accepts them. All items are sent to the driver, and from
    there to every task. ``items_text``, ``items_id``: columns of the items, by default the names of those of ``df``. Options
    are as in `bandmill.overlap`. Documents are read once, when rows of the result are needed.

    Raises bandmill.Error. The only job before the result is needed fetches a DataFrame of items.
    """
    text, id, given = given_of(df, bandmill.overlap, {"text": text, "id": id, **options}, _ABSENT)
    test_set, names = _test_set(items, items_text or text, items_id, id)
    like = no_rows(df, [*text, id])
    kind = id_type(df, id).simpleString()
    found = bandmill.overlap(like, test_set, list(text), id, **names, **given)
    item = "bigint" if pa.types.is_integer(found.overlap.schema.field("item").type) else "string"
    schema = f"id {kind}, item {item}, coverage double" + "".join(f", `{name}` bigint" for name in _NUMBERS)
    return documents(df, Columns(text, id)).mapInArrow(_task(test_set, {**names, **given}, skips(given)), schema)


def _test_set(items: Any, text: Names, own_id: str | None, id: str) -> tuple[Any, dict[str, Any]]:
    """Return the items for every task, as a table or unchanged, and the options that name their columns."""
    if hasattr(items, "mapInArrow"):
        names = [text] if isinstance(text, str) else list(text or ())
        wanted = own_id or (id if id in items.columns else "none")
        for name in [*names, *([] if wanted == "none" else [wanted])]:
            if name.split(".")[0] not in items.columns:
                raise Error(f"items: no column {name!r} ({', '.join(items.columns)})", "input", field="items")
        columns = Columns(tuple(names), wanted)
        if wanted == "none":
            rows = items.select(*names).toArrow()
            return rows, {"against_text": names, "against_id": "none"}
        return documents(items, columns).toArrow(), {"against_text": ["text"], "against_id": "id"}
    if hasattr(items, "column_names") or hasattr(items, "columns"):
        names = [text] if isinstance(text, str) else list(text or ())
        return items, {"against_text": names, "against_id": own_id or id}
    return items, {}


def _gathered(batches: Batches, most: int) -> Iterator[pa.Table]:
    """Combine batches into tables of at least ``most`` bytes; the last table may be smaller."""
    rows: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        rows.append(batch)
        held += batch.nbytes
        if held >= most:
            yield pa.Table.from_batches(rows)
            rows, held = [], 0
    if rows:
        yield pa.Table.from_batches(rows)


def _task(items: Any, options: dict[str, Any], left_out: bool) -> Callable[[Batches], Batches]:
    """Map (id, text) to rows of overlap.tsv. ``left_out``: rows with a null id are left out, else they are an Error."""

    def run(batches: Batches) -> Batches:
        for table in _gathered(batches, SCAN_BYTES):
            ids = table.column("id").combine_chunks()
            if ids.null_count:
                if not left_out:
                    raise Error("the id of a document is null", "input", field="id")
                table = table.filter(ids.is_valid())
                ids = table.column("id").combine_chunks()
            found = bandmill.overlap(table, items, "text", "none", threads=1, **folder(), **options).overlap
            if len(found):
                rows = found.column("id").combine_chunks()
                columns = {"id": ids.take(rows), "item": found["item"], "coverage": found["coverage"]}
                yield from pa.table({**columns, **{name: found[name] for name in _NUMBERS}}).to_batches()

    return told(run)
