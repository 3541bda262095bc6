# SPDX-License-Identifier: Apache-2.0
"""Runs code that no signal may interrupt, such as the change of ownership of a library handle (tools/apart.c)."""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Any, Callable, TypeVar

from bandmill._native import ffi, lib

T = TypeVar("T")
_made: list[Any] = []
if not lib.bm_py_apart(id(_made)):
    raise MemoryError("no memory for the package")
_apart: Callable[[Callable[[], Any], int], Any] = _made[0]


_WAIT = 10.0  # at the end of the interpreter: seconds to wait for calls to end
_stops: dict[int, list[int]] = {}  # for each thread in a call, except the main one: addresses to set so that its jobs end
_ending = False


def apart(work: Callable[[], T], stop: int = 0) -> T:
    """Run ``work`` in a thread that receives no signals, and return its result. Raises what ``work`` raises. If Ctrl-C was
    pressed, raises KeyboardInterrupt after ``work`` has ended.

    ``stop``: an address to set so that jobs in ``work`` end. If the caller is not the main thread, it receives no signals, so
    ``work`` is called in it.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return _beside(work, stop)
    made: T = _apart(work, stop)
    return made


def _beside(work: Callable[[], T], stop: int) -> T:
    """Call ``work`` in the current thread, which is not the main one. Once the interpreter ends, this never returns."""
    me = threading.get_ident()
    stops = _stops.setdefault(me, [])
    stops.append(stop)
    try:
        if not _ending:
            return work()
    finally:
        stops.pop()
        if not stops or _ending:
            _stops.pop(me, None)
        if _ending and threading.get_ident() != threading.main_thread().ident:
            _stand_still()
    raise AssertionError("a thread that stands still went on")


def _stand_still() -> None:
    """Block for ever. From Python 3.14 on, a thread does this when the interpreter ends."""
    never = threading.Lock()
    never.acquire()
    never.acquire()


def _end() -> None:
    """End the calls of daemon threads before the interpreter is finalized, and wait for them up to _WAIT seconds.

    Otherwise a callback could enter an interpreter that no longer exists, and memory that a call uses would be freed. After
    their calls the threads block, so that none of them raises an unexpected exception.
    """
    global _ending
    _ending = True
    until = time.monotonic() + _WAIT
    while _stops and time.monotonic() < until:
        for stops in list(_stops.values()):
            for stop in stops:
                if stop:
                    ffi.cast("int *", stop)[0] = 1
        time.sleep(0.002)


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stops.clear)  # these threads belong to the parent process


def owned(kind: str) -> Any:
    """Return a place for a handle of the given kind, such as "signer". A call fills it in. When the place is freed, the handle
    is freed too.
    """
    place = ffi.new("char **" if kind == "string" else f"bm_{kind} **")
    return ffi.gc(place, getattr(lib, f"bm_py_drop_{kind}"))
