"""The due checks of open loops and their results.

This module does not import the code that runs checks, because many commands do not need it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from baton_git.core.lifecycle import apply_check
from baton_git.core.records.work_items import LastCheck, OpenLoop
from baton_git.core.state import Key, Selection, State

MOST_AT_START = 50
"""Maximum number of checks run at the start of a session; the brief reports how many were skipped."""
URGENT_FIRST = ("failed", "escalated", "open")
_DURATION = re.compile(r"\d+(?:[.:]\d+)*\s?(?:ms|s|secs?|seconds?|minutes?)\b|\d+:\d\d(?::\d\d)?")
"""Durations and times of day in a command's output, which differ between runs."""


class Checks(NamedTuple):
    """Results of checks, by loop id.

    Attributes:
        results: all results.
        to_store: the results to store, which exclude those of checks without approval on this machine.
        waiting: the ids of checks that wait for the user's approval.
        skipped: the number of checks that did not run because of the limit.
    """

    results: Mapping[str, LastCheck] = MappingProxyType({})
    to_store: Mapping[str, LastCheck] = MappingProxyType({})
    waiting: tuple[str, ...] = ()
    skipped: int = 0


def list_due_loops(state: State, methods: Collection[str] | None = None) -> Selection[OpenLoop]:
    """List the unverified loops with an automatic check, or with one of these methods, most urgent first."""
    return state.select(
        OpenLoop, lambda loop: loop.status != "verified" and loop.has_check and (not methods or loop.method in methods),
        lambda loop: URGENT_FIRST.index(loop.status),
    )  # fmt: skip


def select_news(state: State, evidence: Mapping[str, LastCheck]) -> dict[str, LastCheck]:
    """Select the results that differ from those stored in the records."""
    return {id_: check for id_, check in evidence.items() if _is_news(state.entry(Key(OpenLoop.kind, id_)), check)}


def _is_news(loop: object, check: LastCheck) -> bool:
    if not isinstance(loop, OpenLoop):
        return False
    return not repeats_last_check(loop, check)


def repeats_last_check(loop: OpenLoop, check: LastCheck) -> bool:
    """Return whether a result equals the loop's last one except for times, and does not change the loop's status."""
    last = loop.last_check
    is_known = last is not None and _substance(last) == _substance(check)
    return is_known and apply_check(loop, check).status == loop.status


def _substance(check: LastCheck) -> tuple[str, str, int | None, str | None]:
    return check.result, _DURATION.sub("", check.why or ""), check.http_status, check.by


def apply_results(state: State, loops: Sequence[OpenLoop], evidence: Mapping[str, LastCheck]) -> State:
    """Return the state with the results applied to those of the `loops` whose check is still the same in it."""
    for loop in loops:
        now = state.entry(Key(OpenLoop.kind, loop.id))
        if isinstance(now, OpenLoop) and loop.id in evidence and now.verify == loop.verify:
            state = state.put(apply_check(now, evidence[loop.id]))
    return state
