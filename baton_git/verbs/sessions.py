"""The beginning and the end of a session, and how things stand in between."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from baton_git.core.brief import BUDGET, SECTIONS, Brief, Section, age, compose, judged_line, quote_id
from baton_git.core.errors import BatonError, InvalidArgument, InvalidName
from baton_git.core.kinds import BY_FOLDER, KINDS, LIVE, SINGLETONS, KindInfo, value_at
from baton_git.core.lifecycle import archive_closed, find_session, record_session, settle_state
from baton_git.core.names import SessionId, mint_id
from baton_git.core.output import one_line
from baton_git.core.records.base import Record
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import LastCheck, OpenLoop
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import HEAD, Key, State, Unreadable
from baton_git.core.times import iso
from baton_git.namespace.last_seen import last_seen
from baton_git.namespace.remote_selection import WaitingCount, format_commits, pending_counts, waiting_counts
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.systems import SYSTEMS, BriefRequest
from baton_git.verbs.auto_sync import AT_START, at_start
from baton_git.verbs.check_results import MOST_AT_START, Checks, due_checks, with_results

CHECK_BUDGET = 5.0
"""Seconds that the checks at the start of a session may take together."""


def init(ws: Workspace, now: datetime) -> tuple[Revision, bool]:
    """The namespace, made if it does not exist, and whether it was made."""
    before = ws.branch.read()
    return ws.branch.create(ws.stamp("init", now)), before.commit is None


def fresh_session(now: datetime) -> SessionId:
    """A session name in session-baton's manner, `2026-06-17-7k3f9q`: a counter would meet others' counters."""
    return SessionId(mint_id(now.strftime("%Y-%m-%d"), os.urandom(4)))


# --- boot


class Boot(NamedTuple):
    """What a session starts with. `problems` names what is missing or broken; nothing of it stops the session.

    `news`: what came from other machines, what waits, and what could not be had. `heading` and `sections` are what the
    brief was made of, for who has more to tell. `is_new`: this start made the namespace.
    """

    session: str
    parent: str | None
    version: Revision
    heading: str
    sections: tuple[Section, ...]
    brief: Brief
    checks: Mapping[str, LastCheck] = MappingProxyType({})
    closed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    is_new: bool = False


class Persona(NamedTuple):
    """The agent whose last checkpoint is told, and what it got back already."""

    agent: str | None
    restored: Sequence[str] = ()


def boot(
    ws: Workspace,
    now: datetime,
    *,
    budget: int = BUDGET,
    check_seconds: float = CHECK_BUDGET,
    sync_seconds: float = AT_START,
    persona: str | None = None,
    restored: Sequence[str] = (),
    parent: str | None = None,
    handoff: bool = True,
    problems: Sequence[str] = (),
    mark: str | None = None,
) -> Boot:
    """Begins a session: expire, check, archive what earlier sessions verified, and say how things stand.

    Args:
        budget: bytes that the brief may have.
        check_seconds: for all checks together; 0 makes none.
        sync_seconds: for getting what other machines sent; 0 does not ask them.
        persona: the agent whose last checkpoint is told, where that is not the acting one.
        restored: what the agent gets back from its last checkpoint; takes the place of the brief's own lines of it.
        parent: the session that it follows, where somebody knows; else the newest one.
        handoff: whether the facts of the last session in this work tree are told.
        problems: what the caller found wrong before; named with the rest.
        mark: for the frame of the brief, see `compose`; None: a random one.

    Raises:
        InvalidName, InvalidDocument: the session's name cannot be one. Everything else is among the problems.
    """
    session = SessionId(ws.actor.session or fresh_session(now).text).text
    refuse_secret("session", session)
    ws = replace(ws, actor=replace(ws.actor, session=session))
    problems = list(problems)
    synced = at_start(ws, now, sync_seconds) if sync_seconds > 0 else []
    before = _read(ws, problems)
    problems += _reverted(ws, before)
    parent = _parent_of(before.state, session, parent, problems)
    checks = _checked(ws, now, before, check_seconds, problems)
    after = _begun(ws, now, before, parent, checks, problems)
    closed = [loop for loop in _listed(before.state, OpenLoop, problems) if loop.status == "verified"]
    problems += [f"{one.path}: {one.why}" for one in _damaged(after.state, problems)]
    waits = [
        f"{text} not taken over yet (baton sync says why, baton review shows what)" for text in _waiting(ws, problems)
    ]
    news = [*synced, *waits, *_unapproved(checks)]
    verified = _verified_lines(ws, before, closed, problems)
    whose = Persona(persona or ws.actor.agent, restored)
    parts = [*_parts(ws, now, after, problems, whose, handoff=handoff)]
    heading, sections = _heading(now, session, after), _sections(parts, verified, problems, news)
    brief, ended = compose(heading, sections, mark or fresh_mark(), budget), tuple(one.id for one in closed)
    return Boot(
        session,
        parent,
        after,
        heading,
        sections,
        brief,
        checks.found,
        ended,
        tuple(dict.fromkeys(problems)),
        tuple(news),
        is_new=before.commit is None and after.commit is not None,
    )


def _verified_lines(ws: Workspace, version: Revision, loops: Sequence[OpenLoop], problems: list[str]) -> list[str]:
    """The loops that earlier sessions verified, each with who vouches for it."""
    judge = ws.judgement(version)
    try:
        return [judged_line(one, one.action, judge) for one in loops]
    except (BatonError, OSError) as error:
        problems.append(_said(error))
        return []


def look(ws: Workspace, now: datetime, *, budget: int = BUDGET, mark: str | None = None) -> Brief:
    """The brief of how things stand, without a session that begins: nothing is settled, checked or written."""
    problems: list[str] = []
    version = _read(ws, problems)
    parts = [*_parts(ws, now, version, problems, Persona(ws.actor.agent), handoff=True)]
    problems += [f"{one.path}: {one.why}" for one in _damaged(version.state, problems)]
    heading = _heading(now, ws.actor.session or "none", version)
    return compose(heading, _sections(parts, (), problems, ()), mark or fresh_mark(), budget)


def _read(ws: Workspace, problems: list[str]) -> Revision:
    try:
        return ws.branch.read()
    except (BatonError, OSError) as error:
        problems.append(_said(error))
        return Revision(ws.branch.namespace, State())


def _reverted(ws: Workspace, version: Revision) -> list[str]:
    """Says it when the newest commit looks like one that took others' work back without meaning to."""
    try:
        older = ws.branch.suspected_revert(version)
    except (BatonError, OSError) as error:
        return [_said(error)]
    if older is None:
        return []
    what = ws.branch.name(older.commit)
    said = f"the newest commit was made by hand and goes back to {what}, without what came after it"
    return [f"{said} (baton diff ~1 ~0 shows what; baton undo takes it back)"]


