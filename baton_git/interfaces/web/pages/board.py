"""`/n/…/board`: the records of a namespace, most urgent first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from starlette.responses import Response

from baton_git.core.brief_sections import describe_writer, list_told_contexts
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import PRIORITIES, deadline, is_due
from baton_git.core.proposals import find_proposals
from baton_git.core.records.base import Record
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import State
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.interfaces.web.pages.health import summarize_health
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts

SHOWN = 25
"""Maximum number of records of a kind on the board, which links to the page with all of them."""

Model = TypeVar("Model", bound=Record)


class RecordList(NamedTuple):
    """The records of a kind that are shown, and the number of all that match."""

    records: Sequence[Any]
    total: int


class Due(NamedTuple):
    """When a loop must be verified, in days from now, rounded up; zero or negative if it is overdue."""

    days: int
    is_over: bool


def show(request: PageRequest) -> Response:
    now = request.site.now()
    with request.work() as ws:
        health = summarize_health(ws, now)
        state = health.status.revision.state
        loops, contexts = _sort_loops(state), list_told_contexts(state)
        proposals = find_proposals(state, ws.shown_judgement(health.status.revision))
        parts: dict[str, Any] = {
            "loops": _limit(loops), "items": _limit(_sort_items(state)), "patterns": _limit(_sort_patterns(state)),
            "decisions": _limit([one for one in _sort_decisions(state) if one.id not in proposals.targets]),
            "proposals": proposals, "rules": _limit(state.records(Rule)),
            "contested": _limit(list_open_conflicts(ws)),
        }  # fmt: skip
        due = {loop.id: _find_due(loop, now) for loop in loops}
        return request.render(
            "board.html", ws, health=health, due=due, archive=_count_archived(state),
            revision=health.status.revision, context=contexts[0] if contexts else None, **parts,
            others=[(describe_writer(other, now), other.text) for other in contexts[1:]],
        )  # fmt: skip


def _limit(records: Sequence[Model]) -> RecordList:
    """Return the first records of a list, and the number of all."""
    return RecordList(records[:SHOWN], len(records))


def contains_text(record: Any, wanted: str) -> bool:
    return not wanted or wanted.casefold() in json.dumps(record.as_data(), ensure_ascii=False, default=str).casefold()


def _sort_loops(state: State) -> list[OpenLoop]:
    order = ("failed", "escalated", "open", "verified")
    return sorted(state.records(OpenLoop), key=lambda loop: order.index(loop.status))


def _sort_items(state: State) -> list[FollowUp]:
    return sorted(state.records(FollowUp), key=lambda item: (-PRIORITIES.index(item.priority), -item.defer_count))


def _sort_patterns(state: State) -> list[Pattern]:
    order = ("rule_candidate", "observing", "graduated", "dismissed")
    return sorted(state.records(Pattern), key=lambda pattern: (order.index(pattern.status), -pattern.count))


def _sort_decisions(state: State) -> list[ActiveDecision]:
    order = ("active", "monitoring", "superseded")
    newest_first = state.records(ActiveDecision)[::-1]
    return sorted(newest_first, key=lambda decision: order.index(decision.status))


def _find_due(loop: OpenLoop, now: Any) -> Due | None:
    end = deadline(loop)
    if end is None or loop.status != "open":
        return None
    return Due(-((now - end) // timedelta(days=1)), is_due(loop, now))


def _count_archived(state: State) -> dict[str, int]:
    """Return the number of archived records by kind, without reading them."""
    counts = {kind: len(state.ids(kind, archived=True)) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}


PAGES = {"/n/{component}/board": PageRoute(show)}
