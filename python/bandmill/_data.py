"""What may be handed in as documents: texts, tables, paths."""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any

import numpy as np

from bandmill._call import Call
from bandmill._errors import Error
from bandmill._native import ffi, lib

_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_capsule.restype = ctypes.c_void_p
_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
NAME = "table"


class Source:
    """Documents as the library reads them: a stream of columns, or paths."""

    def __init__(self, data: Any, call: Call) -> None:
        """Looks at what ``data`` is. Nothing is read."""
        self.call = call
        self.stream: Any = None
        self.paths: list[Any] = []
        self.is_texts = False
        self.has_rows = True
        if isinstance(data, (str, os.PathLike)):
            self.paths = [data]
            self.has_rows = os.fspath(data).lower().endswith(".parquet") and os.path.isfile(data)
        elif hasattr(data, "__arrow_c_stream__"):
            self._of_stream(data.__arrow_c_stream__())
        elif hasattr(data, "__arrow_c_array__"):
            self._of_array(*data.__arrow_c_array__())
        elif isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(p, pathlib.PurePath) for p in data):
            self.paths = list(data)
            self.has_rows = False
        elif isinstance(data, (list, tuple, np.ndarray)):
            self._of_texts(data)
        elif hasattr(data, "to_arrow"):  # older data frames
            self._of_stream(data.to_arrow().__arrow_c_stream__())
        else:
            raise Error(
                f"data of type {type(data).__name__} (a list or array of str or bytes, a table that gives out an Arrow "
                "stream, a path, or a list of pathlib.Path)",
                field="data",
            )

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
        self.is_texts = True
        texts: list[bytes] = []
        for i, item in enumerate(data):
            if isinstance(item, str):
                texts.append(item.encode("utf-8", "surrogatepass"))
            elif isinstance(item, (bytes, bytearray, memoryview)):
                texts.append(bytes(item))
            elif item is None:
                texts.append(b"")
            else:
                raise Error(
                    f"item {i} is of type {type(item).__name__} (a text is str, bytes or None)",
                    "input",
                    NAME,
                    i + 1,
                    "data",
                )
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)), out=offsets[1:])
        joined = b"".join(texts)
        self.call.keep((offsets, joined))
        table = self.call.keep(ffi.new("struct bm_py_table *"))
        self.stream = self._new_stream()
        lib.bm_py_table_stream(
            table, ffi.from_buffer("char[]", offsets), ffi.from_buffer("char[]", joined), len(texts), True, self.stream
        )

    def _new_stream(self) -> Any:
        stream = ffi.new("struct ArrowArrayStream *")
        return self.call.keep(ffi.gc(stream, lib.bm_py_release_stream))

    def fill(self, options: Any) -> None:
        """bm_input_options from it."""
        if self.stream is not None:
            options.stream = self.stream
            options.stream_name = self.call.text(NAME)
        else:
            options.paths = self.call.texts(self.paths)
            options.n_paths = len(self.paths)
