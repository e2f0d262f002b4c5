"""Start Codex with `codex exec PROMPT`; `codex PROMPT` needs a terminal. Find its transcripts.

Codex reports tokens, but no cost. Its transcripts are `<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`; they
are found by file name, because the schema of the databases that list them changes too often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.events import BEGINNING, Position, SessionContext
from baton_git.agents.json_lines import JsonLines, Record, table_at, text_at
from baton_git.agents.launcher import (
    Launch,
    NewSession,
    SessionReport,
    escape_argument,
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
from baton_git.core.errors import BatonError

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_MAX_SIBLINGS = 40
"""Maximum number of transcripts of the same day that are checked for a parent session, newest first."""
_MAX_BASES = 100
"""Maximum number of files that are read for one transcript, each of them begun by a rewind or a fork."""


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
            session = text_at(event, "thread_id") or None
        elif kind == "item.completed" and item.get("type") == "agent_message":
            answer = text_at(item, "text") or ""
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


def read_session_start(position: Position, record: Record) -> SessionContext | None:
    """Return the context in the first record of a session; None for any other record.

    The type of that record is `session_meta`; in sessions of Codex CLI up to 0.3x, it has no type.
    """
    bare = "type" not in record and "instructions" in record and "id" in record
    if not bare and record.get("type") != "session_meta":
        return None
    payload = record if bare else table_at(record, "payload")
    git, source = table_at(payload, "git"), payload.get("source")
    return SessionContext(
        position, text_at(record, "timestamp"), session=text_at(payload, "id"), cwd=text_at(payload, "cwd"),
        branch=text_at(git, "branch"), commit=text_at(git, "commit_hash"), version=text_at(payload, "cli_version"),
        parent=text_at(payload, "forked_from_id") or text_at(payload, "parent_thread_id"),
        subagent=isinstance(source, dict) and "subagent" in source,
    )  # fmt: skip


class EarlierPart(NamedTuple):
    """The beginning of another transcript, from which a transcript goes on; `end` is the first ordinal after it."""

    path: Path
    session: str | None
    end: int

    def read(self) -> Iterator[Record]:
        """Yield the records; nothing of what cannot be read."""
        with suppress(BatonError):
            for _, record in JsonLines(self.path):
                ordinal = record.get("ordinal")
                if not isinstance(ordinal, int) or ordinal >= self.end:
                    return
                yield record


def find_base(path: Path, start: Record) -> list[EarlierPart]:
    """Return the transcripts that the first record of a transcript says come before it, oldest first.

    Since 0.171, a rewind or a fork begins a new file, whose `history_base` names the file that it goes on from (by the
    id at the end of the name), and the first record that is left. A file that does not exist, or that comes twice, ends
    the list.
    """
    parts: list[EarlierPart] = []
    base = table_at(table_at(start, "payload"), "history_base")
    while base and len(parts) < _MAX_BASES:
        file = _find_by_id(path, text_at(base, "thread_id") or "")
        first = next(read_first_records(file), None) if file else None
        if file is None or first is None or file in (path, *(part.path for part in parts)):
            break
        session = read_session_start(BEGINNING, first)
        end = base.get("end_ordinal_exclusive")
        parts.insert(0, EarlierPart(file, session and session.session, end if isinstance(end, int) else 0))
        base = table_at(table_at(first, "payload"), "history_base")
    return parts


def _find_by_id(path: Path, id_: str) -> Path | None:
    """Return the transcript whose name ends with an id: in the same folder, or in that of another day."""
    if not _ID.match(id_):
        return None
    pattern, top = f"rollout-*{id_}.jsonl", path.parent
    for folder in path.parents:
        if folder.name in ("sessions", "archived_sessions"):
            top = folder.parent
    near = find_files(path.parent, pattern)
    far = (find_files(top, name, "**", pattern) for name in ("sessions", "archived_sessions"))
    return next(chain(near, *far), None)
