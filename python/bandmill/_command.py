# SPDX-License-Identifier: Apache-2.0
"""The command ``bandmill``: runs the program itself in this process, so that pyarrow reads and writes its tables."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

_NAME = "bandmill"


def _script() -> str | None:
    """Return the script that starts this command. With it the program starts itself again, to try OpenCL drivers in another
    process.
    """
    places = [sys.argv[0], os.path.join(os.path.dirname(sys.executable), _NAME)]
    for place in places:
        if os.path.basename(place) == _NAME and os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.abspath(place)
    return None


def main() -> NoReturn:
    """Run the program with the words of the command line. Its exit code becomes that of the process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the program sets its own handler
    from bandmill import _tables  # noqa: F401
    from bandmill._native import ffi, lib

    script = _script()
    if script is not None:
        os.environ.setdefault("BANDMILL_PROBE", script)
    first = sys.argv[0] if os.path.basename(sys.argv[0]) == _NAME else _NAME
    words = [ffi.new("char[]", os.fsencode(word)) for word in [first, *sys.argv[1:]]]
    lib.bm_py_program(len(words), ffi.new("char *[]", [*words, ffi.NULL]))
    raise AssertionError("the program does not return")
