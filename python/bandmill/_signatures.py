# SPDX-License-Identifier: Apache-2.0
"""Signs documents. Also defines the class of the result."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from bandmill import _files
from bandmill._apart import owned
from bandmill._call import OK, Call
from bandmill._data import Source, rows_of
from bandmill._errors import Error, text_of
from bandmill._ids import Ids, kind_of, typed
from bandmill._keywords import described
from bandmill._kinds import Names
from bandmill._native import ffi, lib
from bandmill._options import fill, fill_shard, new
from bandmill._workplace import Workplace, checked, packed, unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import SignOptions

Array = np.ndarray[Any, Any]
_MANIFEST = "manifest.json"


class Signatures:
    """The result of `sign`: signatures in memory, or in a directory whose files are mapped. They never change."""

    _is_signatures = True

    def __init__(self, path: pathlib.Path) -> None:
        """Open the signatures in a directory. Their files are mapped when they are used."""
        self._path = path
        self._ids: Ids | None = None
        self.manifest: dict[str, Any] = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))

    def __copy__(self) -> Signatures:
        """Return the object itself."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Signatures:
        """Return the object itself."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the path. Unpickling opens the directory again."""
        return Signatures, (pathlib.Path(os.path.abspath(self._path)),)

    @property
    def path(self) -> pathlib.Path:
        """The path of the directory."""
        return self._path

    def _array(self, name: str) -> Array:
        mapped: Array = np.load(self._path / f"{name}.npy", mmap_mode="r")
        return mapped

    @property
    def signatures(self) -> Array:
        """An array (N, K) of uint32 or, for the schemes affine64 and datatrove, uint64. It is no copy, and must not be written
        to. If a document has no shingles, all bits of its values are 1."""
        return self._array("signatures")

    @property
    def n_shingles(self) -> Array:
        """An array (N) of uint32: the number of shingles of each document, distinct ones or, with ``bag``, all. 0: the document
        has no signature.
        """
        return self._array("n_shingles")

    @property
    def band_keys(self) -> Array:
        """An array (N, B) of uint64. Raises Error: `sign` was called without a band plan."""
        if not self._has_keys():
            raise Error("these signatures have no band keys (threshold=, or bands= and rows=, make some)", field="bands")
        return self._array("band_keys")

    def _has_keys(self) -> bool:
        return (self._path / "band_keys.npy").exists()

    @property
    def ids(self) -> Ids:
        """The N ids in order, in their original type. Data in memory without ids has row numbers."""
        if self._ids is None:
            self._ids = typed(self._read_ids(), kind_of(self.manifest))
        return self._ids

    def _read_ids(self) -> list[str]:
        return _files.read_lines((self._path / "ids.txt").read_bytes())

    def __len__(self) -> int:
        """Return N, the number of documents."""
        return len(self.n_shingles)

    def __repr__(self) -> str:
        """Return a line with N and K."""
        several = "" if len(self) == 1 else "s"
        return f"<bandmill.Signatures of {len(self)} document{several}, {self.signatures.shape[1]} words each>"

    def _provenance(self) -> bytes:
        return (self._path / _MANIFEST).read_bytes()

    def to_arrow(self) -> pa.Table:
        """Return a table of id, signature (fixed_size_list of K uint32 or uint64) and n_shingles. The schema's metadata have
        the provenance.
        """
        pa = _files.arrow()
        words = self.signatures
        flat = pa.array(np.ascontiguousarray(words).reshape(-1))
        return pa.table(
            {
                "id": pa.array(self.ids, getattr(pa, kind_of(self.manifest))()),
                "signature": pa.FixedSizeListArray.from_arrays(flat, words.shape[1]),
                "n_shingles": pa.array(np.asarray(self.n_shingles)),
            },
            metadata={"bandmill": self._provenance()},
        )

    def save(self, path: str | os.PathLike[str]) -> Signatures:
        """Save a copy as a directory, which the program can read too, and return the copy. An existing path is refused."""
        target = pathlib.Path(path)
        if target.exists():
            raise Error(f"{target}: exists already", file=str(target))
        self._write(target)
        return Signatures(target)

    def _write(self, target: pathlib.Path) -> None:
        partial = target.with_name(f"{target.name}.partial.{os.getpid()}")
        shutil.copytree(self._path, partial)
        partial.rename(target)


