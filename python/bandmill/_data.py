# SPDX-License-Identifier: Apache-2.0
"""What can be passed in as documents: texts, tables, paths."""

from __future__ import annotations

import ctypes
import glob
import itertools
import os
import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandmill import _files
from bandmill._call import Call
from bandmill._errors import Error
from bandmill._ids import Ids
from bandmill._native import ffi, lib
from bandmill._remote import is_address
from bandmill._texts import NAME, REPAIRED, bytes_of, is_missing
from bandmill._workplace import Workplace

_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_capsule.restype = ctypes.c_void_p
_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
_DATASET_ROWS = 10000
Array = np.ndarray[Any, Any]


class Source:
    """Documents in the form that the library reads: a stream of columns, or paths."""

    def __init__(self, data: Any, call: Call, paths: Any = None) -> None:
        """Find out what ``data`` is. Nothing is read. ``paths``: files and directories, instead of ``data``."""
        self.call = call
        self.stream: Any = None
        self.paths: list[Any] = []
        self.is_texts = False
        self.has_rows = True
        self.ids: Ids | None = None  # ids of signatures
        if paths is not None and data is not None:
            raise Error("data and paths (one of them)", field="paths")
        data = paths_of(paths) if paths is not None else in_hand(data)
        if paths is not None and isinstance(data, list):
            self._of_paths(data)
        elif getattr(data, "_is_signatures", False):
            call.keep(data)
            self.paths = [data.path]
            self.ids = data.ids
        elif isinstance(data, (str, os.PathLike)):
            known = paths is not None or not isinstance(data, str) or data == "-" or glob.has_magic(data) or is_address(data)
            if not known and not os.path.lexists(data):
                name = str(data)
                hint = "; ~ is not expanded here" if name.startswith("~") else ""
                said = name if len(name) <= 200 else f"{name[:200]} …"
                raise Error(f"{said}: no such file (a str is a path; texts come in a list{hint})", "io", name, field="data")
            self._of_paths([data])
        elif hasattr(data, "__arrow_c_stream__"):
            self._of_stream(stream_of(data))
        elif hasattr(data, "__arrow_c_array__"):
            self._of_array(*data.__arrow_c_array__())
        elif are_paths(data):
            self._of_paths(data)
        elif isinstance(data, (list, tuple, np.ndarray)):
            self._of_texts(data)
        elif hasattr(data, "to_arrow"):  # older data frames have only this method
            self._of_stream(data.to_arrow().__arrow_c_stream__())
        else:
            raise no_data(data)

    def _of_paths(self, paths: Any) -> None:
        self.paths = [found for path in paths for found in files_of(path)]
        one = self.paths[0]
        self.has_rows = len(self.paths) == 1 and os.fspath(one).lower().endswith(".parquet") and os.path.isfile(one)

    def _copies(self, call: Call, temp_dir: Any) -> tuple[list[Any], list[Any]]:
        """Return the paths and names of all files. Files that the library cannot read itself are copied, and their paths are
        those of the copies. The copies are removed after the call.
        """
        from bandmill import _remote

        place = Workplace(temp_dir, None)
        call.afterwards, work = place.close, place.path
        paths: list[Any] = []
        names: list[Any] = []
        try:
            for path in self.paths:
                if is_address(path) and reads_address(path):
                    paths.append(path)
                    names.append(_remote.name_of(path))
                elif is_address(path):
                    found = _remote.files_of(path)
                    paths += [_remote.copy(name, one, work / str(len(paths) + i)) for i, (name, one) in enumerate(found)]
                    names.extend(name for name, _ in found)
                elif os.path.isdir(path):
                    raise Error(f"{os.fspath(path)}: a directory beside files that lie elsewhere", field="data")
                else:
                    paths.append(path)
                    names.append(path)
        except BaseException:
            call.afterwards()
            raise
        return paths, names

    def _of_stream(self, capsule: Any) -> None:
        self.call.keep(capsule)
        self.stream = ffi.cast("struct ArrowArrayStream *", _capsule(capsule, b"arrow_array_stream"))

    def _of_array(self, schema: Any, array: Any) -> None:
        self.call.keep((schema, array))
        one = self.call.keep(ffi.new("struct bm_py_array *"))
        self.stream = self._new_stream()
        lib.bm_py_array_stream(
            one,
            ffi.cast("struct ArrowSchema *", _capsule(schema, b"arrow_schema")),
            ffi.cast("struct ArrowArray *", _capsule(array, b"arrow_array")),
            self.stream,
        )

    def _of_texts(self, data: Any) -> None:
        """Make a stream of a list or array of texts. The texts are not copied: each is a buffer of its own, used as a view."""
        self.is_texts = True
        items = tuple(data)
        warn_of_paths(items, 6)
        n = len(items)
        views = np.empty(2 * n, dtype=np.uint64)
        buffers = np.zeros(n + 3, dtype=np.uint64)
        sizes = np.empty(n, dtype=np.int64)
        pointers = ffi.cast("void **", ffi.from_buffer("char[]", buffers))
        given = (n, ffi.from_buffer("char[]", views), pointers + 2, ffi.cast("int64_t *", ffi.from_buffer("char[]", sizes)))
        if lib.bm_py_views(id(items), *given) >= 0:
            items = tuple(bytes_of(i, item) for i, item in enumerate(items))
            long = int(lib.bm_py_views(id(items), *given))
            if long >= 0:
                raise Error(f"item {long} has more than 2 GiB", "input", NAME, long + 1, "data")
        pointers[1] = given[1]
        pointers[n + 2] = given[3]
        self.call.keep((items, views, buffers, sizes))
        table = self.call.keep(ffi.new("struct bm_py_table *"))
        self.stream = self._new_stream()
        lib.bm_py_table_stream(table, pointers, n + 3, n, self.stream)

    def _new_stream(self) -> Any:
        stream = ffi.new("struct ArrowArrayStream *")
        return self.call.keep(ffi.gc(stream, lib.bm_py_release_stream))

    def fill(self, options: Any, call: Call, temp_dir: Any = None) -> None:
        """Fill in bm_input_options. ``call`` keeps the memory alive. Files that the library does not read are copied now."""
        if self.stream is not None:
            options.stream = self.stream
            options.stream_name = call.text(NAME)
            options.row_ids = 1  # counted from 0
        else:
            paths = self.paths
            if any(is_address(path) and not reads_address(path) for path in paths):
                paths, names = self._copies(call, temp_dir)
                options.names = call.texts(names)
            options.paths = call.texts(paths)
            options.n_paths = len(paths)


