"""Start Claude Code with `claude -p PROMPT`, or in a window with `claude PROMPT`.

Claude Code reports its cost, and lets us choose the session's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.agents.launcher import (
    Launch,
    SessionReport,
    escape_argument,
    read_cost,
    read_objects,
    read_text,
    read_token_count,
)

_TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def launch(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    argv = (executable, "-p", escape_argument(prompt), *_make_system_arguments(system_prompt), "--session-id", session)
    return Launch((*argv, "--output-format", "json", *extra), None, session)


def in_window(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    argv = (executable, escape_argument(prompt), *_make_system_arguments(system_prompt), "--session-id", session)
    return Launch((*argv, *extra), None, session)


def _make_system_arguments(system_prompt: str) -> tuple[str, ...]:
    return ("--append-system-prompt", escape_argument(system_prompt)) if system_prompt else ()


def report(output: str) -> SessionReport:
    """Parse the last object of type `result` in the output, which is one object or, with `stream-json`, JSON lines.

    Without such an object, the whole output is the answer.
    """
    results = [item for item in read_objects(output) if item.get("type") == "result"]
    if not results:
        return SessionReport(output.strip())
    last = results[-1]
    usage: Any = last.get("usage")
    counted = [read_token_count(usage.get(name)) for name in _TOKENS] if isinstance(usage, Mapping) else []
    return SessionReport(
        read_text(last.get("result")), read_text(last.get("session_id")) or None, read_cost(last.get("total_cost_usd")),
        sum(counted) if counted else None, tuple(_read_denials(last.get("permission_denials"))),
    )  # fmt: skip


def _read_denials(denials: Any) -> list[str]:
    """Return the distinct names of the tools whose use was denied."""
    items = denials if isinstance(denials, list) else []
    names = (read_text(item.get("tool_name")) for item in items if isinstance(item, Mapping))
    return [name for name in dict.fromkeys(names) if name]
