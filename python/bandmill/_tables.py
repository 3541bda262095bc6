# SPDX-License-Identifier: Apache-2.0
"""Reads and writes Parquet and Arrow files with pyarrow, on behalf of the library.

Threads of the library call these functions. No exception leaves them; they return a status and a message.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Callable

from bandmill import _ipc
from bandmill._errors import Error
from bandmill._native import ffi, lib

_BATCH_ROWS, _FEWEST_ROWS, _PAGE_BYTES, _KEEP_BYTES = 16384, 16, 1 << 18, 1 << 20
# pyarrow reads one codec that has no name: LZ4 as written by Hadoop.
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4", "UNKNOWN": "LZ4"}
_LABEL, _ARROW_SCHEMA, _SPARK_SCHEMA = "bandmill", b"ARROW:schema", b"org.apache.spark.sql.parquet.row.metadata"
_LABEL_ROW = [("group", "u8"), ("size", "u8"), ("millionths", "u4"), ("kept", "u4")]


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator]
def bm_py_tables_ready(why: Any, cap: int) -> int:
    """Return 1 if pyarrow is installed and can read Parquet. If not, return 0, and write the reason to ``why``."""
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
    """Open a stream of the requested columns."""

    def body() -> None:
        _use_threads(wish.threads)
        reader = _parquet_reader(wish) if wish.parquet else _ipc_reader(wish)
        reader._export_to_c(int(ffi.cast("uintptr_t", out)))

    return _guarded(words, body)


@ffi.def_extern(error=lib.BM_ERR_INPUT)  # type: ignore[untyped-decorator]
def bm_py_table_keep(kept: Any, words: Any) -> int:
    """Pass the kept rows to the caller."""
    sink = _Sink(kept)

    def body() -> None:
        _use_threads(kept.threads)
        (_keep_parquet if kept.parquet else _keep_ipc)(kept, sink, words)

    status = _guarded(words, body)
    return int(lib.BM_ERR_PIPE) if sink.broken else status


@ffi.def_extern(error=lib.BM_ERR_IO)  # type: ignore[untyped-decorator]
def bm_py_table_write(made: Any, words: Any) -> int:
    """Pass a stream to the caller, as a new file."""
    sink = _Sink(made)
    status = _guarded(words, lambda: _write(made, sink))
    if sink.broken:
        return int(lib.BM_ERR_PIPE)
    return int(lib.BM_ERR_IO) if status == lib.BM_ERR_INPUT else status


# --- errors ---


def _put(to: Any, cap: int, text: str) -> None:
    """Store a message, on one line."""
    data = text.replace("\n", " ").encode("utf-8", "backslashreplace").replace(b"\0", b" ")[: cap - 1]
    ffi.memmove(to, data + b"\0", len(data) + 1)


def _plain(error: BaseException) -> str:
    """Return the message of an error, without the place in Arrow's own source code."""
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


def _placed(batches: Iterator[Any], place: str = "") -> Iterator[Any]:
    """Pass batches on. If reading fails, the error has ``place`` and the number of rows that were read."""
    import pyarrow as pa

    row = 0
    try:
        for batch in batches:
            yield batch
            row += batch.num_rows
    except (OSError, pa.ArrowException) as e:
        raise pa.ArrowInvalid(f"{place}after row {row}: {_plain(e)}") from None


# --- reading ---


def _use_threads(n: int) -> None:
    import pyarrow as pa

    if n > 0:
        pa.set_cpu_count(n)


def _file(of: Any) -> Any:
    import pyarrow as pa

    if of.bytes.file != ffi.NULL:
        return pa.PythonFile(_Elsewhere(of.bytes), mode="r")
    return pa.OSFile(bytes(ffi.string(of.path)))


