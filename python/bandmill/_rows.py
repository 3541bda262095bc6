# SPDX-License-Identifier: Apache-2.0
"""Recognizes the rows that a job read when they are passed in again, by their ids or by a digest of their texts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from bandmill import _files
from bandmill._apart import owned
from bandmill._call import Call
from bandmill._data import Source, no_data
from bandmill._errors import Error
from bandmill._native import ffi, lib
from bandmill._option_rows import FIELDS
from bandmill._options import fill_input, new
from bandmill._signatures import sign
from bandmill._texts import NAME
from bandmill._workplace import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]
Names = Union[str, "Sequence[str]", None]
_OTHERS = "the same data; rows with ids are found in any order"


@dataclass
class Rows:
    """Facts about the rows of a table."""

    n: int
    digest: tuple[int, int]  # of the texts in their order; for signatures, of the words
    ids: Array | None  # a hash of each id, 0 for null; None: no ids
    texts: Array | None = None  # a hash of each text; None: not requested


def _facts(handle: Any) -> Rows | None:
    facts = lib.bm_row_digest_facts(handle)
    n = int(facts.n_rows)

    def hashes(of: Any) -> Array | None:
        return None if of == ffi.NULL else np.frombuffer(ffi.buffer(of, 8 * n), dtype=np.uint64).copy()

    return (
        Rows(n, (int(facts.digest[0]), int(facts.digest[1])), hashes(facts.ids), hashes(facts.texts)) if facts.whole else None
    )


class Watch:
    """Notes the rows of a stream while a job reads it."""

    def __init__(self, options: Any, call: Call, each: bool = False) -> None:
        """Replace the stream of ``options`` (bm_input_options) by a stream that also notes the rows. ``each``: keep a hash of
        every text.
        """
        self._handle = call.keep(owned("row_digest"))
        call.run(lib.bm_row_digest_open, ffi.addressof(options), options.stream, each, self._handle)
        stream = call.keep(ffi.gc(ffi.new("struct ArrowArrayStream *"), lib.bm_py_release_stream))
        lib.bm_row_digest_pass(self._handle[0], stream)
        options.stream = stream

    def rows(self) -> Rows | None:
        """Return the facts; None: the stream was not read to its end."""
        return _facts(self._handle[0])


def _read(data: Any, text: Names, id: str | None, each: bool = False) -> Rows:
    """Read the rows of ``data``. ``each``: also make a hash of every text."""
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
    return rows


def hashes_of_texts(texts: Any) -> Array:
    """Return a hash of the bytes of each text of an Arrow column, as the library reads them. Texts that only have equal
    shingles get different hashes.
    """
    found = _read(texts, None, None, each=True).texts
    return found if found is not None else np.zeros(0, dtype=np.uint64)


@dataclass
class Seen:
    """What a job has read: rows, a Parquet file, or signatures."""

    text: Names
    id: str | None
    rows: Rows | None = None
    file: tuple[str, int, int] | None = None  # path, size in bytes, modification time
    made: dict[str, Any] | None = None  # how signatures were made; None: no signatures were read

    @classmethod
    def of_file(cls, path: Any, text: Names, id: str | None) -> Seen:
        """Note a file. Its rows are read only when they are compared with others."""
        info = os.stat(path)
        return cls(text, id, file=(os.path.abspath(os.fspath(path)), info.st_size, info.st_mtime_ns))

    @classmethod
    def of_signatures(cls, signatures: Any) -> Seen:
        """Note signatures: their ids and their words."""
        made = signatures.manifest.get("provenance", {})
        ids = _read([str(id) for id in signatures.ids], None, None, each=True).texts
        words = digest_of(np.ascontiguousarray(signatures.signatures))
        return cls(made.get(FIELDS["text"]), made.get(FIELDS["id"]), Rows(len(signatures), words, ids), made=made)

    def parts(self) -> tuple[dict[str, Any], bytes]:
        """Return the object as values that JSON can store, and the bytes of all hashes."""
        rows = self.rows
        said = {
            "text": self.text if isinstance(self.text, str) or self.text is None else list(self.text),
            "id": self.id,
            "rows": None if rows is None else [rows.n, list(rows.digest), rows.ids is not None, rows.texts is not None],
            "file": None if self.file is None else list(self.file),
            "made": self.made,
        }
        return said, b"" if rows is None else b"".join(of.tobytes() for of in (rows.ids, rows.texts) if of is not None)

    @classmethod
    def of_parts(cls, said: dict[str, Any], hashes: bytes) -> Seen:
        """Make the object from the result of ``parts``."""
        rows = None
        if said["rows"] is not None:
            n, digest, has_ids, has_texts = said["rows"]
            all = np.frombuffer(hashes, dtype=np.uint64)
            rows = Rows(n, (digest[0], digest[1]), all[:n] if has_ids else None, all[-n:] if has_texts and n else None)
        file = None if said["file"] is None else tuple(said["file"])
        return cls(said["text"], said["id"], rows, file, said["made"])

    def kept_of(self, data: Any, kept: Array, job: str = "dedup") -> Array:
        """Return for each row of ``data`` whether it is kept. ``kept`` has this for the rows in the order in which the job read
        them. Raises Error if the rows are others.
        """
        mask: Array = kept[self.places_of(data, len(kept), job)]
        return mask

    def places_of(self, data: Any, n: int, job: str, each: bool = False) -> Array:
        """Return, for each row of ``data``, its number among the ``n`` rows that the job read. Raises Error if the rows are
        others or, without ids, in another order.

        ``each``: if rows are recognized by their ids, check that the texts are also the same.
        """
        known = self.rows if self.file is None else self._rows_of_file(job, each)
        if known is None:
            raise Error(f"the rows that {job} read are not known", "nomem", field="data")
        found = _read(data if known.ids is None or each else _ids_of(data, self.text, self.id), self.text, self.id, each)
        if found.n != n:
            raise Error(f"{found.n} rows, where {job} read {n} ({_OTHERS})", field="data")
        if known.ids is not None and found.ids is not None:
            places = _by_id(known.ids, found.ids, job)
            others = np.flatnonzero(known.texts[places] != found.texts) if each and known.texts is not None else places[:0]
            if len(others) > 0:
                raise Error(f"row {int(others[0])} has another text than {job} read", field="data")
            return places
        if (found.digest if self.made is None else self._words_of(data)) != known.digest:
            raise Error(f"other texts than {job} read, or in another order ({_OTHERS})", field="data")
        return np.arange(n)

    def _rows_of_file(self, job: str, each: bool) -> Rows:
        assert self.file is not None
        path, size, time = self.file
        info = os.stat(path)
        if (info.st_size, info.st_mtime_ns) != (size, time):
            raise Error(f"{path}: the file has changed since {job} read it", "input", path, field="data")
        return _read(read_table(path), self.text, self.id, each)

    def _words_of(self, data: Any) -> tuple[int, int]:
        """Sign ``data`` with the settings of the signatures, and return the digest of the words. Raises Error if the settings
        are not all known, or include stop words or weights.
        """
        made = self.made or {}
        names = ("shingle", "words", "normalize", "short", "perms", "seed", "scheme", "hash", "invalid_utf8", "max_doc_bytes")
        if made.get("stopwords") or made.get("weights") or not all(name in made for name in ("bag", *names)):
            raise Error("these signatures cannot be made again, so that texts are compared (data with ids)", field="data")
        options = {name: made[name] for name in names}
        again = sign(data, text=self.text or "text", bag=bool(made["bag"]), device="cpu", **options)
        return digest_of(np.ascontiguousarray(again.signatures))


def _ids_of(data: Any, text: Names, id: str | None) -> Any:
    """Return only the ids of a pandas frame, with empty texts, because Arrow would copy texts that are objects. Return other
    data unchanged.
    """
    name = id or "id"
    if not hasattr(data, "iloc") or not hasattr(data, "columns") or not isinstance(text, str) or name == text:
        return data
    return data[[name]].assign(**{text: ""}) if name in data.columns and text in data.columns else data


def _by_id(known: Array, found: Array, job: str) -> Array:
    """Return, for each hash of an id in ``found``, its place in ``known``. Raises Error if ``known`` does not have it, or if
    rows are in another order and ids are not unique.
    """
    if np.array_equal(known, found):
        return np.arange(len(known))
    order = np.argsort(known, kind="stable")
    places = order[np.minimum(np.searchsorted(known, found, sorter=order), len(known) - 1)]
    others = np.flatnonzero(known[places] != found)
    if len(others) > 0:
        raise Error(f"row {int(others[0])} has an id that {job} did not read ({_OTHERS})", field="data")
    if len(np.unique(places)) != len(known):
        raise Error(f"rows in another order, and several have one id, or none ({_OTHERS})", field="data")
    return np.asarray(places)


def read_table(path: Any) -> Any:
    """Read a Parquet file. Raises Error for any other path."""
    if not os.fspath(path).lower().endswith(".parquet") or not os.path.isfile(path):
        raise Error(
            f"{os.fspath(path)}: rows are taken of a Parquet file, of a table or of a list (output= has what is kept of files)",
            field="data",
        )
    _files.arrow()
    import pyarrow.parquet as pq

    return pq.read_table(path, memory_map=False, page_checksum_verification=True)
