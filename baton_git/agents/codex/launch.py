"""Start Codex with `codex exec PROMPT`; `codex PROMPT` needs a terminal. Find its transcripts.

Codex reports tokens, but no cost. Its transcripts are `<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`; they
are found by file name, because the schema of the databases that list them changes too often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from baton_git.agents.codex.transcript import read_session_start
from baton_git.agents.events import BEGINNING
from baton_git.agents.launcher import Launch, SessionReport, escape_argument, read_objects, read_text, read_token_count
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


def launch(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    """Return the command. The system prompt is its standard input, which Codex appends to the prompt."""
    return Launch((executable, "exec", "--json", *extra, escape_argument(prompt)), system_prompt or None)


def in_window(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    text_ = f"{prompt}\n\n{system_prompt}" if system_prompt else prompt
    return Launch((executable, *extra, escape_argument(text_)))


def report(output: str) -> SessionReport:
    """Parse a stream of events: the answer is the agent's last message, the tokens are the sum over all turns."""
    answer, session, tokens, is_counted = "", None, 0, False
    for event in read_objects(output):
        kind, item, usage = event.get("type"), event.get("item"), event.get("usage")
        if kind == "thread.started":
            session = read_text(event.get("thread_id")) or None
        elif kind == "item.completed" and isinstance(item, Mapping) and item.get("type") == "agent_message":
            answer = read_text(item.get("text"))
        elif kind == "turn.completed" and isinstance(usage, Mapping):
            # cached and reasoning tokens are parts of these two
            tokens += read_token_count(usage.get("input_tokens")) + read_token_count(usage.get("output_tokens"))
            is_counted = True
    return SessionReport(answer, session, None, tokens if is_counted else None)


def sessions(folder: Path, warn: Warn = ignore_warning) -> Iterator[Transcript]:
    """Yield the transcripts of sessions that no other session started, newest first, including archived ones.

    Of a session that was rewound, this is the newest file, as its reader reads what is left of the others.
    """
    paths = (find_files(folder, name, "**", "rollout-*.jsonl", warn=warn) for name in ("sessions", "archived_sessions"))
    known = set[str]()
    for path in sort_newest_first(chain.from_iterable(paths), warn):
        settings = (read_session_start(BEGINNING, record) for record in read_first_records(path))
        start = next((setting for setting in settings if setting), None)
        named = _ID.search(path.stem)
        if start and (start.subagent or start.session in known):
            continue
        if start and start.session:
            known.add(start.session)
        yield Transcript(path, (start and start.session) or (named[0] if named else None), start and start.cwd)


def subagents(path: Path, session: str) -> Iterator[Path]:
    """Yield the transcripts of the threads that a session started, newest first, among those of the same day."""
    for file in sort_newest_first(find_files(path.parent, "rollout-*.jsonl"))[:_MAX_SIBLINGS]:
        settings = (read_session_start(BEGINNING, record) for record in read_first_records(file))
        start = next((setting for setting in settings if setting), None)
        if start is not None and start.subagent and start.parent == session:
            yield file
