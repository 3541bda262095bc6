"""An index on disk: documents to be found by what they have in common with others."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import numpy as np

from bandmill import _files
from bandmill._apart import apart, owned
from bandmill._call import NOT_FOUND, Call
from bandmill._data import NAME, Source, are_paths, bytes_of, in_hand, stream_of, texts_of, warn_of_paths
from bandmill._errors import Error, text_of
from bandmill._keywords import (
    DuplicateIds,
    DuplicateIdsOfIndex,
    Format,
    Hash,
    Header,
    InvalidUtf8,
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
    Store,
    Words,
    described,
)
from bandmill._native import ffi, lib
from bandmill._options import fill, new, number, share, word
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa


T = TypeVar("T")
_LOOK_S = 0.1  # who waits for a turn looks this often whether it was called off


def _rows_of(measure: str) -> dict[str, str]:
    return {"query": "string", "target": "string", measure: "float64"}


_ROWS = _rows_of("jaccard")
_OF_A_JOB = ("skip_same_id", "on_error", "max_errors", "invalid_utf8", "max_doc_bytes", "duplicate_ids", "memory")


class _Asked:
    """Documents of a query as the open index takes them, and their ids (None: by their places)."""

    def __init__(self, texts: Any, column: str, ids: list[str] | None) -> None:
        """Borrows ``texts``."""
        self.call = Call()
        self.texts, self.n = texts_of(texts, column, self.call)
        self.ids = ids

    @classmethod
    def of(cls, data: Any, text: Names, id: str | None) -> _Asked | None:
        """None: it takes a job, which also says what is wrong with them."""
        if isinstance(data, (list, tuple)) and not are_paths(data):
            return cls(data, "text", None)
        pa = _files.arrow()
        if not hasattr(data, "__arrow_c_stream__") or isinstance(data, pa.RecordBatchReader) or not isinstance(text, str):
            return None
        try:
            table = pa.table(data)
            ids = _ids_of(table, id)
            texts = table.column(text)
            if table.column_names.count(text) != 1 or not _is_text(texts.type):
                return None
            return cls(texts, text, ids)
        except (KeyError, TypeError, ValueError, pa.ArrowException):
            return None


def _id_of(value: Any) -> bytes:
    """An id as the index has it."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value).encode()  # as the index repaired it
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Error(f"an id of type {type(value).__name__} (str, bytes or int)", field="ids")
    return str(int(value)).encode()


def _new_statistics() -> Any:
    return ffi.new("bm_index_statistics *", {"struct_size": ffi.sizeof("bm_index_statistics")})


def _reopened(path: str, threads: int, is_open: bool) -> Index:
    return Index.open(path, threads=threads) if is_open else Index(path, threads)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def _ids_of(table: pa.Table, id: str | None) -> list[str] | None:
    """A column of texts or integers, each of them once; ValueError: it is none. Without a name: "id", if there is one."""
    types = _files.arrow().types
    name = id if id is not None else "id"
    if id is None and name not in table.column_names:
        return None
    column = table.column(name)
    if column.null_count or not (_is_text(column.type) or types.is_integer(column.type)):
        raise ValueError(name)
    ids = [value.decode() if isinstance(value, bytes) else str(value) for value in column.to_pylist()]
    if len(set(ids)) != len(ids):
        raise ValueError(name)
    return ids


