"""Start a session: escalate overdue loops, run the checks, and compose the brief."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from baton_git import __version__
from baton_git.core.brief import (
    BUDGET,
    Brief,
    BriefJudge,
    Rank,
    Section,
    compose,
    judged_line,
    short_session,
)
from baton_git.core.brief_sections import SECTIONS, SectionMaker
from baton_git.core.errors import BatonError, InvalidName, NotFound, WriteFailed, explain_sandbox
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import KINDS, SINGLETONS
from baton_git.core.lifecycle import archive_closed, choose_verified, settle_state
from baton_git.core.names import SessionId, mint_id
from baton_git.core.output import count_noun, one_line, quote_id
from baton_git.core.policy import Policy
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import LastCheck, OpenLoop
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.sessions import find_session, record_session
from baton_git.core.state import Key, State, Unreadable
from baton_git.core.times import describe_age, iso
from baton_git.namespace.commit_log import VERSION
from baton_git.namespace.provenance.judgement import Judgement
from baton_git.namespace.provenance.labels import Patience
from baton_git.namespace.remote_selection import count_waiting_commits, find_unsent_commits, receive_in_background
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.silent_reverts import find_recent_reverts
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.systems import SYSTEMS, BriefRequest, StartResult
from baton_git.verbs.records.ready import describe_revert, list_rejected_imports, make_return_command
from baton_git.verbs.sessions.gone_sessions import find_abandoned_sessions, mark_gone
from baton_git.verbs.sessions.meeting import Meeting
from baton_git.verbs.sessions.verb_hints import describe_verbs
from baton_git.verbs.sharing.auto_sync import AT_START, receive_at_start, send_leftovers
from baton_git.verbs.verification.check_results import MOST_AT_START, Checks, apply_results, list_due_loops, select_news
from baton_git.verbs.verification.consent import WaitingChecks

CHECK_BUDGET = 5.0
"""Time limit, in seconds, for all checks at the start of a session."""
_MOST_REASONS = 8
"""Maximum number of reasons, one behind another, in which a problem of a start looks for another one."""
LABEL_SECONDS = 2.0
"""Time limit for finding out who vouches for the records: after 30,000 new commits it would take 8 seconds."""
LEAST_FOR_CACHE = 1.0
"""Seconds for sending what waits in the client's cache, also if the sync took all its time."""
LEFT = "left without an end"
"""Summary of an abandoned session that a later session ended."""


def make_session_id(now: datetime) -> SessionId:
    """Make a session name such as `2026-06-17-7k3f9q`.

    session-baton numbers the sessions of a day instead; on several machines, the numbers would collide.
    """
    return SessionId(mint_id(now.strftime("%Y-%m-%d"), os.urandom(4)))


class BegunSession(NamedTuple):
    """A session that has started.

    Attributes:
        heading: the first line of the brief.
        sections: the sections of the brief, for callers that add more.
        closed: the loops verified by earlier sessions and now archived.
        problems: what is missing or broken; none of these prevents the start.
        news: changes from other machines, a failed fetch, and the commits and checks that wait for a person.
        is_new: whether this start created the namespace.
        is_readable: whether the namespace's newest commit could be read; if not, `revision` is an empty revision.
    """

    session: str
    parent: str | None
    revision: Revision
    heading: str
    sections: tuple[Section, ...]
    brief: Brief
    checks: Mapping[str, LastCheck] = MappingProxyType({})
    closed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    is_new: bool = False
    is_readable: bool = True


class Persona(NamedTuple):
    """The agent whose last checkpoint the brief shows, and the lines already restored from that checkpoint."""

    agent: str | None
    restored: Sequence[str] = ()


class StartOptions(NamedTuple):
    """Options for starting a session.

    Attributes:
        budget: maximum size of the brief in bytes.
        check_seconds: time limit for all checks together; 0 runs none.
        sync_seconds: time limit for fetching from the remote; 0 does not fetch.
        run_hooks: runs what systems do at a start, after the sync: PAIF restores the agent whose last checkpoint the
            brief then shows.
        parent: the session to continue; None: the newest one.
        handoff: whether the brief shows the facts of the last session in this work tree.
        problems: problems that the caller has found already.
        ends_abandoned: whether to end abandoned sessions.
        meeting: what the remotes answered, if they were asked for the namespace; its seconds count for the sync.
        mark: the word in the frame of the brief, see `compose`; None: a random one.
    """

    budget: int = BUDGET
    check_seconds: float = CHECK_BUDGET
    sync_seconds: float = AT_START
    run_hooks: Callable[[Workspace], StartResult] = lambda ws: StartResult()
    parent: str | None = None
    handoff: bool = True
    problems: Sequence[str] = ()
    ends_abandoned: bool = False
    meeting: Meeting | None = None
    mark: str | None = None


