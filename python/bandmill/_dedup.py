# SPDX-License-Identifier: Apache-2.0
"""Finds groups of documents: which documents are kept, and why the others are removed."""

from __future__ import annotations

import inspect
import os
import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np

from bandmill import _files
from bandmill._call import Call
from bandmill._data import Source
from bandmill._errors import Error
from bandmill._found import Found, keep_nothing, seen_of
from bandmill._ids import TEXT, kind_of, kind_of_known
from bandmill._index import Index
from bandmill._keywords import described
from bandmill._kinds import Names, Path
from bandmill._native import lib
from bandmill._options import fill, fill_against, fill_unit, new, verified
from bandmill._page import Explanation, Page, head_of, page_of, write_page
from bandmill._rows import Seen, Watch
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import DedupOptions, Store


class Dedup(Found):
    """The result of `dedup`."""

    _job, _cuts_by = "dedup", "unit="

    @property
    def groups(self) -> pa.Table:
        """Groups as in groups.jsonl: columns group, kept, size, members. A unit has an id and the offset ``from``. Raises
        Error: spans have no groups.
        """
        if not (self.path / "groups.jsonl").exists():
            raise Error("spans have no groups (cuts has what was cut)", field="groups")
        kinds = kind_of(self.report), kind_of_known(self.report)
        return _files.read_groups(self.path / "groups.jsonl", *kinds, units=self._has_cuts)

    def _ids_of_kept(self) -> str:
        ids, known = kind_of(self.report), kind_of_known(self.report)
        return ids if known in (None, ids) else TEXT  # the kept document may be a known document

    @property
    def pairs(self) -> pa.Table:
        """All verified pairs: columns id_a, id_b, jaccard; for units also from_a and from_b. Raises Error: ``pairs=True`` was
        not given.
        """
        if not (self.path / "pairs.tsv").exists():
            raise Error("no pairs were asked for (pairs=True)", field="pairs")
        ids = kind_of(self.report)
        return _files.read_tsv(self.path / "pairs.tsv", {"id_a": ids, "id_b": ids, "jaccard": "float64"})

    def to_html(
        self,
        path: Path | None = None,
        texts: bool = True,
        *,
        groups: int = 20,
        pairs: int = 20,
        text_bytes: int = 2000,
        sample: int = 20,
        sample_seed: int = 1,
        sample_labels: Path | None = None,
        sources: Path | None = None,
    ) -> Page:
        """Make the report, one page that shows what was removed and why. A notebook shows the page. ``path``: a file to write
        it to.

        ``texts``: show documents side by side. The result keeps a table in memory for this. ``groups``: how many of the largest
        groups are shown. ``pairs``: how many pairs just above the threshold, and how many of the most chained pairs.
        ``text_bytes``: how many bytes of each text. ``sample``: how many removed documents, drawn by ``sample_seed``.
        ``sample_labels``: a file that tells which documents of the sample were rightly removed. ``sources``: the folder in
        which the input files are now. Raises Error: the table has changed, or ``path`` exists and is not a report.
        """
        drawn = {"sample": sample, "sample_seed": sample_seed}
        more = {**drawn, "groups": groups, "pairs": pairs if texts else 0, "text_bytes": text_bytes if texts else 0}
        if texts and self._data is not None and self._seen is not None:
            self._seen.kept_of(self._data, self.kept)
        page = page_of(self.path, self._data if texts else None, more, sources, sample_labels)
        if path is not None:
            write_page(pathlib.Path(path), page)
        return page

    def explain(
        self, a: str | int | None = None, b: str | int | None = None, *, group: int | None = None, sources: Path | None = None
    ) -> Explanation:
        """Explain why two documents, given by their ids, are in one group, or what holds ``group`` together.

        If only ``a`` is given: for a removed document, explain why it and its kept document are in one group; for any other,
        explain its group. With ``unit=``, ``a`` is a document and ``b`` is a byte of a part that was cut out of it; the
        explanation shows the first occurrence of this part. The result keeps a table in memory for this. ``sources``: the
        folder in which the input files are now. Raises Error; status "not_found": the two are not in one group, or nothing was
        cut at this byte.
        """
        if (a is None and b is not None) or (a is None) == (group is None):
            raise Error("explain takes one id, two ids, or group=", field="group")
        if self._data is not None and self._seen is not None:
            self._seen.kept_of(self._data, self.kept)
        return Explanation(self.path, None if a is None else (a, b), group, sources, (self._data, self._data))

    def _repr_html_(self) -> str:
        return head_of(self.report, (self.cuts if self._has_cuts else self.removed).slice(0, 5).to_pylist())

    def __repr__(self) -> str:
        """Return a line with counts."""
        c = self.report["counts"]
        noun = "cut" if self._has_cuts else "group"
        documents, groups = (f"{c[noun + 's']} {noun}{'' if c[noun + 's'] == 1 else 's'}" for noun in ("document", noun))
        return f"<bandmill.Dedup: {documents}, {groups}, {c['removed']} removed>"


