# SPDX-License-Identifier: Apache-2.0
"""Converts ids between texts, which the library has, and their original type: texts or integers of 64 bits."""

from __future__ import annotations

import re
from typing import Any, Union

from bandmill._errors import Error
from bandmill._native import lib

TEXT = "string"  # kinds have the names of Arrow's types
_OF_REPORTS = {"int64": "int64", "uint64": "uint64", "rows": "int64"}
_OF_INDEXES = {lib.BM_IDS_INT64: "int64", lib.BM_IDS_UINT64: "uint64"}
Ids = Union["list[str]", "list[int]"]


def kind_of(report: dict[str, Any]) -> str:
    """Return the kind of the ids of a job's documents, from its report or manifest. If inputs differ, it is TEXT."""
    kinds = {_OF_REPORTS.get(one.get("ids"), TEXT) for one in report.get("inputs", [])}
    return kinds.pop() if len(kinds) == 1 else TEXT


def kind_of_known(report: dict[str, Any]) -> str | None:
    """Return the kind of the ids of known documents; None: there were none."""
    return _OF_REPORTS.get(report["against"].get("ids"), TEXT) if "against" in report else None


def kind_of_index(ids: int) -> str:
    """Return the kind of the ids of an index, from its statistics."""
    return _OF_INDEXES.get(ids, TEXT)


def kind_of_column(kind: Any) -> str:
    """Return the kind of the ids in a column of this Arrow type."""
    name = str(kind)
    return "uint64" if name == "uint64" else "int64" if re.fullmatch("u?int(8|16|32|64)", name) else TEXT


def typed(ids: list[str], kind: str) -> Ids:
    """Convert texts to ids of this kind."""
    return ids if kind == TEXT else [int(id) for id in ids]


def text_of_id(value: Any, field: str = "ids") -> bytes:
    """Return the text that the library has for an id."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value).encode()  # as the library repairs it
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Error(f"{field} of type {type(value).__name__} (an id is a str, bytes or int)", field=field)
    return str(int(value)).encode()
