# SPDX-License-Identifier: Apache-2.0
"""How handles of the library's change hands, and what else no signal may enter (tools/apart.c)."""

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


_WAIT = 10.0  # seconds that the interpreter's end waits for calls to end
_stops: dict[int, list[int]] = {}  # of each other thread that is in a call: the addresses of what ends its jobs
_ending = False


def apart(work: Callable[[], T], stop: int = 0) -> T:
    """What ``work`` gives, in a thread that takes no signals. Raises what it raises, or KeyboardInterrupt once it has ended.

    ``stop``: the address of what ends jobs in it. Only the main thread takes signals: in any other it is a plain call.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return _beside(work, stop)
    made: T = _apart(work, stop)
    return made


def _beside(work: Callable[[], T], stop: int) -> T:
    """A call of another thread than the main one."""
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
    """For ever: what a thread does when the interpreter ends, from Python 3.14 on."""
    never = threading.Lock()
    never.acquire()
    never.acquire()


def _end() -> None:
    """Ends the calls of threads that nobody waits for (daemon threads), before the interpreter is taken apart under them.

    A callback of a call would otherwise enter an interpreter that is not there any more, and what the call uses would be freed
    meanwhile. The threads stand still afterwards: none of them runs into an exception that nobody asked for.
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
    os.register_at_fork(after_in_child=_stops.clear)  # these threads are the parent's


def owned(kind: str) -> Any:
    """A place for a handle, of "signer" or the like, that a call fills in. What stands there is freed as the place goes."""
    place = ffi.new("char **" if kind == "string" else f"bm_{kind} **")
    return ffi.gc(place, getattr(lib, f"bm_py_drop_{kind}"))
