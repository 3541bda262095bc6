# SPDX-License-Identifier: Apache-2.0
"""Documents to groups: which stay, and why the others go."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from bandmill import _files
from bandmill._call import Call
from bandmill._data import Source, no_data, rows_of
from bandmill._errors import Error
from bandmill._ids import TEXT, Ids, kind_of, kind_of_known
from bandmill._index import Index
from bandmill._keywords import described
from bandmill._kinds import Names, Path
from bandmill._native import lib
from bandmill._options import fill, new, verified, word
from bandmill._page import Explanation, Page, head_of, page_of, write_page
from bandmill._rows import Seen, Watch, read_table
from bandmill._workplace import DAMAGED, Workplace, checked, digest_of_parcel, packed, unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import DedupOptions, Kept, Store


Array = np.ndarray[Any, Any]
Rows = TypeVar("Rows")
_IDS = "seen"  # in a pickle: of the rows that were looked at


class Dedup:
    """The result of `dedup`."""

    def __init__(
        self,
        work: Workplace | None,
        out: pathlib.Path,
        report: dict[str, Any],
        rows: bool | Ids,
        seen: Seen | None,
        data: Any = None,
    ) -> None:
        """Reads what stands in the directory, when it is asked for. ``rows``: the data has rows; of signatures their ids.

        ``data``: a table that was looked at, for its texts.
        """
        self.report = report
        self.path = out
        self._data = data
        self._rows, self._ids = rows, rows if isinstance(rows, list) else None
        self._seen = seen
        self._kept: Array | None = None
        self._work = work.handed_over() if work is not None else None

    def __copy__(self) -> Dedup:
        """The same."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Dedup:
        """The same."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """What was found goes along; of an ``output`` its path."""
        seen, ids = self._seen.parts() if self._seen is not None else (None, b"")
        if self._work is not None:
            return _found_again, packed(self.path, [self.report, self._rows, seen], **{_IDS: ids})
        said = json.dumps([os.path.abspath(self.path), self.report, self._rows, seen])
        return _found_there, ({_IDS: ids}, said, digest_of_parcel({_IDS: ids}, said))

    @property
    def kept(self) -> Array:
        """bool (N): which rows of the data are kept. Skipped bad records are not."""
        if self._rows is False:
            raise Error(
                "kept and take() are for rows of a table or list (output=DIR, or filter(DIR), writes what is kept of files)",
                field="kept",
            )
        if self._kept is None:
            kept = np.ones(int(self.report["counts"]["records"]), dtype=bool)
            kept[self._removed_rows()] = False
            skipped = self.path / "skipped.tsv"
            if skipped.exists():
                for line in skipped.read_bytes().split(b"\n")[1:-1]:
                    kept[int(line.split(b"\t")[1]) - 1] = False
            self._kept = kept
        return self._kept

    def _removed_rows(self) -> Any:
        if self._ids is None:
            return _files.removed_rows(self.path / "removed.tsv")
        places = {name: i for i, name in enumerate(self._ids)}
        return [places[name] for name in self.removed.column("id").to_pylist()]

    @overload
    def take(self, data: str | os.PathLike[str]) -> pa.Table: ...

    @overload
    def take(self, data: Rows) -> Rows: ...

    def take(self, data: Any) -> Any:
        """The kept rows of ``data``, in its own type."""
        kept = self.kept
        if self._seen is None:
            raise Error("take is for the result that dedup returned, which knows its rows (kept says which stay)", field="data")
        if isinstance(data, (str, os.PathLike)):
            data = read_table(data)
        if hasattr(data, "read_next_batch") or type(data).__name__ == "IterableDataset":
            raise Error("a stream gives its rows once (take them of a table, as read_all() makes it)", field="data")
        n = rows_of(data)
        if n is not None and n != len(kept):
            raise Error(f"{n} rows, where dedup read {len(kept)} (take is for the same data)", field="data")
        data = _in_memory(data)
        if self._seen is not None:
            kept = self._seen.kept_of(data, kept)
        if isinstance(data, np.ndarray):
            return data[kept]
        if isinstance(data, (list, tuple)):
            return type(data)(item for item, stays in zip(data, kept) if stays)
        if hasattr(data, "iloc"):
            return data.iloc[np.flatnonzero(kept)]
        if hasattr(data, "select") and hasattr(data, "features"):  # datasets.Dataset
            return data.select(np.flatnonzero(kept))
        if isinstance(data, Sequence):
            return [item for item, stays in zip(data, kept) if stays]
        if type(data).__module__.startswith("polars"):
            return data.filter(kept)
        return _files.filtered(data, kept)

    @property
    def groups(self) -> pa.Table:
        """Columns group, kept, size, members: as groups.jsonl."""
        return _files.read_groups(self.path / "groups.jsonl", kind_of(self.report), kind_of_known(self.report))

    @property
    def removed(self) -> pa.Table:
        """Columns id, kept, jaccard, reason, file, line, lost: as removed.tsv; null where lost is not known."""
        ids, known = kind_of(self.report), kind_of_known(self.report)
        kept = ids if known in (None, ids) else TEXT  # which may name a known document
        columns = {"id": ids, "kept": kept, "jaccard": "float64", "reason": "string", "file": "string"}
        return _files.read_tsv(self.path / "removed.tsv", {**columns, "line": "int64", "lost": "int64"})

    @property
    def pairs(self) -> pa.Table:
        """Columns id_a, id_b, jaccard: every verified pair, if `dedup` was called with pairs=True."""
        if not (self.path / "pairs.tsv").exists():
            raise Error("no pairs were asked for (pairs=True)", field="pairs")
        ids = kind_of(self.report)
        return _files.read_tsv(self.path / "pairs.tsv", {"id_a": ids, "id_b": ids, "jaccard": "float64"})

    def filter(
        self, output: Path, *, kept: Kept = "same", annotate: bool = False, sources: Path | None = None, force: bool = False
    ) -> pathlib.Path:
        """Write the kept documents of files to a directory; with ``annotate`` every document, each with its group.

        ``kept``, ``sources``, ``force``: as in `dedup`. Of a table `take` has the kept rows. Returns the path. Raises Error.
        """
        if self._seen is not None and self._seen.rows is not None and self._seen.made is None:
            raise Error("filter is for files (take(data) has the kept rows of a table)", field="output")
        call = Call()
        o = new("filter")
        o.path, o.sources, o.annotate = call.text(self.path), call.text(sources, "sources"), annotate
        o.kept = word(lib.BM_OPTION_KEPT, kept, "kept")
        o.output.path, o.output.force = call.text(output, "output"), force
        call.callbacks(o.callbacks)
        call.job(lib.bm_job_filter, o)
        return pathlib.Path(output)

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
        """The report as one page: what was removed and why. A notebook shows it; ``path`` names a file to write it to.

        ``texts``: documents side by side, also those of a table in memory, which the result keeps for that. ``groups``,
        ``pairs``: how many of the largest groups, of pairs just above the threshold, of the most chained. ``text_bytes``: of
        each text. ``sample``: so many removed documents, drawn by ``sample_seed``; ``sample_labels``: a file that says which of
        them are right. ``sources``: where files lie now. Raises Error: the table is another than it was; ``path`` is
        a file of another kind.
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

        One id: of a removed document, it and the one kept; of another, its group.
        Of a table in memory its rows tell, which the result keeps for that. ``sources``: where files lie now. Raises Error;
        status "not_found": they are in no group together.
        """
        if (a is None and b is not None) or (a is None) == (group is None):
            raise Error("explain takes one id, two ids, or group=", field="group")
        if self._data is not None and self._seen is not None:
            self._seen.kept_of(self._data, self.kept)
        return Explanation(self.path, None if a is None else (a, b), group, sources, self._data)

    def _repr_html_(self) -> str:
        return head_of(self.report, self.removed.slice(0, 5).to_pylist())

    def __repr__(self) -> str:
        """Counts."""
        c = self.report["counts"]
        documents, groups = (f"{c[noun + 's']} {noun}{'' if c[noun + 's'] == 1 else 's'}" for noun in ("document", "group"))
        return f"<bandmill.Dedup: {documents}, {groups}, {c['removed']} removed>"


def _found_again(*parcel: Any) -> Dedup:
    whole = checked(parcel)
    out, work, (report, rows, seen) = unpacked(whole, "d", _IDS)
    return Dedup(work, out, report, rows, None if seen is None else Seen.of_parts(seen, whole[0][_IDS]))


def _found_there(*parcel: Any) -> Dedup:
    files, said, digest = checked(parcel)
    if digest_of_parcel(files, said) != digest:
        raise Error(DAMAGED, "format")
    path, report, rows, seen = json.loads(said)
    where = pathlib.Path(path)
    return Dedup(None, where, report, rows, None if seen is None else Seen.of_parts(seen, files[_IDS]))


def _in_memory(data: Any) -> Any:
    """What rows are taken of: itself, or a table of pyarrow's of what may give other rows the next time."""
    if isinstance(data, (np.ndarray, Sequence)) and not isinstance(data, (bytes, bytearray, memoryview)):
        return data
    of = type(data).__module__.partition(".")[0]
    if of in ("pandas", "polars", "pyarrow", "datasets") or (hasattr(data, "iloc") and hasattr(data, "__arrow_c_stream__")):
        return data
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__") and not hasattr(data, "to_arrow"):
        raise no_data(data)
    pa = _files.arrow()
    try:
        return pa.table(data)
    except (TypeError, pa.ArrowException):  # one column alone
        return pa.chunked_array(data)


