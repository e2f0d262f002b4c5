"""Run the checks of open loops, and keep what they found as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import NamedTuple

from baton_git.checks.outcome import Failed, NotApproved, Passed
from baton_git.checks.runner import Checked, run_all
from baton_git.checks.specification import CheckSpec, World
from baton_git.core.errors import InvalidArgument
from baton_git.core.records.work_items import LastCheck, OpenLoop, VerifySpec
from baton_git.core.state import State
from baton_git.core.times import iso
from baton_git.git.source_commits import find_commit, head_commit
from baton_git.git.store import Store
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.check_results import Checks, due_checks, news, with_results
from baton_git.verbs.consent import Consent
from baton_git.verbs.trust import refusal_of

BUDGET = 10.0
"""Seconds that all checks together may take."""


class Verified(NamedTuple):
    """What the checks found, by loop id, and the version that holds it."""

    found: Mapping[str, LastCheck]
    written: WriteResult


def verify(ws: Workspace, now: datetime, ids: Sequence[str] = (), *, budget_seconds: float = BUDGET) -> Verified:
    """Checks loops side by side: those named, or all that are not verified yet and have a check.

    A result that says what the record says already is not written again.

    Raises:
        NotFound, Ambiguous: an id is not that of one live loop.
        InvalidArgument: a named loop has no check.
    """
    version = ws.branch.read()
    state = version.state
    loops = [state.find(OpenLoop, id_) for id_ in ids] if ids else due_checks(state)
    for loop in loops:
        if loop.verify is None:
            raise InvalidArgument(
                f"open loop {loop.id} has no check",
                hint=f"say what you found: baton loop verify {loop.id} --passed | --failed",
            )
    checks = run_checks(ws, now, version, loops, budget_seconds)

    def change(tip: Revision) -> State:
        return with_results(tip.state, loops, news(tip.state, checks.kept))

    return Verified(checks.found, ws.update("verify", now, change))


def run_checks(
    ws: Workspace,
    now: datetime,
    version: Revision,
    loops: Sequence[OpenLoop],
    budget_seconds: float,
    most: int | None = None,
) -> Checks:
    """What the probes of `loops` answer within the budget, as evidence. Those that wait for the user's approval are not
    made.

    Args:
        version: the one that has the loops.
        most: how many are made, and how many of those that wait are told; None: all.
    """
    refusals = _refusals(ws, version, loops)
    allowed = {loop.id: _spec(loop.verify) for loop in loops if loop.verify and loop.id not in refusals}
    waiting = {id_: Checked(NotApproved(why), 0) for id_, why in islice(refusals.items(), most)}
    specs = dict(islice(allowed.items(), most))
    answers = waiting | (run_all(specs, _world(ws), budget_seconds=budget_seconds) if specs else {})
    code = head_commit(ws.branch.store) if specs and ws.folder else None
    found = {loop.id: _evidence(answers[loop.id], now, code) for loop in loops if loop.id in answers}
    kept = {id_: one for id_, one in found.items() if not isinstance(answers[id_].outcome, NotApproved)}
    return Checks(found, kept, tuple(refusals), len(allowed) - len(specs))


def _refusals(ws: Workspace, version: Revision, loops: Sequence[OpenLoop]) -> dict[str, str]:
    """By id, why a check waits for approval."""
    if not loops:
        return {}
    consent = Consent(ws, version)
    found = ((loop.id, consent.refusal(loop)) for loop in loops)
    return {id_: why for id_, why in found if why is not None}


def _world(ws: Workspace) -> World:
    repository = ws.branch.store.repository

    def find(text: str, branch: str | None) -> str | None:
        with Store(repository) as own:  # a probe that was left behind may ask when that of `ws` is closed
            return find_commit(own, text, branch)

    return World(
        folder=ws.folder,
        refusal=partial(refusal_of, ws),
        allow_private_hosts=ws.private_hosts,
        environment=ws.environment,
        find_commit=find,
    )


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