DEFAULT_START = StartOptions()


def begin_session(ws: Workspace, now: datetime, options: StartOptions = DEFAULT_START) -> BegunSession:
    """Start a session: escalate overdue loops, run the checks, archive verified loops, and compose the brief.

    `settle_state` makes the changes that follow from time and counters, such as the escalation.

    Raises:
        InvalidName, InvalidDocument: the session's name is invalid.
        NotFound: the namespace does not exist here nor, as far as the remote answered, there, and may not be created.
        BranchMoved: another program deleted the branch, moved it back or replaced it.
        BatonError: a setting is invalid. Every other error is returned as a problem.
    """
    session = SessionId(ws.actor.session or make_session_id(now).text).text
    refuse_secret("session", session)
    ws = replace(ws, actor=replace(ws.actor, session=session))
    problems = list(options.problems)
    meeting = options.meeting or Meeting(ws, options.sync_seconds)
    end = time.monotonic() + meeting.seconds
    is_missing = _is_missing(ws)
    unsent = _describe_unsent(ws, now, problems) if options.sync_seconds > 0 else []
    synced = receive_at_start(ws, now, meeting)
    cached = ws.send_cached(max(LEAST_FOR_CACHE, end - time.monotonic())) if options.sync_seconds > 0 else []
    if is_missing:
        _check_received(ws, [*synced, *cached], was_asked=options.sync_seconds > 0)
    ws.branch.store.limit_fetches(max(0.0, end - time.monotonic()))
    tip = _read_tip(ws, problems)
    before = tip or _make_empty_revision(ws)
    problems += _describe_revert(ws, before)
    parent, was_new = find_parent(before.state, session, options.parent, problems), before.commit is None
    hooks = options.run_hooks(ws)
    problems += hooks.problems
    if hooks.restored:  # a restore is counted in a commit of its own
        tip = _read_tip(ws, problems)
        before = tip or before
    checks = _run_due_checks(ws, now, before, options.check_seconds, problems)
    abandoned = find_abandoned_sessions(ws, before.state) if options.ends_abandoned else {}
    after = _record_begin(ws, now, before, parent, checks, abandoned, problems)
    closed = _list_verified(before.state, session, problems)
    problems += _list_damage(after.state, problems)
    news = (*unsent, *synced, *cached, *_list_standing_news(ws, problems), *_describe_unapproved(checks))
    verified = _make_verified_lines(ws, before, closed, problems)
    shown = _with_results(after, before, checks, problems)
    persona = Persona(hooks.agent or ws.actor.agent, hooks.restored)
    parts = [*_make_parts(ws, now, shown, problems, persona, handoff=options.handoff)]
    heading = _make_heading(now, session, after, is_readable=tip is not None)
    problems = drop_repeated(problems)
    sections = _make_sections(parts, verified, problems, news)
    return BegunSession(
        session, parent, after, heading, sections,
        brief=_compose(ws, heading, sections, options.mark, options.budget),
        checks=checks.results,
        closed=tuple(loop.id for loop in closed),
        problems=tuple(problems),
        news=news,
        is_new=was_new and after.commit is not None,
        is_readable=tip is not None,
    )  # fmt: skip


def _is_missing(ws: Workspace) -> bool:
    """Return whether the namespace is not here and may not be created, so that the remote has to have it.

    Raises:
        NotFound: the same, but the remote is no help.
    """
    try:
        ws.branch.check_exists(to_write=True)
    except NotFound:
        if not ws.branch.may_be_fetched:
            raise
        return True
    return False


def _check_received(ws: Workspace, news: Sequence[str], *, was_asked: bool) -> None:
    """Check that the sync brought the namespace.

    Args:
        was_asked: whether the remote was asked for it, so that nobody need be told how to ask.

    Raises:
        NotFound: it did not; the hint says why.
    """
    try:
        ws.branch.check_exists(to_write=True, was_asked=was_asked)
    except NotFound as error:
        error.hint = "; ".join([*news, error.hint])
        raise


