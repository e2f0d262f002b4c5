"""Which checks of open loops are due, and what became of them; without the probes, which many commands do not need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from baton_git.core.lifecycle import apply_check
from baton_git.core.records.work_items import LastCheck, OpenLoop
from baton_git.core.state import Key, State

MOST_AT_START = 50
"""Checks that the start of a session makes; what is left is said."""
URGENT_FIRST = ("failed", "escalated", "open")


class Checks(NamedTuple):
    """What came of checks, by loop id.

    Attributes:
        found: what is told.
        kept: what of that is stored. What this machine's user did not allow concerns nobody else.
        waiting: the ids of those that wait for the user's approval.
        left: how many were not made, since there are too many.
    """

    found: Mapping[str, LastCheck] = MappingProxyType({})
    kept: Mapping[str, LastCheck] = MappingProxyType({})
    waiting: tuple[str, ...] = ()
    left: int = 0


def due_checks(state: State) -> list[OpenLoop]:
    """The loops that a probe can settle, the most urgent first: not verified, and not waiting for a person."""
    loops = state.records(OpenLoop)
    due = [one for one in loops if one.status != "verified" and one.verify and one.verify.method != "manual"]
    return sorted(due, key=lambda one: URGENT_FIRST.index(one.status))


def news(state: State, found: Mapping[str, LastCheck]) -> dict[str, LastCheck]:
    """What says more than the record says already."""
    return {id_: check for id_, check in found.items() if _is_news(state.entry(Key(OpenLoop.kind, id_)), check)}


def _is_news(loop: object, check: LastCheck) -> bool:
    if not isinstance(loop, OpenLoop):
        return False
    last = loop.last_check
    said = (last.result, last.why) if last is not None else None
    return said != (check.result, check.why) or apply_check(loop, check).status != loop.status


def with_results(state: State, loops: Sequence[OpenLoop], found: Mapping[str, LastCheck]) -> State:
    """The state with what was found, for the loops that are still as they were when they were checked."""
    for loop in loops:
        now = state.entry(Key(OpenLoop.kind, loop.id))
        if isinstance(now, OpenLoop) and loop.id in found and now.verify == loop.verify:
            state = state.put(apply_check(now, found[loop.id]))
    return state
