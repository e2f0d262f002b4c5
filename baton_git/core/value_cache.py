"""Size-bounded cache of values derived from immutable objects."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")

ROOM = 16 << 20
"""Default limit on the total weight of all values. A weight is roughly the number of bytes read for a value."""
OVERHEAD = 200
"""Weight added to that of each value."""


class ValueCache:
    """A thread-safe LRU cache. Values are shared, so callers must not change them.

    Most keys contain an object id, so that the value of a key never changes. Callers that use other keys must check
    whether a cached value is still current.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._weight = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Any:
        """Return the value, or None if it is not cached."""
        with self._lock:
            kept = self._values.get(key)
            if kept is None:
                return None
            self._values.move_to_end(key)
            return kept[0]

    def put(self, key: Hashable, value: Value, weight: int) -> Value:
        """Cache `value`, which must not be None, and return it."""
        weight += OVERHEAD
        with self._lock:
            before = self._values.pop(key, None)
            self._weight += weight - (before[1] if before is not None else 0)
            self._values[key] = value, weight
            while self._weight > self.room:
                _, (_, dropped_weight) = self._values.popitem(last=False)
                self._weight -= dropped_weight
        return value

    def get_or_make(self, key: Hashable, make: Callable[[], Value], weight: int) -> Value:
        """Return the cached value, or make and cache it."""
        kept: Value | None = self.get(key)
        return kept if kept is not None else self.put(key, make(), weight)

    def drop(self, key: Hashable) -> None:
        """Drop one value, if it is cached."""
        with self._lock:
            self._weight -= self._values.pop(key, (None, 0))[1]

    def forget(self, is_obsolete: Callable[[Any], bool]) -> None:
        """Drop the values whose keys satisfy `is_obsolete`."""
        with self._lock:
            for key in [key for key in self._values if is_obsolete(key)]:
                self._weight -= self._values.pop(key)[1]