@described
def dedup(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[DedupOptions],
) -> Dedup:
    """Group near-duplicates: which documents are kept, and why the others are removed.

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
        o.output.force, o.resume, o.sources = k["force"], k["resume"], call.text(k["sources"], "sources")
        if output is None:
            for name, usual in (("kept", "same"), ("removed", "no"), ("force", False), ("resume", False)):
                if k[name] != usual:
                    raise Error(f"{name} is for output=, a directory that stays", field=name)
            o.kept = lib.BM_RECORDS_NOT_WRITTEN
        known, beside_it = _known_of(against, k)
        o.against, o.n_against = call.texts(known, "against"), len(known)
        if beside_it is None:
            fields = k["against_text"] or []
            fields = [fields] if isinstance(fields, str) else list(fields)
            o.against_text_fields, o.n_against_text_fields = call.texts(fields, "against_text"), len(fields)
            o.against_id_field = call.text(k["against_id"], "against_id")
        watch = Watch(o.input, call) if source.stream is not None else None
        seen = None if watch is not None else _seen_of(data, source, text, id)
        beside = getattr(against, "_alone", lambda call, job: job())  # of an open index, which a job opens itself
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
    """The paths of known documents. Those in memory are put into an index, in a workplace that the caller closes."""
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
    if id is None and not isinstance(against, (list, tuple, np.ndarray)):  # which have no columns
        id = k["id"]
    store: Store = "signatures" if k["verify"] == "signature" else "sets"
    work = Workplace(k["temp_dir"], None)
    try:
        Index.build(work.path / "i", against, text, id, store=store, **options).close()
    except BaseException:
        work.close()
        raise
    return [work.path / "i"], work


def _seen_of(data: Any, source: Source, text: Names, id: str | None) -> Seen | None:
    """Of what is no table: signatures, or a Parquet file."""
    if source.ids is not None:
        return Seen.of_signatures(data)
    return Seen.of_file(source.paths[0], text, id) if source.has_rows else None


def _contained(verify: str) -> tuple[str, float]:
    """The word, and the share of "contained=.9"; 0 where none stands there."""
    name, equals, share = str(verify).partition("=")
    if not equals:
        return name, 0.0
    try:
        if name == "contained" and 0 < float(share) <= 1:
            return name, float(share)
    except ValueError:
        pass
    raise Error(f"verify {verify!r} (exact, signature, none, contained or contained=C with C up to 1)", field="verify")
