# SPDX-License-Identifier: Apache-2.0
"""On an executor: texts to sorted sets of hashes, band keys and words, a batch at a time."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import pyarrow as pa

from bandmill._apart import owned
from bandmill._call import Call
from bandmill._data import strings_of
from bandmill._native import ffi, lib
from bandmill._options import fill_device, fill_hash, fill_sketch, fill_text, new
from bandmill._rows import hashes_of_texts

Array = np.ndarray[Any, Any]
UNREADABLE = (0).to_bytes(8, "little") + (1).to_bytes(8, "little")  # the content of a text in another encoding
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Recipe:
    """How documents are cut and signed: plain values, which travel to the executors."""

    options: dict[str, Any]  # keywords of the text, the scheme and the device
    perms: int
    bands: int
    rows: int
    stopwords: bytes | None = None  # what is in the file of them
    words: bool = False  # words are wanted, not sets
    max_doc_bytes: int = 0
    strict_utf8: bool = False
    raises: bool = False  # a bad record ends the task


class Cutter:
    """The library's calls for one recipe; a signer stays open between batches."""

    def __init__(self, recipe: Recipe) -> None:
        """Opens the signer."""
        self.recipe = recipe
        self._call = Call()
        options = dict(recipe.options)
        if recipe.stopwords is not None:
            self._file = tempfile.NamedTemporaryFile(prefix="bandmill-")  # noqa: SIM115
            self._file.write(recipe.stopwords)
            self._file.flush()
            options["stopwords"] = self._file.name
        o = new("signer")
        fill_text(o.text, self._call, options)
        fill_sketch(o.sketch, options)
        fill_hash(o.text, o.sketch, options)
        fill_device(o.device, self._call, options)
        o.sketch.perms, o.bands, o.rows = recipe.perms, recipe.bands, recipe.rows
        o.resources.threads = 1
        self._shingling = new("shingle")
        fill_text(self._shingling.text, self._call, options)
        self._shingling.text.hash, self._shingling.sorted = o.text.hash, True
        self._shingling.cpu = self._call.text(options.get("cpu"))
        self._shingling.resources.threads = 1
        self._signer = owned("signer")
        self._call.run(lib.bm_signer_open, o, self._signer)

    def cut(self, texts: pa.Array) -> dict[str, Array]:
        """Of a binary array: n_shingles, content (2 words each), offsets and hashes; keys and words as the recipe says."""
        call, n, recipe = Call(), len(texts), self.recipe
        texts = texts.fill_null(b"") if texts.null_count else texts
        strings, _ = strings_of([(bytes_of(texts), offsets_of(texts))], call)
        out = owned("hash_sets")
        call.run(lib.bm_shingle_texts, self._shingling, strings, n, out)
        sets = out[0]
        offsets = _copy(lib.bm_hash_sets_offsets(sets), n + 1, np.int64)
        found = {
            "n_shingles": np.diff(offsets),
            "content": _copy(lib.bm_hash_sets_content(sets), 2 * n, np.uint64),
            "offsets": offsets,
            "hashes": _copy(lib.bm_hash_sets_hashes(sets), int(offsets[-1]), np.uint64),
        }
        documents = ffi.new("bm_documents *")
        documents.struct_size, documents.n_docs = ffi.sizeof(documents[0]), n
        documents.offsets, documents.hashes = lib.bm_hash_sets_offsets(sets), lib.bm_hash_sets_hashes(sets)
        signed = ffi.new("bm_signer_out *")
        signed.struct_size = ffi.sizeof(signed[0])
        if recipe.bands:
            found["keys"] = np.empty((n, recipe.bands), dtype=np.uint64)
            signed.keys = ffi.cast("uint64_t *", ffi.from_buffer(found["keys"]))
        if recipe.words:
            found["words"] = np.empty((n, recipe.perms), dtype=np.uint32)
            signed.words = ffi.cast("uint32_t *", ffi.from_buffer(found["words"]))
        if recipe.bands or recipe.words:
            call.run(lib.bm_signer_sign, self._signer[0], documents, signed)
        return found

    def why_bad(self, row: int, texts: pa.Array, ids: pa.Array) -> str | None:
        """Why a record is none; None: it is good."""
        if not ids[row].is_valid:
            return "the id is null"
        if not texts[row].is_valid:
            return None
        size = len(texts[row].as_buffer())
        if size > self.recipe.max_doc_bytes:
            return f"the text has {size} bytes (at most {self.recipe.max_doc_bytes}, max_doc_bytes)"
        if self.recipe.strict_utf8:
            try:
                texts[row].as_py().decode("utf-8")
            except UnicodeDecodeError:
                return "the text is not UTF-8 (invalid_utf8)"
        return None


