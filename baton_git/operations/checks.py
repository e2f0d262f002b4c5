"""Run the checks of open loops, and keep what they found as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from baton_git.code import find_commit, head_commit
from baton_git.errors import InvalidArgument
from baton_git.lifecycle import checked
from baton_git.operations.trust import refusal_of
from baton_git.operations.workspace import Workspace
from baton_git.probes import Checked, CheckSpec, Failed, Passed, World, run_all
from baton_git.records.baton import LastCheck, OpenLoop, VerifySpec
from baton_git.state import Key, State
from baton_git.store import Store
from baton_git.times import iso
from baton_git.versions import Written

BUDGET = 10.0
"""Seconds that all checks together may take."""


class Verified(NamedTuple):
    """What the checks found, by loop id, and the version that holds it."""

    found: dict[str, LastCheck]
    written: Written


def verify(ws: Workspace, now: datetime, ids: Sequence[str] = (), *, budget_seconds: float = BUDGET) -> Verified:
    """Checks loops side by side: those named, or all that are not verified yet and have a check.

    Raises:
        NotFound, Ambiguous: an id is not that of one live loop.
        InvalidArgument: a named loop has no check.
    """
    state = ws.branch.read().state
    loops = [state.find(OpenLoop, id_) for id_ in ids] if ids else due_checks(state)
    for loop in loops:
        if loop.verify is None:
            raise InvalidArgument(
                f"open loop {loop.id} has no check",
                hint=f"say what you found: baton loop verify {loop.id} --passed | --failed",
            )
    found = run_checks(ws, now, loops, budget_seconds)
    return Verified(found, ws.update("verify", now, lambda tip: with_results(tip.state, loops, found)))


def due_checks(state: State) -> list[OpenLoop]:
    """The loops that a probe can settle: not verified, and not waiting for a person."""
    loops = state.records(OpenLoop)
    return [one for one in loops if one.status != "verified" and one.verify and one.verify.method != "manual"]


def run_checks(ws: Workspace, now: datetime, loops: Sequence[OpenLoop], budget_seconds: float) -> dict[str, LastCheck]:
    """What the probes of `loops` answer within the budget, as evidence."""
    specs = {loop.id: _spec(loop.verify) for loop in loops if loop.verify}
    if not specs:
        return {}
    repository = ws.branch.store.repository

    def find(text: str, branch: str | None) -> str | None:
        with Store(repository) as own:  # a probe that was left behind may ask when that of `ws` is closed
            return find_commit(own, text, branch)

    world = World(
        folder=ws.folder,
        refusal=partial(refusal_of, ws),
        allow_private_hosts=ws.private_hosts,
        environment=ws.environment,
        find_commit=find,
    )
    code = head_commit(ws.branch.store) if ws.folder else None
    answers = run_all(specs, world, budget_seconds=budget_seconds)
    return {id_: _evidence(answer, now, code) for id_, answer in answers.items()}


def with_results(state: State, loops: Sequence[OpenLoop], found: dict[str, LastCheck]) -> State:
    """The state with what was found, for the loops that are still as they were when they were checked."""
    for loop in loops:
        now = state.entry(Key(OpenLoop.kind, loop.id))
        if isinstance(now, OpenLoop) and loop.id in found and now.verify == loop.verify:
            state = state.put(checked(now, found[loop.id]))
    return state


def _spec(verify: VerifySpec) -> CheckSpec:
    known = {name: getattr(verify, name) for name in CheckSpec._fields if hasattr(verify, name)}
    return CheckSpec(**{**known, "argv": verify.argv or ()})


def _evidence(answer: Checked, now: datetime, code: str | None) -> LastCheck:
    outcome = answer.outcome
    result = "passed" if isinstance(outcome, Passed) else "failed" if isinstance(outcome, Failed) else "unknown"
    optional = {
        "why": getattr(outcome, "why", None),
        "http_status": outcome.http_status,
        "commit": outcome.commit or code,
    }
    data = {"result": result, "at": iso(now), "duration_ms": answer.duration_ms, "by": "probe"}
    return LastCheck.model_validate(data | {name: value for name, value in optional.items() if value is not None})
