"""The interface of an adapter, and its view of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from baton_git.agents.transcripts import ignore_warning
from baton_git.core.state import State


class Target(NamedTuple):
    """A target to open: a value such as `claude:latest`, `plan.json` or `demo`. `type` is empty if no type is given."""

    value: str
    type: str = ""


class Listed(NamedTuple):
    """A session that an adapter can open.

    Attributes:
        target: the text that opens it in any command.
        updated_at: ISO 8601 in UTC; empty if unknown.
    """

    target: str
    id: str
    title: str
    updated_at: str = ""


@dataclass(frozen=True)
class Surroundings:
    """The parts of the machine that an adapter may see.

    Attributes:
        cwd: the folder that relative targets refer to.
        state: the state of the current namespace, for baton's own sessions.
        warn: called with one line for each thing that was left out.
    """

    home: Path
    cwd: Path
    now: datetime
    environment: Mapping[str, str] = field(default_factory=dict)
    state: State = field(default_factory=State)
    warn: Callable[[str], None] = ignore_warning


class Adapter(Protocol):
    """A source of sessions: any module with these names, also one from the entry point group `baton_git.adapters`."""

    ID: str
    DESCRIPTION: str
    TARGET_TYPES: tuple[str, ...]

    def can_open(self, target: Target, around: Surroundings) -> bool:
        """Return whether the target belongs to this source. This must be fast, and must not raise an error."""

    def open_session(self, target: Target, around: Surroundings) -> dict[str, Any]:
        """Return the snapshot as plain data (`ecc.session.v1`).

        Raises:
            NotFound: no session matches the target.
            InvalidDocument: the session cannot be parsed.
        """

    def sessions(self, around: Surroundings) -> Iterable[Listed]:
        """Yield the sessions that can be opened, newest first."""
