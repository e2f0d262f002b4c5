"""`/n/…/lineage`: the sessions as a graph and as a table: when each session worked, which session it continued, and
which sessions worked at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.records.lineage import Session
from baton_git.core.times import parse_time_or_none
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.drawing import draw_commits
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.pages.revisions import take_readable
from baton_git.namespace.commit_log import describe_merge
from baton_git.systems.gobby.handoff_context import list_goals
from baton_git.verbs.sessions.lineage import find_sessions

DRAWN = 200
"""Maximum number of commits in a drawing."""
SESSIONS = 50
MOST_CONCURRENT = 4
"""Maximum number of concurrent sessions named for a session."""


class SessionRow(NamedTuple):
    """A session, and the ids of those that worked at the same time."""

    session: Session
    concurrent: tuple[str, ...]


def show_lineage(request: PageRequest) -> Response:
    with request.work() as ws:
        first = Paging.of(request, DRAWN).first
        newest_entries, gap = take_readable(ws.branch.history(), first + DRAWN + 1)
        entries = newest_entries[first:]
        paging = Paging.of(request, DRAWN, more=len(entries) > DRAWN)
        all_sessions = find_sessions(ws.branch.read().state)
        newest = all_sessions[::-1][:SESSIONS]
        sessions = [SessionRow(session, _find_concurrent(session, newest, request.site.now())) for session in newest]
        drawn = draw_commits([describe_merge(ws.branch.store, entry) for entry in entries[:DRAWN]])
        shown = {*(entry.session for entry in entries[:DRAWN]), *(session.id for session in newest)}
        summaries = {session.id: session.summary for session in all_sessions if session.summary}
        return request.render(
            "lineage.html",
            ws,
            drawn=drawn,
            summaries=summaries,
            goals=list_goals(ws.branch.read().state, shown),
            sessions=sessions,
            total=len(all_sessions),
            paging=paging,
            gap=gap,
        )


def _find_concurrent(session: Session, others: Sequence[Session], now: datetime) -> tuple[str, ...]:
    """Return the ids of the first `MOST_CONCURRENT` sessions that worked at the same time."""
    span = _find_span(session, now)
    if span is None:
        return ()
    spans = ((candidate.id, _find_span(candidate, now)) for candidate in others if candidate.id != session.id)
    met = [id_ for id_, times in spans if times is not None and times[0] < span[1] and span[0] < times[1]]
    return tuple(met[:MOST_CONCURRENT])


def _find_span(session: Session, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the start and end of a session (`now` while it works); None if they cannot be read."""
    began, ended = parse_time_or_none(session.started), parse_time_or_none(session.ended) if session.ended else now
    return (began, ended) if began is not None and ended is not None else None