def _judge_in_time(ws: Workspace, revision: Revision) -> Judgement:
    patience = Patience(LABEL_SECONDS, lambda: receive_in_background(ws))
    return ws.shown_judgement(revision, patience, WaitingChecks(ws, revision).__contains__)


def drop_repeated(problems: Iterable[str]) -> list[str]:
    """Return the problems without those that another one ends with: several steps of a start fail for one reason."""
    distinct = list(dict.fromkeys(problems))
    # To compare each with each other took 30 s for 16,000 unreadable files.
    ends = {end for problem in distinct for end in _list_ends(problem)}
    return [problem for problem in distinct if problem not in ends]


def _list_ends(problem: str) -> Iterator[str]:
    """Yield what follows each of the first colons of a problem, which are those of its reasons."""
    at = problem.find(": ")
    for _ in range(_MOST_REASONS):
        if at < 0:
            return
        yield problem[at + 2 :]
        at = problem.find(": ", at + 2)


def _list_damage(state: State, problems: list[str]) -> list[str]:
    """Return one line for each unreadable file."""
    return [f"{record.path}: {record.why}" for record in _list_unreadable(state, problems)]


def _describe_unsent(ws: Workspace, now: datetime, problems: list[str]) -> list[str]:
    """Let a background process send what earlier sessions left; return one line about what waits for too long."""
    try:
        was_left = send_leftovers(ws, now)
        unsent = find_unsent_commits(ws)
        return [one.describe(now) for one in unsent if one.is_late(now) or (was_left and one.is_automatic)]
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return []


def _list_standing_news(ws: Workspace, problems: list[str]) -> list[str]:
    """Return one line about rows that imports rejected, and for each remote with commits that wait for review."""
    lines: list[str] = []
    try:
        lines += [f"{item.title}: {item.why} ({item.command})" for item in list_rejected_imports(ws)]
        counts = count_waiting_commits(ws)
        if counts:
            from baton_git.verbs.sharing.review_notice import describe_waiting  # loads the review; rarely needed

            lines += [f"{describe_waiting(ws.branch, name, commits)} (tell the person)" for name, commits in counts]
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
    return lines


def _make_verified_lines(
    ws: Workspace, revision: Revision, loops: Sequence[OpenLoop], problems: list[str]
) -> list[str]:
    """Return one line for each loop verified by earlier sessions, with who vouches for it."""
    judge = _judge_in_time(ws, revision)
    try:
        return [judged_line(loop, loop.action, judge) for loop in loops]
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return []


def compose_brief(
    ws: Workspace, now: datetime, *, budget: int = BUDGET, mark: str | None = None, at: str | None = None
) -> Brief:
    """Return the brief of the current state without starting a session: no checks run and nothing is written.

    Args:
        at: the revision to describe; None: the newest.

    Raises:
        NotFound, Ambiguous, InvalidArgument: `at` names no revision.
    """
    problems: list[str] = []
    tip = _read_tip(ws, problems) if at is None else ws.branch.read(at)
    revision = tip or _make_empty_revision(ws)
    heading = _make_heading(now, ws.actor.session or "none", revision, is_readable=tip is not None)
    sections = _make_current_sections(ws, now, revision, problems, is_newest=at is None)
    return _compose(ws, heading, sections, mark, budget)


def list_sections(ws: Workspace, now: datetime) -> tuple[Section, ...]:
    """Return the sections of the brief without the facts of earlier sessions; do not start a session.

    If the newest revision cannot be read, one of the sections says so.
    """
    problems: list[str] = []
    revision = _read_tip(ws, problems) or _make_empty_revision(ws)
    return _make_current_sections(ws, now, revision, problems, handoff=False)


def _make_current_sections(
    ws: Workspace, now: datetime, revision: Revision, problems: list[str], *, handoff: bool = True,
    is_newest: bool = True,
) -> tuple[Section, ...]:  # fmt: skip
    problems += _describe_revert(ws, revision) if is_newest else []
    parts = [*_make_parts(ws, now, revision, problems, Persona(ws.actor.agent), handoff=handoff)]
    problems += _list_damage(revision.state, problems)
    return _make_sections(parts, (), problems, _list_standing_news(ws, problems) if is_newest else ())


def _compose(ws: Workspace, heading: str, sections: Sequence[Section], mark: str | None, budget: int) -> Brief:
    return compose(heading, sections, mark or fresh_mark(), budget, footer=describe_verbs(as_tools=ws.calls_tools))


