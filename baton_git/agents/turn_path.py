"""Which turns of a conversation are still on its path, by the links between the records of its transcript.

A path is decided at prompts only. A prompt whose parent is in a turn that another prompt already followed goes back to
that turn, and the turns after it are left. Everything else is no rewind: parallel calls fork everywhere, records are
missing, and a compaction or a resume begins without a parent. If a prompt follows a turn that was left, two programs
write to the transcript, and both branches stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ROOT = 0
"""The number of the records before the first prompt."""


class TurnPath:
    """The turns of a transcript so far; numbers count from 1 in the order of the prompts.

    Attributes:
        head: the number of the newest turn.
        left: the numbers of the turns that are no longer on the path.
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._parents: list[int] = list(memory.get("parents", [ROOT]))
        self._names: list[str] = list(memory.get("names", [""]))
        self._loose: set[int] = set(memory.get("loose", ()))
        self._shared: set[int] = set(memory.get("shared", ()))
        self.left: set[int] = set(memory.get("left", ()))
        self.head = len(self._parents) - 1
        self._turn_of = {id_: int(number) for number, ids in memory.get("records", {}).items() for id_ in ids}

    def memory(self) -> Mapping[str, Any]:
        """Return the state as plain data. The ids are values, not keys, so that they are recognised as ids."""
        records: dict[str, list[str]] = {}
        for id_, number in self._turn_of.items():
            records.setdefault(str(number), []).append(id_)
        state = {"parents": list(self._parents), "names": list(self._names), "records": records}
        return state | {"loose": sorted(self._loose), "shared": sorted(self._shared), "left": sorted(self.left)}

    def place(self, id_: str | None, parent: str | None) -> int:
        """Return the number of the turn of a record that is no prompt; without a known parent, that of the newest."""
        number = self._turn_of.get(parent, self.head) if parent else self.head
        if self.head in self._loose and number == self._parents[self.head]:
            number = self.head  # no record links to a prompt without an id, so what follows its turn belongs to it
        if id_:
            self._turn_of[id_] = number
        return number

    def open(self, id_: str | None, parent: str | None) -> int:
        """Begin a turn with a prompt; return its number."""
        number, known = len(self._parents), self._turn_of.get(parent) if parent else None
        after = self.head if known is None else known
        if known is not None:
            self._revive(after)
            if after not in self._shared:
                self.left.update(self._list_following(after))
        self._parents.append(after)
        self._names.append(id_ or f"#{number}")
        self.head = number
        if id_:
            self._turn_of[id_] = number
        else:
            self._loose.add(number)
        return number

    def name(self, number: int) -> str:
        """Return the id of a turn: that of its prompt, or its number if the prompt has none."""
        return self._names[number]

    def _revive(self, number: int) -> None:
        """Keep a turn that was left, with those before it, because a prompt follows it."""
        while number in self.left:
            self.left.discard(number)
            number = self._parents[number]
            self._shared.add(number)

    def _list_following(self, number: int) -> Iterator[int]:
        """Yield the turns that follow a turn by links, with all turns after them."""
        followers = {
            other for other in range(number + 1, len(self._parents))
            if self._parents[other] == number and other not in self._loose
        }  # fmt: skip
        for other in range(number + 1, len(self._parents)):
            if other in followers or self._parents[other] in followers:
                followers.add(other)
        yield from followers
