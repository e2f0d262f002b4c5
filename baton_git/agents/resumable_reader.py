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
from baton_git.agents.fields import Record
from baton_git.agents.json_lines import JsonLines
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
