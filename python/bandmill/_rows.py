# SPDX-License-Identifier: Apache-2.0
"""Rows that were looked at, and how they are known again: by their ids, or by a digest of their texts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from bandmill import _files
from bandmill._apart import owned
from bandmill._call import Call
from bandmill._data import NAME, Source, no_data
from bandmill._errors import Error
from bandmill._native import ffi, lib
from bandmill._options import fill_input, new
from bandmill._signatures import sign
from bandmill._workplace import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]
Names = Union[str, "Sequence[str]", None]
_OTHERS = "the same data; rows with ids are found in any order"


@dataclass
class Rows:
    """What a table's rows are."""

    n: int
    digest: tuple[int, int]  # of the texts in their order; of signatures: of the words
    ids: Array | None  # a hash each, 0 for null


def _facts(handle: Any) -> Rows | None:
    facts = lib.bm_row_digest_facts(handle)
    n = int(facts.n_rows)
    ids = None
    if facts.ids != ffi.NULL:
        ids = np.frombuffer(ffi.buffer(facts.ids, 8 * n), dtype=np.uint64).copy()
    return Rows(n, (int(facts.digest[0]), int(facts.digest[1])), ids) if facts.whole else None


class Watch:
    """Rows of a stream, looked at while a job reads it."""

    def __init__(self, options: Any, call: Call) -> None:
        """``options``: bm_input_options, whose stream is another one from here on."""
        self._handle = call.keep(owned("row_digest"))
        call.run(lib.bm_row_digest_open, ffi.addressof(options), options.stream, False, self._handle)
        stream = call.keep(ffi.gc(ffi.new("struct ArrowArrayStream *"), lib.bm_py_release_stream))
        lib.bm_row_digest_pass(self._handle[0], stream)
        options.stream = stream

    def rows(self) -> Rows | None:
        """Once the stream has ended."""
        return _facts(self._handle[0])


def _read(data: Any, text: Names, id: str | None, each: bool = False) -> tuple[Rows, Array | None]:
    """The rows of ``data``, and with ``each`` a hash of every text."""
    call = Call()
    source = Source(data, call)
    if source.stream is None:
        raise no_data(data)
    o = new("sign")
    fill_input(o.input, call, source, {"text": text, "id": id})
    out = owned("row_digest")
    call.run(lib.bm_row_digest_open, ffi.addressof(o[0], "input"), o.input.stream, each, out)
    call.run(lib.bm_row_digest_read, out[0], call.text(NAME))
    rows = _facts(out[0])
    assert rows is not None
    texts = lib.bm_row_digest_facts(out[0]).texts
    return rows, np.frombuffer(ffi.buffer(texts, 8 * rows.n), dtype=np.uint64).copy() if each and rows.n else None


def hashes_of_texts(texts: Any) -> Array:
    """Of each text of a column of Arrow's, as it is read: by which copies are told from equal ones."""
    found = _read(texts, None, None, each=True)[1]
    return found if found is not None else np.zeros(0, dtype=np.uint64)


