"""Write transcripts for a test, and read them back as events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from baton_git.agents.events import Event

Kind = TypeVar("Kind")
Events = Callable[[Path], Iterator[Event]]


def write(path: Path, *records: Any) -> Path:
    """Write a file of JSON lines; a record that is text or bytes is written unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        one if isinstance(one, bytes) else (one if isinstance(one, str) else json.dumps(one)).encode()
        for one in records
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def only(kind: type[Kind], found: list[Event]) -> list[Kind]:
    return [event for event in found if isinstance(event, kind)]
