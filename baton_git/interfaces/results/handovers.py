"""KAIROS' protocol runs."""

from __future__ import annotations

from typing import Any

from baton_git.interfaces.results.changed import place
from baton_git.systems.kairos.handovers import Resumed, Run, Stepped
from baton_git.systems.kairos.rules import as_data


def run(found: Run) -> dict[str, Any]:
    """A run with its partial state, how it ended, what of it is contested, and the version that has it."""
    version = found.version
    data = as_data(found.handover)
    if found.closed is not None:
        data["ended"] = {"outcome": found.closed.reason, "at": found.closed.at, "by": found.closed.session}
    contested = [{"id": one.id, "field": one.field} for one in found.contested]
    at = {"namespace": str(version.namespace), "revision": version.number, "commit": version.commit}
    return {**data, "contested": contested, **at}


def resumed(found: Resumed, stale_after_hours: float) -> dict[str, Any]:
    """Where a run stands, and how old that is; `stale` is null where nobody can say."""
    age = {"stale": found.age.stale, "age_seconds": found.age.seconds, "stale_after_hours": stale_after_hours}
    return {**run(found.run), **age}


def stepped(done: Stepped) -> dict[str, Any]:
    """Where a run stands after its step."""
    return {**as_data(done.handover), **place(done.written.revision)}


def cleared(done: Stepped, outcome: str) -> dict[str, Any]:
    """Which run has ended, and how."""
    return {"SESSION_ID": done.handover.id, "outcome": outcome, **place(done.written.revision)}