def _checked(ws: Workspace, now: datetime, before: Revision, seconds: float, problems: list[str]) -> Checks:
    if seconds <= 0:
        return Checks()
    try:
        due = due_checks(before.state)
        if not due:
            return Checks()
        from baton_git.verbs.checks import run_checks  # loads the probes, and many starts have nothing to check

        made = run_checks(ws, now, before, due, seconds, MOST_AT_START)
    except (BatonError, OSError) as error:
        problems.append(_said(error))
        return Checks()
    if made.left:
        problems.append(f"{made.left} more checks were not made, only the {MOST_AT_START} most urgent (baton verify)")
    return made


def _unapproved(checks: Checks) -> list[str]:
    """What a person can do about checks that wait for approval."""
    if not checks.waiting:
        return []
    shown = ", ".join(quote_id(one) for one in checks.waiting[:5]) + (", …" if len(checks.waiting) > 5 else "")
    verb = "check from elsewhere waits" if len(checks.waiting) == 1 else "checks from elsewhere wait"
    return [f"{len(checks.waiting)} {verb} for a person's approval: {shown} (baton trust --list)"]


def _begun(
    ws: Workspace, now: datetime, before: Revision, parent: str | None, checks: Checks, problems: list[str]
) -> Revision:
    """The version after what a session's start brings about; the one before when it could not be written."""
    loops = [one for one in _listed(before.state, OpenLoop, problems) if one.id in checks.kept]

    def change(tip: Revision) -> State:
        state = settle_state(archive_closed(tip.state, now, ws.actor.session, ws.judgement(tip)), now, ws.policy)
        return _known(ws, now, with_results(state, loops, checks.kept), parent)

    try:
        return ws.update("boot", now, change).revision
    except InvalidName:
        raise
    except (BatonError, OSError) as error:
        problems.append(f"this start was not recorded: {_said(error)}")
        return before._replace(state=with_results(before.state, loops, checks.kept))


