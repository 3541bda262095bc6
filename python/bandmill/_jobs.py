"""Documents to signatures, to pairs, to what is kept."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from bandmill import _files
from bandmill._call import NOT_FOUND, OK, Call
from bandmill._data import NAME, Source, are_paths, bytes_of, in_hand, no_data, strings_of, warn_of_paths
from bandmill._errors import Error, text_of
from bandmill._keywords import (
    Candidates,
    Cluster,
    DuplicateIds,
    Format,
    Hash,
    Header,
    Identical,
    InvalidUtf8,
    Kept,
    Measure,
    Names,
    OnError,
    Path,
    Paths,
    Preset,
    Progress,
    Scheme,
    Short,
    Size,
    Verify,
    Weights,
    Words,
    described,
)
from bandmill._native import ffi, lib
from bandmill._options import fill, fill_shard, fill_text, new, number, share, size, word
from bandmill._page import Explanation, Page, head_of, page_of, write_page
from bandmill._rows import Seen, Watch, digest_of, read_table

if TYPE_CHECKING:
    import pyarrow as pa

    from bandmill._index import Index

Array = np.ndarray[Any, Any]
_RAM = pathlib.Path("/dev/shm")
_MANIFEST, _REPORT = "manifest.json", "report.json"
_IDS = "seen"  # in a pickle: of the rows that were looked at
_DAMAGED = "the pickle is damaged: it does not hold what was pickled"


def _workplace(temp_dir: str | os.PathLike[str] | None, bytes_wanted: int | None) -> pathlib.Path:
    """A directory for what a job writes: in memory where it is known to fit there with room to spare."""
    where: str | None = os.fspath(temp_dir) if temp_dir is not None else None
    if where is None and bytes_wanted is not None and os.access(_RAM, os.W_OK):
        free = os.statvfs(_RAM)
        if bytes_wanted * 2 < free.f_bavail * free.f_frsize:
            where = str(_RAM)
    return pathlib.Path(tempfile.mkdtemp(prefix="bandmill-", dir=where))


def _goes_with(owner: Any, work: pathlib.Path) -> Any:
    """The directory is removed when ``owner`` goes: by the process that made it, not by one that was forked from it."""
    return weakref.finalize(owner, _remove, work, os.getpid())


def _remove(work: pathlib.Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(work, ignore_errors=True)


_Parcel = tuple[dict[str, bytes], str, tuple[int, int]]


def _packed(path: pathlib.Path, more: Any = None, **own: bytes) -> _Parcel:
    """What a directory holds, ``own`` and what JSON can say, for another process; and a digest of it."""
    files = {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()}
    files.update(own)
    said = json.dumps(more)
    return files, said, _digest_of_parcel(files, said)


def _digest_of_parcel(files: dict[str, bytes], said: str) -> tuple[int, int]:
    parts = {name: digest_of(data) for name, data in files.items()}
    return digest_of(json.dumps([said, sorted(parts.items())]).encode())


def _checked(parcel: tuple[Any, ...]) -> _Parcel:
    """Of a pickle, which may say anything."""
    files, said, digest = parcel if len(parcel) == 3 else (None, None, None)
    if not isinstance(files, dict) or not isinstance(said, str) or not isinstance(digest, tuple):
        raise Error(_DAMAGED, "format")
    if not all(isinstance(name, str) and isinstance(data, bytes) for name, data in files.items()):
        raise Error(_DAMAGED, "format")
    return files, said, digest


def _unpacked(parcel: _Parcel, name: str, *own: str) -> tuple[pathlib.Path, pathlib.Path, Any]:
    """That as a directory of this name again, the one that it is in, and what was said. ``own`` is not written."""
    files, said, digest = parcel
    if _digest_of_parcel(files, said) != digest or not all(lib.bm_py_is_ours(n.encode()) for n in files if n not in own):
        raise Error(_DAMAGED, "format")
    work = _workplace(None, sum(map(len, files.values())))
    (work / name).mkdir()
    for file, data in files.items():
        if file not in own:
            (work / name / file).write_bytes(data)
    return work / name, work, json.loads(said)


def _rows_of(data: Any) -> int | None:
    """How many documents ``data`` has, where that is known before it is read."""
    if isinstance(data, (str, os.PathLike)) or are_paths(data):
        return None
    for name in ("num_rows", "__len__"):
        value = getattr(data, name, None)
        try:
            if value is not None:
                return int(value() if callable(value) else value)
        except TypeError:
            continue
    return None


class Signatures:
    """What `sign` makes: in memory, or a directory of signatures that is mapped. Nothing in it changes."""

    _is_signatures = True

    def __init__(self, path: pathlib.Path) -> None:
        """Maps what stands there."""
        self._path = path
        self._ids: list[str] | None = None
        self.manifest: dict[str, Any] = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))

    def __copy__(self) -> Signatures:
        """The same."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Signatures:
        """The same."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """A directory is loaded again by who unpickles it."""
        return load, (os.path.abspath(self._path),)

    @property
    def path(self) -> pathlib.Path:
        """The directory."""
        return self._path

    def _array(self, name: str) -> Array:
        mapped: Array = np.load(self._path / f"{name}.npy", mmap_mode="r")
        return mapped

    @property
    def signatures(self) -> Array:
        """uint32 (N, K), uint64 of the schemes affine64 and datatrove; no copy, not to be written to. A document without
        shingles has all ones."""
        return self._array("signatures")

    @property
    def n_shingles(self) -> Array:
        """uint32 (N): distinct shingles; 0: the document has no signature."""
        return self._array("n_shingles")

    @property
    def band_keys(self) -> Array:
        """uint64 (N, B), where bands were asked for."""
        if not self._has_keys():
            raise Error("these signatures have no band keys (threshold=, or bands= and rows=, make some)", field="bands")
        return self._array("band_keys")

    def _has_keys(self) -> bool:
        return (self._path / "band_keys.npy").exists()

    @property
    def ids(self) -> list[str]:
        """N ids in order."""
        if self._ids is None:
            self._ids = self._read_ids()
        return self._ids

    def _read_ids(self) -> list[str]:
        return _files.read_lines((self._path / "ids.txt").read_bytes())

    def __len__(self) -> int:
        """N."""
        return len(self.n_shingles)

    def __repr__(self) -> str:
        """Shape and scheme."""
        several = "" if len(self) == 1 else "s"
        return f"<bandmill.Signatures of {len(self)} document{several}, {self.signatures.shape[1]} words each>"

    def _provenance(self) -> bytes:
        return (self._path / _MANIFEST).read_bytes()

    def to_arrow(self) -> pa.Table:
        """Columns id, signature (fixed_size_list of K uint32 or uint64) and n_shingles; provenance in the schema's metadata."""
        pa = _files.arrow()
        words = self.signatures
        flat = pa.array(np.ascontiguousarray(words).reshape(-1))
        return pa.table(
            {
                "id": pa.array(self.ids, pa.string()),
                "signature": pa.FixedSizeListArray.from_arrays(flat, words.shape[1]),
                "n_shingles": pa.array(np.asarray(self.n_shingles)),
            },
            metadata={"bandmill": self._provenance()},
        )

    def save(self, path: str | os.PathLike[str]) -> Signatures:
        """A copy as a directory that the program reads too; one that is there already is refused."""
        target = pathlib.Path(path)
        if target.exists():
            raise Error(f"{target}: exists already", file=str(target))
        self._write(target)
        return Signatures(target)

    def _write(self, target: pathlib.Path) -> None:
        partial = target.with_name(f"{target.name}.partial.{os.getpid()}")
        shutil.copytree(self._path, partial)
        partial.rename(target)


