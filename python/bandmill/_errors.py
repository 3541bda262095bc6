# SPDX-License-Identifier: Apache-2.0
"""The exception that the library raises. It has the place of the error."""

from __future__ import annotations

from bandmill._native import ffi, lib
from bandmill._option_rows import FIELDS

STATUS = {
    value: name.removeprefix("BM_").removeprefix("ERR_").lower() if hasattr(name, "removeprefix") else name
    for value, name in ffi.typeof("bm_status").elements.items()
}


class Error(Exception):
    """An error of the library.

    ``status``: "usage", "input", "io", "device", "nomem", "format", "selftest", "locked", "busy", "cancelled" …
    ``file``, ``line``, ``field``: the place of the error; None: not known.
    """

    def __init__(
        self,
        message: str,
        status: str = "usage",
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        """Store the message and the place. Characters that UTF-8 cannot encode are escaped, so both can be printed."""
        super().__init__(message.encode("utf-8", "backslashreplace").decode())
        self.status = status
        self.file = file
        self.line = line
        self.field = field

    @property
    def exit_code(self) -> int:
        """Return the exit code of the program for this error."""
        value = next((v for v, name in STATUS.items() if name == self.status), 0)
        return int(lib.bm_status_exit_code(value))


def text_of(pointer: object) -> str:
    """Return the text of a C string, whatever its bytes are."""
    return bytes(ffi.string(pointer)).decode("utf-8", "backslashreplace")


_NAMES = {
    f"`{FIELDS['id']}` none": '`id="none"`',
    "`text_field`": "`text`",
    f"`{FIELDS['id']}`": "`id`",
    "`against_text_fields`": "`against_text`",
    "`against_id_field`": "`against_id`",
}  # fields whose keywords have other names


def error_of(err: object) -> Error:
    """Make the exception for a filled bm_error."""
    words = ffi.new("char[4096]")
    lib.bm_error_format(err, words, 4096)
    e = err[0]  # type: ignore[index]
    message = text_of(words)
    for field, keyword in _NAMES.items():
        message = message.replace(field, keyword)
    return Error(
        message,
        STATUS[e.status],
        text_of(e.file) or None,
        int(e.line) or None,
        text_of(e.field) or None,
    )
