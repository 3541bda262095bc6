# SPDX-License-Identifier: Apache-2.0
"""Tables of many values under a key, in memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


class Storage(dict[Hashable, Any]):
    """A table from keys to several values each. A key that is not there has no values."""

    buffer_size = 50000

    def __init__(self) -> None:
        """Make an empty table."""
        super().__init__()
        self._selected: list[Any] = []

    def _none(self) -> Any:
        raise NotImplementedError

    def __missing__(self, key: Hashable) -> Any:
        """Return an empty collection, which is not stored."""
        return self._none()

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return the values of a key. ``default`` is ignored: a key that is not there has no values."""
        return self[key]

    def getmany(self, *keys: Hashable) -> list[Any]:
        """Return the values of each key."""
        return [self[key] for key in keys]

    def insert(self, key: Hashable, *vals: Any, **kwargs: Any) -> None:
        """Add values to a key."""
        raise NotImplementedError

    def remove(self, *keys: Hashable, **kwargs: Any) -> None:
        """Remove keys with their values. Raises KeyError: a key is not there; the keys before it are removed."""
        for key in keys:
            del self[key]

    def remove_val(self, key: Hashable, val: Any, **kwargs: Any) -> None:
        """Remove one value of a key. The key stays, even without values. Raises KeyError or ValueError: no such value."""
        self.setdefault(key, self._none()).remove(val)

    def size(self) -> int:
        """Return the number of keys."""
        return len(self)

    def itemcounts(self, **kwargs: Any) -> dict[Hashable, int]:
        """Return the number of values of each key."""
        return {key: len(values) for key, values in self.items()}

    def has_key(self, key: Hashable) -> bool:
        """Return whether the key is there."""
        return key in self

    def status(self) -> dict[str, int]:
        """Return the number of keys under the name that datasketch gives it."""
        return {"keyspace_size": len(self)}

    def empty_buffer(self) -> None:
        """Do nothing: insertions are never buffered."""

    def add_to_select_buffer(self, keys: Iterable[Hashable]) -> None:
        """Look up keys. `collect_select_buffer` returns their values."""
        self._selected.extend(self.getmany(*keys))

    def collect_select_buffer(self) -> list[Any]:
        """Return what was looked up since the last call."""
        found, self._selected = self._selected, []
        return found


class Sets(Storage):
    """A table in which the values of a key are a set."""

    def _none(self) -> set[Any]:
        return set()

    def insert(self, key: Hashable, *vals: Any, **kwargs: Any) -> None:
        """Add values to a key."""
        self.setdefault(key, set()).update(vals)


class Lists(Storage):
    """A table in which the values of a key are a list, in order of insertion and with repeats."""

    def _none(self) -> list[Any]:
        return []

    def insert(self, key: Hashable, *vals: Any, **kwargs: Any) -> None:
        """Add values to a key."""
        self.setdefault(key, []).extend(vals)
