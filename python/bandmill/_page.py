# SPDX-License-Identifier: Apache-2.0
"""Pages for people: the report of a result, its summary in a notebook, and explanations."""

from __future__ import annotations

import html
import json
import pathlib
import re
from typing import Any

from bandmill._call import Call
from bandmill._data import Source
from bandmill._errors import Error
from bandmill._ids import text_of_id
from bandmill._kinds import Path
from bandmill._native import ffi, lib
from bandmill._options import new, number


class Page(str):
    """A page of HTML. A notebook shows the page, a Python prompt shows its title, and print() shows the HTML."""

    def __repr__(self) -> str:
        """Return a line with the title."""
        title = re.search("<title>(.*?)</title>", self, re.S)
        name = f" {html.unescape(title[1])!r}" if title else ""
        return f"<bandmill.Page{name}>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self)}" style="width:100%; height:50em; border:0"></iframe>'


def page_of(
    found: pathlib.Path, data: Any, more: dict[str, Any], sources: Path | None, labels: Path | None, items: Any = None
) -> Page:
    """Make the report of a directory. ``data``: the table from which the result was made, for its texts; None: the inputs were
    files, or texts are not shown.

    ``items``: the table of the items of overlap, likewise. ``more``: numbers for the options of the report.
    """
    call = Call()
    o = new("report")
    o.path, o.sources, o.write, o.write_ctx = call.text(found), call.text(sources, "sources"), lib.bm_py_write, call.ctx
    o.sample_labels = call.text(labels, "sample_labels")
    for name, value in more.items():
        setattr(o, name, number(value, name))
    if data is not None:
        o.stream = Source(data, call).stream
    if items is not None:
        o.items_stream = Source(items, call).stream
    call.callbacks(o.callbacks)
    call.run(lib.bm_report, o, ffi.NULL)
    return Page(b"".join(call.rows).decode())


def write_page(path: pathlib.Path, page: str) -> None:
    """Write the page to a file. An existing file is replaced only if it is empty or an earlier page, else raises Error."""
    mark = b'<meta name="generator" content="bandmill report">'
    if path.is_file() and path.stat().st_size > 0:
        with path.open("rb") as file:
            if mark not in file.read(1000):
                raise Error(f"{path}: exists, and is no report that could be replaced", file=str(path), field="path")
    path.write_text(page, encoding="utf-8")


def head_of(report: dict[str, Any], removed: list[dict[str, Any]]) -> str:
    """Return the summary: counts, and some of the removed documents or of the cuts."""
    counts = report["counts"]
    facts = ["documents", "items", "items_found", "identical", "candidates", "edges", "groups", "removed", "chained", "kept"]
    if "cuts" in counts:
        facts = ["documents", "items", "items_found", "units", "groups", "cuts", "cut_bytes", "removed", "kept"]
    cells = "".join(f"<tr><td>{name}</td><td>{counts[name]:,}</td></tr>" for name in facts if name in counts)
    columns = ["id", "kept", "jaccard", "reason"]
    if "cuts" in counts:
        columns = ["id", "from", "to", "kept", "kept_from", "reason"]
    rows = "".join("<tr>" + "".join(f"<td>{_cell(row[c])}</td>" for c in columns) + "</tr>" for row in removed)
    some = f"<table><tr>{''.join(f'<th>{c}</th>' for c in columns)}</tr>{rows}</table>" if removed else ""
    title = f"{counts['removed']:,} of {counts['documents']:,} documents are removed"
    if "cuts" in counts:
        title = f"{counts['cuts']:,} cuts in {counts['documents']:,} documents, of which {counts['removed']:,} are left empty"
    return f"<p><b>{title}</b> (to_html() shows which, and why)</p><table>{cells}</table>{some}"


def _cell(value: Any) -> str:
    text = f"{value:.6f}" if isinstance(value, float) else "" if value is None else str(value)
    return html.escape(text if len(text) <= 80 else text[:79] + "…")


class Explanation:
    """An explanation why documents are in one group, or how much of an item a document holds.

    print() shows the text of `bandmill explain`; ``data`` has the same as a dict, ``dot`` as a graph.
    """

    def __init__(
        self,
        found: pathlib.Path,
        ids: tuple[str | int, str | int | None] | None,
        group: int | None,
        sources: Path | None,
        tables: tuple[Any, Any] = (None, None),
    ) -> None:
        """Explain two documents, one document or a group. ``tables``: the table that was read, if it was in memory, twice. For
        overlap, the first is the table of items.
        """
        self._how = (found, ids, group, sources)
        self._tables = tables
        self._text = self._said(lib.BM_EXPLAIN_TEXT)
        self.data: dict[str, Any] = json.loads(self._said(lib.BM_EXPLAIN_JSON))

    @property
    def dot(self) -> str:
        """The explanation as a graph for Graphviz."""
        return self._said(lib.BM_EXPLAIN_DOT)

    def _said(self, form: int) -> str:
        found, ids, group, sources = self._how
        call = Call()
        o = new("explain")
        o.path, o.sources, o.form, o.write, o.write_ctx = (
            call.text(found),
            call.text(sources, "sources"),
            form,
            lib.bm_py_write,
            call.ctx,
        )
        for i, table in enumerate(self._tables):
            if table is not None:
                o.streams[i] = Source(table, call).stream
        if ids is not None:
            o.id_a = call.text(text_of_id(ids[0], "a"))
            o.id_b = call.text(None if ids[1] is None else text_of_id(ids[1], "b"))
        if group is not None:
            o.group = number(group, "group", 2**64 - 1, least=1)
        call.callbacks(o.callbacks)
        call.run(lib.bm_explain, o, ffi.NULL)
        return b"".join(call.rows).decode()

    def __repr__(self) -> str:
        """Return the text of `bandmill explain`."""
        return self._text
