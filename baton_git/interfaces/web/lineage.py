"""`/n/…/lineage`: the sessions as a drawn graph, and as a table: who worked when, after whom, beside whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.records.lineage import Session
from baton_git.core.times import parse_time_or_none
from baton_git.interfaces.web.drawing import drawing
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.paging import Paging
from baton_git.interfaces.web.revisions import upto
from baton_git.verbs.history import lineage

DRAWN = 80
"""Commits that one drawing has."""
SESSIONS = 50
BESIDE = 4
"""How many sessions are named that worked at the same time."""


class Worked(NamedTuple):
    """A session, and the ids of those that worked at the same time."""

    session: Session
    beside: tuple[str, ...]


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        first = Paging.of(asked, DRAWN).first
        every_entry, gap = upto(ws.branch.history(), first + DRAWN + 1)
        entries = every_entry[first:]
        paging = Paging.of(asked, DRAWN, more=len(entries) > DRAWN)
        every = lineage(ws)
        newest = every[::-1][:SESSIONS]
        sessions = [Worked(one, _beside(one, newest, asked.site.now())) for one in newest]
        drawn = drawing(entries[:DRAWN])
        return asked.page("lineage.html", ws, drawn=drawn, sessions=sessions, total=len(every), paging=paging, gap=gap)


def _beside(one: Session, others: Sequence[Session], now: datetime) -> tuple[str, ...]:
    span = _span(one, now)
    if span is None:
        return ()
    spans = ((other.id, _span(other, now)) for other in others if other.id != one.id)
    met = [id_ for id_, other in spans if other is not None and other[0] < span[1] and span[0] < other[1]]
    return tuple(met[:BESIDE])


def _span(one: Session, now: datetime) -> tuple[datetime, datetime] | None:
    """From when to when it worked; None where nobody can say."""
    began, ended = parse_time_or_none(one.started), parse_time_or_none(one.ended) if one.ended else now
    return (began, ended) if began is not None and ended is not None else None


PAGES = {"/n/{component}/lineage": Page(show)}