def reads_address(address: str) -> bool:
    """Can the library read this address itself? If not, or if libcurl is missing, fsspec reads it."""
    return bool(lib.bm_version_reads_address(address.encode("utf-8", "surrogateescape")))


def in_hand(data: Any) -> Any:
    """Return a Hugging Face dataset as a stream of tables, and a column of such a dataset or another sequence as a list. Other
    data is returned unchanged.
    """
    if type(data).__module__.partition(".")[0] == "datasets" and hasattr(data, "with_format") and hasattr(data, "iter"):
        pa = _files.arrow()
        tables = data.with_format("arrow").iter(batch_size=_DATASET_ROWS)
        first = next(tables, None)
        if first is None and data.features is None:
            raise Error("a dataset without rows that does not say its columns (features=)", field="data")
        if first is None:
            return data.features.arrow_schema.empty_table()
        batches = (batch for table in itertools.chain([first], tables) for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(first.schema, batches)
    plain = (str, bytes, bytearray, memoryview, list, tuple)
    return list(data) if isinstance(data, Sequence) and not isinstance(data, plain) else data


def stream_of(data: Any) -> Any:
    """Return the Arrow stream of a table. A data frame may have columns for which Arrow has no type."""
    try:
        return data.__arrow_c_stream__()
    except (TypeError, ValueError) as e:  # exceptions that pyarrow raises
        if isinstance(e, UnicodeEncodeError):
            return _as_bytes(data).__arrow_c_stream__()
        why = " ".join(str(part) for part in (e.args[0] if e.args and isinstance(e.args[0], tuple) else e.args))
        raise Error(
            f"{NAME}: no Arrow table: {why} (one type a column: astype(str), or drop it)", "input", NAME, field="data"
        ) from e


def _as_bytes(data: Any) -> Any:
    """Return a data frame, or one of its columns, with texts as bytes in columns that have a lone surrogate, which Arrow
    refuses.
    """
    pa = _files.arrow()

    def column(values: Any) -> Any:
        try:
            return pa.array(values, from_pandas=True)
        except UnicodeEncodeError:
            items = (None if is_missing(item) else bytes_of(i, item) for i, item in enumerate(values))
            return pa.array(items, pa.large_binary())

    if not hasattr(data, "columns"):
        return pa.chunked_array([column(data)])
    return pa.table({str(name): column(data[name]) for name in data.columns})


def are_paths(data: Any) -> bool:
    """Is this a list of paths, not of texts?"""
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(p, os.PathLike) for p in data)