def _read_tip(ws: Workspace, problems: list[str]) -> Revision | None:
    """Return the newest revision; if it cannot be read, add a problem and return None."""
    try:
        return ws.branch.read()
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return None


def _make_empty_revision(ws: Workspace) -> Revision:
    """Return an empty revision, for the brief of a namespace whose newest revision cannot be read."""
    return Revision(ws.branch.namespace, State())


def _describe_revert(ws: Workspace, revision: Revision) -> list[str]:
    """Return a warning for each recent commit that looks as if it reverted others' work by accident."""
    try:
        return [
            f"{describe_revert(ws, revert)} (baton show {revert.commit[:10]} shows them; "
            f"{make_return_command(ws, revert)} brings them back)"
            for revert in find_recent_reverts(ws.branch, revision.commit)
        ]
    except (BatonError, OSError) as error:
        return [_describe_error(error)]


def _run_due_checks(ws: Workspace, now: datetime, before: Revision, seconds: float, problems: list[str]) -> Checks:
    if seconds <= 0:
        return Checks()
    try:
        due = list_due_loops(before.state)
        if not due:
            return Checks()
        # imports all check methods, which a start without due checks does not need
        from baton_git.verbs.verification.checks import run_some_checks

        checks = run_some_checks(ws, now, before, due, seconds, MOST_AT_START)
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return Checks()
    if checks.skipped:
        problems.append(
            f"only the {MOST_AT_START} most urgent checks ran, {checks.skipped} more did not (baton verify runs them)"
        )
    return checks


def _describe_unapproved(checks: Checks) -> list[str]:
    """Return one line about the checks that wait for approval; no line if there are none."""
    if not checks.waiting:
        return []
    shown = ", ".join(quote_id(id_) for id_ in checks.waiting[:5]) + (", …" if len(checks.waiting) > 5 else "")
    waits = count_noun(len(checks.waiting), "check from elsewhere waits", "checks from elsewhere wait")
    return [f"{waits} for a person's approval: {shown} (baton trust --list)"]


def _record_begin(
    ws: Workspace, now: datetime, before: Revision, parent: str | None, checks: Checks, abandoned: Mapping[str, str],
    problems: list[str],
) -> Revision:  # fmt: skip
    """Write the changes of a session start and return the new revision; `before` if writing failed."""
    loops = _list_checked(before.state, checks, problems)

    def change(tip: Revision) -> ProposedState:
        state = settle_state(archive_closed(tip.state, now, ws.actor.session, ws.judgement(tip)), now, ws.policy)
        state = mark_gone(apply_results(state, loops, select_news(state, checks.to_store)), now, abandoned, LEFT)
        return ProposedState(add_session(ws, now, state, parent), trailers=((VERSION, __version__),))

    try:
        return ws.update("boot", now, change).revision
    except InvalidName:
        raise
    except (BatonError, OSError) as error:
        hint = explain_sandbox(error, ws.sandbox_hint)
        nothing = " and nothing can be saved here" if isinstance(error, WriteFailed) else ""
        why = f"{error} ({hint})" if hint else _describe_error(error)
        problems.append(f"this start was not recorded{nothing}: {why}")
        return before


def _list_checked(state: State, checks: Checks, problems: list[str]) -> list[OpenLoop]:
    if not checks.to_store:
        return []
    try:
        return list(state.select(OpenLoop, lambda loop: loop.id in checks.to_store))
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return []


def _list_verified(state: State, session: str, problems: list[str]) -> list[OpenLoop]:
    """Return the verified loops that this start archives; if their folder is unreadable, none, and add a problem."""
    try:
        return choose_verified(state, session)
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return []


def _with_results(revision: Revision, before: Revision, checks: Checks, problems: list[str]) -> Revision:
    """Return the revision with the results of the checks, including repeated ones, which are not stored again."""
    loops = _list_checked(before.state, checks, problems)
    return revision._replace(state=apply_results(revision.state, loops, checks.to_store))


def add_session(ws: Workspace, now: datetime, state: State, parent: str | None) -> State:
    """Return the state with the acting session recorded as active and last seen at `now`.

    A session that a restore of this start has begun gets its parent here.
    """
    known = find_session(state, ws.session)
    if known is not None:
        continued = {"parent": parent} if parent and not known.parent else {}
        return record_session(state, known.replace(status="active", **continued), now, ws.policy)
    optional = {"agent": ws.actor.agent, "machine": ws.actor.machine, "person": ws.actor.person, "parent": parent}
    data: dict[str, Any] = {"id": ws.session, "started": iso(now), "status": "active"}
    session = Session.model_validate(data | {name: value for name, value in optional.items() if value})
    return record_session(state, session, now, ws.policy)


