"""Start Claude Code with `claude -p PROMPT`, or in a window with `claude PROMPT`, and find its transcripts.

Claude Code reports its cost, and lets us choose the session's id. Its transcripts are
`<config>/projects/<folder>/<session>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
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
from baton_git.agents.transcripts import (
    Transcript,
    Warn,
    find_files,
    ignore_warning,
    read_first_records,
    sort_newest_first,
)

_MAX_SIBLINGS = 40
"""Maximum number of subagent transcripts in the session's folder that are checked for their session, newest first."""
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


def sessions(folder: Path, warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions, newest first; each file is read only when it is yielded."""
    # Before 2.1, the transcripts of subagents were in the same folder as those of the sessions; now they are deeper.
    paths = find_files(folder, "projects", "*", "*.jsonl", warn=warn)
    for path in sort_newest_first((path for path in paths if not path.name.startswith("agent-")), warn):
        yield Transcript(path, path.stem, _read_cwd(path))


def _read_cwd(path: Path) -> str | None:
    """Return the working directory from the first records; None if they do not name it.

    The name of the transcript's folder is ambiguous: `-` stands for every character except letters and digits.
    """
    folders = (record.get("cwd") for record in read_first_records(path))
    return next((cwd for cwd in folders if isinstance(cwd, str)), None)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of a session's subagents, newest first.

    They are in a folder named after the session or, from 2.0.50 to 2.0.76, in the same folder as its transcript.
    """
    beside = sort_newest_first(find_files(path.parent, "agent-*.jsonl"))[:_MAX_SIBLINGS]
    within = find_files(path.with_suffix(""), "subagents", "**", "*.jsonl")
    yield from sort_newest_first([*within, *(file for file in beside if _belongs_to(file, session))])


def _belongs_to(path: Path, session: str) -> bool:
    return any(record.get("sessionId") == session for record in read_first_records(path))
