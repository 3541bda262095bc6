# SPDX-License-Identifier: Apache-2.0
"""The results of jobs that keep some documents. Results can be pickled; kept documents are rows of the data."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np

from bandmill import _files
from bandmill._call import Call
from bandmill._cuts import Cuts
from bandmill._data import Source, no_data, rows_of
from bandmill._errors import Error
from bandmill._ids import Ids, kind_of
from bandmill._kinds import Names, Path
from bandmill._native import lib
from bandmill._options import new, word
from bandmill._rows import Seen, read_table
from bandmill._workplace import DAMAGED, Workplace, checked, digest_of_parcel, packed, unpacked

if TYPE_CHECKING:
    import pyarrow as pa

    from bandmill._option_rows import Kept

Array = np.ndarray[Any, Any]
Rows = TypeVar("Rows")
_IDS = "seen"  # in a pickle: the ids of the rows that the job read


class Found:
    """The result of a job that keeps some documents and removes others: a directory, and facts about the rows that it read."""

    _job = ""  # name of the job, for messages
    _cuts_by = ""  # the keyword that makes cuts, for messages
    _kinds: ClassVar[dict[str, type[Found]]] = {}

    def __init_subclass__(cls) -> None:
        """Register the class under its name, which pickles have."""
        Found._kinds[cls.__name__] = cls

    def __init__(
        self,
        work: Workplace | None,
        out: pathlib.Path,
        report: dict[str, Any],
        rows: bool | Ids,
        seen: Seen | None,
        data: Any = None,
    ) -> None:
        """Make the result of a directory. Its files are read only when their contents are requested.

        ``rows``: whether the data has rows; for signatures, their ids. ``data``: the table that was read, for its texts.
        """
        self.report = report
        self.path = out
        self._data = data
        self._rows, self._ids = rows, rows if isinstance(rows, list) else None
        self._seen = seen
        self._kept: Array | None = None
        self._work = work.handed_over() if work is not None else None

    def __copy__(self) -> Found:
        """Return the result itself."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Found:
        """Return the result itself."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the files of the result. If they are in ``output``, pickle the path of this directory instead."""
        seen, ids = self._seen.parts() if self._seen is not None else (None, b"")
        if self._work is not None:
            return _found_again, packed(self.path, [type(self).__name__, self.report, self._rows, seen], **{_IDS: ids})
        said = json.dumps([os.path.abspath(self.path), type(self).__name__, self.report, self._rows, seen])
        return _found_there, ({_IDS: ids}, said, digest_of_parcel({_IDS: ids}, said))

    @property
    def kept(self) -> Array:
        """An array of N booleans: which rows of the data are kept. Skipped bad records are not kept. Raises Error: the data has
        no rows.
        """
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

    def _ids_of_kept(self) -> str:
        """Return the kind of the ids in the column ``kept`` of removed.tsv."""
        return kind_of(self.report)

    @property
    def removed(self) -> pa.Table:
        """The removed documents as in removed.tsv: columns id, kept, jaccard, reason, file, line, lost. Unknown numbers are
        null.
        """
        columns = {"id": kind_of(self.report), "kept": self._ids_of_kept(), "jaccard": "float64", "reason": "string"}
        return _files.read_tsv(self.path / "removed.tsv", {**columns, "file": "string", "line": "int64", "lost": "int64"})

    @property
    def cuts(self) -> pa.Table:
        """The parts that were cut out, as in cuts.tsv: columns id, from, to, kept, kept_from, jaccard, reason, file, line.

        A part has the bytes ``from`` to ``to`` - 1 of the text as it was read. Raises Error: the job made no cuts.
        """
        if not self._has_cuts:
            raise Error(f"nothing was to be cut out of documents ({self._cuts_by})", field="cuts")
        columns = {"id": kind_of(self.report), "kept": self._ids_of_kept(), "jaccard": "float64", "reason": "string"}
        numbers = dict.fromkeys(("from", "to", "kept_from", "line"), "int64")
        return _files.read_tsv(self.path / "cuts.tsv", {**columns, **numbers, "file": "string"})

    @property
    def _has_cuts(self) -> bool:
        return (self.path / "cuts.tsv").exists()

    @overload
    def take(self, data: str | os.PathLike[str]) -> pa.Table: ...

    @overload
    def take(self, data: Rows) -> Rows: ...

    def take(self, data: Any) -> Any:
        """Return the kept rows of ``data``, in the type of ``data``. Parts that the job cut out are missing in their texts.

        ``data`` must have the rows that the job read, in any order if they have ids; otherwise raises Error. A path is read as
        a Parquet file.
        """
        kept = self.kept
        if self._seen is None:
            raise Error(
                f"take is for the result that {self._job} returned, which knows its rows (kept says which stay)", field="data"
            )
        if isinstance(data, (str, os.PathLike)):
            data = read_table(data)
        if hasattr(data, "read_next_batch") or type(data).__name__ == "IterableDataset":
            raise Error("a stream gives its rows once (take them of a table, as read_all() makes it)", field="data")
        n = rows_of(data)
        if n is not None and n != len(kept):
            raise Error(f"{n} rows, where {self._job} read {len(kept)} (take is for the same data)", field="data")
        data = _in_memory(data)
        places = self._seen.places_of(data, len(kept), self._job, self._has_cuts)
        kept = kept[places]
        taken = _taken(data, kept)
        if not self._has_cuts:
            return taken
        return _cuts_of(self.path / "cuts.tsv").of(places[kept]).out_of(taken, self._seen.text)

    def filter(
        self, output: Path, *, kept: Kept = "same", annotate: bool = False, sources: Path | None = None, force: bool = False
    ) -> pathlib.Path:
        """Write the kept documents to a directory. With ``annotate`` every document is written, with its group.

        ``kept``, ``sources``, ``force``: as in `dedup`. The inputs must be files; for a table in memory use `take`. Returns the
        path. Raises Error.
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


def _class_of(name: str) -> type[Found]:
    kind = Found._kinds.get(name)
    if kind is None:
        raise Error(DAMAGED, "format")
    return kind


def _found_again(*parcel: Any) -> Found:
    whole = checked(parcel)
    out, work, (kind, report, rows, seen) = unpacked(whole, "d", _IDS)
    return _class_of(kind)(work, out, report, rows, None if seen is None else Seen.of_parts(seen, whole[0][_IDS]))


def _found_there(*parcel: Any) -> Found:
    files, said, digest = checked(parcel)
    if digest_of_parcel(files, said) != digest:
        raise Error(DAMAGED, "format")
    path, kind, report, rows, seen = json.loads(said)
    where = pathlib.Path(path)
    return _class_of(kind)(None, where, report, rows, None if seen is None else Seen.of_parts(seen, files[_IDS]))


def _taken(data: Any, kept: Array) -> Any:
    """Return the rows of ``data`` that are kept, in its type; other sequences become a list."""
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


def _in_memory(data: Any) -> Any:
    """Return ``data`` in a form that gives the same rows each time: unchanged, or as a pyarrow table."""
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
    except (TypeError, pa.ArrowException):  # a single column
        return pa.chunked_array(data)


def _cuts_of(path: pathlib.Path) -> Cuts:
    """Return the cuts in the cuts.tsv of a table. The column ``line`` has row numbers, from 1."""
    table = _files.read_tsv(path, dict.fromkeys(("line", "from", "to"), "int64"))
    rows, begins, ends = (table.column(name).to_numpy() for name in ("line", "from", "to"))
    return Cuts(rows - 1, begins, ends)


def seen_of(data: Any, source: Source, text: Names, id: str | None) -> Seen | None:
    """Note signatures or a single Parquet file, for later comparison. None: the job read something else."""
    if source.ids is not None:
        return Seen.of_signatures(data)
    return Seen.of_file(source.paths[0], text, id) if source.has_rows else None


def keep_nothing(o: Any, k: dict[str, Any]) -> None:
    """Prepare a job without ``output``: no kept records are written, and keywords about files are refused."""
    for name, usual in (("kept", "same"), ("removed", "no"), ("force", False), ("resume", False)):
        if k.get(name, usual) != usual:
            raise Error(f"{name} is for output=, a directory that stays", field=name)
    o.kept = lib.BM_RECORDS_NOT_WRITTEN
