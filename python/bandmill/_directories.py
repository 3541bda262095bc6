# SPDX-License-Identifier: Apache-2.0
"""Opens directories that the commands wrote."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from bandmill._dedup import Dedup
from bandmill._errors import Error
from bandmill._index import Index
from bandmill._kinds import Path
from bandmill._option_rows import Kept
from bandmill._overlap import Overlap
from bandmill._page import Explanation, Page
from bandmill._signatures import Signatures

_ROWS = ("arrow", "parquet")  # the rows of a single input in one of these formats are identified by their numbers


def load(path: Path) -> Signatures | Dedup | Overlap | Index:
    """Load a directory that a call or command wrote: signatures, a result of `dedup` or `overlap`, or an index, which is
    opened.

    A loaded result does not know the rows that were read, so its `take` raises Error; use `take` of the result that the call
    returned. Raises Error.

        >>> import bandmill, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> signed = bandmill.sign(["a text", "another text"]).save(f"{folder}/signed")
        >>> bandmill.load(f"{folder}/signed")
        <bandmill.Signatures of 2 documents, 128 words each>
    """
    where = pathlib.Path(path)
    if (where / "manifest.json").exists():
        return Signatures(where)
    if (where / "report.json").exists():
        return _result(where)
    if (where / "data.mdb").exists():
        return Index.open(where)
    raise Error(
        f"{where}: no directory of signatures, no result of dedup or overlap, no index", "format", str(where), field="path"
    )


def _result(path: Path) -> Dedup | Overlap:
    where = pathlib.Path(path)
    try:
        report: dict[str, Any] = json.loads((where / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise Error(f"{where}: no result of dedup or overlap (report.json: {e})", "format", str(where), field="path") from None
    kinds: dict[Any, type[Dedup] | type[Overlap]] = {"dedup": Dedup, "overlap": Overlap}
    kind = kinds.get(report.get("kind") if isinstance(report, dict) else None)
    if kind is None:
        said = f"{where}: no result of dedup or overlap (its report.json is of another job)"
        raise Error(said, "format", str(where), field="path")
    rows = report["provenance"].get("input_format") in _ROWS and len(report.get("inputs", [])) == 1
    return kind(None, where, report, rows, None)


def explain(
    path: Path, a: str | int | None = None, b: str | int | None = None, *, group: int | None = None, sources: Path | None = None
) -> Explanation:
    """Explain a result of `dedup`: how two documents are joined, why one was removed, or what holds ``group`` together.

    For a result of `overlap`, explain how much of item ``a`` document ``b`` holds. The inputs of the result must be files.
    ``sources``: the folder in which these files are now. Raises Error; status "not_found": the documents are not in one group,
    or ``b`` does not hold ``a``.

        >>> import bandmill, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> n = (folder / "texts.txt").write_text("one two three four five\\nOne, two, three, four, five!\\n")
        >>> r = bandmill.dedup(folder / "texts.txt", format="lines", output=folder / "found")
        >>> bandmill.explain(folder / "found", group=1).data["documents"]
        2
    """
    found = _result(path)
    if isinstance(found, Dedup):
        return found.explain(a, b, group=group, sources=sources)
    if a is None or b is None or group is not None:
        raise Error("explain of a result of overlap takes an item and a document", field="b")
    return found.explain(a, b, sources=sources)


def report(
    path: Path,
    output: Path | None = None,
    *,
    groups: int = 20,
    pairs: int = 20,
    text_bytes: int = 2000,
    sample: int = 20,
    sample_seed: int = 1,
    sample_labels: Path | None = None,
    sources: Path | None = None,
) -> Page:
    """Make the report of a result of `dedup` or `overlap`: one page, which a notebook shows. ``output``: a file to write it to.

    The keywords are those of `Dedup.to_html`. For a result of `overlap`, ``groups`` and the sample are ignored, but
    ``sample_labels`` raises Error. Raises Error.

        >>> import bandmill, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> n = (folder / "texts.txt").write_text("one two three four five\\nOne, two, three, four, five!\\n")
        >>> r = bandmill.dedup(folder / "texts.txt", format="lines", output=folder / "found")
        >>> page = bandmill.report(folder / "found", folder / "page.html")
        >>> page.startswith("<!DOCTYPE html>")
        True
    """
    found = _result(path)
    if isinstance(found, Overlap):
        if sample_labels is not None:
            raise Error("sample_labels is for a result of dedup", field="sample_labels")
        return found.to_html(output, pairs=pairs, text_bytes=text_bytes, sources=sources)
    return found.to_html(
        output,
        groups=groups,
        pairs=pairs,
        text_bytes=text_bytes,
        sample=sample,
        sample_seed=sample_seed,
        sample_labels=sample_labels,
        sources=sources,
    )


def filter(
    path: Path, output: Path, *, kept: Kept = "same", annotate: bool = False, sources: Path | None = None, force: bool = False
) -> pathlib.Path:
    """Write the kept documents of a result of `dedup` or `overlap` to a directory. The inputs of the result must be files.

    With ``annotate`` every document is written, with its group. The keywords are those of `Dedup.filter`. Returns the path.
    Raises Error.

        >>> import bandmill, os, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> n = (folder / "texts.txt").write_text("one two three four five\\nOne, two, three, four, five!\\n")
        >>> r = bandmill.dedup(folder / "texts.txt", format="lines", output=folder / "found", kept="no")
        >>> "kept.txt" in os.listdir(bandmill.filter(folder / "found", folder / "clean"))
        True
    """
    return _result(path).filter(output, kept=kept, annotate=annotate, sources=sources, force=force)
