"""Turn transcripts on this machine into handoffs, and store many of them in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.extraction import parse_options
from baton_git.agents.extraction.extracting import Extraction
from baton_git.agents.mining.candidates import Candidate, is_folder
from baton_git.agents.mining.evidence import Evidence, find_evidence
from baton_git.agents.mining.weighing import Doubt, RepositoryEvidence, Weighed, find_doubt, read_git_use
from baton_git.agents.sessions.handoff_index import read_handoff
from baton_git.agents.sessions.handoff_store import (
    archive_oldest,
    build_body,
    find_top,
    gather_facts,
    make_handoff_id,
    open_turn_store,
    put_turns,
    select_compared,
    store_turns,
)
from baton_git.core.errors import BatonError, InvalidName
from baton_git.core.records.base import alike, parse
from baton_git.core.records.handoff import Handoff
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.times import from_seconds, iso, parse_time_or_none, shift
from baton_git.git.store import Repository
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace

TRIGGER = "mine"
HOOK_LAG = timedelta(seconds=60)
"""A transcript counts as new only if it continues for longer than this after the hook stored the handoff."""

_OPTIONS = parse_options({"extract": {"git_status": False}})
"""Skip `git status`: today's uncommitted changes do not belong to an old session."""


class MinedSession(NamedTuple):
    """A session read from its transcript, ready to be stored.

    Attributes:
        body: the data of the record without `extracted_at` and `trigger`, within the size limits and redacted.
        ended: the time of the last event.
        secrets: the number of redacted secrets.
        unread: the number of lines that could not be read.
        misread: a note on how much was understood, if the transcript's format is probably unknown.
    """

    id: str
    body: dict[str, Any]
    ended: datetime
    secrets: int = 0
    unread: int = 0
    misread: str | None = None

    @property
    def has_facts(self) -> bool:
        """Return whether the session has a goal, a task, to-dos, changed files, commits or decisions. A session without
        any of them is not stored."""
        facts = self.body["facts"]
        return any(facts.get(name) for name in ("initial_goal", "active_task", "todo_state", "files_modified",
                                                "git_commits", "key_decisions"))  # fmt: skip

    def as_data(self) -> dict[str, Any]:
        return {**self._asdict(), "ended": self.ended.isoformat()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> MinedSession:
        """Parse the data. Raises KeyError, TypeError or ValueError if its form is unexpected."""
        return cls(**{**data, "ended": datetime.fromisoformat(data["ended"])})


def read_session(
    ws: Workspace, now: datetime, candidate: Candidate, work_tree: str | None, *, keep_turns: bool
) -> MinedSession:
    """Read a transcript.

    Args:
        work_tree: the top level of the session's work tree; None means the folder in which the session began.
        keep_turns: also store the session's turns on this machine, if the session has facts.

    Raises:
        InvalidDocument: the file belongs to another agent CLI, or an id contains a secret.
        InvalidName: the session id is not a valid name.
        NotFound, InvalidArgument, StoreError, LimitExceeded: the file cannot be read, or the turns cannot be stored.
    """
    extraction = gather_facts(
        ws, now, candidate.path, candidate.agent, options=_OPTIONS, folder=_find_folder(ws, candidate, work_tree),
        session=candidate.session, has_ended=True,
    )  # fmt: skip
    # A file can contain two sessions, because accepting a plan may begin a new one.
    extraction = replace(extraction, session=candidate.session)
    session = _build_session(ws, now, candidate, extraction, work_tree)
    if keep_turns and session.has_facts:
        ws.remember_work_tree(find_top(ws, extraction, Path(work_tree) if work_tree else None))
        store_turns(ws, extraction, work_tree)
    return session


def has_turns(ws: Workspace, candidate: Candidate) -> bool:
    """Return whether the turns of a session are stored on this machine."""
    try:
        return open_turn_store(ws).path(candidate.agent, candidate.session).exists()
    except (InvalidName, OSError):
        return False


def _find_folder(ws: Workspace, candidate: Candidate, work_tree: str | None) -> Path | None:
    """Return the folder in which git looks up the session's commits: the session's own folder, or its work tree.

    Another work tree does not replace a removed one: its HEAD shows commits that this session did not make.
    """
    places = [place for place in (candidate.cwd, work_tree) if place]
    existing = next((place for place in places if is_folder(place)), None)
    return Path(existing or places[0]) if places else ws.folder


def _build_session(
    ws: Workspace, now: datetime, candidate: Candidate, extraction: Extraction, work_tree: str | None
) -> MinedSession:
    key = Key(Handoff.kind, make_handoff_id(extraction))
    refuse_secret("id of the session", key.id)
    body, redactions = build_body(ws, key, extraction, None, Path(work_tree) if work_tree else None)
    return MinedSession(
        key.id, body, _find_end(extraction, candidate, now), len(redactions), extraction.unread, extraction.misread
    )


def _find_end(extraction: Extraction, candidate: Candidate, now: datetime) -> datetime:
    """Return the time of the session's last event, else the file's modification time; never a time in the future."""
    changed = from_seconds(candidate.mtime_ns / 1e9)
    return min(parse_time_or_none(extraction.ended) or changed, now).replace(microsecond=0)


# --- storing


def is_known(state: State, id_: str, until: datetime) -> bool:
    """Return whether the namespace has a handoff that covers the session up to `until`."""
    before = read_handoff(state, id_)
    kept = parse_time_or_none(before.extracted_at) if before is not None else None
    if before is None or kept is None:
        return False
    return kept >= until if before.trigger == TRIGGER else shift(kept, HOOK_LAG) >= until


def has_news(state: State, session: MinedSession) -> bool:
    """Return whether a session has facts that are missing from the namespace, or newer than those in it."""
    return _put_session(state, session) is not state


def store_sessions(ws: Workspace, now: datetime, sessions: Sequence[MinedSession]) -> WriteResult:
    """Store the handoffs of these sessions in one commit. Nothing is committed if they contain nothing new."""

    def change(tip: Revision) -> State:
        state = tip.state
        for session in sessions:
            state = _put_session(state, session)
        return state if state is tip.state else _put_stored_turns(ws, archive_oldest(ws, state, now), sessions)

    return ws.update("mine", now, change)


def _put_stored_turns(ws: Workspace, state: State, sessions: Sequence[MinedSession]) -> State:
    """Return the state with the turns of those sessions whose handoff is live, if the user shares turns."""
    for session in sessions if ws.shares_turns else ():
        handoff = state.entry(Key(Handoff.kind, session.id))
        agent, _, name = session.id.partition("/")
        stored = open_turn_store(ws).load(agent, name) if isinstance(handoff, Handoff) else None
        if isinstance(handoff, Handoff) and stored is not None:
            state = put_turns(ws, state, stored.turns, handoff)
    return state


def _put_session(state: State, session: MinedSession) -> State:
    """Return the state with the handoff of a session, unless the stored handoff is as new or has the same facts."""
    if is_known(state, session.id, session.ended):
        return state
    before = read_handoff(state, session.id)
    body = session.body
    if before is not None:
        body = {"notes": before.notes, **body} if before.notes is not None else body
        if alike(select_compared(body, False), select_compared(before.as_data(), False)):
            return state
    record = parse(Handoff, {**body, "extracted_at": iso(session.ended), "trigger": TRIGGER})
    return state.remove(Key(Handoff.kind, session.id, archived=True)).put(record)


# --- sessions that ran in this repository's folder but belong to another project


def open_repository_evidence(ws: Workspace, clone: Repository | None = None) -> RepositoryEvidence:
    """Return what the repository of the workspace, or another clone of the project, shows of itself."""
    names = map(str, (ws.branch.namespace, *list_namespaces(ws.branch.store, ws.branch.prefix)))
    if clone is not None:
        return RepositoryEvidence(clone, clone.work_tree, ws.environment, names)
    return RepositoryEvidence(ws.branch.store.repository, ws.folder, ws.environment, names)


def weigh_transcript(
    repository: RepositoryEvidence, agent: str, path: Path, folder: str | None, named: Evidence, changed: float,
    *, is_removed: bool = False,
) -> Doubt | None:  # fmt: skip
    """Return why the session of a transcript probably worked in another project, or None.

    Args:
        folder: the folder of the session, for a transcript that does not name it.
        named: what a search for patterns finds in the transcript.
        changed: when the transcript was last changed, in seconds since 1970.
        is_removed: whether hooks ran in the folder, and it was removed since.

    Raises as the reader of the transcript does.
    """
    return find_doubt(Weighed(named, changed, lambda: read_git_use(agent, path, folder), is_removed), repository)


def is_stored(ws: Workspace, agent: str, session: str) -> bool:
    """Return whether the namespace has a handoff of a session."""
    state, id_ = ws.branch.read().state, f"{agent}/{session}"
    return id_ in {*state.ids(Handoff.kind), *state.ids(Handoff.kind, archived=True)}


def find_session_doubt(ws: Workspace, agent: str, session: str, path: Path, folder: str | None) -> Doubt | None:
    """Return why a session whose hooks run here probably worked in another project, or None.

    A session whose handoff the namespace already has is not in doubt, nor one whose transcript cannot be read, since
    nothing of it can be saved either.
    """
    if is_stored(ws, agent, session):
        return None
    try:
        repository = open_repository_evidence(ws)
        changed, is_removed = path.stat().st_mtime, folder is not None and not is_folder(folder)
        return weigh_transcript(repository, agent, path, folder, find_evidence(path), changed, is_removed=is_removed)
    except (BatonError, OSError):
        return None