def _known(ws: Workspace, now: datetime, state: State, parent: str | None) -> State:
    known = find_session(state, ws.session)
    if known is not None:
        return record_session(state, known.replace(status="active"), now, ws.policy)
    optional = {"agent": ws.actor.agent, "machine": ws.actor.machine, "parent": parent}
    data: dict[str, Any] = {"id": ws.session, "started": iso(now), "status": "active"}
    session = Session.model_validate(data | {name: value for name, value in optional.items() if value})
    return record_session(state, session, now, ws.policy)


def _parent_of(state: State, session: str, said: str | None, problems: list[str]) -> str | None:
    own = state.entry(Key(Session.kind, session))
    if isinstance(own, Session):
        return own.parent
    if said is not None:
        return said
    others = [one for one in _listed(state, Session, problems) if one.id != session]
    return others[-1].id if others else None


def _listed(state: State, model: Any, problems: list[str]) -> list[Any]:
    """The records of a kind; none, and a problem, when their folder cannot be read."""
    try:
        return state.records(model)
    except (BatonError, OSError) as error:
        problems.append(_said(error))
        return []


def _damaged(state: State, problems: list[str]) -> list[Unreadable]:
    try:
        kinds = (kind for kind, info in KINDS.items() if not info.left_behind)  # of those only what is shown is read
        return list(state.unreadable((*SINGLETONS, *kinds)))
    except (BatonError, OSError) as error:
        problems.append(_said(error))
        return []


def _said(error: BatonError | OSError) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}"
    return f"{error} ({error.hint})" if error.hint else str(error)


def _heading(now: datetime, session: str, version: Revision) -> str:
    time = version.time if version.number else None  # the commit that all namespaces begin with has none
    when = f" · last change {age(iso(time), now)}" if time else " · nothing recorded yet"
    return one_line(f"baton {version.namespace} · revision {version.number}{when} · session {session}", 300)


def _sections(
    parts: Sequence[Section], closed: Sequence[str], problems: Sequence[str], news: Sequence[str]
) -> tuple[Section, ...]:
    first = Section("Problems", tuple(f"- {one_line(one, 400)}" for one in dict.fromkeys(problems)), "problems")
    sync = Section("Other machines", tuple(f"- {one_line(one, 300)}" for one in news), "news")
    last = Section(
        "Verified by earlier sessions, archived now",
        tuple(closed),
        "verified loops",
    )
    return (first, sync, *parts, last)


def _waiting(ws: Workspace, problems: list[str]) -> list[str]:
    try:
        return [f"{format_commits(one.commits)} of {one.remote}" for one in waiting_counts(ws)]
    except (BatonError, OSError) as error:
        problems.append(_said(error))
        return []


def _parts(
    ws: Workspace, now: datetime, version: Revision, problems: list[str], persona: Persona, *, handoff: bool
) -> Iterator[Section]:
    """The sections that can be made; one whose records cannot be read takes no other with it."""
    judge = ws.judgement(version)
    for make in SECTIONS:
        try:
            yield make(version.state, now, ws.policy, judge)
        except (BatonError, OSError) as error:
            problems.append(_said(error))
        if make is SECTIONS[0]:  # what somebody was in the middle of comes right after where the work stands
            yield _restored(persona)
            yield from _of_systems(ws, now, version, problems, persona, handoff=handoff)


def _restored(persona: Persona) -> Section:
    lines = tuple(f"- [llm_derived] {one}" for one in persona.restored)
    return Section("Restored from the last checkpoint", lines, "lines of the checkpoint", all="baton restore --json")


