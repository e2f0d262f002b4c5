"""`/n/…/board`: what a namespace holds, the most urgent first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from starlette.responses import Response

from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import PRIORITIES, deadline, is_due
from baton_git.core.records.base import Record
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, FollowUp, Head, OpenLoop, Pattern
from baton_git.core.state import HEAD, State
from baton_git.interfaces.web.health import health_of
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.verbs.conflict_resolution import conflicts

SHOWN = 25
"""Records of a kind that the board has; the rest is one click away."""

Model = TypeVar("Model", bound=Record)


class Part(NamedTuple):
    """Some records of a kind: those that are shown, and how many there are in all."""

    records: Sequence[Any]
    total: int


class Due(NamedTuple):
    """When a loop must be settled: whole days from now, negative once they are over."""

    days: int
    is_over: bool


def show(asked: Asked) -> Response:
    now, wanted = asked.site.now(), asked.query.get("q", "").strip()
    with asked.work() as ws:
        health = health_of(ws, now)
        state = health.status.version.state
        loops, head = _loops(state), state.entry(HEAD)
        parts: dict[str, Any] = {
            "loops": part(loops, wanted), "items": part(_items(state), wanted),
            "patterns": part(_patterns(state), wanted), "decisions": part(_decisions(state), wanted),
            "rules": part(state.records(Rule), wanted), "contested": part(conflicts(ws), wanted),
        }  # fmt: skip
        due = {one.id: _due(one, now) for one in loops}
        return asked.page(
            "board.html", ws, health=health, q=wanted, due=due, archive=_archive(state),
            context=head.context if isinstance(head, Head) else "", version=health.status.version, **parts,
        )  # fmt: skip


def part(records: Sequence[Model], wanted: str, first: int = 0, size: int = SHOWN) -> Part:
    """Those of the records in which `wanted` occurs, case ignored."""
    found = [one for one in records if holds(one, wanted)]
    return Part(found[first : first + size], len(found))


def holds(record: Any, wanted: str) -> bool:
    return not wanted or wanted.casefold() in json.dumps(record.as_data(), ensure_ascii=False, default=str).casefold()


def _loops(state: State) -> list[OpenLoop]:
    order = ("failed", "escalated", "open", "verified")
    return sorted(state.records(OpenLoop), key=lambda one: order.index(one.status))


def _items(state: State) -> list[FollowUp]:
    return sorted(state.records(FollowUp), key=lambda one: (-PRIORITIES.index(one.priority), -one.defer_count))


def _patterns(state: State) -> list[Pattern]:
    order = ("rule_candidate", "observing", "graduated", "dismissed")
    return sorted(state.records(Pattern), key=lambda one: (order.index(one.status), -one.count))


def _decisions(state: State) -> list[ActiveDecision]:
    order = ("active", "monitoring", "superseded")
    newest_first = state.records(ActiveDecision)[::-1]
    return sorted(newest_first, key=lambda one: order.index(one.status))


def _due(loop: OpenLoop, now: Any) -> Due | None:
    end = deadline(loop)
    if end is None or loop.status != "open":
        return None
    return Due(-((now - end) // timedelta(days=1)), is_due(loop, now))


def _archive(state: State) -> dict[str, int]:
    """How many closed records there are, by kind; none of them is opened."""
    counts = {kind: len(state.ids(kind, archived=True)) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}


PAGES = {"/n/{component}/board": Page(show)}
