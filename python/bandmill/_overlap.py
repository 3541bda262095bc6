# SPDX-License-Identifier: Apache-2.0
"""Finds the items of a test set in documents: which documents hold which items, and where."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

from bandmill import _files
from bandmill._call import Call
from bandmill._data import Source
from bandmill._errors import Error
from bandmill._found import Found, keep_nothing, seen_of
from bandmill._ids import kind_of
from bandmill._keywords import described
from bandmill._kinds import Names, Path
from bandmill._native import lib
from bandmill._options import fill, fill_against, new
from bandmill._page import Explanation, Page, head_of, page_of, write_page
from bandmill._rows import Seen, Watch
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import OverlapOptions


class Overlap(Found):
    """The result of `overlap`."""

    _job, _cuts_by = "overlap", "cut=True"
    _test_set: Any = None  # the items, if they are in memory, for their texts

    def _ids_of_kept(self) -> str:
        return kind_of(self.report["items"])

    @property
    def overlap(self) -> pa.Table:
        """A row for each item that a document holds: columns id, item, coverage, hits, longest, from, to, file, line."""
        columns = {"id": kind_of(self.report), "item": self._ids_of_kept(), "coverage": "float64", "file": "string"}
        numbers = dict.fromkeys(("hits", "longest", "from", "to", "line"), "int64")
        return _files.read_tsv(self.path / "overlap.tsv", {**columns, **numbers})

    @property
    def items(self) -> pa.Table:
        """A row for each item: columns item, shingles, documents, coverage, together, file, line.

        If no shingle of an item counts, its numbers are null.
        """
        columns = {"item": self._ids_of_kept(), "coverage": "float64", "together": "float64", "file": "string"}
        return _files.read_tsv(
            self.path / "items.tsv", {**columns, **dict.fromkeys(("shingles", "documents", "line"), "int64")}
        )

    def to_html(
        self,
        path: Path | None = None,
        texts: bool = True,
        *,
        pairs: int = 20,
        text_bytes: int = 2000,
        sources: Path | None = None,
    ) -> Page:
        """Make the report, one page that shows which items were found, and where. A notebook shows the page. ``path``: a file
        to write it to.

        ``texts``: show items and documents side by side. The result keeps tables in memory for this. ``pairs``: how many items
        are shown. ``text_bytes``: how many bytes of each text. ``sources``: the folder in which the input files are now. Raises
        Error: a table has changed, or ``path`` exists and is not a report.
        """
        if texts and self._data is not None and self._seen is not None:
            self._seen.kept_of(self._data, self.kept, self._job)
        more = {"pairs": pairs, "text_bytes": text_bytes if texts else 0}
        data, items = (self._data, self._test_set) if texts else (None, None)
        page = page_of(self.path, data, more, sources, None, items)
        if path is not None:
            write_page(pathlib.Path(path), page)
        return page

    def explain(self, item: str | int, document: str | int, *, sources: Path | None = None) -> Explanation:
        """Explain how much of ``item`` a document holds, both given by their ids. Shows both texts, with the longest run
        marked.

        The result keeps tables in memory for this. ``sources``: the folder in which the input files are now. Raises Error;
        status "not_found": the document does not hold the item.
        """
        if self._data is not None and self._seen is not None:
            self._seen.kept_of(self._data, self.kept, self._job)
        return Explanation(self.path, (item, document), None, sources, (self._test_set, self._data))

    def _repr_html_(self) -> str:
        return head_of(self.report, (self.cuts if self._has_cuts else self.removed).slice(0, 5).to_pylist())

    def __repr__(self) -> str:
        """Return a line with counts."""
        c = self.report["counts"]
        documents, items = (f"{c[noun + 's']} {noun}{'' if c[noun + 's'] == 1 else 's'}" for noun in ("document", "item"))
        return f"<bandmill.Overlap: {documents}, {c['removed']} removed, {c['items_found']} of {items} found>"


@described
def overlap(
    train: Any = None,
    items: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[OverlapOptions],
) -> Overlap:
    """Find the text of a test set in documents: which documents hold which items, how much of them, and where.

    A document holds an item if it has at least the share ``threshold`` of the item's shingles. The comparison is exact.
    Returns Overlap. Raises Error.

        >>> import bandmill
        >>> question = "which of the four men of the harbour was the first to see the ship"
        >>> page = "A long page. Which of the four men of the harbour\\nwas the first to see the ship? Nobody knows."
        >>> r = bandmill.overlap([page, "another page"], [question])
        >>> r.overlap.select(["id", "item", "coverage", "longest"]).to_pylist()
        [{'id': 0, 'item': 0, 'coverage': 1.0, 'longest': 15}]
        >>> r.take([page, "another page"])
        ['another page']
    """
    k: dict[str, Any] = {"text": text, "id": id, **options}
    call = Call(k["progress"])
    source, test_set = Source(train, call, k["paths"]), _items_of(items, call)
    output = k["output"]
    call.text(output, "output")
    work = Workplace(k["temp_dir"], None) if output is None else None
    out = work.path / "d" if work is not None else pathlib.Path(output or "")
    try:
        o = new("overlap")
        fill(o, call, source, k)
        o.device.cpu = call.text(k["cpu"], "cpu")
        o.output.path = call.text(out, "output")
        o.output.force, o.resume = k["force"], k["resume"]
        if output is None:
            keep_nothing(o, k)
        if test_set.stream is not None:
            o.against_stream, o.against_row_ids = test_set.stream, 1  # counted from 0
        o.against, o.n_against = call.texts(test_set.paths, "items"), len(test_set.paths)
        fill_against(o, call, _fields_of(test_set, k))
        watch = Watch(o.input, call, each=k["cut"]) if source.stream is not None else None
        seen = None if watch is not None else seen_of(train, source, text, id)
        report = call.job(lib.bm_job_overlap, o)
        if watch is not None:
            seen = Seen(text, id, watch.rows())
    except BaseException:
        if work is not None:
            work.close()
        raise
    held = None if watch is None or hasattr(train, "read_next_batch") else train
    found = Overlap(work, out, report, source.has_rows, seen, held)
    found._test_set = None if test_set.stream is None or hasattr(items, "read_next_batch") else items
    return found


def _items_of(items: Any, call: Call) -> Source:
    if items is None:
        raise Error("no items given (texts, a table, or a path)", field="items")
    source = Source(items, call)
    if source.ids is not None:
        raise Error("items are documents, not signatures", field="items")
    return source


def _fields_of(source: Source, k: dict[str, Any]) -> dict[str, Any]:
    """Return the names of the columns. Texts alone have one column, and no ids."""
    return {"against_text": ["text"], "against_id": None if k["id"] is None else "none"} if source.is_texts else k
