"""What was worked out from something that never changes, kept as long as there is room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")

ROOM = 16 << 20
"""What all values together may weigh, where nobody says otherwise; a weight is about a byte of what was read."""
OVERHEAD = 200
"""What a value weighs besides."""


class ValueCache:
    """Values by key; those that nobody asked for the longest time go first. Several threads may use one side by side.

    A key names what its value was made of so exactly (by object ids) that the value can never become another. Who puts
    something in, or takes it out, does not change it: everybody gets the same object.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._weight = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Any:
        """The value; None when it is not (or not any more) here."""
        with self._lock:
            kept = self._values.get(key)
            if kept is None:
                return None
            self._values.move_to_end(key)
            return kept[0]

    def put(self, key: Hashable, value: Value, weight: int) -> Value:
        """Keeps `value`, which is not None, and gives it back."""
        weight += OVERHEAD
        with self._lock:
            before = self._values.pop(key, None)
            self._weight += weight - (before[1] if before is not None else 0)
            self._values[key] = value, weight
            while self._weight > self.room:
                _, (_, lighter) = self._values.popitem(last=False)
                self._weight -= lighter
        return value

    def get_or_make(self, key: Hashable, make: Callable[[], Value], weight: int) -> Value:
        """The value; made when it is not here. What cannot be made is not kept."""
        kept: Value | None = self.get(key)
        return kept if kept is not None else self.put(key, make(), weight)

    def forget(self, is_gone: Callable[[Any], bool]) -> None:
        """Drops the values whose keys `is_gone` says yes to."""
        with self._lock:
            for key in [key for key in self._values if is_gone(key)]:
                self._weight -= self._values.pop(key)[1]
