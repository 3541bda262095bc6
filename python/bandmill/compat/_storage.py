# SPDX-License-Identifier: Apache-2.0
"""Tables of many values under a key, in memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


class Storage(dict[Hashable, Any]):
    """A key's values; none of a key that is not there."""

    buffer_size = 50000

    def __init__(self) -> None:
        """An empty one."""
        super().__init__()
        self._selected: list[Any] = []

    def _none(self) -> Any:
        raise NotImplementedError

    def __missing__(self, key: Hashable) -> Any:
        """No values."""
        return self._none()

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The values of a key."""
        return self[key]

    def getmany(self, *keys: Hashable) -> list[Any]:
        """The values of each key."""
        return [self[key] for key in keys]

    def insert(self, key: Hashable, *vals: Any, **kwargs: Any) -> None:
        """Adds values to a key."""
        raise NotImplementedError

    def remove(self, *keys: Hashable, **kwargs: Any) -> None:
        """Takes keys away. Raises KeyError: one is not there."""
        for key in keys:
            del self[key]

    def remove_val(self, key: Hashable, val: Any, **kwargs: Any) -> None:
        """Takes a value of a key away. Raises KeyError or ValueError: it is not there."""
        self.setdefault(key, self._none()).remove(val)

    def size(self) -> int:
        """How many keys."""
        return len(self)

    def itemcounts(self, **kwargs: Any) -> dict[Hashable, int]:
        """How many values each key has."""
        return {key: len(values) for key, values in self.items()}

    def has_key(self, key: Hashable) -> bool:
        """Whether the key is there."""
        return key in self

    def status(self) -> dict[str, int]:
        """How many keys, by name."""
        return {"keyspace_size": len(self)}

    def empty_buffer(self) -> None:
        """Nothing: nothing waits."""

    def add_to_select_buffer(self, keys: Iterable[Hashable]) -> None:
        """Looks keys up for ``collect_select_buffer``."""
        self._selected.extend(self.getmany(*keys))

    def collect_select_buffer(self) -> list[Any]:
        """What was looked up; nothing is left then."""
        found, self._selected = self._selected, []
        return found


class Sets(Storage):
    """Each value of a key once."""

    def _none(self) -> set[Any]:
        return set()

    def insert(self, key: Hashable, *vals: Any, **kwargs: Any) -> None:
        """Adds values to a key."""
        self.setdefault(key, set()).update(vals)


class Lists(Storage):
    """The values of a key in order, repeats too."""

    def _none(self) -> list[Any]:
        return []

    def insert(self, key: Hashable, *vals: Any, **kwargs: Any) -> None:
        """Adds values to a key."""
        self.setdefault(key, []).extend(vals)