def _of_systems(
    ws: Workspace, now: datetime, version: Revision, problems: list[str], persona: Persona, *, handoff: bool
) -> Iterator[Section]:
    """What the seed systems have to say; one that cannot takes no other with it."""
    request = BriefRequest(ws, version.state, now, persona.agent, bool(persona.restored), handoff, problems)
    for system in SYSTEMS:
        try:
            yield from list(system.make_sections(request))
        except (BatonError, OSError) as error:
            problems.append(_said(error))


# --- wrap


def wrap(
    ws: Workspace,
    now: datetime,
    *,
    context: str | None = None,
    summary: str | None = None,
    expected_revision: int | None = None,
) -> WriteResult:
    """Ends the session: where the work stands, and what was done.

    `context` takes the place of the text that stood when the session began. When somebody else wrote another one
    since, both are kept, theirs first.

    Raises:
        Stale: the newest version is not `expected_revision`.
        InvalidArgument: the context is blank.
    """
    if context is not None and not context.strip():
        raise InvalidArgument("the context is empty", hint="say where the work stands, or leave it out")

    def change(tip: Revision) -> State:
        state = tip.state
        if context is not None:
            state = _with_context(ws, now, tip, context, replace_all=expected_revision is not None)
        return _ended(ws, now, state, summary)

    return ws.update("wrap", now, change, expected_revision=expected_revision)


def _with_context(ws: Workspace, now: datetime, tip: Revision, context: str, *, replace_all: bool) -> State:
    head = tip.state.head
    guards = ws.actor.session is not None and not replace_all  # nobody knows what a nameless writer has seen
    keeps = guards and head.context not in (_context_at_start(ws, tip), context, "")
    text = f"{head.context.rstrip()}\n\n{context}" if keeps else context
    session = {"session_id": ws.session, "updated_at": iso(now)} if ws.actor.session else {"updated_at": iso(now)}
    return tip.state.put(head.replace(context=text, **session), HEAD)


def _context_at_start(ws: Workspace, tip: Revision) -> str | None:
    """What the session saw when it began or wrote last; None when it never did."""
    if find_session(tip.state, ws.session) is None:
        return None
    seen = last_seen(ws.branch, tip.commit, ws.session) if tip.commit else None
    for commit in (*reversed(seen.own), seen.base) if seen is not None else ():
        if commit is not None and ws.branch.entry(commit).op in ("boot", "wrap", "write"):
            return ws.branch.revision_at(commit).state.head.context
    return None


def _ended(ws: Workspace, now: datetime, state: State, summary: str | None) -> State:
    if ws.actor.session is None:
        return state
    state = _known(ws, now, state, None)
    session = state.get(Session, ws.session)
    said = {"summary": summary} if summary else {}
    return state.put(session.replace(status="ended", ended=iso(now), **said))


# --- status


class Status(NamedTuple):
    """How many of what there are, and what is wrong."""

    version: Revision
    counts: dict[str, dict[str, int]]
    sessions: tuple[Session, ...]
    damaged: tuple[Unreadable, ...]
    checked_out_at: str | None
    problems: tuple[str, ...] = ()
    waiting: tuple[WaitingCount, ...] = ()
    pending: Mapping[str, int] = MappingProxyType({})


def status(ws: Workspace) -> Status:
    version = ws.branch.read()
    state = version.state
    counts = {f"{info.kind}s": _count(state, info) for info in KINDS.values() if info.counted is not None}
    active = tuple(one for one in state.records(Session) if one.status == "active")
    place = ws.branch.store.checked_out_at(ws.branch.ref)
    damaged = tuple(state.unreadable((*SINGLETONS, *KINDS)))
    waiting = tuple(waiting_counts(ws))
    return Status(version, counts, active, damaged, str(place) if place else None, (), waiting, pending_counts(ws))


def _count(state: State, info: KindInfo) -> dict[str, int]:
    """How many live records of a kind there are, as its `counted` says; they are opened only to look at a field."""
    ids = state.ids(info.kind)
    if info.counted == LIVE:
        return {LIVE: len(ids)} if ids else {}
    if info.counted == BY_FOLDER:
        return dict(Counter(sorted(id_.partition("/")[0] for id_ in ids)))
    records = state.records(cast("type[Record]", info.model))
    return dict(Counter(str(value_at(record, info.counted or "")) for record in records))
