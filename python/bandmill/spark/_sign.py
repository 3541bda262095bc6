# SPDX-License-Identifier: Apache-2.0
"""Signs texts on an executor, one batch at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import pyarrow as pa

from bandmill._apart import owned
from bandmill._call import Call
from bandmill._columns import array, flags, numbers
from bandmill._data import texts_of
from bandmill._native import ffi, lib
from bandmill._options import fill_device, fill_hash, fill_sketch, fill_text, new, size

Array = np.ndarray[Any, Any]
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Recipe:
    """How documents are cut and signed, as plain values that can be sent to the executors."""

    options: dict[str, Any]  # keywords about the text, the scheme and the device
    perms: int
    bands: int
    rows: int
    stopwords: bytes | None = None  # contents of the file of stop words
    records: dict[str, Any] = field(default_factory=dict)  # keywords about how a record is read


def skips(options: dict[str, Any]) -> bool:
    """Return whether bad records are left out. If not, a bad record ends the task."""
    return options.get("on_error") == "skip"


class Signer:
    """The library's signer for a recipe. It stays open between batches."""

    def __init__(self, recipe: Recipe) -> None:
        """Open the signer."""
        self.recipe = recipe
        self._longest = size(recipe.records.get("max_doc_bytes"), "max_doc_bytes") or 1 << 30
        self._strict = recipe.records.get("invalid_utf8") == "error"
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
        o.sketch.perms, o.bands.bands, o.bands.rows = recipe.perms, recipe.bands, recipe.rows
        o.band_keys = recipe.bands > 0
        o.resources.threads = 1
        self._signer = owned("signer")
        self._call.run(lib.bm_signer_open, o, self._signer)

    def sign(self, texts: pa.Array) -> tuple[Array, Array, Array]:
        """Return the words, numbers of shingles and band keys of texts."""
        call, n, recipe = Call(), len(texts), self.recipe
        strings, _ = texts_of(texts, "text", call)
        words, n_shingles = np.empty((n, recipe.perms), dtype=np.uint32), np.empty(n, dtype=np.uint32)
        keys = np.empty((n, recipe.bands), dtype=np.uint64)
        out = ffi.new("bm_signer_out *")
        out.struct_size = ffi.sizeof(out[0])
        out.signatures = ffi.cast("uint32_t *", ffi.from_buffer(words))
        out.n_shingles = ffi.cast("uint32_t *", ffi.from_buffer(n_shingles))
        if recipe.bands:
            out.keys = ffi.cast("uint64_t *", ffi.from_buffer(keys))
        call.run(lib.bm_signer_sign_texts, self._signer[0], strings, n, out)
        return words, n_shingles, keys

    def why_bad(self, id: pa.Scalar, text: pa.Scalar) -> str | None:
        """Return why a record is bad; None: it is good."""
        if not id.is_valid:
            return "the id is null"
        if not text.is_valid:
            return None
        n_bytes = len(text.as_buffer())
        if n_bytes > self._longest:
            return f"the text has {n_bytes} bytes (at most {self._longest}, max_doc_bytes)"
        if self._strict:
            try:
                text.as_py().decode("utf-8")
            except UnicodeDecodeError:
                return "the text is not UTF-8 (invalid_utf8)"
        return None

    def bad_rows(self, ids: pa.Array, texts: pa.Array) -> dict[int, str]:
        """Return the rows with bad records, and the reasons."""
        import pyarrow.compute as pc

        too_long = numbers(pc.binary_length(texts), 0) > self._longest
        suspect = flags(ids.is_null()) | too_long | self._strict
        found = {int(i): self.why_bad(ids[int(i)], texts[int(i)]) for i in np.flatnonzero(suspect)}
        return {i: why for i, why in found.items() if why is not None}


def sign(recipe: Recipe) -> Callable[[Batches], Batches]:
    """Map (id, text) to (id, signature, n_shingles and, if there are bands, band_keys), for mapInArrow. A bad record ends the
    task, or is left out.
    """

    def run(batches: Batches) -> Batches:
        signer: Signer | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            signer = signer or Signer(recipe)
            texts, ids = batch.column("text"), batch.column("id")
            bad = signer.bad_rows(ids, texts)
            if bad and not skips(recipe.records):
                row, why = min(bad.items())
                raise ValueError(f"document {ids[row].as_py()!r}: {why}")
            if bad:
                batch = batch.filter(array(~np.isin(np.arange(batch.num_rows), list(bad))))
                texts, ids = batch.column("text"), batch.column("id")
            words, n_shingles, keys = signer.sign(texts)
            columns = {"id": ids, "signature": _lists(words), "n_shingles": array(n_shingles.astype(np.int64))}
            if recipe.bands:
                columns["band_keys"] = _lists(keys)
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return run


def _lists(rows: Array) -> pa.Array:
    n, width = rows.shape
    flat = rows.reshape(-1).astype(np.int64) if rows.dtype == np.uint32 else rows.reshape(-1).view(np.int64)
    return pa.ListArray.from_arrays(array(np.arange(n + 1, dtype=np.int32) * width), array(flat))
