"""Catch up with other sessions: save the facts that their hooks did not save, and end the sessions that were killed."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from baton_git.agents.hook_events.hook_session import (
    GONE,
    HEARD_SUFFIX,
    HookSession,
    HookSessionStore,
    find_unsaved_turn,
    is_running,
)
from baton_git.agents.mining.evidence import store_addresses
from baton_git.core.brief import short_session
from baton_git.core.errors import BatonError
from baton_git.core.times import iso
from baton_git.interfaces.hook.session_facts import HookInputs, SessionFacts, attempt, lock_session
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.session_end import end_gone_sessions

MAX_CAUGHT_UP = 3
"""Maximum number of unsaved sessions that one session start handles."""
MAX_UNREAD = 4 << 20
"""Maximum number of unread bytes of transcripts that a session start reads, about 1.5 seconds; a background process
reads the rest."""
TASK = "catch_up"
"""The background task that reads the rest."""
GRACE = 1.0
"""Seconds that a session whose supervisor was killed has to end before it is killed, too."""


def catch_up(
    ws: Workspace, now: datetime, settings: HookInputs, current: HookSession, problems: list[str],
    max_unread: int | None = MAX_UNREAD,
) -> list[str]:  # fmt: skip
    """Save unsaved facts of other sessions, and end all sessions whose process is gone.

    The sessions are those of this work tree, and of work trees that were removed.

    Args:
        current: the session that starts; its `cli` may be empty.
        problems: errors are added to this list.
        max_unread: see `MAX_UNREAD`; None: no limit.

    Returns:
        Lines for the brief about the ended sessions whose facts are still to be read.
    """
    memory = settings.memory
    attempt(lambda: store_addresses(ws.branch.store.repository), "catch-up", problems)
    own = (current.cli, current.session)
    others = [
        other for other in memory.all()
        if not other.ended and (other.cli if current.cli else "", other.session) != own
    ]  # fmt: skip
    gone = [other for other in others if not is_running(other) or _end_unwatched(ws, now, other)]
    unsaved = (
        other for other in sorted(others, key=lambda other: other.git_dir != current.git_dir)
        if _is_caught_up_here(ws, other, current) and (other in gone or _is_unsaved(memory, other))
    )  # fmt: skip
    late: list[HookSession] = []
    for other in islice(unsaved, MAX_CAUGHT_UP):
        unread = _count_unread(memory, other) if max_unread is not None else 0
        if max_unread is not None and unread > max_unread:
            late.append(other)
            continue
        max_unread = max_unread - unread if max_unread is not None else None
        with lock_session(memory, other.cli, other.session, 0) as is_alone:
            session = memory.get(other.cli, other.session) if is_alone is not False else None
            if session is not None:
                _save_unsaved(ws, now, settings, session, problems, is_gone=other in gone)
    attempt(
        lambda: end_gone_sessions(ws, now, {other.session: other.last_seen for other in gone}), "catch-up", problems
    )
    is_requested = bool(late) and ws.background.request(TASK)
    return [_describe_late(other, is_requested=is_requested) for other in late if other in gone]


def _count_unread(memory: HookSessionStore, session: HookSession) -> int:
    """Return the number of bytes that a save of the session would read; 0 if nothing is unsaved."""
    if not _is_unsaved(memory, session):
        return 0
    try:
        size = Path(session.transcript).stat().st_size if session.transcript else 0
    except (OSError, ValueError):
        return 0
    return size - session.size if 0 <= session.size <= size else size


def _describe_late(session: HookSession, *, is_requested: bool) -> str:
    name = f"{session.cli} session {short_session(session.session)}"
    how = "are being read in the background" if is_requested else "could not be read yet"
    return f"{name} ended without a hook event, and its last prompts and answers {how} (baton handoff show)"


def _is_caught_up_here(ws: Workspace, other: HookSession, current: HookSession) -> bool:
    """Return whether a start in this work tree saves the facts of another session: one of this work tree, or of one
    that was removed, in which no session can start any more."""
    if other.namespace not in ("", str(ws.branch.namespace)):
        return False
    return other.git_dir == current.git_dir or not os.path.isdir(other.work_tree or other.git_dir)


def _is_unsaved(memory: HookSessionStore, session: HookSession) -> bool:
    return _has_changed_transcript(memory, session) or find_unsaved_turn(memory, session) is not None


def _has_changed_transcript(memory: HookSessionStore, session: HookSession) -> bool:
    """Return whether the transcript of a session, or without one its prompts and answers in hook events, changed since
    the last save; False if they cannot be read.

    Without either, return whether nothing was saved yet.
    """
    heard = memory.path(session.cli, session.session, HEARD_SUFFIX)
    for path in filter(None, (session.transcript, heard)):
        try:
            return Path(path).stat().st_size != session.size
        except (OSError, ValueError):
            continue
    return not session.transcript and session.size < 0


def _save_unsaved(
    ws: Workspace, now: datetime, settings: HookInputs, session: HookSession, problems: list[str], *, is_gone: bool
) -> None:  # fmt: skip
    """Save the facts of a session; if its process is gone and saving worked, mark it as ended."""
    ws = replace(ws, actor=replace(ws.actor, session=session.session, agent=session.cli))
    known_problems = len(problems)
    if _is_unsaved(settings.memory, session):
        turn = find_unsaved_turn(settings.memory, session)
        session = session._replace(transcript=(turn and turn.transcript) or session.transcript)
        facts = SessionFacts(ws, now, settings, session, problems, turn=turn, has_ended=is_gone)
        saved = attempt(lambda: facts.save("catch_up" if is_gone else "stop"), "catch-up", problems)
        session = saved[1] if saved is not None else facts.session
    is_over = is_gone and len(problems) == known_problems
    settings.memory.save(session._replace(ended=GONE) if is_over else session)


def _end_unwatched(ws: Workspace, now: datetime, session: HookSession) -> bool:
    """End the session if baton started it and its supervisor was killed; return whether it was ended."""
    if not session.spawn_record:
        return False
    from baton_git.agents.sessions.records import (
        SpawnedSessions,  # few sessions were started by baton
        end_unwatched,
    )

    records = SpawnedSessions(ws.branch.store.repository.common_dir / "baton" / "spawned")
    try:
        record = records.get(session.spawn_record)
        if record.is_unwatched:
            end_unwatched(records, record, iso(now), GRACE)
    except BatonError:
        return False
    return record.is_unwatched
