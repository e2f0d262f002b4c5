"""The section of the brief about the recorded snapshots of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from baton_git.core.brief import Section, list_newest_first, tier_line
from baton_git.core.isolation import show_each
from baton_git.core.times import describe_age
from baton_git.systems import BriefRequest
from baton_git.systems.ecc.record import Snapshot

SNAPSHOTS = 5
"""Number of newest snapshots that the brief mentions."""


def make_sections(request: BriefRequest) -> Iterator[Section]:
    """Yield a section with the newest recorded snapshots of sessions."""
    snapshots = list_newest_first(request.state, Snapshot, request.problems)
    lines, unshown = show_each(snapshots[:SNAPSHOTS], lambda snapshot: _format_snapshot(snapshot, request.now))
    title = "Recorded sessions (baton session inspect recorded:ID)"
    left_out = max(0, len(snapshots) - SNAPSHOTS)
    command = "baton session list --recorded"
    yield Section(title, lines, "snapshots", left_out, all=command, unshown=unshown)


def _format_snapshot(snapshot: Snapshot, now: datetime) -> str:
    content = snapshot.snapshot
    workers = ", ".join(f"{number} {state}" for state, number in content.aggregates.states.items() if number)
    first = content.workers[0].intent.objective if content.workers else ""
    risks = [risk for worker in content.workers for risk in worker.outputs.remainingRisks]
    parts = [f"{content.session.state} {describe_age(snapshot.recorded_at, now)}"]
    parts += [f"workers: {workers}" if workers else "no workers"]
    parts += [first] if first else []
    parts += [f"open: {risks[0]}" + (f" (and {len(risks) - 1} more)" if len(risks) > 1 else "")] if risks else []
    return tier_line(snapshot.id, "raw_source", " · ".join(parts))