def _carried(*parcel: Any) -> Signatures:
    return _Owned(*_unpacked(_checked(parcel), "s")[:2])


class _InMemory(Signatures):
    """What stands in memory of the library's, which goes when nobody uses it any more."""

    def __init__(self, call: Call, handle: Any) -> None:
        """``call`` has what the options of ``handle`` point to."""
        self._call, self._handle = call, handle
        self._lock = threading.Lock()
        self._ids = None
        self._words = text_of(lib.bm_signed_json(handle)).encode()
        self.manifest = json.loads(self._words)
        a = lib.bm_signed_data(handle)
        n = int(a.n_docs)
        self._arrays = {
            "signatures": (a.words, (n, int(a.perms)), f"<u{int(a.word_bytes)}"),
            "n_shingles": (a.n_shingles, (n,), "<u4"),
        }
        if a.bands:
            self._arrays["band_keys"] = (a.keys, (n, int(a.bands)), "<u8")

    @property
    def path(self) -> pathlib.Path:
        """A directory with them, which is written now and goes with the object."""
        with self._lock:
            if not hasattr(self, "_path"):
                work = _workplace(None, self.signatures.nbytes + 64 * len(self))
                self._finalizer = _goes_with(self, work)
                self._write_native(work / "s")
                self._path = work / "s"
        return self._path

    def __reduce__(self) -> tuple[Any, ...]:
        """They go along."""
        return _carried, _packed(self.path)

    def _array(self, name: str) -> Array:
        pointer, shape, kind = self._arrays[name]
        if 0 in shape:
            return np.zeros(shape, dtype=kind)
        return np.asarray(_Lent(self._handle, int(ffi.cast("uintptr_t", pointer)), shape, kind))

    def _has_keys(self) -> bool:
        return "band_keys" in self._arrays

    def _read_ids(self) -> list[str]:
        out = ffi.new("char **")
        with self._lock:
            self._call.run(lib.bm_signed_ids, self._handle, out)
        try:
            return _files.read_lines(bytes(ffi.string(out[0])))
        finally:
            lib.bm_string_free(out[0])

    def _provenance(self) -> bytes:
        return self._words

    def _write(self, target: pathlib.Path) -> None:
        with self._lock:
            self._write_native(target)

    def _write_native(self, target: pathlib.Path) -> None:
        output = ffi.new("bm_output_options *")
        output.path = self._call.text(target)
        out = ffi.new("bm_summary **")
        self._call.run(lib.bm_signed_save, self._handle, output, out)
        lib.bm_summary_free(out[0])