def _copy(pointer: Any, n: int, kind: Any) -> Array:
    if n == 0:
        return np.zeros(0, dtype=kind)
    found: Array = np.frombuffer(ffi.buffer(pointer, n * 8), dtype=kind).copy()
    return found


def offsets_of(column: pa.Array) -> Array:
    """n + 1 offsets of a binary column, into `bytes_of` it."""
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    if len(column) == 0:
        return np.zeros(1, dtype=np.int64)
    found = np.frombuffer(column.buffers()[1], dtype=kind)
    return found[column.offset : column.offset + len(column) + 1].astype(np.int64)


def bytes_of(column: pa.Array) -> Array:
    """The bytes of a binary column."""
    data = column.buffers()[2]
    return np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)


def binary(data: Array, width: int | None = None, offsets: Array | None = None) -> pa.Array:
    """A binary column: rows of ``width`` bytes, or by offsets in bytes."""
    data = np.ascontiguousarray(data)
    if offsets is None:
        assert width is not None
        n = data.nbytes // width if width else 0
        offsets = np.arange(n + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(np.asarray(offsets, dtype=np.int64)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def bad_rows(cutter: Cutter, texts: pa.Array, ids: pa.Array) -> dict[int, str]:
    """The rows that are no documents, and why."""
    recipe = cutter.recipe
    suspect = np.asarray(ids.is_null()) | (np.diff(offsets_of(texts)) > recipe.max_doc_bytes)
    if recipe.strict_utf8:
        suspect[:] = True
    found = {int(i): cutter.why_bad(int(i), texts, ids) for i in np.flatnonzero(suspect)}
    return {i: why for i, why in found.items() if why is not None}


def cut(recipe: Recipe, small: int = 4096) -> Callable[[Batches], Batches]:
    """(num, id, text) -> (num, id, bytes, text_hash, n_shingles, content, keys, sets, bad), for mapInArrow.

    ``sets``: sorted hashes, or words where the recipe wants those. ``small``: rows of a batch that goes out.
    """

    def run(batches: Batches) -> Batches:
        cutter: Cutter | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            cutter = cutter or _open(recipe)
            for at in range(0, batch.num_rows, small):
                yield _cut_batch(cutter, batch.slice(at, small))

    return run


def _open(recipe: Recipe) -> Cutter:
    """In a worker of Spark's. It looks for garbage after every task, which takes 40 ms if not what is loaded is left out."""
    if gc.get_freeze_count() == 0:
        gc.freeze()
    return Cutter(recipe)


def _cut_batch(cutter: Cutter, batch: pa.RecordBatch) -> pa.RecordBatch:
    recipe, texts, n = cutter.recipe, batch.column("text"), batch.num_rows
    bad = bad_rows(cutter, texts, batch.column("id"))
    if bad:
        keep = np.ones(n, dtype=bool)
        keep[list(bad)] = False
        texts = pa.array([t if k else None for t, k in zip(texts.to_pylist(), keep)], texts.type)
    found = cutter.cut(texts)
    sets = binary(found["words"], 4 * recipe.perms) if recipe.words else binary(found["hashes"], offsets=found["offsets"] * 8)
    columns = {
        "num": batch.column("num"),
        "id": batch.column("id"),
        "bytes": pa.array(np.diff(offsets_of(batch.column("text")))),
        "text_hash": pa.array(hashes_of_texts(texts).view(np.int64)),
        "n_shingles": pa.array(found["n_shingles"]),
        "content": binary(found["content"], 16),
        "keys": binary(found["keys"], 8 * recipe.bands),
        "sets": sets,
        "bad": pa.array([bad.get(i) for i in range(n)], pa.string()),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def sign(recipe: Recipe) -> Callable[[Batches], Batches]:
    """(id, text) -> (id, signature, n_shingles, band_keys), for mapInArrow; bad records end the task, or are left out."""

    def run(batches: Batches) -> Batches:
        cutter: Cutter | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            cutter = cutter or _open(recipe)
            texts, ids = batch.column("text"), batch.column("id")
            bad = bad_rows(cutter, texts, ids)
            if bad and recipe.raises:
                row, why = min(bad.items())
                raise ValueError(f"document {ids[row].as_py()!r}: {why}")
            if bad:
                batch = batch.filter(pa.array([i not in bad for i in range(batch.num_rows)]))
                texts, ids = batch.column("text"), batch.column("id")
            found = cutter.cut(texts)
            columns = {"id": ids, "signature": _lists(found["words"]), "n_shingles": pa.array(found["n_shingles"])}
            if recipe.bands:
                columns["band_keys"] = _lists(found["keys"])
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return run


def _lists(rows: Array) -> pa.Array:
    n, width = rows.shape
    flat = rows.reshape(-1).astype(np.int64) if rows.dtype == np.uint32 else rows.reshape(-1).view(np.int64)
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32) * width), pa.array(flat))