def files_of(path: Any) -> list[Any]:
    """Return a list of the path or, if it is a pattern as in a shell, of the files that match. An address is no pattern."""
    if is_address(path):
        return [path]
    pattern = os.fspath(path)
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [path]
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise Error(f"{os.fsdecode(pattern)}: no file matches", "input", os.fsdecode(pattern), field="data")
    return found


def paths_of(paths: Any) -> Any:
    """Check the value of ``paths=``, and return one path or a list of paths."""
    if isinstance(paths, (str, os.PathLike)):
        return paths
    if not isinstance(paths, (list, tuple)) or not paths or not all(isinstance(p, (str, os.PathLike)) for p in paths):
        raise Error(f"paths {paths!r} (a path, or a list of them)", field="paths")
    found = [p if is_address(p) else pathlib.Path(p) for p in paths]
    return found[0] if len(found) == 1 else found


def warn_of_paths(items: Any, level: int) -> None:
    """Warn if all texts are paths of files, because probably the files were meant."""
    if len(items) > 0 and all(isinstance(item, str) and os.path.isfile(item) for item in items):
        warnings.warn("every text is the path of a file, but is taken as a text (paths= reads files)", stacklevel=level)


def no_data(data: Any) -> Error:
    """Make the error for ``data`` of a wrong type. The message lists the allowed types."""
    hints = {
        "collect": "collect() gives a table",
        "num_rows": "one of its splits is a table",
        "readline": "its path is read",
        "keys": "pyarrow.table() makes a table of it",
        "__iter__": "list() makes a list of it",
    }
    told = next((hint for name, hint in hints.items() if hasattr(data, name)), "")
    hint = ": a list has a text" if isinstance(data, (bytes, bytearray, memoryview)) else f": {told}" if told else ""
    return Error(
        f"data of type {type(data).__name__}{hint} (a list or array of str or bytes, a table that gives out an Arrow "
        "stream, a path, or paths=)",
        field="data",
    )


def strings_of(parts: list[tuple[Any, Array]], call: Call) -> tuple[Any, int]:
    """Return bm_str structs for texts in several parts, and their number. Each part is some bytes and n + 1 offsets into
    them. ``call`` keeps the parts alive.
    """
    arrays = []
    for data, offsets in parts:
        base = int(ffi.cast("uintptr_t", call.keep(ffi.from_buffer("char[]", data))))
        part = np.empty((len(offsets) - 1, 2), dtype=np.uint64)
        part[:, 0] = base + offsets[:-1].astype(np.uint64)
        part[:, 1] = np.diff(offsets).astype(np.uint64)
        arrays.append(part)
    joined = call.keep(np.concatenate(arrays) if arrays else np.zeros((0, 2), dtype=np.uint64))
    return ffi.cast("bm_str *", ffi.from_buffer("char[]", joined)), len(joined)


def rows_of(data: Any) -> int | None:
    """Return the number of documents of ``data``; None: it is not known before ``data`` is read."""
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


def texts_of(data: Any, text: str, call: Call) -> tuple[Any, int]:
    """Return documents in memory as an array of bm_str. Texts that are in Arrow already are not copied."""
    data = in_hand(data)
    if isinstance(data, (list, tuple, np.ndarray)):
        warn_of_paths(data, 5)
        items = [t.encode("utf-8", REPAIRED) if isinstance(t, str) else bytes_of(i, t) for i, t in enumerate(data)]
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
    """Return the column of texts of a table, or ``data`` itself if it is a single column: a pyarrow Array or ChunkedArray."""
    pa = _files.arrow()
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return data
    if not isinstance(data, (pa.Table, pa.RecordBatch)):
        if not hasattr(data, "__arrow_c_stream__"):
            raise no_data(data)
        try:
            data = pa.RecordBatchReader.from_stream(data).read_all()
        except UnicodeEncodeError:
            return _column_of(_as_bytes(data), text)
        except pa.ArrowInvalid:  # not a table
            return pa.chunked_array(data)
    if data.column_names.count(text) != 1:
        there = ", ".join(map(str, data.column_names))
        raise Error(f"{NAME}: no column {text!r}, or several (it has: {there})", "input", NAME, field="text")
    return data.column(text)
