"""The health of a namespace: what needs a person's attention, most urgent first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from baton_git.core.lifecycle import is_due
from baton_git.core.records.work_items import OpenLoop
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_status import NamespaceStatus, read_status


class Sign(NamedTuple):
    """A number of things that need attention, and the page that shows them.

    Attributes:
        level: `bad`, `warn` or `note`.
        one, many: the label for one and for several.
        page, anchor: the page of the namespace, and the section on it.
    """

    level: str
    number: int
    one: str
    many: str
    page: str
    anchor: str = ""


class Health(NamedTuple):
    """The status of a namespace and the signs that follow from it."""

    status: NamespaceStatus
    signs: tuple[Sign, ...]

    @property
    def level(self) -> str:
        """The level of the most urgent sign: `bad` or `warn`; `fine` if there are only notes, or no signs."""
        return next((sign.level for sign in self.signs if sign.level != "note"), "fine")


def summarize_health(ws: Workspace, now: datetime) -> Health:
    summary = read_status(ws)
    due = sum(is_due(loop, now) for loop in summary.revision.state.records(OpenLoop))
    return Health(summary, tuple(sign for sign in _find_signs(summary, due) if sign.number))


def _find_signs(summary: NamespaceStatus, due: int) -> Iterator[Sign]:
    counts = summary.counts
    loops, items, patterns = counts["open_loops"], counts["follow_ups"], counts["patterns"]
    yield Sign("bad", len(summary.damaged), "file cannot be read", "files cannot be read", "board", "damaged")
    yield Sign("bad", loops.get("failed", 0), "loop failed", "loops failed", "board", "loops")
    yield Sign("bad", loops.get("escalated", 0), "loop escalated", "loops escalated", "board", "loops")
    yield Sign("bad", sum(counts["conflicts"].values()), "conflict", "conflicts", "conflicts")
    yield Sign("warn", due, "loop overdue", "loops overdue", "board", "loops")
    yield Sign("warn", items.get("escalated", 0), "follow-up escalated", "follow-ups escalated", "board", "follow-ups")
    waiting = sum(remote.commits for remote in summary.waiting)
    yield Sign("warn", waiting, "commit waits for review", "commits wait for review", "review")
    candidates = patterns.get("rule_candidate", 0)
    yield Sign("warn", candidates, "rule to decide on", "rules to decide on", "board", "patterns")
    pending = sum(summary.pending.values())
    yield Sign("note", pending, "commit not sent yet", "commits not sent yet", "timeline")
    yield Sign("note", len(summary.sessions), "session at work", "sessions at work", "lineage")
