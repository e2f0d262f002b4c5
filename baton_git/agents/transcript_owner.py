"""Detect which agent wrote a transcript."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from baton_git.agents.json_lines import MAX_BYTES, JsonLines, Record, read_object
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.git.files.atomic_files import show_path

_RECORDS = 50
_LINES = 200
"""Maximum numbers of readable records, and of lines, that are tried before a file counts as unknown."""


def detect_agent(path: Path) -> str:
    """Return the name of the agent that wrote a transcript.

    Raises:
        InvalidDocument: the file is empty, or no known agent wrote it.
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    for record in _read_first_objects(path):
        for name in reversed(AGENTS):
            if AGENTS[name].transcript.recognises(record):
                return name
    *names, last = sorted(AGENTS)
    why = f"is not a transcript of {', '.join(names)} or {last}"
    raise InvalidDocument([Fault("", "is empty" if path.stat().st_size == 0 else why)], where=show_path(path))


def _read_first_objects(path: Path) -> Iterator[Record]:
    lines = JsonLines(path, most=_LINES)
    yield from (record for _, record in islice(lines, _RECORDS))
    if lines.unread and path.stat().st_size <= MAX_BYTES and (whole := read_object(path)):
        yield whole
