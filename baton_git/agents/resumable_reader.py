"""Read a transcript from where an earlier reading ended. Several readings yield the same events as one reading.

The events of a finished line are final. An unfinished line may change, and an event that a reader holds back may be
completed by the next line. The events of an unfinished line, and events held back until the end of the file, come
after a `ResumePoint`, where the next reading begins.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from baton_git.agents.events import START_OF_FILE, EndReached, Event, Position, Restart, ResumePoint, Tally
from baton_git.agents.json_lines import JsonLines, Record
from baton_git.git.files.atomic_files import reading


class TranscriptReader(Protocol):
    """The interface of a reader, which turns records into events and keeps state from one record to the next."""

    def events(self, position: Position, record: Record) -> Iterable[Event]:
        """Return the events of a record."""

    def flush(self) -> Iterator[Event]:
        """Yield the events that were held back for the next record, at the end of the file."""

    def memory(self) -> Mapping[str, Any]:
        """Return the state as plain data, from which another reader can continue."""

    def understands(self, record: Record) -> bool | None:
        """Whether a record has a known format: False for a message in an unknown one, None for an unknown type."""


class PathReader(TranscriptReader, Protocol):
    """A reader that skips the turns which the conversation has left.

    Which turns those are is known only when the later records are read. So a reader is told at its creation, under the
    key `skipped` of its state, which turns to skip, and finds out again while it reads.
    """

    def find_left(self) -> list[Any]:
        """Return the turns that the records so far have left, as plain data; the same turns, the same list."""

    @property
    def skipped(self) -> list[Any]:
        """The turns that this reader skips."""


_Reader = TypeVar("_Reader", bound=TranscriptReader)


def read_path_events(path: Path, since: EndReached, make: Callable[[Mapping[str, Any]], PathReader]) -> Iterator[Event]:
    """Yield the events of the turns that are on the path of the conversation, as `read_events` does.

    If new records leave turns whose events were yielded before, a `Restart` and all events of the others follow: the
    file is then read once more, however many turns were left.
    """
    reader, end = yield from _read_to_end(path, since, make)
    while (left := reader.find_left()) != reader.skipped:
        yield Restart(rereads=True)
        reader, end = yield from _read_to_end(path, START_OF_FILE._replace(memory={"skipped": left}), make)
    yield end


def read_events(
    path: Path, since: EndReached, make: Callable[[Mapping[str, Any]], TranscriptReader]
) -> Iterator[Event]:
    """Yield the events since an earlier reading.

    Args:
        make: creates a reader from the state that an earlier one returned; the state is empty at the beginning.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    _, end = yield from _read_to_end(path, since, make)
    yield end


def _read_to_end(
    path: Path, since: EndReached, make: Callable[[Mapping[str, Any]], _Reader]
) -> Generator[Event, None, tuple[_Reader, EndReached]]:
    """Yield the events since an earlier reading except the last one; return the reader and that event."""
    if since.position.offset > get_size(path):
        since = START_OF_FILE
        yield Restart()
    lines, reader = JsonLines(path, since.position), make(since.memory)
    settled: ResumePoint | None = None
    count = RecordCount(since.tally)
    for position, record in lines:
        if lines.is_open and settled is None:
            settled = ResumePoint(position, since.unread + lines.unread_before, reader.memory(), count.tally())
            yield settled
        count.add(reader.understands(record))
        yield from reader.events(position, record)
    end = settled or ResumePoint(lines.end, since.unread + lines.unread_before, reader.memory(), count.tally())
    held = list(reader.flush())
    if settled is None and (held or lines.is_open):
        yield end
    yield from held
    return reader, EndReached(end.position, since.unread + lines.unread, end.memory, count.tally())


class RecordCount:
    """Counts records by whether their format is known."""

    def __init__(self, before: Tally = START_OF_FILE.tally) -> None:
        self._records, self._understood, self._misshaped = before

    def add(self, is_understood: bool | None) -> None:
        """Count one more record; `is_understood` is the result of `TranscriptReader.understands`."""
        self._records += 1
        if is_understood:
            self._understood += 1
        elif is_understood is False:
            self._misshaped += 1

    def tally(self) -> Tally:
        """Return the current counts."""
        return Tally(self._records, self._understood, self._misshaped)


def get_size(path: Path) -> int:
    """Return the size of a file in bytes. Raises as `reading` does."""
    with reading(path):
        return path.stat().st_size


ROOT = 0
"""The number of the records before the first prompt."""


class TurnPath:
    """The turns of a transcript so far, and which of them are still on the path, by the links between its records.

    A path is decided at prompts only. A prompt whose parent is in a turn that another prompt already followed goes back
    to that turn, and the turns after it are left. Everything else is no rewind: parallel calls fork everywhere, records
    are missing, and a compaction or a resume begins without a parent. If a prompt follows a turn that was left, two
    programs write to the transcript, and both branches stay. Numbers count from 1 in the order of the prompts.

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