class _Lent:
    """An array of the library's, for numpy: it keeps what owns the memory."""

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], kind: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": shape, "typestr": kind}


def load(path: str | os.PathLike[str]) -> Signatures:
    """A directory that `sign` wrote, or `Signatures.save`."""
    where = pathlib.Path(path)
    if not (where / _MANIFEST).exists():
        raise Error(f"{where}: no directory of signatures (it has no {_MANIFEST})", "format", str(where))
    return Signatures(where)


@described
def sign(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    *,
    paths: Paths = None,
    threshold: float | None = None,
    recall: float | None = None,
    shingle: str | None = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    weights: Weights | None = None,
    preset: Preset | None = None,
    perms: int | None = None,
    seed: int | None = None,
    scheme: Scheme | None = None,
    hash: Hash | None = None,
    bands: int | None = None,
    rows: int | None = None,
    format: Format | None = None,
    header: Header | None = None,
    delimiter: str | None = None,
    include: Names = None,
    exclude: Names = None,
    offsets: Path | None = None,
    duplicate_ids: DuplicateIds | None = None,
    on_error: OnError | None = None,
    max_errors: int | None = None,
    invalid_utf8: InvalidUtf8 | None = None,
    max_doc_bytes: Size = None,
    shard: str | None = None,
    device: str | None = "auto",
    cpu: str | None = None,
    threads: int = 0,
    memory: Size = None,
    batch_docs: int = 0,
    temp_dir: Path | None = None,
    progress: Progress = False,
) -> Signatures:
    """MinHash signatures of documents; with ``threshold``, or ``bands`` and ``rows``, band keys too.

    Returns Signatures. Raises Error.
    """
    k = dict(locals())
    k["band_keys"] = any(k[name] is not None for name in ("threshold", "recall", "bands"))  # a preset asks for none
    call, held = Call(progress), Call()
    source = Source(data, held, paths)
    made = _sign_in_memory(call, source, k)
    if made is not None:
        return made
    n = _rows_of(data)
    wanted = None if n is None else n * (4 * (perms or 128) + 64 + 8 * (bands or 0)) + (1 << 20)
    work = _workplace(temp_dir, wanted)
    try:
        o = new("sign")
        fill(o, call, source, k)
        o.output.path = call.text(work / "signatures")
        o.band_keys = k["band_keys"]
        fill_shard(o, k)
        _run(call, lib.bm_job_sign, o)
        (work / "signatures").rename(work / "s")
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return _Owned(work / "s", work)


