# SPDX-License-Identifier: Apache-2.0
"""Directories for the files of jobs. A directory is removed with the object that reads it, or is packed for another process."""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import tempfile
from typing import Any

from bandmill._call import Call
from bandmill._errors import Error
from bandmill._native import ffi, lib

_RAM = pathlib.Path("/dev/shm")
DAMAGED = "the pickle is damaged: it does not hold what was pickled"
Parcel = tuple[dict[str, bytes], str, tuple[int, int]]


class Workplace:
    """A directory for the files of a job. It is removed at the end of a with-statement, or with this object (tools/apart.c).

    Only the process that made the directory removes it, not a forked child.
    """

    def __init__(self, temp_dir: str | os.PathLike[str] | None, bytes_wanted: int | None) -> None:
        """Make the directory in ``temp_dir``. None: in memory if twice ``bytes_wanted`` is free there, else in the system's
        folder for temporary files.
        """
        where = os.fspath(temp_dir) if temp_dir is not None else tempfile.gettempdir()
        if temp_dir is None and bytes_wanted is not None and os.access(_RAM, os.W_OK):
            free = os.statvfs(_RAM)
            if bytes_wanted * 2 < free.f_bavail * free.f_frsize:
                where = str(_RAM)
        self.path = pathlib.Path(where) / f"bandmill-{secrets.token_hex(8)}"
        self._folder = ffi.gc(ffi.new("struct bm_py_folder *"), lib.bm_py_folder_remove)
        error = lib.bm_py_folder_make(os.fsencode(self.path), self._folder)
        if error:
            raise OSError(error, os.strerror(error), str(self.path))

    def handed_over(self) -> Workplace:
        """Return a new object that owns the directory. This object no longer does."""
        other = object.__new__(Workplace)
        other.path, other._folder = self.path, self._folder
        self._folder = None
        return other

    def close(self) -> None:
        """Remove the directory. Closing it again does nothing."""
        if self._folder is not None:
            ffi.release(self._folder)

    def __enter__(self) -> pathlib.Path:
        """Return the directory."""
        return self.path

    def __exit__(self, *error: Any) -> None:
        """Remove the directory."""
        self.close()


lib.bm_py_folders_begin()


def digest_of(data: Any) -> tuple[int, int]:
    """Return the 128-bit XXH3 of a buffer."""
    out = ffi.new("uint64_t[2]")
    view = memoryview(data)
    Call().run(lib.bm_py_digest, ffi.from_buffer("char[]", view) if view.nbytes else ffi.NULL, view.nbytes, out)
    return int(out[0]), int(out[1])


def packed(path: pathlib.Path, more: Any = None, **own: bytes) -> Parcel:
    """Pack the files of a directory for another process, with the blocks ``own`` and the values ``more``, which JSON can store.
    The result includes a digest.
    """
    files = {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()}
    files.update(own)
    said = json.dumps(more)
    return files, said, digest_of_parcel(files, said)


def digest_of_parcel(files: dict[str, bytes], said: str) -> tuple[int, int]:
    parts = {name: digest_of(data) for name, data in files.items()}
    return digest_of(json.dumps([said, sorted(parts.items())]).encode())


def checked(parcel: tuple[Any, ...]) -> Parcel:
    """Check the types of the contents of a pickle, which may be anything. Raises Error. The digest is checked later."""
    files, said, digest = parcel if len(parcel) == 3 else (None, None, None)
    if not isinstance(files, dict) or not isinstance(said, str) or not isinstance(digest, tuple):
        raise Error(DAMAGED, "format")
    if not all(isinstance(name, str) and isinstance(data, bytes) for name, data in files.items()):
        raise Error(DAMAGED, "format")
    return files, said, digest


def unpacked(parcel: Parcel, name: str, *own: str) -> tuple[pathlib.Path, Workplace, Any]:
    """Unpack the files of a parcel into a new directory ``name``, without those in ``own``. Returns the directory, its
    workplace and the values. Raises Error if the digest does not match.
    """
    files, said, digest = parcel
    if digest_of_parcel(files, said) != digest or not all(lib.bm_py_is_ours(n.encode()) for n in files if n not in own):
        raise Error(DAMAGED, "format")
    work = Workplace(None, sum(map(len, files.values())))
    path = work.path / name
    path.mkdir()
    for file, data in files.items():
        if file not in own:
            (path / file).write_bytes(data)
    return path, work, json.loads(said)