class _InMemory(Signatures):
    """Signatures in memory of the library. The memory is freed when no array uses it any more."""

    def __init__(self, call: Call, handle: Any) -> None:
        """``handle``: the place of a handle. ``call``: keeps alive the memory to which the options of the handle point."""
        self._call, self._handle = call, handle
        self._lock = threading.Lock()
        self._work: Workplace | None = None
        self._ids = None
        self._words = text_of(lib.bm_signed_json(handle[0])).encode()
        self.manifest = json.loads(self._words)
        a = lib.bm_signed_data(handle[0])
        n = int(a.n_docs)
        self._arrays = {
            "signatures": (a.signatures or a.signatures64, (n, int(a.perms)), f"<u{int(a.value_bytes)}"),
            "n_shingles": (a.n_shingles, (n,), "<u4"),
        }
        if a.bands:
            self._arrays["band_keys"] = (a.keys, (n, int(a.bands)), "<u8")

    @property
    def path(self) -> pathlib.Path:
        """The path of a directory with the signatures. It is written at the first use, and is removed with the object."""
        with self._lock:
            if self._work is None:
                work = Workplace(None, self.signatures.nbytes + 64 * len(self))
                self._write_native(work.path / "s")
                self._work = work.handed_over()
            return self._work.path / "s"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the signatures themselves."""
        return _carried, packed(self.path)

    def _array(self, name: str) -> Array:
        pointer, shape, kind = self._arrays[name]
        if 0 in shape:
            return np.zeros(shape, dtype=kind)
        return np.asarray(_Lent(self._handle, int(ffi.cast("uintptr_t", pointer)), shape, kind))

    def _has_keys(self) -> bool:
        return "band_keys" in self._arrays

    def _read_ids(self) -> list[str]:
        out = owned("string")
        with self._lock:
            self._call.run(lib.bm_signed_ids, self._handle[0], out)
        return _files.read_lines(bytes(ffi.string(out[0])))

    def _provenance(self) -> bytes:
        return self._words

    def _write(self, target: pathlib.Path) -> None:
        with self._lock:
            self._write_native(target)

    def _write_native(self, target: pathlib.Path) -> None:
        output = ffi.new("bm_output_options *")
        output.path = self._call.text(target)
        self._call.run(lib.bm_signed_save, self._handle[0], output, owned("summary"))


class _Lent:
    """An array of the library, for NumPy. It keeps the owner of the memory alive."""

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], kind: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": shape, "typestr": kind}


class _Owned(Signatures):
    """Signatures in a directory that is removed with the object."""

    def __init__(self, path: pathlib.Path, work: Workplace) -> None:
        super().__init__(path)
        self._work = work.handed_over()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the signatures themselves."""
        return _carried, packed(self._path)


def _carried(*parcel: Any) -> Signatures:
    return _Owned(*unpacked(checked(parcel), "s")[:2])


@described
def sign(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[SignOptions],
) -> Signatures:
    """Compute MinHash signatures of documents; with ``threshold``, or ``bands`` and ``rows``, also band keys.

    Returns Signatures. Raises Error.

        >>> import bandmill
        >>> s = bandmill.sign(["one two three four five six", "quite another text"])
        >>> s.signatures.shape, s.n_shingles.tolist(), s.ids
        ((2, 128), [2, 1], [0, 1])
    """
    k: dict[str, Any] = {"text": text, "id": id, **options}
    k["band_keys"] = any(k[name] is not None for name in ("threshold", "recall", "bands"))  # a preset alone makes no band keys
    call, held = Call(k["progress"]), Call()
    source = Source(data, held, k["paths"])
    made = _sign_in_memory(call, source, k)
    if made is not None:
        return made
    n = rows_of(data)
    wanted = None if n is None else n * (4 * (k["perms"] or 128) + 64 + 8 * (k["bands"] or 0)) + (1 << 20)
    work = Workplace(k["temp_dir"], wanted)
    try:
        o = new("sign")
        fill(o, call, source, k)
        o.output.path = call.text(work.path / "signatures")
        o.band_keys = k["band_keys"]
        fill_shard(o, k)
        call.job(lib.bm_job_sign, o)
        (work.path / "signatures").rename(work.path / "s")
        return _Owned(work.path / "s", work)
    except BaseException:
        work.close()
        raise


def _sign_in_memory(call: Call, source: Source, k: dict[str, Any]) -> Signatures | None:
    """Sign without files. None: only a job with files can do this; the source was not read."""
    if source.stream is None:
        return None
    o = new("sign")
    fill(o, call, source, k)
    o.band_keys = k["band_keys"]
    fill_shard(o, k)
    out = owned("signed")
    if call.run(lib.bm_sign_table, o, out, also=(lib.BM_ERR_UNSUPPORTED,)) != OK:
        return None
    return _InMemory(call, out)
