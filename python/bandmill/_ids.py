# SPDX-License-Identifier: Apache-2.0
"""Ids in the type in which they came: text, or integers of 64 bits. The library has all of them as text."""

from __future__ import annotations

import re
from typing import Any, Union

from bandmill._errors import Error
from bandmill._native import lib

TEXT = "string"  # kinds are names of Arrow's types
_OF_REPORTS = {"int64": "int64", "uint64": "uint64", "rows": "int64"}
_OF_INDEXES = {lib.BM_IDS_INT64: "int64", lib.BM_IDS_UINT64: "uint64"}
Ids = Union["list[str]", "list[int]"]


def kind_of(report: dict[str, Any]) -> str:
    """Of the documents of a job, by its report or manifest."""
    kinds = {_OF_REPORTS.get(one.get("ids"), TEXT) for one in report.get("inputs", [])}
    return kinds.pop() if len(kinds) == 1 else TEXT


def kind_of_known(report: dict[str, Any]) -> str | None:
    """Of documents that were known before; None: there were none."""
    return _OF_REPORTS.get(report["against"].get("ids"), TEXT) if "against" in report else None


def kind_of_index(ids: int) -> str:
    """Of an index, by its statistics."""
    return _OF_INDEXES.get(ids, TEXT)


def kind_of_column(kind: Any) -> str:
    """Of a column that has this type of Arrow's."""
    name = str(kind)
    return "uint64" if name == "uint64" else "int64" if re.fullmatch("u?int(8|16|32|64)", name) else TEXT


def typed(ids: list[str], kind: str) -> Ids:
    """Texts as ids of that kind."""
    return ids if kind == TEXT else [int(id) for id in ids]


def text_of_id(value: Any, field: str = "ids") -> bytes:
    """An id as the library has it."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value).encode()  # as the library repaired it
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Error(f"{field} of type {type(value).__name__} (an id is a str, bytes or int)", field=field)
    return str(int(value)).encode()