class _Elsewhere(io.RawIOBase):
    """A file object for a file at an address, which the library reads by position."""

    def __init__(self, of: Any) -> None:
        self._read, self._file, self._size, self._at = of.read, of.file, int(of.size), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, at: int, whence: int = io.SEEK_SET) -> int:
        self._at = at + (0 if whence == io.SEEK_SET else self._at if whence == io.SEEK_CUR else self._size)
        return self._at

    def readinto(self, out: Any) -> int:
        got, error = ffi.new("size_t *"), ffi.new("bm_error *")
        if self._read(self._file, ffi.from_buffer(out, require_writable=True), len(out), self._at, got, error) != lib.BM_OK:
            raise OSError(ffi.string(error.message).decode(errors="replace"))
        self._at += got[0]
        return int(got[0])


def _child(schema: Any, name: str) -> int:
    """Return the number of the column that a name with dots and brackets needs. It is the column with the whole name or, if
    there is none, with the part before the first dot and its brackets. -1: there is no such column.
    """
    whole = int(schema.get_field_index(name))
    if whole >= 0:
        return whole
    first = re.match(r"(\\\.|[^.])*", name)
    assert first is not None  # the pattern matches any text
    return int(schema.get_field_index(re.sub(r"(\[\])+$", "", first[0].replace("\\.", "."))))


def _children(schema: Any, wish: Any) -> list[int]:
    """Return the numbers of the requested columns, ascending and each once. If a required column is missing, return those of
    all columns.
    """
    found = [_child(schema, os.fsdecode(ffi.string(wish.columns[i]))) for i in range(wish.n_columns)]
    if min(found[: wish.n_needed], default=0) < 0:
        return list(range(len(schema)))
    return sorted({i for i in found if i >= 0})