def _sign_in_memory(call: Call, source: Source, k: dict[str, Any]) -> Signatures | None:
    """None: it takes a job with files, and the source is as it was."""
    if source.stream is None:
        return None
    o = new("sign")
    fill(o, call, source, k)
    o.band_keys = k["band_keys"]
    fill_shard(o, k)
    out = ffi.new("bm_signed **")
    try:
        if call.run(lib.bm_sign_table, o, out, also=(lib.BM_ERR_UNSUPPORTED,)) != OK:
            return None
    except BaseException:
        lib.bm_signed_free(out[0])  # of a call that was done when it was interrupted
        raise
    return _InMemory(call, ffi.gc(out[0], lib.bm_signed_free))


class _Owned(Signatures):
    """Signatures in a directory that goes with them."""

    def __init__(self, path: pathlib.Path, work: pathlib.Path) -> None:
        super().__init__(path)
        self._finalizer = _goes_with(self, work)

    def __reduce__(self) -> tuple[Any, ...]:
        """They go along."""
        return _carried, _packed(self._path)


def _run(call: Call, function: Callable[..., int], o: Any, also: tuple[int, ...] = ()) -> dict[str, Any]:
    """A job; its report."""
    out = ffi.new("bm_summary **")
    try:
        call.run(function, o, out, also=also)
        words = lib.bm_summary_json(out[0])
        report: dict[str, Any] = json.loads(text_of(words)) if words != ffi.NULL else {}
        return report
    finally:
        lib.bm_summary_free(out[0])


