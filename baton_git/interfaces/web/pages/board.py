"""`/n/…/board`: the records of a namespace, most urgent first."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.brief_sections import describe_writer, list_told_contexts
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import deadline, is_due
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import State
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.needs import list_notes, list_signs
from baton_git.interfaces.web.pages.records import RecordRow, list_rows
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.verbs.upkeep.namespace_status import status

BOARD_SHOWN = 25
"""Maximum number of records of a kind on the board, which links to the page with all of them."""
SHOWN_KINDS = (OpenLoop.kind, FollowUp.kind, Pattern.kind, ActiveDecision.kind, Rule.kind, Conflict.kind)


class RecordList(NamedTuple):
    """The records of a kind that are shown, and the number of all."""

    rows: Sequence[RecordRow]
    total: int


class Due(NamedTuple):
    """When a loop must be verified, in days from now, rounded up; zero or negative if it is overdue."""

    days: int
    is_over: bool


def show_board(request: PageRequest) -> Response:
    now = request.site.now()
    with request.work() as ws:
        summary, state, proposals = status(ws, now), ws.branch.read().state, RecordAging(ws).proposals
        contexts = list_told_contexts(state)
        lists = {kind: _list_kind(ws, now, state, kind, proposals.targets) for kind in SHOWN_KINDS}
        due = {row.id: _find_due(row.record, now) for row in lists[OpenLoop.kind].rows}
        return request.render(
            "board.html", ws, summary=summary, signs=[*list_signs(summary), *list_notes(summary)], lists=lists, due=due,
            proposals=proposals, archive=_count_archived(state), context=contexts[0] if contexts else None,
            others=[(describe_writer(other, now), other.text) for other in contexts[1:]],
        )  # fmt: skip


def _list_kind(ws: Workspace, now: datetime, state: State, kind: str, proposed: Container[str]) -> RecordList:
    """Return the most urgent records of a kind, without those that the row of another one tells."""
    rows, more = list_rows(ws, now, kind=kind, sort="urgent", limit=BOARD_SHOWN)
    shown = [row for row in rows if row.record is not None and row.id not in proposed]
    return RecordList(shown, len(shown) if more is None else sum(id_ not in proposed for id_ in state.ids(kind)))


def _find_due(loop: OpenLoop, now: datetime) -> Due | None:
    end = deadline(loop)
    if end is None or loop.status != "open":
        return None
    return Due(-((now - end) // timedelta(days=1)), is_due(loop, now))


def _count_archived(state: State) -> dict[str, int]:
    """Return the number of archived records by kind, without reading them."""
    counts = {kind: len(state.ids(kind, archived=True)) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}
