"""A request to start an agent session, its limits, and the executable and environment of the session."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import InvalidArgument

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


SPAWNED = "BATON_SPAWNED"
"""The environment variable with the id of a session's spawn record, for the session and its hooks."""

_GIT_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
)  # fmt: skip


def _is_private(name: str) -> bool:
    """Whether a variable ties a process to the session or git command in which it runs."""
    private = (variable for cli in AGENTS.values() for variable in cli.private_variables)
    return name in ("BATON_SESSION", *_GIT_VARIABLES) or any(fnmatchcase(name, variable) for variable in private)


def make_session_environment(environment: Mapping[str, str], spawned: str) -> dict[str, str]:
    """Return the environment of a new session with the spawn record `spawned`."""
    kept = {name: value for name, value in environment.items() if not _is_private(name)}
    return {**kept, SPAWNED: spawned}


def find_executable(cli: str, environment: Mapping[str, str]) -> str | None:
    """Return the path of the CLI's executable; None when it is not installed."""
    return shutil.which(cli, path=environment.get("PATH"))