class Dedup:
    """What `dedup` finds."""

    def __init__(
        self,
        work: pathlib.Path,
        out: pathlib.Path,
        report: dict[str, Any],
        rows: bool | list[str],
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
        self._is_ours = work != out
        if self._is_ours:
            self._finalizer = _goes_with(self, work)

    def __copy__(self) -> Dedup:
        """The same."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Dedup:
        """The same."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """What was found goes along; of an ``output`` its path."""
        seen, ids = self._seen.parts() if self._seen is not None else (None, b"")
        if self._is_ours:
            return _found_again, _packed(self.path, [self.report, self._rows, seen], **{_IDS: ids})
        said = json.dumps([os.path.abspath(self.path), self.report, self._rows, seen])
        return _found_there, ({_IDS: ids}, said, _digest_of_parcel({_IDS: ids}, said))

    @property
    def kept(self) -> Array:
        """bool (N): which rows of the data stay. Bad records that were skipped do not."""
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

    def take(self, data: Any) -> Any:
        """The kept rows of ``data``, in its own type."""
        kept = self.kept
        if isinstance(data, (str, os.PathLike)):
            data = read_table(data)
        if hasattr(data, "read_next_batch") or type(data).__name__ == "IterableDataset":
            raise Error("a stream gives its rows once (take them of a table, as read_all() makes it)", field="data")
        n = _rows_of(data)
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
        return _files.read_groups(self.path / "groups.jsonl")

    @property
    def removed(self) -> pa.Table:
        """Columns id, kept, jaccard, reason, file, line, lost: as removed.tsv; null where lost is not known."""
        columns = {"id": "string", "kept": "string", "jaccard": "float64", "reason": "string", "file": "string"}
        return _files.read_tsv(self.path / "removed.tsv", {**columns, "line": "int64", "lost": "int64"})

    @property
    def pairs(self) -> pa.Table:
        """Columns id_a, id_b, jaccard: every verified pair, where pairs=True asked for them."""
        if not (self.path / "pairs.tsv").exists():
            raise Error("no pairs were asked for (pairs=True)", field="pairs")
        return _files.read_tsv(self.path / "pairs.tsv", {"id_a": "string", "id_b": "string", "jaccard": "float64"})

    def filter(
        self, output: Path, *, kept: Kept = "same", annotate: bool = False, sources: Path | None = None, force: bool = False
    ) -> pathlib.Path:
        """The kept documents of files, as a directory, written after all; with ``annotate`` every document with its group.

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
        _run(call, lib.bm_job_filter, o)
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
        """The report: what was removed and why, as one page. A notebook shows it; ``path`` is a file to write it to.

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
        self, a: str | None = None, b: str | None = None, *, group: int | None = None, sources: Path | None = None
    ) -> Explanation:
        """Why two documents, by their ids, are in one group; or what holds ``group`` together. Prints as in the program.

        Of a table in memory its rows tell, which the result keeps for that. ``sources``: where files lie now. Raises Error;
        status "not_found": they are in no group together.
        """
        if (a is None) != (b is None) or (a is None) == (group is None):
            raise Error("explain takes two ids, or group=", field="group")
        if self._data is not None and self._seen is not None:
            self._seen.kept_of(self._data, self.kept)
        return Explanation(self.path, None if a is None or b is None else (a, b), group, sources, self._data)

    def _repr_html_(self) -> str:
        return head_of(self.report, self.removed.slice(0, 5).to_pylist())

    def __repr__(self) -> str:
        """Counts."""
        c = self.report["counts"]
        documents, groups = (f"{c[noun + 's']} {noun}{'' if c[noun + 's'] == 1 else 's'}" for noun in ("document", "group"))
        return f"<bandmill.Dedup: {documents}, {groups}, {c['removed']} removed>"


def _found_again(*parcel: Any) -> Dedup:
    checked = _checked(parcel)
    out, work, (report, rows, seen) = _unpacked(checked, "d", _IDS)
    return Dedup(work, out, report, rows, None if seen is None else Seen.of_parts(seen, checked[0][_IDS]))


def _found_there(*parcel: Any) -> Dedup:
    files, said, digest = _checked(parcel)
    if _digest_of_parcel(files, said) != digest:
        raise Error(_DAMAGED, "format")
    path, report, rows, seen = json.loads(said)
    where = pathlib.Path(path)
    return Dedup(where, where, report, rows, None if seen is None else Seen.of_parts(seen, files[_IDS]))


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
    *,
    paths: Paths = None,
    threshold: float | None = None,
    recall: float | None = None,
    cluster: Cluster = "components",
    keep: str = "first",
    max_group_size: int | None = None,
    verify: str = "exact",
    against: Signatures | Index | Path | None = None,
    pairs: bool = False,
    output: Path | None = None,
    kept: Kept = "same",
    removed: Kept = "no",
    force: bool = False,
    resume: bool = False,
    sources: Path | None = None,
    shingle: str | None = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    weights: Weights | None = None,
    preset: Preset | None = None,
    perms: int | None = None,
    seed: int | None = None,
    scheme: Scheme | None = None,
    hash: Hash | None = None,
    bands: int | None = None,
    rows: int | None = None,
    format: Format | None = None,
    header: Header | None = None,
    delimiter: str | None = None,
    include: Names = None,
    exclude: Names = None,
    offsets: Path | None = None,
    duplicate_ids: DuplicateIds | None = None,
    on_error: OnError | None = None,
    max_errors: int | None = None,
    invalid_utf8: InvalidUtf8 | None = None,
    max_doc_bytes: Size = None,
    device: str | None = "auto",
    cpu: str | None = None,
    threads: int = 0,
    memory: Size = None,
    batch_docs: int = 0,
    temp_dir: Path | None = None,
    progress: Progress = False,
) -> Dedup:
    """Near-duplicates, grouped: which documents stay, and why the others go.

    Returns Dedup. Raises Error.
    """
    k = dict(locals())
    call = Call(progress)
    source = Source(data, call, paths)
    call.text(output, "output")
    work = pathlib.Path(output) if output is not None else _workplace(temp_dir, None)
    out = work if output is not None else work / "d"
    try:
        o = new("dedup")
        fill(o, call, source, k)
        o.output.path = call.text(out, "output")
        o.cluster = word(lib.BM_OPTION_CLUSTER, cluster, "cluster")
        o.max_group_size = max_group_size or 0
        verify, share = _contained(verify)
        rules = None if verify == "contained" and keep == "first" else keep
        o.keep_rules = call.text(rules, "keep", "rules, separated by commas")
        o.verify, o.containment = _verify(verify, data), share
        o.kept, o.removed = word(lib.BM_OPTION_KEPT, kept, "kept"), word(lib.BM_OPTION_REMOVED, removed, "removed")
        o.output.force, o.resume, o.sources = force, resume, call.text(sources, "sources")
        if output is None:
            for name, usual in (("kept", "same"), ("removed", "no"), ("force", False), ("resume", False)):
                if k[name] != usual:
                    raise Error(f"{name} is for output=, a directory that stays", field=name)
            o.kept = lib.BM_KEPT_NO
        o.write_pairs = pairs
        known: Any = against
        o.against = call.text(getattr(known, "path", known), "against", "an index or signatures, or the path of such")
        watch = Watch(o.input, call) if source.stream is not None else None
        seen = None if watch is not None else _seen_of(data, source, text, id)
        with getattr(known, "_writing", contextlib.nullcontext)():  # of an open index, which a job opens itself
            report = _run(call, lib.bm_job_dedup, o)
        if watch is not None:
            seen = Seen(text, id, watch.rows())
    except BaseException:
        if output is None:
            shutil.rmtree(work, ignore_errors=True)
        raise
    held = None if watch is None or hasattr(data, "read_next_batch") else data
    return Dedup(work, out, report, source.has_rows if source.ids is None else source.ids, seen, held)


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


def _verify(name: str, data: Any) -> int:
    """Signatures without inputs cannot be compared exactly, so that "exact" is what the library makes of it."""
    return int(lib.BM_VERIFY_AUTO) if name == "exact" else word(lib.BM_OPTION_VERIFY, name, "verify")


@described
def pairs(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    *,
    paths: Paths = None,
    threshold: float | None = None,
    recall: float | None = None,
    candidates: Candidates | None = None,
    measure: Measure = "jaccard",
    verify: Verify = "exact",
    identical: Identical = "all",
    edit: bool = False,
    sample: int = 0,
    histogram: Path | None = None,
    histogram_svg: Path | None = None,
    force: bool = False,
    sources: Path | None = None,
    shingle: str | None = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    weights: Weights | None = None,
    preset: Preset | None = None,
    perms: int | None = None,
    seed: int | None = None,
    scheme: Scheme | None = None,
    hash: Hash | None = None,
    bands: int | None = None,
    rows: int | None = None,
    format: Format | None = None,
    header: Header | None = None,
    delimiter: str | None = None,
    include: Names = None,
    exclude: Names = None,
    offsets: Path | None = None,
    duplicate_ids: DuplicateIds | None = None,
    on_error: OnError | None = None,
    max_errors: int | None = None,
    invalid_utf8: InvalidUtf8 | None = None,
    max_doc_bytes: Size = None,
    device: str | None = "auto",
    cpu: str | None = None,
    threads: int = 0,
    memory: Size = None,
    batch_docs: int = 0,
    temp_dir: Path | None = None,
    progress: Progress = False,
) -> pa.Table:
    """Pairs of near-duplicates: a pyarrow.Table of id_a, id_b, jaccard, in input order. Raises Error.

    Under ``measure`` "containment" the contained document is id_a.
    """
    k = dict(locals())
    call = Call(progress)
    work = _workplace(temp_dir, None)
    try:
        o = new("pairs")
        fill(o, call, Source(data, call, paths), k)
        if candidates is not None:
            o.candidates = word(lib.BM_OPTION_CANDIDATES, candidates, "candidates")
            o.set_fields |= lib.BM_FIELD_CANDIDATES
        o.measure = word(lib.BM_OPTION_MEASURE, measure, "measure")
        o.verify = _verify(verify, data)
        o.identical = word(lib.BM_OPTION_IDENTICAL, identical, "identical")
        o.edit = edit
        o.sample = number(sample, "sample", 2**64 - 1)
        o.output.path, o.output.force, o.sources = call.text(work / "pairs.tsv"), force, call.text(sources, "sources")
        o.histogram, o.histogram_svg = call.text(histogram, "histogram"), call.text(histogram_svg, "histogram_svg")
        _run(call, lib.bm_job_pairs, o)
        return _files.read_tsv(work / "pairs.tsv", {"id_a": "string", "id_b": "string", measure: "float64", "edit": "int64"})
    finally:
        shutil.rmtree(work, ignore_errors=True)


@described
def hash_shingles(
    data: Any,
    text: str = "text",
    *,
    shingle: str | None = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    sorted: bool = False,
    cpu: str | None = None,
    threads: int = 0,
    memory: Size = None,
    progress: Progress = False,
) -> tuple[Array, Array]:
    """The distinct shingles of each document as 64-bit hashes.

    Returns (offsets int64 (N + 1), hashes uint64): document i has hashes[offsets[i]:offsets[i + 1]], in order of first
    occurrence. Raises Error.
    """
    k = dict(locals())
    call = Call(progress)
    texts, n = _texts_of(data, text, call)
    o = new("shingle")
    fill_text(o.text, call, k)
    o.sorted, o.cpu = sorted, call.text(cpu, "cpu")
    o.resources.threads, o.resources.memory = number(threads, "threads"), size(memory)
    call.callbacks(o.callbacks)
    out = ffi.new("bm_hash_sets **")
    call.run(lib.bm_shingle_texts, o, texts, n, out)
    sets = out[0]
    try:
        offsets = np.frombuffer(ffi.buffer(lib.bm_hash_sets_offsets(sets), 8 * (n + 1)), dtype=np.int64).copy()
        if offsets[-1] == 0:
            return offsets, np.zeros(0, dtype=np.uint64)
        hashes = np.frombuffer(ffi.buffer(lib.bm_hash_sets_hashes(sets), 8 * int(offsets[-1])), dtype=np.uint64).copy()
    finally:
        lib.bm_hash_sets_free(sets)
    return offsets, hashes


def _texts_of(data: Any, text: str, call: Call) -> tuple[Any, int]:
    """Documents in memory as an array of bm_str, without a copy of what is Arrow already."""
    data = in_hand(data)
    if isinstance(data, (list, tuple, np.ndarray)):
        warn_of_paths(data, 5)
        items = [t.encode("utf-8", "surrogatepass") if isinstance(t, str) else bytes_of(i, t) for i, t in enumerate(data)]
        offsets = np.zeros(len(items) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, items), dtype=np.int64, count=len(items)), out=offsets[1:])
        return strings_of([(call.keep(b"".join(items)), offsets)], call)
    pa = _files.arrow()
    column = _column_of(data, text)
    parts = []
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        cells = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
        try:
            cells = cells.cast(pa.large_binary())
        except pa.ArrowException:
            place = f"column {text!r} has the type {column.type} (text or binary)"
            raise Error(f"{NAME}: {place}", "input", NAME, field="text") from None
        cells = cells.fill_null(b"") if cells.null_count else cells
        if len(cells) == 0:
            continue
        _, starts, data_buffer = cells.buffers()
        offsets = np.frombuffer(starts, dtype=np.int64)[cells.offset : cells.offset + len(cells) + 1]
        parts.append((call.keep(data_buffer) if data_buffer is not None else b"", call.keep(offsets)))
    return strings_of(parts, call)


def _column_of(data: Any, text: str) -> Any:
    """The texts of a table, or what is one column alone: pyarrow's Array or ChunkedArray."""
    pa = _files.arrow()
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return data
    if not isinstance(data, (pa.Table, pa.RecordBatch)):
        if not hasattr(data, "__arrow_c_stream__"):
            raise no_data(data)
        try:
            data = pa.RecordBatchReader.from_stream(data).read_all()
        except pa.ArrowInvalid:  # no table
            return pa.chunked_array(data)
    if data.column_names.count(text) != 1:
        there = ", ".join(map(str, data.column_names))
        raise Error(f"{NAME}: no column {text!r}, or several (it has: {there})", "input", NAME, field="text")
    return data.column(text)


@described
def tune(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    *,
    paths: Paths = None,
    threshold: float | None = None,
    recall: float | None = None,
    ceiling: dict[float, float] | None = None,
    preset: Preset | None = None,
    perms: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    seed: int | None = None,
    sample: int = 0,
    svg: Path | None = None,
    force: bool = False,
    shingle: Names = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    format: Format | None = None,
    header: Header | None = None,
    delimiter: str | None = None,
    include: Names = None,
    exclude: Names = None,
    offsets: Path | None = None,
    duplicate_ids: DuplicateIds | None = None,
    on_error: OnError | None = None,
    max_errors: int | None = None,
    invalid_utf8: InvalidUtf8 | None = None,
    max_doc_bytes: Size = None,
    threads: int = 0,
    memory: Size = None,
    temp_dir: Path | None = None,
    progress: Progress = False,
) -> dict[str, Any]:
    """Band plans and their S-curves; with ``data`` also what each would find in it. As `bandmill tune --json`.

    Raises Error; status "not_found": no plan fits.
    """
    k = dict(locals())
    call = Call(progress)
    o = new("tune")
    fill(o, call, Source(data, call, paths) if data is not None or paths is not None else None, k)
    o.perms = number(k["perms"], "perms", least=1) if k["perms"] is not None else 0
    if ceiling:
        if not isinstance(ceiling, dict) or len(ceiling) != 1:
            raise Error(f"ceiling {ceiling!r} (one similarity and its probability: {{0.05: 0.006}})", field="ceiling")
        at, most = next(iter(ceiling.items()))
        o.ceiling_similarity, o.ceiling_probability = share(at, "ceiling"), share(most, "ceiling")
    if k["seed"] is not None:
        o.seed = number(k["seed"], "seed")
    o.sample, o.svg, o.force = number(sample, "sample", 2**64 - 1), call.text(svg, "svg"), force
    asked = k["shingle"]
    kinds = [asked] if isinstance(asked, str) or asked is None else list(asked)
    texts = call.keep(ffi.new("bm_text_options[]", len(kinds)))
    for i, kind in enumerate(kinds):
        usual = new("sign")  # alive until it is copied
        texts[i] = usual.text
        fill_text(texts[i], call, {**k, "shingle": kind})
    o.texts, o.n_texts = texts, len(kinds)
    out = ffi.new("bm_tune_result **")
    try:
        call.run(lib.bm_tune, o, out)
        found: dict[str, Any] = json.loads(text_of(lib.bm_tune_result_json(out[0])))
        return found
    finally:
        lib.bm_tune_result_free(out[0])


__all__ = ["NOT_FOUND", "Dedup", "Signatures", "dedup", "hash_shingles", "load", "pairs", "sign", "tune"]
