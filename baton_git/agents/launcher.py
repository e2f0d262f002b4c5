"""The interface with which each agent CLI starts sessions, reads their final reports, and finds their transcripts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from baton_git.core.codecs.limits import check_nesting
from baton_git.core.errors import InvalidArgument

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


# --- a request to start a session, and its limits

MAX_SECONDS = 24 * 3600
"""Maximum time limit of a session in seconds."""
TIMEOUT = 3600
"""Default time limit of a session in seconds."""
MAX_ITERATIONS = 20
"""Default maximum number of sessions in a chain."""
MOST_ITERATIONS = 1000
"""Largest maximum number of sessions in a chain that a workflow can set."""
CHAIN_SECONDS = 8 * 3600.0
"""Default time limit of a chain in seconds, from the start of its first session."""
MOST_CHAIN_SECONDS = 30 * 24 * 3600.0
"""Largest time limit of a chain that a workflow can set, in seconds."""
BUDGET_USD = 20.0
"""Default budget of a chain: the sum of the costs that its sessions report."""
MOST_USD = 100_000.0
"""Largest budget of a chain that a workflow can set. A higher cost that a session reports is ignored."""
CHAIN_LIMITS: dict[str, tuple[Any, float]] = {
    "max_iterations": (int, MOST_ITERATIONS),
    "total_timeout": (int | float, MOST_CHAIN_SECONDS),
    "budget": (int | float, MOST_USD),
}
"""The chain limits that a workflow can set: the type of each, and its maximum."""
MAX_PROMPT = 100 * 1024
"""Maximum size in bytes of a prompt or a system prompt; Linux limits one argument to 128 KiB."""


class LaunchRequest(NamedTuple):
    """A request to start a session.

    Attributes:
        cli: the name of the agent CLI.
        cwd: the working directory; None: the current one.
        seconds: time limit of the session, 1 to `MAX_SECONDS`.
        is_detached: whether the session outlives the process that starts it.
        in_window: whether it runs with a terminal, in a new window of tmux.
        tmux_session: the tmux session in which the window is opened; empty: the current one.
        most: maximum number of sessions in the chain, including the first one and this one.
        chain_seconds: time limit of the chain, from the start of its first session.
        budget_usd: the cost at which the chain starts no further session.
        loop: the name under which lists show the chain: that of the workflow or command that continues it.
    """

    cli: str
    prompt: str
    system_prompt: str = ""
    cwd: str | None = None
    seconds: float = TIMEOUT
    is_detached: bool = True
    in_window: bool = False
    tmux_session: str = ""
    most: int = MAX_ITERATIONS
    chain_seconds: float = CHAIN_SECONDS
    budget_usd: float = BUDGET_USD
    loop: str = ""


def check_prompt(text: str, label: str = "the prompt") -> None:
    """Raise InvalidArgument when `text` cannot be passed as an argument to a program."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if "\0" in text:
        raise InvalidArgument(f"{label} has a NUL character", hint="leave it out")
    if size > MAX_PROMPT:
        raise InvalidArgument(
            f"{label} has {size:,} bytes, the limit is {MAX_PROMPT:,}",
            hint="put it into a file, and let the session read the file",
        )


def check_limit(name: str, value: Any) -> None:
    """Raise InvalidArgument when `value` is not a valid setting of the chain limit `name`."""
    kind, most = CHAIN_LIMITS[name]
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not (is_number and 0 < value <= most):  # nan is not above 0
        least = "from 1" if kind is int else "above 0, up"
        wanted = "whole number" if kind is int else "number"
        raise InvalidArgument(f"settings.{name} is not a {wanted} {least} to {most:,.0f}: {str(value)[:80]!r}")


def find_executable(cli: str, environment: Mapping[str, str]) -> str | None:
    """Return the path of the CLI's executable; None when it is not installed."""
    return shutil.which(cli, path=environment.get("PATH"))
