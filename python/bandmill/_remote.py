# SPDX-License-Identifier: Apache-2.0
"""Copies files at addresses that the library does not read, by fsspec. A job reads the copies, which are removed after it.

If libcurl is installed, the library itself reads https://, http://, s3://, gs:// and hf://.

A file is copied piece by piece. If the connection breaks, copying continues where it stopped or, if the server cannot send
parts of a file, from the beginning. _TRIES is the number of attempts. Ids, messages and reports have the address without the
part after "?".
"""

from __future__ import annotations

import pathlib
import re
import time
from typing import Any

from bandmill._errors import Error

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_PIECE = 8 << 20
_TRIES = 4
_WAIT_S = 0.2  # seconds before the second attempt; doubled for each further attempt


def is_address(path: Any) -> bool:
    """Is this an address, and not a path of this machine?"""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def name_of(address: str) -> str:
    """Return the name of an address: without its query, and without user and password."""
    scheme, _, rest = address.partition("://")
    rest = re.sub(r"[?#].*", "", rest, flags=re.DOTALL)
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _failed(name: str, e: BaseException, status: str = "io") -> Error:
    cause = e.__cause__ or e
    words = "not found" if isinstance(cause, FileNotFoundError) else str(cause).split("?")[0] or type(cause).__name__
    words = re.sub(r"(://)[^/\s]*@", r"\1", words)
    if hasattr(cause, "status") and hasattr(cause, "message"):  # an error of HTTP
        words = f"{cause.status} {cause.message}"
    return Error(f"{name}: cannot read: {words}", status, name, field="data")


def _filesystem(address: str) -> tuple[Any, str]:
    name = name_of(address)
    try:
        import fsspec
    except ImportError as e:
        raise Error(f"{name}: files that lie elsewhere are read by fsspec (pip install fsspec)", "unsupported", name) from e
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(address)
        return found
    except ImportError as e:
        raise Error(f"{name}: {e}", "unsupported", name, field="data") from e
    except Exception as e:
        raise _failed(name, e) from e


def files_of(address: str) -> list[tuple[str, str]]:
    """Return name and address of each file at an address: the file itself, the files that match a pattern, or the files of a
    directory except hidden ones. With http and https, the address is always one file.
    """
    if address.startswith(("http://", "https://")):
        return [(name_of(address), address)]
    fs, path = _filesystem(address)
    try:
        if any(c in path for c in "*?["):
            found = sorted(p for p, info in fs.glob(path, detail=True).items() if info["type"] == "file")
        elif fs.isdir(path):
            found = sorted(p for p in fs.find(path) if not re.search(r"/[._]", p[len(path.rstrip("/")) :]))
        else:
            return [(name_of(address), address)]
    except Exception as e:
        raise _failed(name_of(address), e) from e
    if not found:
        raise Error(f"{name_of(address)}: no file matches", "input", name_of(address), field="data")
    scheme = address.partition("://")[0]
    return [(f"{scheme}://{p.partition('://')[2] or p}", f"{scheme}://{p.partition('://')[2] or p}") for p in found]


def copy(name: str, address: str, folder: pathlib.Path) -> pathlib.Path:
    """Copy a file into the new folder ``folder``, under the last part of its name. Raises Error with status "io", or "input" if
    the copy broke off at the last attempt.
    """
    fs, path = _filesystem(address)
    folder.mkdir()
    target = folder / (name.rstrip("/").rpartition("/")[2] or "index")
    done = 0
    with target.open("wb") as out:
        for turn in range(_TRIES):
            try:
                with fs.open(path, "rb", block_size=_PIECE, cache_type="readahead") as file:
                    if done > 0 and not file.seekable():
                        out.truncate(0)
                        out.seek(0)
                        done = 0
                    elif done > 0:
                        file.seek(done)
                    size = getattr(file, "size", None)
                    while piece := file.read(_PIECE):
                        out.write(piece)
                        done += len(piece)
                if size is not None and done != size:
                    raise OSError(f"{done} bytes of {size}")
                return target
            except (FileNotFoundError, PermissionError) as e:
                raise _failed(name, e) from e
            except Exception as e:
                if turn + 1 == _TRIES:
                    raise _failed(name, e, "input" if done > 0 else "io") from e
            time.sleep(_WAIT_S * 2**turn)
    raise AssertionError("a try returns or raises")
