"""Read JSON lines files that agents write, whose writers may crash or still be writing, and fields of their records.

Of 552 real files, 18 had several documents on one line; others end within a line, or contain garbage. An unreadable
line is counted and skipped, because the rest of the transcript is still worth reading. A value of an unexpected type
counts as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from baton_git.agents.events import BEGINNING, START_OF_FILE, EndReached, Event, Position, Restart, ResumePoint, Tally
from baton_git.core.codecs.limits import check_nesting
from baton_git.core.errors import InvalidArgument, LimitExceeded
from baton_git.git.files.atomic_files import read_at_most, reading, show_path

Record = Mapping[str, Any]


def text_at(record: Record, key: str) -> str | None:
    """Return the text under `key`; None when there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else None


def table_at(record: Record, key: str) -> Record:
    """Return the object under `key`; an empty one when there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[Record]:
    """Return the objects in a list; an empty list when the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(content: Any, *kinds: str) -> list[str]:
    """Return the texts in a message's content, a string or parts; with `kinds`, only those of parts of these types."""
    if isinstance(content, str):
        return [content]
    parts = tables([content] if isinstance(content, dict) else content)
    values = (text_at(part, "text") for part in parts if not kinds or part.get("type") in kinds)
    return [text for text in values if text is not None]


MAX_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of one line, or of a file that is one object; real lines with images have several MB."""

_scan = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]  # no stub has it; it saves a call per line
_BUFFER = 256 * 1024
_AROUND = "\ufeff\0 \t\r\n"
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonLines:
    """The objects of a file, in order, each with its position; can be iterated once, one line in memory at a time.

    Args:
        start: the start of a line; if the file has become shorter than that, it is read from its beginning.
        most: the number of the last line that is read, counting empty and broken lines; None: all lines are read.

    Attributes:
        unread: number of lines so far that could not be read completely.
        unread_before: number of unreadable lines so far that end with a line feed.
        end: where the next reading begins: after the last line, or at the start of a line that has no line feed yet.
        is_open: whether the current line has no line feed yet, so that it may still change.
    """

    def __init__(self, path: Path, start: Position = BEGINNING, *, most: int | None = None) -> None:
        self.path = path
        self.unread = 0
        self.end = start
        self.unread_before = 0
        self.is_open = False
        self._most = most

    def __iter__(self) -> Iterator[tuple[Position, Record]]:
        """Raises NotFound, InvalidArgument or StoreError as `open_transcript` does."""
        with open_transcript(self.path) as file:
            if file.seek(0, SEEK_END) < self.end.offset:
                self.end = BEGINNING
            file.seek(self.end.offset)
            while self._most is None or self.end.line <= self._most:
                position, line = self.end, file.readline(MAX_BYTES + 1)
                if not line:
                    return
                record = _parse_single_object(line)
                if record is not None:
                    self.end = Position(position.line + 1, position.offset + len(line))
                    yield position, record
                    continue
                for object_ in self._read(line, file):
                    yield position, object_
                if self.is_open:
                    return

    def _read(self, line: bytes, file: BinaryIO) -> list[Record]:
        """Return the objects of a line, which may continue in the file, and update `end` and `unread`."""
        start, length, finished = self.end, len(line), line.endswith(b"\n")
        if length > MAX_BYTES:
            rest, finished = _skip_line(file) if not finished else (0, True)
            objects, whole, length = list[Record](), False, length + rest
        else:
            objects, whole = _parse_objects(line.decode(errors="replace").strip(_AROUND))
        self.unread += not whole
        self.unread_before = self.unread - (not whole and not finished)
        self.is_open = not finished
        self.end = Position(start.line + 1, start.offset + length) if finished else start
        return objects


def _parse_single_object(line: bytes) -> Record | None:
    """Return the object of a finished line with exactly one object, the usual case; None for every other line."""
    if not line.endswith(b"}\n") or len(line) > MAX_BYTES:
        return None
    try:
        text = line.decode()
        check_nesting(text)
        value, end = decode_value(text)
    except ValueError:
        return None
    return value if end == len(text) - 1 and isinstance(value, dict) else None


def _skip_line(file: BinaryIO) -> tuple[int, bool]:
    """Skip the rest of a line; return the number of bytes, and whether there was a line feed."""
    skipped = 0
    while part := file.readline(1 << 20):
        skipped += len(part)
        if part.endswith(b"\n"):
            return skipped, True
    return skipped, False


def _parse_objects(text: str) -> tuple[list[Record], bool]:
    """Return the objects at the beginning of a line, and whether they are the whole line."""
    objects: list[Record] = []
    at = 0
    try:
        check_nesting(text)
        while at < len(text):
            value, at = decode_value(text, at)
            if not isinstance(value, dict):
                return objects, False
            objects.append(value)
            while at < len(text) and text[at] in _AROUND:
                at += 1
    except ValueError:
        return objects, False
    return objects, True


def decode_value(text: str, at: int = 0) -> tuple[Any, int]:
    """Parse the JSON value that begins in `text` at `at`; return it and its end. Lone surrogates become U+FFFD.

    Raises:
        ValueError: there is no JSON value.
    """
    try:
        value, end = _scan(text, at)
    except StopIteration:
        raise ValueError("no JSON value") from None
    # Only an escape can produce a lone surrogate; JavaScript and Rust escape no other character from U+D000 to U+DFFF.
    if "\\u" in text and ("\\ud" in text or "\\uD" in text):
        value = _replace_surrogates(value)
    return value, end


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value


def parse_object(text: str) -> Record | None:
    """Return the object if a text is one JSON object; else None."""
    text = text.strip(_AROUND)
    try:
        check_nesting(text)
        value, end = decode_value(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and end == len(text) else None


def read_object(path: Path) -> Record | None:
    """Return the object if a file is one JSON object; else None.

    Raises:
        LimitExceeded: it is larger than `MAX_BYTES`.
        NotFound, InvalidArgument, StoreError: as for `open_transcript`.
    """
    with open_transcript(path) as file:
        content = read_at_most(file, MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise LimitExceeded(show_path(path), len(content), MAX_BYTES, "bytes")
    return parse_object(content.decode(errors="replace"))


@contextmanager
def open_transcript(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading. Raises as `reading` does, and InvalidArgument for a device, which may have no end."""
    if path.is_char_device() or path.is_block_device():
        raise InvalidArgument(f"{show_path(path)} is a device, not a file", path=show_path(path))
    with reading(path), path.open("rb", _BUFFER) as file:
        yield file


# --- reading on from where an earlier reading ended: several readings yield the same events as one
# The events of a finished line are final. An unfinished line may change, and an event that a reader holds back may be
# completed by the next line. The events of an unfinished line, and events held back until the end of the file, come
# after a `ResumePoint`, where the next reading begins.


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
