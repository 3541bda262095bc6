"""Parquet and Arrow files through pyarrow: what the library asks of its reader of tables.

The calls come from its threads. No exception leaves them: they answer with a status, and with words.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import Any, Callable

from bandmill._native import ffi, lib

_BATCH_ROWS, _PAGE_BYTES = 16384, 1 << 18
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4", "LZO": "NONE"}


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator]
def bm_py_tables_ready(why: Any, cap: int) -> int:
    """Whether pyarrow is there, and can read Parquet; else why not."""
    try:
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet  # noqa: F401
    except ImportError as e:
        _put(why, cap, str(e))
        return 0
    return 1


@ffi.def_extern(error=lib.BM_ERR_INPUT)  # type: ignore[untyped-decorator]
def bm_py_table_open(wish: Any, out: Any, words: Any) -> int:
    """A stream of the columns that are wanted."""

    def body() -> None:
        _use_threads(wish.threads)
        reader = _parquet_reader(wish) if wish.parquet else _ipc_reader(wish)
        reader._export_to_c(int(ffi.cast("uintptr_t", out)))

    return _guarded(words, body)


@ffi.def_extern(error=lib.BM_ERR_INPUT)  # type: ignore[untyped-decorator]
def bm_py_table_keep(kept: Any, words: Any) -> int:
    """The rows that stay, to the caller."""
    sink = _Sink(kept)

    def body() -> None:
        _use_threads(kept.threads)
        (_keep_parquet if kept.parquet else _keep_ipc)(kept, sink)

    status = _guarded(words, body)
    return int(lib.BM_ERR_PIPE) if sink.broken else status


# --- what goes wrong ---


def _put(to: Any, cap: int, text: str) -> None:
    """Words of one line."""
    data = text.replace("\n", " ").encode("utf-8", "backslashreplace").replace(b"\0", b" ")[: cap - 1]
    ffi.memmove(to, data + b"\0", len(data) + 1)


def _plain(error: BaseException) -> str:
    """Without what Arrow says of its own source."""
    return str(error).split(". Detail:")[0] or type(error).__name__


def _guarded(words: Any, body: Callable[[], None]) -> int:
    try:
        body()
    except BaseException as e:
        _put(words.text, len(words.text), "out of memory" if isinstance(e, MemoryError) else _plain(e))
        if isinstance(e, MemoryError):
            return int(lib.BM_ERR_NOMEM)
        return int(lib.BM_ERR_IO if isinstance(e, OSError) and e.errno else lib.BM_ERR_INPUT)
    return int(lib.BM_OK)


# --- reading ---


def _use_threads(n: int) -> None:
    import pyarrow as pa

    if n > 0:
        pa.set_cpu_count(n)


def _file(of: Any) -> Any:
    import pyarrow as pa

    return pa.OSFile(bytes(ffi.string(of.path)))


def _child(schema: Any, name: str) -> int:
    """The column that a name with dots leads into: all of the name, or what stands before its first dot or brackets."""
    whole = int(schema.get_field_index(name))
    return whole if whole >= 0 else int(schema.get_field_index(re.split(r"\.|\[\]", name)[0]))


def _children(schema: Any, wish: Any) -> list[int]:
    """The columns asked for, each once, in their order; all of them where one that must be there is not."""
    found = [_child(schema, os.fsdecode(ffi.string(wish.columns[i]))) for i in range(wish.n_columns)]
    if min(found[: wish.n_needed], default=0) < 0:
        return list(range(len(schema)))
    return sorted({i for i in found if i >= 0})


def _open_parquet(of: Any) -> Any:
    """Pages are read as they are wanted, not a row group ahead."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(_file(of), buffer_size=_PAGE_BYTES, pre_buffer=False)


def _parquet_reader(wish: Any) -> Any:
    import pyarrow as pa

    file = _open_parquet(wish)
    schema = file.schema_arrow
    children = _children(schema, wish)
    if len(children) == len(schema) or (wish.n_columns > 0 and not children):
        return pa.RecordBatchReader.from_batches(schema, file.iter_batches(_BATCH_ROWS))
    names = [schema.field(i).name for i in children]
    chosen = pa.schema([schema.field(i) for i in children])

    def batches() -> Iterator[Any]:
        # A name takes with it the leaves of structs that are called so.
        for batch in file.iter_batches(_BATCH_ROWS, columns=names):
            yield batch if batch.num_columns == len(names) else batch.select(names)

    return pa.RecordBatchReader.from_batches(chosen, batches())


