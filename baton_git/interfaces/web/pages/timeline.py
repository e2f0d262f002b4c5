"""The pages of the history: the timeline, one commit, the differences of two revisions, and one session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import groupby, islice
from typing import NamedTuple

from starlette.responses import Response

from baton_git.agents.sessions.handoff_index import read_handoff
from baton_git.core.errors import Ambiguous, InvalidArgument, NotFound
from baton_git.core.records.handoff import Handoff
from baton_git.core.sessions import complete_session, find_session
from baton_git.core.state import SHAPE, State
from baton_git.core.times import to_utc
from baton_git.interfaces.http.responses import status_of
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging, resolve_revision, take_readable
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_context import list_goals
from baton_git.verbs.revisions.history import Filter, Shown, compare, full_id, read_commit, read_log
from baton_git.verbs.sessions.session_start import compose_brief

# --- `/n/…/timeline`, `/commit`, `/compare`: what was changed, by whom, record by record, between any two revisions


COMMITS_SHOWN = 50
"""Number of commits on one page."""
MOST_CHANGES = 300
"""Maximum number of changed records that a page shows in full."""


def show_timeline(request: PageRequest) -> Response:
    record, session, agent = (request.query.get(name, "").strip() or None for name in ("record", "session", "agent"))
    with request.work() as ws:
        wanted = Filter(full_id(ws, record) if record else None, session, agent)
        first = Paging.of(request, COMMITS_SHOWN).first
        commits, gap = take_readable(read_log(ws, wanted, COMMITS_SHOWN + 1, skip=first), COMMITS_SHOWN + 1)
        paging = Paging.of(request, COMMITS_SHOWN, more=len(commits) > COMMITS_SHOWN)
        return request.render(
            "timeline.html", ws, days=group_by_day([drop_bookkeeping(commit) for commit in commits[:COMMITS_SHOWN]]),
            goals=list_goals(ws.branch.read().state, {commit.entry.session for commit in commits[:COMMITS_SHOWN]}),
            several=len(commits) > 1, paging=paging,
            gap=gap, record=record or "", session=session or "", agent=agent or "",
        )  # fmt: skip


class SessionRun(NamedTuple):
    """Consecutive commits of one session, newest first; `session` is None for commits without a session."""

    session: str | None
    commits: list[Shown]


class Day(NamedTuple):
    """The runs of one day in UTC, the newest first."""

    date: date
    runs: list[SessionRun]


def group_by_day(newest_first: Sequence[Shown]) -> list[Day]:
    """Group commits by day, and within a day by session."""
    return [
        Day(day, [SessionRun(id_, list(run)) for id_, run in groupby(commits, key=lambda shown: shown.entry.session)])
        for day, commits in groupby(newest_first, key=lambda shown: to_utc(shown.entry.time).date())
    ]


def drop_bookkeeping(shown: Shown) -> Shown:
    """Return the commit without changes of the `shape`, the stored layout of the last session-baton document."""
    return shown._replace(changes=tuple(change for change in shown.changes if change.kind != SHAPE.kind))


def show_commit(request: PageRequest) -> Response:
    with request.work() as ws:
        shown = drop_bookkeeping(read_commit(ws, resolve_revision(ws, request.names["revision"])))
        return request.render("commit.html", ws, shown=shown, changes=shown.changes[:MOST_CHANGES])


def show_differences(request: PageRequest) -> Response:
    """Show the changes between two revisions; with none given, only the form."""
    a, b = (request.query.get(name, "").strip() for name in ("a", "b"))
    with request.work() as ws:
        comparison, status, problem = None, 200, ""
        try:
            if a or b:
                comparison = compare(ws, resolve_revision(ws, a or "~0"), resolve_revision(ws, b or "~0"))
        except (InvalidArgument, NotFound, Ambiguous) as error:
            status, problem = status_of(error), sentence(error)
        changes = [change for change in comparison.changes if change.kind != SHAPE.kind] if comparison else []
        return request.render(
            "compare.html", ws, status=status, comparison=comparison, changes=changes[:MOST_CHANGES],
            total=len(changes), a=a, b=b, problem=problem,
        )  # fmt: skip


# --- `/n/…/session?id=…`: one session: its brief, its changes, and its digest


MOST_COMMITS = 500
"""Maximum number of commits of a session that are read. If a session has this number or more, its first commit may
not be among them, and the brief is not rebuilt."""


def show_session(request: PageRequest) -> Response:
    id_ = request.query.get("id", "")
    with request.work() as ws:
        state = ws.branch.read().state
        id_ = complete_session(state, id_)
        commits, gap = take_readable(read_log(ws, Filter(None, id_, None), MOST_COMMITS), MOST_COMMITS)
        session, digests = find_session(state, id_), _find_digests(state, id_)
        if session is None and not commits and not digests:
            raise NotFound("session", id_)
        return request.render(
            "session.html", ws, id=id_, session=session, digests=digests, gap=gap,
            goal=list_goals(state, {id_}).get(id_, ""),
            has_todos=session is not None and (session.status == "active" or bool(session.todos)),
            commits=[drop_bookkeeping(commit) for commit in commits], brief=_rebuild_brief(ws, commits),
        )  # fmt: skip


def _find_digests(state: State, session: str) -> list[Handoff]:
    """Return at most 5 digests of a session, live or archived; sessions of several agents can have the same id."""
    ids = {*state.ids(Handoff.kind), *state.ids(Handoff.kind, archived=True)}
    own = islice((id_ for id_ in sorted(ids) if id_.partition("/")[2] == session), 5)
    return [digest for id_ in own if (digest := read_handoff(state, id_)) is not None]


def _rebuild_brief(ws: Workspace, commits: Sequence[Shown]) -> str:
    """Return the brief of the revision that started a session; empty if that revision is not known."""
    if not commits or commits[-1].entry.op != "boot" or len(commits) == MOST_COMMITS:
        return ""
    start = commits[-1].entry
    return compose_brief(ws, start.time, at=start.commit).text