@dataclass
class Seen:
    """What a job has looked at: rows, a Parquet file, or signatures."""

    text: Names
    id: str | None
    rows: Rows | None = None
    file: tuple[str, int, int] | None = None  # path, bytes, time
    made: dict[str, Any] | None = None  # how signatures were made

    @classmethod
    def of_file(cls, path: Any, text: Names, id: str | None) -> Seen:
        """A file, whose rows are read when they are compared with others."""
        info = os.stat(path)
        return cls(text, id, file=(os.path.abspath(os.fspath(path)), info.st_size, info.st_mtime_ns))

    @classmethod
    def of_signatures(cls, signatures: Any) -> Seen:
        """Signatures: their ids, and their words."""
        made = signatures.manifest.get("provenance", {})
        ids = _read([str(id) for id in signatures.ids], None, None, each=True)[1]
        words = digest_of(np.ascontiguousarray(signatures.signatures))
        return cls(made.get("text_fields"), made.get("id_field"), Rows(len(signatures), words, ids), made=made)

    def parts(self) -> tuple[dict[str, Any], bytes]:
        """What JSON can say, and the ids."""
        rows = self.rows
        said = {
            "text": self.text if isinstance(self.text, str) or self.text is None else list(self.text),
            "id": self.id,
            "rows": None if rows is None else [rows.n, list(rows.digest), rows.ids is not None],
            "file": None if self.file is None else list(self.file),
            "made": self.made,
        }
        return said, b"" if rows is None or rows.ids is None else rows.ids.tobytes()

    @classmethod
    def of_parts(cls, said: dict[str, Any], ids: bytes) -> Seen:
        """From these again."""
        rows = None
        if said["rows"] is not None:
            n, digest, has_ids = said["rows"]
            rows = Rows(n, (digest[0], digest[1]), np.frombuffer(ids, dtype=np.uint64) if has_ids else None)
        file = None if said["file"] is None else tuple(said["file"])
        return cls(said["text"], said["id"], rows, file, said["made"])

    def kept_of(self, data: Any, kept: Array, job: str = "dedup") -> Array:
        """Of ``kept``, which is of the rows that were looked at, what is of those of ``data``. Error: they are others."""
        known = self.rows if self.file is None else self._rows_of_file(job)
        if known is None:
            raise Error(f"the rows that {job} read are not known", "nomem", field="data")
        found = _read(data if known.ids is None else _ids_of(data, self.text, self.id), self.text, self.id)[0]
        if found.n != len(kept):
            raise Error(f"{found.n} rows, where {job} read {len(kept)} ({_OTHERS})", field="data")
        if known.ids is not None and found.ids is not None:
            return _by_id(known.ids, found.ids, kept, job)
        if (found.digest if self.made is None else self._words_of(data)) != known.digest:
            raise Error(f"other texts than {job} read, or in another order ({_OTHERS})", field="data")
        return kept

    def _rows_of_file(self, job: str) -> Rows:
        assert self.file is not None
        path, size, time = self.file
        info = os.stat(path)
        if (info.st_size, info.st_mtime_ns) != (size, time):
            raise Error(f"{path}: the file has changed since {job} read it", "input", path, field="data")
        return _read(read_table(path), self.text, self.id)[0]

    def _words_of(self, data: Any) -> tuple[int, int]:
        """Of ``data``, signed as the signatures were."""
        made = self.made or {}
        names = ("shingle", "words", "normalize", "short", "perms", "seed", "scheme", "hash", "invalid_utf8", "max_doc_bytes")
        if made.get("stopwords") or made.get("weights") or not all(name in made for name in ("bag", *names)):
            raise Error("these signatures cannot be made again, so that texts are compared (data with ids)", field="data")
        options = {name: made[name] for name in names}
        again = sign(data, text=self.text or "text", bag=bool(made["bag"]), device="cpu", **options)
        return digest_of(np.ascontiguousarray(again.signatures))


def _ids_of(data: Any, text: Names, id: str | None) -> Any:
    """Of a pandas frame its ids, with empty texts: Arrow would copy texts that are objects. Of anything else all."""
    name = id or "id"
    if not hasattr(data, "iloc") or not hasattr(data, "columns") or not isinstance(text, str) or name == text:
        return data
    return data[[name]].assign(**{text: ""}) if name in data.columns and text in data.columns else data


def _by_id(known: Array, found: Array, kept: Array, job: str) -> Array:
    """Rows in another order, by hashes of their ids."""
    if np.array_equal(known, found):
        return kept
    order = np.argsort(known, kind="stable")
    places = order[np.minimum(np.searchsorted(known, found, sorter=order), len(known) - 1)]
    others = np.flatnonzero(known[places] != found)
    if len(others) > 0:
        raise Error(f"row {int(others[0])} has an id that {job} did not read ({_OTHERS})", field="data")
    if len(np.unique(places)) != len(known):
        raise Error(f"rows in another order, and several have one id, or none ({_OTHERS})", field="data")
    mask: Array = kept[places]
    return mask


def read_table(path: Any) -> Any:
    """A Parquet file."""
    if not os.fspath(path).lower().endswith(".parquet") or not os.path.isfile(path):
        raise Error(
            f"{os.fspath(path)}: rows are taken of a Parquet file, of a table or of a list (output= has what is kept of files)",
            field="data",
        )
    _files.arrow()
    import pyarrow.parquet as pq

    return pq.read_table(path, memory_map=False, page_checksum_verification=True)
