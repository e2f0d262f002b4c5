"""A session of an agent that is to be started."""

from __future__ import annotations

from typing import Any, NamedTuple

from baton_git.core.errors import InvalidArgument

MAX_SECONDS = 24 * 3600
TIMEOUT = 3600
"""Seconds that a session may take where nobody says otherwise."""
MAX_ITERATIONS = 20
"""Sessions of a chain where nobody says otherwise."""
MOST_ITERATIONS = 1000
CHAIN_SECONDS = 8 * 3600.0
"""Seconds that a chain may take where nobody says otherwise, from the start of its first session."""
MOST_CHAIN_SECONDS = 30 * 24 * 3600.0
BUDGET_USD = 20.0
"""What the sessions of a chain may cost where nobody says otherwise, as far as they tell."""
MOST_USD = 100_000.0
CHAIN_LIMITS: dict[str, tuple[Any, float]] = {
    "max_iterations": (int, MOST_ITERATIONS),
    "total_timeout": (int | float, MOST_CHAIN_SECONDS),
    "budget": (int | float, MOST_USD),
}
"""The limits of its chains that a workflow can set: of which kind they are, and the most that each can be."""
MAX_PROMPT = 100 * 1024
"""Bytes of a prompt, and of what is said besides: the system takes at most 128 KiB as one argument."""


class LaunchRequest(NamedTuple):
    """What is to be started.

    Attributes:
        cli: `claude`, `codex` or `gemini`.
        cwd: where; None: where we are.
        seconds: how long it may take, 1 to `MAX_SECONDS`.
        is_detached: whether it outlives whoever starts it.
        in_window: whether it gets a window of tmux, with a terminal; in the tmux session `tmux_session`, else in the
            one around us.
        most: how many sessions its chain may have, itself and the first one counted.
        chain_seconds: how long its chain may take, from its first start.
        budget_usd: what its chain may have cost before, as far as that is known.
        loop: what its chain is called, for whoever looks at it.
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
    """Raises InvalidArgument when `text` cannot be given to a program."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if "\0" in text:
        raise InvalidArgument(f"{label} has a NUL character", hint="leave it out")
    if size > MAX_PROMPT:
        raise InvalidArgument(
            f"{label} has {size:,} bytes, the limit is {MAX_PROMPT:,}",
            hint="put it into a file, and have the session read that",
        )


def check_limit(name: str, value: Any) -> None:
    """Raises InvalidArgument when a workflow's settings say of the chain's limit `name` what is none."""
    kind, most = CHAIN_LIMITS[name]
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not (is_number and 0 < value <= most):  # nan is not above 0
        least = "from 1" if kind is int else "above 0, up"
        wanted = "whole number" if kind is int else "number"
        raise InvalidArgument(f"settings.{name} is no {wanted} {least} to {most:,.0f}: {str(value)[:80]!r}")