def find_parent(state: State, session: str, named: str | None, problems: list[str]) -> str | None:
    """Return the session that a session continues: the recorded one, or else the named one, or else the newest."""
    own = state.entry(Key(Session.kind, session))
    if isinstance(own, Session):
        return own.parent
    if named is not None:
        return named
    try:
        others = [(known.date, known.id) for known in state.outlines(Session) if known.id != session]
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return None
    return max(others)[1] if others else None


def _list_unreadable(state: State, problems: list[str]) -> list[Unreadable]:
    try:
        # the brief reads records of the other kinds only if it shows them
        kinds = (kind for kind, info in KINDS.items() if not info.left_behind)
        return list(state.unreadable((*SINGLETONS, *kinds)))
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return []


def _describe_error(error: BatonError | OSError) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}"
    return f"{error} ({error.hint})" if error.hint else str(error)


def _make_heading(now: datetime, session: str, revision: Revision, *, is_readable: bool) -> str:
    name = short_session(session)
    if not is_readable:
        return one_line(f"baton {revision.namespace} · the state cannot be read, see Problems · session {name}", 300)
    time = revision.time if revision.number else None  # the initial commit of a namespace has no time
    when = f" · last change {describe_age(iso(time), now)}" if time else " · nothing recorded yet"
    return one_line(f"baton {revision.namespace} · revision {revision.number}{when} · session {name}", 300)


def _make_sections(
    parts: Sequence[Section], closed: Sequence[str], problems: Sequence[str], news: Sequence[str]
) -> tuple[Section, ...]:
    lines = tuple(f"- {one_line(problem, 400)}" for problem in dict.fromkeys(problems))
    first = Section("Problems", lines, "problems", rank=Rank.ATTENTION)
    sync = Section("Other machines", tuple(f"- {one_line(line, 300)}" for line in news), "news", rank=Rank.ATTENTION)
    last = Section(
        "Verified by earlier sessions, archived now",
        tuple(closed),
        "verified loops",
    )
    return (first, sync, *parts, last)


def _make_parts(
    ws: Workspace, now: datetime, revision: Revision, problems: list[str], persona: Persona, *, handoff: bool
) -> Iterator[Section]:
    """Yield the sections of the brief. If a section cannot be made, it is left out and the reason is added to
    `problems`."""
    judge = _judge_in_time(ws, revision)
    for make in SECTIONS:
        yield from _try_sections(partial(_make_state_section, make, revision.state, now, ws.policy, judge), problems)
    problems += [judge.problem] if judge.problem else []
    yield _make_restored_section(persona)
    yield from _make_system_sections(ws, now, revision, problems, persona, handoff=handoff)


def _make_state_section(
    make: SectionMaker, state: State, now: datetime, policy: Policy, judge: BriefJudge
) -> list[Section]:
    return [make(state, now, policy, judge)]


def _try_sections(make: Callable[[], Iterable[Section]], problems: list[str]) -> list[Section]:
    """Return the sections that `make` makes; add the records that could not be shown to `problems`.

    If `make` fails, return none, and add the reason.
    """
    try:
        sections = isolate(lambda: list(make()))
    except (BatonError, OSError) as error:
        problems.append(_describe_error(error))
        return []
    if isinstance(sections, Failure):
        problems.append(f"a section of the brief {sections.describe()}")
        return []
    problems += [str(record) for section in sections for record in section.unshown]
    return sections


def _make_restored_section(persona: Persona) -> Section:
    lines = tuple(f"- [llm_derived] {line}" for line in persona.restored)
    title, show = "Restored from the last checkpoint", "baton restore --json"
    return Section(title, lines, "lines of the checkpoint", all=show, rank=Rank.STANDING)


def _make_system_sections(
    ws: Workspace, now: datetime, revision: Revision, problems: list[str], persona: Persona, *, handoff: bool
) -> Iterator[Section]:
    """Yield the sections of the systems. If a system fails, its sections are left out and the reason is added to
    `problems`."""
    request = BriefRequest(ws, revision.state, now, persona.agent, bool(persona.restored), handoff, problems)
    for system in SYSTEMS:
        yield from _try_sections(partial(system.make_sections, request), problems)
