# SPDX-License-Identifier: Apache-2.0
"""An index on disk, which finds the documents that resemble a query."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from bandmill import _files
from bandmill._apart import apart, owned
from bandmill._call import NOT_FOUND, Call
from bandmill._data import Source, are_paths, texts_of
from bandmill._errors import Error, text_of
from bandmill._ids import Ids, kind_of, kind_of_column, kind_of_index, text_of_id, typed
from bandmill._keywords import described
from bandmill._kinds import Names, Progress
from bandmill._native import ffi, lib
from bandmill._options import OF_RECORDS, fill, new, number, share, word
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import IndexAddOptions, IndexBuildOptions, IndexQueryOptions


T = TypeVar("T")
_LOOK_S = 0.1  # seconds between two checks for an interrupt while waiting for a turn


def _rows_of(query: str, target: str, measure: str) -> dict[str, str]:
    return {"query": query, "target": target, measure: "float64"}


def _answers(query: str, target: str, measure: str, rows: tuple[Ids, Ids, list[float]]) -> pa.Table:
    pa = _files.arrow()
    types = _rows_of(query, target, measure).items()
    return pa.table({name: pa.array(row, getattr(pa, kind)()) for (name, kind), row in zip(types, rows)})


_OF_A_JOB = ("skip_same_id", "memory", *OF_RECORDS)


class _Asked:
    """The documents of a query in the form that an open index needs, with their ids and the kind of the ids."""

    def __init__(self, texts: Any, column: str, ids: tuple[Ids, str] | None) -> None:
        """Borrow ``texts``. ``ids`` None: ids are row numbers."""
        self.call = Call()
        self.texts, self.n = texts_of(texts, column, self.call)
        self.ids, self.kind = ids if ids is not None else (list(range(self.n)), "int64")

    @classmethod
    def of(cls, data: Any, text: Names, id: str | None) -> _Asked | None:
        """Convert ``data``. None: a job must answer the query. A job also reports errors in the documents."""
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


def _new_statistics() -> Any:
    return ffi.new("bm_index_info *", {"struct_size": ffi.sizeof("bm_index_info")})


def _reopened(path: str, threads: int, is_open: bool) -> Index:
    return Index.open(path, threads=threads) if is_open else Index(path, threads)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def _ids_of(table: pa.Table, id: str | None) -> tuple[Ids, str] | None:
    """Return the ids in the column ``id``, and their kind. Raises ValueError unless they are texts or integers without nulls
    and repeats. If no name is given, the column is "id"; None: there is no such column.
    """
    types = _files.arrow().types
    name = id if id is not None else "id"
    if id is None and name not in table.column_names:
        return None
    column = table.column(name)
    if column.null_count or not (_is_text(column.type) or types.is_integer(column.type)):
        raise ValueError(name)
    ids = [value.decode() if isinstance(value, bytes) else value for value in column.to_pylist()]
    if len(set(ids)) != len(ids):
        raise ValueError(name)
    return ids, kind_of_column(column.type)


class _Turns:
    """Controls who uses an index: many threads at once, or one thread alone. Use it only in code that no signal interrupts
    (`apart`).
    """

    def __init__(self) -> None:
        """Begin with no user."""
        self.process = os.getpid()
        self.lock = threading.Lock()  # held while the shared handle is opened
        self._moved = threading.Condition()
        self._inside = self._waiting = 0  # number of threads that share the index; number that wait to be alone
        self._alone: int | None = None  # the thread that is alone

    def _wait(self, call: Call, has_turn: Callable[[], bool]) -> None:
        while not has_turn():
            if self._alone == threading.get_ident():
                raise Error("the index is in use by the call that asks it")
            if call.ctx.stop:
                raise Error("cancelled", "cancelled")
            self._moved.wait(_LOOK_S)

    @contextmanager
    def beside(self, call: Call) -> Iterator[None]:
        """Enter as one of many. Waits while another thread is alone, or waits to be alone. Raises Error if this thread itself
        is alone, or the call is cancelled.
        """
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
        """Enter alone. Waits until all others have left. Raises Error as `beside` does."""
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

    Any number of threads may query an index. `add`, `remove` and `compact` wait until no other thread uses it. While one of
    them runs, other processes may read the index, but a change by another process fails (status "locked"). A change also fails
    if a second object of this process has the index open (status "busy").

        >>> import bandmill, tempfile
        >>> with bandmill.Index.build(tempfile.mkdtemp() + "/known", ["one two three four five six"]) as index:
        ...     index.add(["quite another text"])
        ...     index.query(["Quite another text!"]).to_pylist()
        [{'query': 0, 'target': 1, 'jaccard': 1.0}]
    """

    def __init__(self, path: str | os.PathLike[str], threads: int = 0) -> None:
        """Make a closed index. Use `open` or `build` instead."""
        self.path = os.fspath(path)
        self._threads = threads
        self._room: Any = None  # the place of the open handle; None: the index is closed
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
        **options: Unpack[IndexBuildOptions],
    ) -> Index:
        """Make an index of documents. This fixes how texts are cut and signed, and the band plan. Raises Error."""
        k: dict[str, Any] = {"text": text, "id": id, **options}
        call = Call(k["progress"])
        o = new("index_build")
        fill(o, call, Source(data, call, k["paths"]), k)
        o.output.path, o.output.force, o.sources = call.text(path), k["force"], call.text(k["sources"], "sources")
        call.job(lib.bm_job_index_build, o)
        return cls.open(path, threads=k["threads"])

    # --- the handle: opened, closed and counted only in `apart` ---

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
        """Return the turns of this process. After a fork, the threads of the parent do not count."""
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
        """Return a line with the path."""
        return f"<bandmill.Index {self.path!r}{', closed' if self._room is None else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path. Unpickling opens the index again, if it is open now."""
        return _reopened, (self.path, self._threads, self._room is not None)

    def __enter__(self) -> Index:
        """Return the index."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the index."""
        self.close()

    def _beside(self, call: Call, function: Callable[..., int], *args: Any) -> None:
        """Call a function of the open index. Other threads may do the same at the same time. A forked child opens it again."""

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

    def _alone(self, call: Call, job: Callable[[], T]) -> T:
        """Close the index, run a job that opens it itself, and open it again. No other thread uses the index meanwhile."""

        def body() -> T:
            with self._turns_here().alone(call):
                self._check_open()
                self._end()
                try:
                    return job()
                finally:
                    self._open()

        return call.apart(body)

    # --- what an index does ---

    @described
    def query(
        self,
        data: Any = None,
        text: Names = "text",
        id: str | None = None,
        **options: Unpack[IndexQueryOptions],
    ) -> pa.Table:
        """For each document, find the documents of the index that reach the threshold, the best first. Raises Error.

        Returns a table of query, target, and jaccard or containment: the share of the query that a target holds. Documents
        without ids are numbered by row.
        """
        k: dict[str, Any] = {"text": text, "id": id, **options}
        top, measure = number(k["top"], "top", 2**64 - 1), k["measure"]
        least = share(k["threshold"], "threshold") if k["threshold"] is not None else 0.0
        k["threshold"] = None
        asked = None if k["paths"] is not None or any(k[name] for name in _OF_A_JOB) else _Asked.of(data, text, id)
        if asked is not None:
            return self._query_texts(asked, top, least, measure)
        k["threshold"] = None
        call = Call(k["progress"])
        o = new("query")
        fill(o, call, Source(data, call, k["paths"]), k)
        o.path = call.text(self.path)
        o.answers.top, o.answers.threshold, o.answers.skip_same_id = top, least, k["skip_same_id"]
        o.answers.measure = word(lib.BM_OPTION_MEASURE, measure, "measure")
        o.resources.threads = self._threads
        with Workplace(k["temp_dir"], None) as work:
            o.output.path = call.text(work / "rows.tsv")
            report = self._alone(call, lambda: call.job(lib.bm_job_query, o, also=(NOT_FOUND,)))
            return _files.read_tsv(work / "rows.tsv", _rows_of(kind_of(report), self._ids(), measure))

    def _query_texts(self, asked: _Asked, top: int, threshold: float, measure: str) -> pa.Table:
        call, texts, n = asked.call, asked.texts, asked.n
        o = new("match")
        o.answers.top, o.answers.threshold = top, threshold
        o.answers.measure = word(lib.BM_OPTION_MEASURE, measure, "measure")
        documents = ffi.new("bm_documents *", {"struct_size": ffi.sizeof("bm_documents"), "n_docs": n, "texts": texts})
        out = owned("matches")
        self._beside(call, lib.bm_index_query, o, documents, out)
        m = out[0]
        offsets = lib.bm_matches_offsets(m)
        queries: list[Any] = []
        targets: list[str] = []
        similarities: list[float] = []
        for i in range(n):
            for j in range(offsets[i], offsets[i + 1]):
                target = lib.bm_matches_id(m, j)
                queries.append(asked.ids[i])
                targets.append(bytes(ffi.buffer(target.data, target.len)).decode())
                similarities.append(lib.bm_matches_similarities(m)[j])
        kind = self._ids()
        return _answers(asked.kind, kind, measure, (queries, typed(targets, kind), similarities))

    @described
    def add(
        self,
        data: Any = None,
        text: Names = "text",
        id: str | None = None,
        **options: Unpack[IndexAddOptions],
    ) -> pa.Table | None:
        """Add documents. They are cut and signed like those of the index, and their ids must have the type of the first ids.

        A document without an id gets the least number above all numbers that were ever ids. Returns None, or with ``unique`` a
        table of query, target, jaccard: the documents that were not added, and their best matches. Raises Error.
        """
        k: dict[str, Any] = {"text": text, "id": id, **options}
        least, unique = share(k.pop("threshold") or 0, "threshold"), k["unique"]
        call = Call(k["progress"])
        o = new("index_add")
        fill(o, call, Source(data, call, k["paths"]), k)
        o.path = call.text(self.path)
        o.resume, o.sources = k["resume"], call.text(k["sources"], "sources")
        o.threshold, o.json = least, unique
        if unique:
            o.write, o.write_ctx = lib.bm_py_write, call.ctx
        self._alone(call, lambda: call.job(lib.bm_job_index_add, o))
        if not unique:
            return None
        rows = [json.loads(line) for line in b"".join(call.rows).splitlines()]
        kind = self._ids()
        found = (
            typed([r["query"] for r in rows], kind),
            typed([r["target"] for r in rows], kind),
            [r["jaccard"] for r in rows],
        )
        return _answers(kind, kind, "jaccard", found)

    def remove(self, ids: Iterable[str | int]) -> int:
        """Remove documents by their ids, and return how many of them were in the index. An id may be a text or an integer."""
        call = Call()
        names = [text_of_id(id) for id in ([ids] if isinstance(ids, (str, bytes)) else ids)]
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
        """Return the settings and counts of the index, as `bandmill index info --json` prints them."""
        call = Call()
        out = owned("string")
        self._alone(call, lambda: call.run(lib.bm_index_inspect, call.text(self.path), out))
        found: dict[str, Any] = json.loads(text_of(out[0]))
        return found

    def _statistics(self) -> Any:
        stats = _new_statistics()
        self._beside(Call(), lib.bm_index_describe, stats)
        return stats

    def _ids(self) -> str:
        """Return the kind of the ids of the index."""
        return kind_of_index(int(self._statistics().ids))

    def __len__(self) -> int:
        """Return the number of documents."""
        return int(self._statistics().documents)
