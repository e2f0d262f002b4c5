"""Start Codex with `codex exec PROMPT`; `codex PROMPT` needs a terminal. Find its transcripts.

Codex reports tokens, but no cost. Its transcripts are `<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`; they
are found by file name, because the schema of the databases that list them changes too often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from baton_git.agents.codex.transcript import read_session_start
from baton_git.agents.events import BEGINNING, SessionContext
from baton_git.agents.json_lines import table_at
from baton_git.agents.launcher import (
    Launch,
    NewSession,
    SessionReport,
    escape_argument,
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

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_MAX_SIBLINGS = 40
"""Maximum number of transcripts of the same day that are checked for a parent session, newest first."""


def launch(start: NewSession) -> Launch:
    """Return the command. Without a terminal, the system prompt is its standard input, which Codex appends."""
    if start.in_window:
        return Launch((start.executable, *start.extra, escape_argument(start.whole_prompt)))
    argv = (start.executable, "exec", "--json", *start.extra, escape_argument(start.prompt))
    return Launch(argv, start.system_prompt or None)


def report(output: str) -> SessionReport:
    """Parse a stream of events: the answer is the agent's last message, the tokens are the sum over all turns."""
    answer, session, tokens = "", None, None
    for event in read_objects(output):
        kind, item, usage = event.get("type"), table_at(event, "item"), event.get("usage")
        if kind == "thread.started":
            session = read_text(event.get("thread_id")) or None
        elif kind == "item.completed" and item.get("type") == "agent_message":
            answer = read_text(item.get("text"))
        elif kind == "turn.completed" and isinstance(usage, dict):
            # cached and reasoning tokens are parts of these two
            counts = (read_token_count(usage.get(name)) for name in ("input_tokens", "output_tokens"))
            tokens = (tokens or 0) + sum(counts)
    return SessionReport(answer, session, None, tokens)


def sessions(folder: Path, warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions that no other session started, newest first, including archived ones.

    Of a session that was rewound, this is the newest file, as its reader reads what is left of the others.
    """
    paths = (find_files(folder, name, "**", "rollout-*.jsonl", warn=warn) for name in ("sessions", "archived_sessions"))
    known = set[str]()
    for path in sort_newest_first(chain.from_iterable(paths), warn):
        start = _read_start(path)
        named = _ID.search(path.stem)
        if start and (start.subagent or start.session in known):
            continue
        if start and start.session:
            known.add(start.session)
        yield Transcript(path, (start and start.session) or (named[0] if named else None), start and start.cwd)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of the threads that a session started, newest first, among those of the same day."""
    for file in sort_newest_first(find_files(path.parent, "rollout-*.jsonl"))[:_MAX_SIBLINGS]:
        start = _read_start(file)
        if start is not None and start.subagent and start.parent == session:
            yield file


def _read_start(path: Path) -> SessionContext | None:
    starts = (read_session_start(BEGINNING, record) for record in read_first_records(path))
    return next((start for start in starts if start), None)
