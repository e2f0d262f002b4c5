"""Start Claude Code with `claude -p PROMPT`, or in a window with `claude PROMPT`, and find its transcripts.

Claude Code reports its cost, and lets us choose the session's id. Its transcripts are
`<config>/projects/<folder>/<session>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from baton_git.agents.json_lines import tables, text_at
from baton_git.agents.launcher import (
    Launch,
    NewSession,
    SessionReport,
    escape_argument,
    read_cost,
    read_objects,
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


def launch(start: NewSession) -> Launch:
    argv = [start.executable, *(() if start.in_window else ("-p",)), escape_argument(start.prompt)]
    if start.system_prompt:
        argv += ["--append-system-prompt", escape_argument(start.system_prompt)]
    argv += ["--session-id", start.session, *(() if start.in_window else ("--output-format", "json")), *start.extra]
    return Launch(tuple(argv), session=start.session)


def report(output: str) -> SessionReport:
    """Parse the last object of type `result` in the output, which is one object or, with `stream-json`, JSON lines.

    Without such an object, the whole output is the answer.
    """
    results = [item for item in read_objects(output) if item.get("type") == "result"]
    if not results:
        return SessionReport(output.strip())
    last = results[-1]
    usage, denials = last.get("usage"), tables(last.get("permission_denials"))
    names = dict.fromkeys(text_at(item, "tool_name") for item in denials)
    return SessionReport(
        text_at(last, "result") or "", text_at(last, "session_id") or None, read_cost(last.get("total_cost_usd")),
        sum(read_token_count(usage.get(name)) for name in _TOKENS) if isinstance(usage, dict) else None,
        tuple(name for name in names if name),
    )  # fmt: skip


def sessions(folder: Path, warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions, newest first; each file is read only when it is yielded."""
    # Before 2.1, the transcripts of subagents were in the same folder as those of the sessions; now they are deeper.
    paths = find_files(folder, "projects", "*", "*.jsonl", warn=warn)
    for path in sort_newest_first((path for path in paths if not path.name.startswith("agent-")), warn):
        # The name of the folder is ambiguous: `-` stands for every character except letters and digits.
        folders = (record.get("cwd") for record in read_first_records(path))
        yield Transcript(path, path.stem, next((cwd for cwd in folders if isinstance(cwd, str)), None))


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of a session's subagents, newest first.

    They are in a folder named after the session or, from 2.0.50 to 2.0.76, in the same folder as its transcript.
    """
    within = find_files(path.with_suffix(""), "subagents", "**", "*.jsonl")
    beside = sort_newest_first(find_files(path.parent, "agent-*.jsonl"))[:_MAX_SIBLINGS]
    own = (file for file in beside if any(record.get("sessionId") == session for record in read_first_records(file)))
    yield from sort_newest_first([*within, *own])
