"""The interface with which each agent CLI starts sessions, reads their final reports, and finds their transcripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from baton_git.core.codecs.nesting import check_nesting

if TYPE_CHECKING:
    from pathlib import Path

    from baton_git.agents.transcripts import Transcript, Warn


class NewSession(NamedTuple):
    """A session to start.

    Attributes:
        executable: the path of the CLI's executable.
        session: a new UUID.
        extra: the user's own options.
        in_window: whether the session has a terminal.
    """

    executable: str
    prompt: str
    system_prompt: str
    session: str
    extra: tuple[str, ...] = ()
    in_window: bool = False

    @property
    def whole_prompt(self) -> str:
        """Both prompts, for a CLI that has no place for a system prompt."""
        return f"{self.prompt}\n\n{self.system_prompt}" if self.system_prompt else self.prompt


class Launch(NamedTuple):
    """A command that starts a session.

    Attributes:
        stdin: the text on its standard input; None for no input.
        session: the id that the session will have, if the CLI lets us choose it.
    """

    argv: tuple[str, ...]
    stdin: str | None = None
    session: str | None = None


class SessionReport(NamedTuple):
    """A session's report about itself; None for values that the CLI does not report.

    Attributes:
        denied: names of tools whose use was denied.
    """

    answer: str = ""
    session: str | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    denied: tuple[str, ...] = ()


class Launcher(Protocol):
    """The interface of the module `launch` in an agent's folder."""

    def launch(self, start: NewSession) -> Launch:
        """Return the command that starts a session."""

    def report(self, output: str) -> SessionReport:
        """Parse the standard output of a session without a terminal."""

    def sessions(self, folder: Path, warn: Warn = ...) -> Iterator[Transcript]:
        """Yield the transcripts below the CLI's own folder of sessions that no other session started, newest first.

        Args:
            warn: called for each folder that could not be listed.
        """

    def subagents(self, path: Path, session: str) -> Iterator[Path]:
        """Yield the transcripts of a session's subagents, newest first; `path` is the session's own transcript."""


def escape_argument(text: str) -> str:
    """Return the text as an argument, with a blank before a leading `-`, so that it is not taken for an option."""
    return f" {text}" if text.startswith("-") else text


def read_objects(output: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `output`.

    If the whole output is JSON, they are its object, or the objects in its list; otherwise, the lines that are objects.
    """
    try:
        check_nesting(output)
        value = json.loads(output)
    except ValueError:
        yield from _read_object_lines(output)
        return
    yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))


def _read_object_lines(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                check_nesting(line)
                value = json.loads(line)
            except ValueError:
                continue
            yield value


def read_token_count(value: Any) -> int:
    """Return `value` if it is a number of tokens, that is, a positive integer; otherwise 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read_cost(value: Any) -> float | None:
    """Return `value` if it is a plausible amount of money: a number from 0 to 1e12; otherwise None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e12 else None
