# SPDX-License-Identifier: Apache-2.0
"""Converts texts of the caller to bytes, for code that reads texts and code that cuts them."""

from __future__ import annotations

import codecs
from typing import Any

import numpy as np

from bandmill._errors import Error

NAME = "table"
REPAIRED = "bandmill-repaired"


def _as_one_byte(e: UnicodeError) -> tuple[bytes, int]:
    """Encode a lone surrogate as a byte that is no UTF-8. The library replaces it by one U+FFFD, and counts it."""
    assert isinstance(e, UnicodeEncodeError)
    return b"\xff" * (e.end - e.start), e.end


codecs.register_error(REPAIRED, _as_one_byte)


def bytes_of(i: int, item: Any) -> bytes:
    """Return a text as bytes, whatever its type is."""
    if isinstance(item, str):
        return item.encode("utf-8", REPAIRED)
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    if is_missing(item):
        return b""
    hint = "; pyarrow.Table.from_pylist() makes a table of records" if isinstance(item, dict) else ""
    raise Error(f"item {i} is of type {type(item).__name__} (a text is str, bytes or None{hint})", "input", NAME, i + 1, "data")


def is_missing(item: Any) -> bool:
    """Is the value None or NaN, or what pandas and numpy.ma use instead?"""
    if item is None or item is np.ma.masked:
        return True
    if isinstance(item, (float, np.floating)):
        return bool(item != item)
    return type(item).__name__ in ("NAType", "NaTType") and type(item).__module__.startswith("pandas")
