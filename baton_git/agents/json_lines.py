"""Read JSON lines files that agents write, whose writers may crash or still be writing, and fields of their records.

Of 552 real files, 18 had several documents on one line; others end within a line, or contain garbage. An unreadable
line is counted and skipped, because the rest of the transcript is still worth reading. A value of an unexpected type
counts as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO

from baton_git.agents.events import BEGINNING, Position
from baton_git.core.codecs.nesting import check_nesting
from baton_git.core.errors import InvalidArgument, LimitExceeded
from baton_git.git.files.atomic_files import reading, show_path

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
        content = file.read(MAX_BYTES + 1)
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