class _Numbered:
    """Rows without ids, with numbers in their place: those that follow what the index has had. Read once, by a job."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        """Numbers from 0, unless ``next`` is set."""
        self.next = 0
        self._reader = reader
        self.id = "id" if "id" not in reader.schema.names else "number in the index"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """With a column more."""
        pa = _files.arrow()
        schema = self._reader.schema.append(pa.field(self.id, pa.int64()))

        def batches() -> Iterator[Any]:
            for batch in self._reader:
                numbers = pa.array(np.arange(self.next, self.next + batch.num_rows, dtype=np.int64))
                self.next += batch.num_rows
                yield pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()


def _numbered(data: Any, text: Names, id: str | None) -> Any:
    """``data``, which is to be added to an index; as _Numbered, where it has no ids."""
    if id is not None or data is None or isinstance(data, (str, os.PathLike)) or are_paths(data):
        return data
    pa, data = _files.arrow(), in_hand(data)
    name = text if isinstance(text, str) else "text"
    if isinstance(data, (list, tuple, np.ndarray)):
        warn_of_paths(data, 6)
        texts = pa.array((bytes_of(i, item) for i, item in enumerate(data)), pa.large_binary())
        return _Numbered(pa.table({name: texts}).to_reader())
    if isinstance(data, pa.Array):
        return _Numbered(pa.table({name: data}).to_reader())
    if not hasattr(data, "__arrow_c_stream__"):
        return data
    try:
        reader = pa.RecordBatchReader._import_from_c_capsule(stream_of(data))
    except (pa.ArrowException, TypeError):  # one column alone
        column = pa.ChunkedArray._import_from_c_capsule(stream_of(data))
        return _Numbered(pa.table({name: column}).to_reader())
    ids = [reader.schema.field(i).type for i in reader.schema.get_all_field_indices("id")]
    other = len(ids) == 1 and (pa.types.is_floating(ids[0]) or pa.types.is_nested(ids[0]) or pa.types.is_boolean(ids[0]))
    return _Numbered(reader) if not ids or other else reader


class _Turns:
    """Who is inside of an index: any number beside each other, or one alone. Only for what no signal enters (`apart`)."""

    def __init__(self) -> None:
        """Nobody."""
        self.process = os.getpid()
        self.lock = threading.Lock()  # of who opens the handle that all share
        self._moved = threading.Condition()
        self._inside = self._waiting = 0  # who is beside others; who wants to be alone
        self._alone: int | None = None  # the thread of who is

    def _wait(self, call: Call, has_turn: Callable[[], bool]) -> None:
        while not has_turn():
            if self._alone == threading.get_ident():
                raise Error("the index is in use by the call that asks it")
            if call.ctx.stop:
                raise Error("cancelled", "cancelled")
            self._moved.wait(_LOOK_S)

    @contextmanager
    def beside(self, call: Call) -> Iterator[None]:
        """As one of many, when nobody is alone or waits to be."""
        with self._moved:
            self._wait(call, lambda: self._alone is None and not self._waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._moved:
                self._inside -= 1
                self._moved.notify_all()

    @contextmanager
    def alone(self, call: Call) -> Iterator[None]:
        """Alone, when all others have gone."""
        with self._moved:
            self._waiting += 1
            try:
                self._wait(call, lambda: self._alone is None and not self._inside)
                self._alone = threading.get_ident()
            finally:
                self._waiting -= 1
                self._moved.notify_all()
        try:
            yield
        finally:
            with self._moved:
                self._alone = None
                self._moved.notify_all()


class Index:
    """An index on disk. `Index.build` makes one, `Index.open` opens one; a with-statement closes it.

    Queries may come from any number of threads. `add`, `remove` and `compact` wait for them; another process may read
    meanwhile, but not write (status "locked").
    """

    def __init__(self, path: str | os.PathLike[str], threads: int = 0) -> None:
        """Use `open` or `build`."""
        self.path = os.fspath(path)
        self._threads = threads
        self._room: Any = None  # of the open handle
        self._turns = _Turns()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int = 0) -> Index:
        """Open an existing index. ``threads``: number of threads for a query of many documents; 0: all."""
        index = cls(path, threads)
        apart(index._open)
        return index

    @classmethod
    @described
    def build(
        cls,
        path: str | os.PathLike[str],
        data: Any = None,
        text: Names = "text",
        id: str | None = None,
        *,
        paths: Paths = None,
        threshold: float | None = None,
        recall: float | None = None,
        store: Store = "sets",
        force: bool = False,
        sources: Path | None = None,
        shingle: str | None = None,
        words: Words | None = None,
        normalize: Names = None,
        short: Short | None = None,
        stopwords: Path | None = None,
        bag: bool = False,
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
        duplicate_ids: DuplicateIdsOfIndex | None = None,
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
    ) -> Index:
        """Make an index of documents. This fixes how texts are cut and signed, and the band plan. Raises Error."""
        k = dict(locals())
        call = Call(progress)
        o = new("index_build")
        data = _numbered(data, text, id)
        if isinstance(data, _Numbered):
            k["id"] = data.id
        fill(o, call, Source(data, call, paths), k)
        o.store = word(lib.BM_OPTION_STORE, store, "store")
        o.output.path, o.output.force, o.sources = call.text(path), force, call.text(sources, "sources")
        call.job(lib.bm_job_index_build, o)
        return cls.open(path, threads=threads)

    # --- the handle: opened, closed and counted in `apart` alone ---

    def _open(self) -> None:
        call = Call()
        o = new("index")
        o.resources.threads = self._threads
        room = ffi.gc(ffi.new("struct bm_py_index *"), lib.bm_py_index_close)
        call.run(lib.bm_py_index_open, call.text(self.path), o, room)
        self._room = room

    def _end(self) -> None:
        room, self._room = self._room, None
        if room is not None:
            ffi.release(room)

    def _turns_here(self) -> _Turns:
        """Of this process: who was inside when it was forked is inside of the other one."""
        if self._turns.process != os.getpid():
            self._turns = _Turns()
        return self._turns

    def _check_open(self) -> None:
        if self._room is None:
            raise Error("the index is closed")

    def close(self) -> None:
        """Close the index. Closing it again does nothing."""
        call = Call()

        def ended() -> None:
            with self._turns_here().alone(call):
                self._end()

        call.apart(ended)

    def __repr__(self) -> str:
        """Where it is."""
        return f"<bandmill.Index {self.path!r}{', closed' if self._room is None else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens it again."""
        return _reopened, (self.path, self._threads, self._room is not None)

    def __enter__(self) -> Index:
        """The index."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes it."""
        self.close()

    def _beside(self, call: Call, function: Callable[..., int], *args: Any) -> None:
        """A call of the open index, beside others."""

        def body() -> None:
            turns = self._turns_here()
            with turns.beside(call):
                with turns.lock:
                    self._check_open()
                    if self._room.process != os.getpid():
                        self._open()
                    room = self._room
                call.run(function, room.index, *args)

        call.apart(body)

    def _alone(self, call: Call, job: Callable[[], T], numbered: _Numbered | None = None) -> T:
        """A job that has the index to itself in this process, and opens it by itself. ``numbered``: what it adds."""

        def body() -> T:
            with self._turns_here().alone(call):
                self._check_open()
                if numbered is not None:
                    numbered.next = self._next_number()
                self._end()
                try:
                    return job()
                finally:
                    self._open()

        return call.apart(body)

    # --- what it does ---

    @described
    def query(
        self,
        data: Any = None,
        text: Names = "text",
        id: str | None = None,
        *,
        paths: Paths = None,
        top: int = 0,
        threshold: float | None = None,
        skip_same_id: bool = False,
        measure: Measure = "jaccard",
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
        memory: Size = None,
        batch_docs: int = 0,
        temp_dir: Path | None = None,
        progress: Progress = False,
    ) -> pa.Table:
        """For each document, the documents of the index that reach the threshold: query, target, jaccard, the best first.

        ``measure`` "containment" is the share of the query that a target holds. Documents of a list are table:1, table:2 …
        """
        top = number(top, "top", 2**64 - 1)
        least = share(threshold, "threshold") if threshold is not None else 0.0
        k = dict(locals())
        asked = None if paths is not None or any(k[name] for name in _OF_A_JOB) else _Asked.of(data, text, id)
        if asked is not None:
            return self._query_texts(asked, top, least, measure)
        k["threshold"] = None
        call = Call(progress)
        o = new("query")
        fill(o, call, Source(data, call, paths), k)
        o.path = call.text(self.path)
        o.answers.top, o.answers.threshold, o.answers.skip_same_id = top, least, skip_same_id
        o.answers.measure = word(lib.BM_OPTION_MEASURE, measure, "measure")
        o.resources.threads = self._threads
        with Workplace(temp_dir, None) as work:
            o.output.path = call.text(work / "rows.tsv")
            self._alone(call, lambda: call.job(lib.bm_job_query, o, also=(NOT_FOUND,)))
            return _files.read_tsv(work / "rows.tsv", _rows_of(measure))

    def _query_texts(self, asked: _Asked, top: int, threshold: float, measure: str) -> pa.Table:
        pa = _files.arrow()
        call, texts, n = asked.call, asked.texts, asked.n
        o = new("match")
        o.answers.top, o.answers.threshold = top, threshold
        o.answers.measure = word(lib.BM_OPTION_MEASURE, measure, "measure")
        documents = ffi.new("bm_documents *", {"struct_size": ffi.sizeof("bm_documents"), "n_docs": n, "texts": texts})
        out = owned("matches")
        self._beside(call, lib.bm_index_query, o, documents, out)
        m = out[0]
        offsets = lib.bm_matches_offsets(m)
        rows: tuple[list[str], list[str], list[float]] = ([], [], [])
        for i in range(n):
            for j in range(offsets[i], offsets[i + 1]):
                target = lib.bm_matches_id(m, j)
                rows[0].append(f"{NAME}:{i + 1}" if asked.ids is None else asked.ids[i])
                rows[1].append(bytes(ffi.buffer(target.data, target.len)).decode())
                rows[2].append(lib.bm_matches_similarities(m)[j])
        types = {name: getattr(pa, kind)() for name, kind in _rows_of(measure).items()}
        return pa.table({name: pa.array(row, types[name]) for name, row in zip(types, rows)})

    @described
    def add(
        self,
        data: Any = None,
        text: Names = "text",
        id: str | None = None,
        *,
        paths: Paths = None,
        unique: bool = False,
        resume: bool = False,
        sources: Path | None = None,
        threshold: float | None = None,
        duplicate_ids: DuplicateIdsOfIndex | None = None,
        on_error: OnError | None = None,
        max_errors: int | None = None,
        invalid_utf8: InvalidUtf8 | None = None,
        max_doc_bytes: Size = None,
        format: Format | None = None,
        header: Header | None = None,
        delimiter: str | None = None,
        include: Names = None,
        exclude: Names = None,
        offsets: Path | None = None,
        device: str | None = "auto",
        threads: int = 0,
        memory: Size = None,
        batch_docs: int = 0,
        progress: Progress = False,
    ) -> pa.Table | None:
        """More documents, cut and signed as those of the index.

        Returns None, or with ``unique`` a table of query, target, jaccard. Raises Error.
        """
        k = dict(locals())
        k["threshold"] = None
        call = Call(progress)
        o = new("index_add")
        data = _numbered(data, text, id)
        if isinstance(data, _Numbered):
            k["id"] = data.id
            k["duplicate_ids"] = duplicate_ids or "number"  # somebody may have named a document so
        fill(o, call, Source(data, call, paths), k)
        o.path = call.text(self.path)
        o.resume, o.sources = resume, call.text(sources, "sources")
        o.unique, o.threshold, o.json = unique, share(threshold or 0, "threshold"), unique
        if unique:
            o.write, o.write_ctx = lib.bm_py_write, call.ctx
        self._alone(call, lambda: call.job(lib.bm_job_index_add, o), data if isinstance(data, _Numbered) else None)
        if not unique:
            return None
        pa = _files.arrow()
        rows = [json.loads(line) for line in b"".join(call.rows).splitlines()]
        types = {name: getattr(pa, kind)() for name, kind in _ROWS.items()}
        return pa.table({name: pa.array([r[name] for r in rows], types[name]) for name in _ROWS})

    def remove(self, ids: Iterable[str | int]) -> int:
        """Documents out of it; how many were there. Integers are ids as a column of them gives: in decimal."""
        call = Call()
        names = [_id_of(id) for id in ([ids] if isinstance(ids, (str, bytes)) else ids)]
        if not names:
            return 0
        o = new("index_remove")
        o.path, o.ids, o.n_ids = call.text(self.path), call.texts(names), len(names)
        call.callbacks(o.callbacks)
        report = self._alone(call, lambda: call.job(lib.bm_job_index_remove, o, also=(NOT_FOUND,)))
        return int(report["counts"]["removed"])

    def compact(self, progress: Progress = False) -> None:
        """Free the space of removed documents."""
        call = Call(progress)
        o = new("index_compact")
        o.path = call.text(self.path)
        call.callbacks(o.callbacks)
        self._alone(call, lambda: call.job(lib.bm_job_index_compact, o))

    def info(self) -> dict[str, Any]:
        """Settings and counts of the index, as `bandmill index info --json` prints them."""
        call = Call()
        out = owned("string")
        self._alone(call, lambda: call.run(lib.bm_index_info, call.text(self.path), out))
        found: dict[str, Any] = json.loads(text_of(out[0]))
        return found

    def _next_number(self) -> int:
        """That of the next document, in the open index."""
        if self._room.process != os.getpid():
            self._open()
        stats = _new_statistics()
        Call().run(lib.bm_index_stats, self._room.index, stats)
        return int(stats.documents + stats.removed)

    def __len__(self) -> int:
        """Documents in it."""
        stats = _new_statistics()
        self._beside(Call(), lib.bm_index_stats, stats)
        return int(stats.documents)