def _open_ipc(of: Any, fields: list[int]) -> tuple[Any, Iterator[Any]]:
    """Schema and batches of an IPC file or stream; of no fields: all."""
    import pyarrow as pa

    file = _file(of)
    whole = file.read(6) == b"ARROW1"
    file.seek(0)
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    reader = (pa.ipc.open_file if whole else pa.ipc.open_stream)(file, options=options)

    def batches() -> Iterator[Any]:
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if whole else reader:
            batch.validate(full=True)  # who gets it trusts the lengths of its buffers
            yield batch

    return reader.schema, batches()


def _ipc_reader(wish: Any) -> Any:
    import pyarrow as pa

    schema, batches = _open_ipc(wish, [])
    children = _children(schema, wish)
    if children and len(children) < len(schema):
        schema, batches = _open_ipc(wish, children)
    return pa.RecordBatchReader.from_batches(schema, batches)


# --- keeping ---


class _Sink(io.RawIOBase):
    """What is written goes to the caller, who may refuse it."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        self.broken = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        block = ffi.from_buffer("char[]", data)
        self.broken = self.broken or self._kept.write(self._kept.write_ctx, block, len(block)) != 0
        if self.broken:
            raise OSError("cannot write")
        return len(block)


class _Mask:
    """The bits of the rows that stay, cut into batches; behind the last bit none stays."""

    def __init__(self, kept: Any) -> None:
        import pyarrow as pa

        self._n = int(kept.n_rows)
        bits = pa.py_buffer(ffi.buffer(kept.rows, (self._n + 7) // 8)) if self._n > 0 else pa.py_buffer(b"")
        self._bits = pa.BooleanArray.from_buffers(pa.bool_(), self._n, [None, bits])
        self._at = 0

    def rest_of(self, batch: Any) -> Any:
        import pyarrow as pa

        n = batch.num_rows
        mask = self._bits.slice(self._at, n)
        if len(mask) < n:
            mask = pa.concat_arrays([mask, pa.array([False] * (n - len(mask)), pa.bool_())])
        self._at = min(self._at + n, self._n)
        return batch.filter(mask)


class _Labels:
    """A column more, where each row that stays is to have its group."""

    def __init__(self, kept: Any, schema: Any) -> None:
        import pyarrow as pa

        self._field = None
        self.schema = schema
        if kept.labels == ffi.NULL:
            return
        if schema.get_all_field_indices("bandmill"):
            raise ValueError("the table has a column 'bandmill' already")
        self._kept, self._at = kept, 0
        kinds = [("group", pa.int64()), pa.field("kept", pa.bool_(), False), ("jaccard", pa.float64())]
        self._field = pa.field("bandmill", pa.struct(kinds), False)
        self.schema = schema.append(self._field)

    def add(self, batch: Any) -> Any:
        import pyarrow as pa

        if self._field is None:
            return batch
        rows = [self._kept.labels[i] for i in range(self._at, self._at + batch.num_rows)]
        self._at += batch.num_rows
        columns = [
            pa.array([r.group or None for r in rows], pa.int64()),
            pa.array([r.kept != 0 for r in rows], pa.bool_()),
            pa.array([None if r.millionths == 0xFFFFFFFF else r.millionths / 1e6 for r in rows], pa.float64()),
        ]
        labels = pa.StructArray.from_arrays(columns, fields=list(self._field.type))
        return pa.RecordBatch.from_arrays([*batch.columns, labels], schema=self.schema)


def _like(file: Any) -> dict[str, Any]:
    """Options of a writer: as the file was written, as far as it says."""
    meta = file.metadata
    options: dict[str, Any] = {
        "version": meta.format_version,
        "store_schema": b"ARROW:schema" in (meta.metadata or {}),
        "compression": "NONE",
    }
    if meta.num_row_groups > 0:
        group = meta.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        options["compression"] = {c.path_in_schema: _CODECS.get(c.compression, c.compression) for c in columns}
        options["use_dictionary"] = [c.path_in_schema for c in columns if any("DICTIONARY" in e for e in c.encodings)]
    return options


def _keep_parquet(kept: Any, sink: _Sink) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file, mask = _open_parquet(kept), _Mask(kept)
    labels = _Labels(kept, file.schema_arrow)
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), labels.schema, **_like(file)) as writer:
        for group in range(file.num_row_groups):
            rest = [labels.add(mask.rest_of(batch)) for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group])]
            table = pa.Table.from_batches(rest, labels.schema)
            if table.num_rows > 0:
                writer.write_table(table, row_group_size=table.num_rows)


def _keep_ipc(kept: Any, sink: _Sink) -> None:
    import pyarrow as pa

    schema, batches = _open_ipc(kept, [])
    mask, labels = _Mask(kept), _Labels(kept, schema)
    with pa.ipc.new_file(pa.PythonFile(sink, mode="w"), labels.schema) as writer:
        for batch in batches:
            rest = labels.add(mask.rest_of(batch))
            if rest.num_rows > 0:
                writer.write_batch(rest)
