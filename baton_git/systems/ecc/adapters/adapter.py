"""What every adapter has, and what it is told about the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from baton_git.agents.transcripts import ignore_warning
from baton_git.core.state import State


class Target(NamedTuple):
    """What to look at. `type` is empty where only a value was given (`claude:latest`, `plan.json`, `demo`)."""

    value: str
    type: str = ""


class Listed(NamedTuple):
    """A session that an adapter could open.

    Attributes:
        target: opens it, given to any command.
        updated_at: ISO 8601 in UTC; empty when nobody knows.
    """

    target: str
    id: str
    title: str
    updated_at: str = ""


@dataclass(frozen=True)
class Surroundings:
    """The machine as adapters may see it: nothing else of it is looked at.

    Attributes:
        cwd: the folder that relative targets are relative to.
        state: the namespace that one works in, for sessions of our own.
        warn: takes one line about what had to be left out; the rest is still worth showing.
    """

    home: Path
    cwd: Path
    now: datetime
    environment: Mapping[str, str] = field(default_factory=dict)
    state: State = field(default_factory=State)
    warn: Callable[[str], None] = ignore_warning


class Adapter(Protocol):
    """One source of sessions; a module with these names is one, also from an entry point `baton_git.adapters`."""

    ID: str
    DESCRIPTION: str
    TARGET_TYPES: tuple[str, ...]

    def can_open(self, target: Target, around: Surroundings) -> bool:
        """Whether the target is one of this source; cheap, and False rather than an error."""

    def open_session(self, target: Target, around: Surroundings) -> dict[str, Any]:
        """The snapshot, as plain data (`ecc.session.v1`).

        Raises:
            NotFound: nothing matches the target.
            InvalidDocument: what is there cannot be read.
        """

    def sessions(self, around: Surroundings) -> Iterable[Listed]:
        """The sessions that can be opened, the newest first; looked into only as far as somebody asks for them."""
