"""`/n/…/timeline`, `/commit`, `/compare`: what was changed, by whom, record by record, between any two revisions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.diff import RecordChange
from baton_git.core.errors import Ambiguous, InvalidArgument, NotFound
from baton_git.core.state import SHAPE
from baton_git.core.times import to_utc
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.pages.revisions import resolve_revision, take_readable
from baton_git.interfaces.web.texts import sentence
from baton_git.systems.gobby.handoff_context import list_goals
from baton_git.verbs.revisions.history import Filter, Shown, compare, full_id, read_commit, read_log

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
    days: list[Day] = []
    for shown in newest_first:
        day, session = to_utc(shown.entry.time).date(), shown.entry.session
        if not days or days[-1].date != day:
            days.append(Day(day, []))
        runs = days[-1].runs
        if not runs or runs[-1].session != session:
            runs.append(SessionRun(session, []))
        runs[-1].commits.append(shown)
    return days


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
        if not a and not b:
            return request.render("compare.html", ws, comparison=None, changes=(), a="", b="", problem="")
        try:
            comparison = compare(ws, resolve_revision(ws, a or "~0"), resolve_revision(ws, b or "~0"))
        except (InvalidArgument, NotFound, Ambiguous) as error:
            return request.render("compare.html", ws, status=status_of(error), comparison=None, changes=(), a=a, b=b,
                              problem=sentence(error))  # fmt: skip
        changes: list[RecordChange] = [change for change in comparison.changes if change.kind != SHAPE.kind]
        return request.render(
            "compare.html",
            ws,
            comparison=comparison,
            changes=changes[:MOST_CHANGES],
            total=len(changes),
            a=a,
            b=b,
            problem="",
        )