class _Parquet:
    """A Parquet file, read by row groups."""

    def __init__(self, of: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Pages are read only when they are needed, not a row group ahead.
        self.file = pq.ParquetFile(_file(of), buffer_size=_PAGE_BYTES, pre_buffer=False, page_checksum_verification=True)
        self.meta = self.file.metadata
        self.schema = self.file.schema_arrow
        self.threads = of.threads != 1
        # The file's statements about its columns are not checked before the columns are read, because some false statements
        # make pyarrow end the process.
        rows = sum(self.meta.row_group(g).num_rows for g in range(self.meta.num_row_groups))
        if rows != self.meta.num_rows:
            raise pa.ArrowInvalid(f"its row groups have {rows} rows, the file {self.meta.num_rows}")

    def group(self, group: int, names: list[str] | None, wanted: int) -> Iterator[Any]:
        """Return the batches of a row group. A batch has about ``wanted`` bytes, according to the file; 0: _BATCH_ROWS rows."""
        of = self.meta.row_group(group)
        each = max(of.total_byte_size, 0) // max(of.num_rows, 1) + 1
        n = max(_FEWEST_ROWS, min(_BATCH_ROWS, wanted // each)) if wanted > 0 else _BATCH_ROWS
        batches = self.file.iter_batches(n, row_groups=[group], columns=names, use_threads=self.threads)
        return _placed(batches, f"row group {group}, ")


def _parquet_reader(wish: Any) -> Any:
    import pyarrow as pa

    file = _Parquet(wish)
    schema = file.schema
    rows = [file.meta.row_group(group).num_rows for group in range(file.meta.num_row_groups)]
    if wish.group != ffi.NULL:
        all(wish.group(wish.group_ctx, n) for n in rows)
    begins = [0, *itertools.accumulate(rows)]
    end = wish.first_row + wish.n_rows if wish.n_rows > 0 else begins[-1]
    children = _children(schema, wish)
    names: list[str] | None = [schema.field(i).name for i in children]
    if len(children) == len(schema) or (wish.n_columns > 0 and not children):
        names = None
    else:
        schema = pa.schema([schema.field(i) for i in children])

    def batches() -> Iterator[Any]:
        for group, begin in enumerate(begins[:-1]):
            wanted = wish_first <= begin < end
            for batch in file.group(group, names, wish_bytes) if wanted else ():
                # A name also selects the leaves of structs that have this name.
                yield batch if names is None or batch.num_columns == len(names) else batch.select(names)

    wish_bytes, wish_first = int(wish.batch_bytes), int(wish.first_row)
    return pa.RecordBatchReader.from_batches(schema, batches())


def _open_ipc(of: Any, fields: list[int]) -> tuple[Any, Iterator[Any]]:
    """Return schema and batches of an IPC file or stream; no fields: all fields."""
    import pyarrow as pa

    file = _file(of)
    whole = file.read(6) == b"ARROW1"
    file.seek(0)
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=of.threads != 1)
    reader = (pa.ipc.open_file if whole else pa.ipc.open_stream)(file, options=options)

    def batches() -> Iterator[Any]:
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if whole else reader:
            batch.validate(full=True)  # the receiver trusts the lengths of the buffers
            yield batch

    return reader.schema, _placed(batches())


def _ipc_reader(wish: Any) -> Any:
    import pyarrow as pa

    schema, batches = _open_ipc(wish, [])
    children = _children(schema, wish)
    if children and len(children) < len(schema):
        schema, batches = _open_ipc(wish, children)
    return pa.RecordBatchReader.from_batches(schema, batches)


# --- writing ---


class _Sink(io.RawIOBase):
    """A file object that passes all written bytes to the caller. Once the caller refuses some, every write raises OSError."""

    def __init__(self, of: Any) -> None:
        self._of = of
        self.broken = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        block = ffi.from_buffer("char[]", data)
        self.broken = self.broken or self._of.write(self._of.write_ctx, block, len(block)) != 0
        if self.broken:
            raise OSError("cannot write")
        return len(block)


def _write(made: Any, sink: _Sink) -> None:
    """Write a new file. Parquet columns get no dictionaries, because these do not make columns of random words shorter."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    batches = pa.RecordBatchReader._import_from_c(int(ffi.cast("uintptr_t", made.stream)))
    out = pa.PythonFile(sink, mode="w")
    if not made.parquet:
        with pa.ipc.new_file(out, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return
    with pq.ParquetWriter(out, batches.schema, compression="zstd", use_dictionary=False) as writer:
        waiting: list[Any] = []
        for batch in batches:
            while batch.num_rows > 0:
                room = int(made.group_rows) - sum(b.num_rows for b in waiting)
                waiting.append(batch.slice(0, room))
                batch = batch.slice(min(room, batch.num_rows))
                if sum(b.num_rows for b in waiting) == made.group_rows:
                    writer.write_table(pa.Table.from_batches(waiting), row_group_size=made.group_rows)
                    waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting), row_group_size=made.group_rows)


# --- kept rows ---


class _Rows:
    """Returns the kept rows of one batch after another. If the caller passed labels, rows get a column with them."""

    def __init__(self, kept: Any, schema: Any) -> None:
        import numpy as np
        import pyarrow as pa

        self.n = int(kept.n_rows)
        bits = pa.py_buffer(ffi.buffer(kept.rows, (self.n + 7) // 8)) if self.n > 0 else pa.py_buffer(b"")
        self._bits = pa.BooleanArray.from_buffers(pa.bool_(), self.n, [None, bits])
        self._at = self._labelled = self._read = 0
        self._labels: Any = None
        self.schema = schema
        self._cuts = np.zeros((0, 3), dtype=np.int64)
        if kept.n_cuts > 0:
            self._cuts = np.frombuffer(ffi.buffer(kept.cuts, 24 * kept.n_cuts), dtype=np.int64).reshape(-1, 3)
            self._text = ffi.string(kept.text).decode()
        if kept.labels != ffi.NULL:
            if schema.get_all_field_indices(_LABEL):
                raise pa.ArrowInvalid(f"the table has a column '{_LABEL}' already")
            self._labels = np.frombuffer(ffi.buffer(kept.labels, 24 * kept.n_labels), dtype=_LABEL_ROW)
            numbers = [pa.field("group", pa.int64()), pa.field("size", pa.int64())]
            fields = [*numbers, pa.field("kept", pa.bool_(), False), pa.field("jaccard", pa.float64())]
            label = pa.field(_LABEL, pa.struct(fields), False)
            metadata = None if schema.metadata is None else _for_spark(schema.metadata, label)
            self.schema = schema.append(label).with_metadata(metadata)

    def of(self, batch: Any) -> Any:
        """Return the kept rows of the next batch. No row after the last bit is kept."""
        import pyarrow as pa

        n = batch.num_rows
        batch = self._cut(batch)
        mask = self._bits.slice(self._at, n)
        if len(mask) < n:
            mask = pa.concat_arrays([mask, pa.array([False] * (n - len(mask)), pa.bool_())])
        self._at = min(self._at + n, self.n)
        columns = [filtered_column(column, mask) for column in batch.columns]
        if self._labels is not None:
            columns.append(self._label(mask.true_count))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _cut(self, batch: Any) -> Any:
        """Return the next batch without the parts that are cut out of its texts."""
        import numpy as np
        import pyarrow as pa

        from bandmill._cuts import Cuts

        low, high = np.searchsorted(self._cuts[:, 0], (self._read, self._read + batch.num_rows))
        own = self._cuts[low:high] - [self._read, 0, 0]
        self._read += batch.num_rows
        try:
            return Cuts(own[:, 0], own[:, 1], own[:, 2]).out_of(batch, [self._text]) if low < high else batch
        except Error as error:
            raise pa.ArrowInvalid(str(error)) from None

    def _label(self, n: int) -> Any:
        import numpy as np
        import pyarrow as pa

        if n > len(self._labels) - self._labelled:
            raise pa.ArrowInvalid("fewer labels than rows")
        rows = self._labels[self._labelled : self._labelled + n]
        self._labelled += n
        unknown = np.iinfo(np.uint32).max
        columns = [
            pa.array(rows["group"].astype(np.int64), mask=rows["group"] == 0),
            pa.array(rows["size"].astype(np.int64), mask=rows["size"] == 0),
            pa.array(rows["kept"] != 0),
            pa.array(rows["millionths"] / 1e6, mask=rows["millionths"] == unknown),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.schema.field(_LABEL).type))


def filtered_column(column: Any, mask: Any) -> Any:
    """Filter a column. Arrow cannot filter string views, so these are converted to strings and back."""
    import pyarrow as pa

    views = {getattr(pa, f"{name}_view", lambda: None)(): getattr(pa, f"large_{name}")() for name in ("string", "binary")}
    plain = views.get(column.type)
    return column.filter(mask) if plain is None else column.cast(plain).filter(mask).cast(column.type)


def _spark_field(field: Any) -> dict[str, Any]:
    """Return a field in the form in which Spark writes it into metadata."""
    import pyarrow as pa

    plain = {pa.int64(): "long", pa.bool_(): "boolean", pa.float64(): "double"}
    kind = (
        {"type": "struct", "fields": [_spark_field(f) for f in field.type]}
        if pa.types.is_struct(field.type)
        else plain[field.type]
    )
    return {"name": field.name, "type": kind, "nullable": field.nullable, "metadata": {}}


def _for_spark(metadata: dict[bytes, bytes], field: Any) -> dict[bytes, bytes]:
    """Return the metadata of a file, changed for an additional column.

    Spark reads only the columns that its own entry in the metadata names, so the column is added there. If the entry does not
    have the usual form, it is dropped, and Spark reads all columns of the file.
    """
    if _SPARK_SCHEMA not in metadata:
        return metadata
    own, more = metadata[_SPARK_SCHEMA], json.dumps(_spark_field(field), separators=(",", ":")).encode()
    try:
        word = json.loads(own)
    except (ValueError, RecursionError):
        word = None
    head, tail = b'{"type":"struct","fields":[', b"]}"
    if isinstance(word, dict) and word.keys() == {"type", "fields"} and own.startswith(head) and own.endswith(tail):
        comma = b"," if word["fields"] else b""
        return {**metadata, _SPARK_SCHEMA: own[: -len(tail)] + comma + more + tail}
    return {key: value for key, value in metadata.items() if key != _SPARK_SCHEMA}


def _like(file: _Parquet, label: Any) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """Return options for a writer, and metadata, so that the new file is like ``file``, as far as pyarrow can do this.
    ``label``: the additional column; None: there is none.
    """
    import pyarrow.parquet as pq

    meta = file.meta
    own: dict[bytes, bytes] = {}
    options: dict[str, Any] = {"version": meta.format_version, "compression": "NONE"}
    if "[ns" in str(file.schema.types):  # older versions would have microseconds
        options["version"] = "2.6"
    of_file = dict(meta.metadata or {})
    options["store_schema"] = _ARROW_SCHEMA in of_file
    if hasattr(pq.ParquetWriter, "add_key_value_metadata"):
        own = of_file if label is None else _for_spark(of_file, label)  # without labels, the metadata are copied exactly
        if label is None:
            options["store_schema"] = False
        else:
            own.pop(_ARROW_SCHEMA, None)  # Arrow writes a new schema, with the additional column
    if meta.num_row_groups > 0:
        group = meta.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        options["compression"] = {c.path_in_schema: _CODECS.get(c.compression, c.compression) for c in columns}
        options["use_dictionary"] = [c.path_in_schema for c in columns if any("DICTIONARY" in e for e in c.encodings)]
        options["write_statistics"] = [c.path_in_schema for c in columns if c.is_stats_set]
        options["sorting_columns"] = list(group.sorting_columns) or None
        options["write_page_index"] = any(c.has_column_index for c in columns)
        options["use_deprecated_int96_timestamps"] = any(c.physical_type == "INT96" for c in columns)
        options["use_compliant_nested_type"] = not any(c.path_in_schema.endswith(".list.item") for c in columns)
    return options, own


def _further(kept: Any, words: Any) -> Iterator[Any]:
    """Yield the further tables whose rows follow in the same file, and count them for messages."""
    while kept.more != ffi.NULL:
        kept = kept.more
        words.table += 1
        yield kept


def _check_schema(first: Any, other: Any, words: Any) -> None:
    import pyarrow as pa

    words.other_schema = not first.equals(other)
    if words.other_schema:
        pairs = itertools.zip_longest(map(str, other), map(str, first), fillvalue="no column")
        differs = next((f"'{a}' in place of '{b}'" for a, b in pairs if a != b), "a column is not as there")
        raise pa.ArrowInvalid(differs.replace("pyarrow.Field<", "").replace(">'", "'"))


def _keep_parquet(kept: Any, sink: _Sink, words: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = first = _Parquet(kept)
    rows = _Rows(kept, file.schema)
    if file.meta.num_row_groups > 0:
        next(file.group(0, None, 1), None)
    options, own = _like(file, None if rows.schema is file.schema else rows.schema.field(_LABEL))
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), rows.schema, **options) as writer:
        if own:
            writer.add_key_value_metadata(own)
        _keep_groups(file, rows, writer)
        for more in _further(kept, words):
            file = _Parquet(more)
            _check_schema(first.schema, file.schema, words)
            _keep_groups(file, _Rows(more, first.schema), writer)


def _keep_groups(file: _Parquet, rows: _Rows, writer: Any) -> None:
    import pyarrow as pa

    for group in range(file.meta.num_row_groups if rows.n > 0 else 0):
        rest = [rows.of(batch) for batch in file.group(group, None, _KEEP_BYTES)]
        table = pa.Table.from_batches(rest, rows.schema)
        if table.num_rows > 0:
            writer.write_table(table, row_group_size=table.num_rows)


def _keep_ipc(kept: Any, sink: _Sink, words: Any) -> None:
    import pyarrow as pa

    schema, batches = _open_ipc(kept, [])
    rows = _Rows(kept, schema)
    options = pa.ipc.IpcWriteOptions(compression=_ipc.codec(_file(kept)), use_threads=kept.threads != 1)
    with pa.ipc.new_file(pa.PythonFile(sink, mode="w"), rows.schema, options=options) as writer:
        for more in itertools.chain([None], _further(kept, words)):
            if more is not None:
                other, batches = _open_ipc(more, [])
                _check_schema(schema, other, words)
                rows = _Rows(more, schema)
            for rest in map(rows.of, batches if rows.n > 0 else ()):
                if rest.num_rows > 0:
                    writer.write_batch(rest)
