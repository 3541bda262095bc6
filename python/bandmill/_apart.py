"""How handles of the library's change hands, and what else no signal may enter (tools/apart.c)."""

from __future__ import annotations

import threading
from typing import Any, Callable, TypeVar

from bandmill._native import ffi, lib

T = TypeVar("T")
_made: list[Any] = []
if not lib.bm_py_apart(id(_made)):
    raise MemoryError("no memory for the package")
_apart: Callable[[Callable[[], Any], int], Any] = _made[0]


def apart(work: Callable[[], T], stop: int = 0) -> T:
    """What ``work`` gives, in a thread that takes no signals. Raises what it raises, or KeyboardInterrupt once it has ended.

    ``stop``: the address of what ends jobs in it. Only the main thread takes signals: in any other it is a plain call.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return work()
    made: T = _apart(work, stop)
    return made


def owned(kind: str) -> Any:
    """A place for a handle, of "signer" or the like, that a call fills in. What stands there is freed as the place goes."""
    place = ffi.new("char **" if kind == "string" else f"bm_{kind} **")
    return ffi.gc(place, getattr(lib, f"bm_py_drop_{kind}"))