@described
def dedup(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[DedupOptions],
) -> Dedup:
    """Group near-duplicates. The result tells which documents are kept, and why the others are removed.

    Returns Dedup. Raises Error.

        >>> import bandmill
        >>> texts = ["one two three four five six", "One two three four five six!", "quite another text"]
        >>> r = bandmill.dedup(texts, threshold=0.8)
        >>> r.take(texts)
        ['one two three four five six', 'quite another text']
        >>> r.removed.select(["id", "kept", "reason"]).to_pylist()
        [{'id': 1, 'kept': 0, 'reason': 'equal'}]
    """
    k: dict[str, Any] = {"text": text, "id": id, **options}
    call = Call(k["progress"])
    call.about = k.get("about", "")
    source = Source(data, call, k["paths"])
    output, against = k["output"], k["against"]
    call.text(output, "output")
    beside_it: Workplace | None = None
    work = Workplace(k["temp_dir"], None) if output is None else None
    out = work.path / "d" if work is not None else pathlib.Path(output or "")
    try:
        o = new("dedup")
        fill(o, call, source, k)
        o.output.path = call.text(out, "output")
        verify, share = _contained(k["verify"])
        rules = None if verify == "contained" and k["keep"] == "first" else k["keep"]
        o.keep_rules = call.text(rules, "keep", "rules, separated by commas")
        o.verify, o.containment = verified(verify), share
        o.decimals = k.get("decimals", 0)
        fill_unit(o, call, k)
        o.output.force, o.resume, o.sources = k["force"], k["resume"], call.text(k["sources"], "sources")
        if output is None:
            keep_nothing(o, k)
        known, beside_it = _known_of(against, k)
        o.against, o.n_against = call.texts(known, "against"), len(known)
        if beside_it is None:
            fill_against(o, call, k)
        watch = Watch(o.input, call, each=k["unit"] is not None) if source.stream is not None else None
        seen = None if watch is not None else seen_of(data, source, text, id)
        beside = getattr(against, "_alone", lambda call, job: job())  # if ``against`` is an open index, the job opens it itself
        report = beside(call, lambda: call.job(lib.bm_job_dedup, o))
        if watch is not None:
            seen = Seen(text, id, watch.rows())
    except BaseException:
        if work is not None:
            work.close()
        raise
    finally:
        if beside_it is not None:
            beside_it.close()
    held = None if watch is None or hasattr(data, "read_next_batch") else data
    return Dedup(work, out, report, source.has_rows if source.ids is None else source.ids, seen, held)


def _known_of(against: Any, k: dict[str, Any]) -> tuple[list[Any], Workplace | None]:
    """Return the paths of known documents, and None. If they are in memory, make an index of them in a workplace, and return
    this workplace too. The caller closes it.
    """
    if against is None:
        return [], None
    if hasattr(against, "path"):
        return [against.path], None
    if isinstance(against, (str, bytes, os.PathLike)):
        return [against], None
    if isinstance(against, (list, tuple)) and against and all(isinstance(path, os.PathLike) for path in against):
        return list(against), None
    taken = inspect.signature(Index.build).parameters.keys() & k.keys()
    of_files = {"format", "header", "delimiter", "include", "exclude", "offsets"}
    of_files |= {"data", "text", "id", "paths", "sources", "force"}
    options = {name: k[name] for name in taken - of_files}
    text = k["against_text"] if k["against_text"] is not None else k["text"]
    id = k["against_id"]
    if id is None and not isinstance(against, (list, tuple, np.ndarray)):  # lists and arrays have no columns
        id = k["id"]
    store: Store = "signatures" if k["verify"] == "signature" else "sets"
    work = Workplace(k["temp_dir"], None)
    try:
        Index.build(work.path / "i", against, text, id, store=store, **options).close()
    except BaseException:
        work.close()
        raise
    return [work.path / "i"], work


def _contained(verify: str) -> tuple[str, float]:
    """Return the word of ``verify`` and the share after it, as in "contained=.9"; 0 without a share. Raises Error for any other
    word with a share.
    """
    name, equals, share = str(verify).partition("=")
    if not equals:
        return name, 0.0
    try:
        if name == "contained" and 0 < float(share) <= 1:
            return name, float(share)
    except ValueError:
        pass
    raise Error(f"verify {verify!r} (exact, signature, none, contained or contained=C with C up to 1)", field="verify")
