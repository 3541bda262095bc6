# SPDX-License-Identifier: Apache-2.0
"""Finds how the batches of an Arrow IPC file or stream are compressed. pyarrow does not tell this.

The codec is in flatbuffers. Their fields are read one by one::

    stream   message, message, …        message   FFFFFFFF, length of the metadata, metadata, body
    file     ARROW1 00 00, stream, footer, its length, ARROW1
"""

from __future__ import annotations

import struct
from typing import Any

# Numbers of fields and of kinds, from Arrow's Message.fbs.
_TYPE, _HEADER, _BODY_LENGTH, _DICTIONARY_DATA, _COMPRESSION, _CODEC = 1, 2, 3, 1, 3, 0
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_CODECS = {0: "lz4", 1: "zstd"}


class _Flat:
    """A flatbuffer. Positions are offsets in it; 0: missing."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def get(self, kind: str, at: int) -> int:
        """Return the number at a position."""
        return int(struct.unpack_from("<" + kind, self._data, at)[0]) if at > 0 else 0

    def root(self) -> int:
        return int(struct.unpack_from("<I", self._data)[0])

    def field(self, table: int, number: int) -> int:
        """Return the position of a field of a table."""
        layout, slot = table - self.get("i", table), 4 + 2 * number
        ahead = self.get("H", layout + slot) if table > 0 and slot + 2 <= self.get("H", layout) else 0
        return table + ahead if ahead else 0

    def child(self, table: int, number: int) -> int:
        """Return the position to which a field points."""
        at = self.field(table, number)
        return at + self.get("I", at) if at else 0


def _codec_of(message: _Flat) -> tuple[bool, str | None]:
    """Return whether this message decides the codec, and the codec of its batch."""
    root = message.root()
    kind, batch = message.get("B", message.field(root, _TYPE)), message.child(root, _HEADER)
    if kind == _DICTIONARY_BATCH:
        batch = message.child(batch, _DICTIONARY_DATA)
    elif kind != _RECORD_BATCH:
        return False, None
    compression = message.child(batch, _COMPRESSION)
    if compression == 0:
        return kind == _RECORD_BATCH, None
    return True, _CODECS.get(message.get("B", message.field(compression, _CODEC)))


def codec(file: Any) -> str | None:
    """Return pyarrow's name for the codec of the first batch; None: there is none. Leaves the file at its beginning."""
    at = 8 if file.read(6) == b"ARROW1" else 0
    size = file.size()
    try:
        while at < size:
            file.seek(at)
            mark, length = struct.unpack("<II", file.read(8))
            at += 8
            if mark != 0xFFFFFFFF or length == 0 or length > size - at:
                return None  # the end of the file, or a version without compression
            message = _Flat(file.read(length))
            decided, found = _codec_of(message)
            body = message.get("q", message.field(message.root(), _BODY_LENGTH))
            if decided or not 0 <= body <= size - at - length:
                return found
            at += length + body
    except struct.error:  # the reader of the file will report the error
        pass
    finally:
        file.seek(0)
    return None
