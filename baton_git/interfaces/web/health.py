"""How a namespace is, at a glance: what wants a person's eye, the most urgent first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from baton_git.core.lifecycle import is_due
from baton_git.core.records.work_items import OpenLoop
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.namespace_status import NamespaceStatus, read_status


class Sign(NamedTuple):
    """Something to look at. `level` is bad, warn or note; `page` and `anchor` say where."""

    level: str
    number: int
    one: str
    many: str
    page: str
    anchor: str = ""


class Health(NamedTuple):
    """What was counted, and the signs of it."""

    status: NamespaceStatus
    signs: tuple[Sign, ...]

    @property
    def level(self) -> str:
        return next((one.level for one in self.signs if one.level != "note"), "fine")


def health_of(ws: Workspace, now: datetime) -> Health:
    found = read_status(ws)
    due = sum(is_due(one, now) for one in found.version.state.records(OpenLoop))
    return Health(found, tuple(one for one in _signs(found, due) if one.number))


def _signs(found: NamespaceStatus, due: int) -> Iterator[Sign]:
    counts = found.counts
    loops, items, patterns = counts["open_loops"], counts["follow_ups"], counts["patterns"]
    yield Sign("bad", len(found.damaged), "file cannot be read", "files cannot be read", "board", "damaged")
    yield Sign("bad", loops.get("failed", 0), "loop failed", "loops failed", "board", "loops")
    yield Sign("bad", loops.get("escalated", 0), "loop escalated", "loops escalated", "board", "loops")
    yield Sign("bad", sum(counts["conflicts"].values()), "conflict", "conflicts", "conflicts")
    yield Sign("warn", due, "loop overdue", "loops overdue", "board", "loops")
    yield Sign("warn", items.get("escalated", 0), "follow-up escalated", "follow-ups escalated", "board", "follow-ups")
    waiting = sum(one.commits for one in found.waiting)
    yield Sign("warn", waiting, "commit waits for review", "commits wait for review", "review")
    candidates = patterns.get("rule_candidate", 0)
    yield Sign("warn", candidates, "rule to decide on", "rules to decide on", "board", "patterns")
    pending = sum(found.pending.values())
    yield Sign("note", pending, "commit not sent yet", "commits not sent yet", "timeline")
    yield Sign("note", len(found.sessions), "session at work", "sessions at work", "lineage")
