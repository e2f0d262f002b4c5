"""Run the checks of open loops and store the results as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Self

from pydantic import Field, PrivateAttr

from baton_git.checks.outcome import CheckSpec, Failed, NotApproved, Passed, World
from baton_git.checks.runner import CheckResult, run_all
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.outlines import LoopOutline
from baton_git.core.records.work_items import LastCheck, OpenLoop, VerifySpec
from baton_git.core.state import Selection, State
from baton_git.core.times import iso
from baton_git.core.verb import SETTLES, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.source_commits import find_commit, head_commit
from baton_git.git.store import Store
from baton_git.namespace.results import WrittenResult
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.verification.check_results import Checks, apply_results, list_due_loops, select_news
from baton_git.verbs.verification.consent import Consent
from baton_git.verbs.verification.trust import find_refusal

BUDGET = 10.0
"""Default time limit, in seconds, for all checks together."""


class ChecksToRun(Input):
    """Which loops to check."""

    ids: list[str] = Field(
        [], max_length=1000, description="The ids of loops. Default: all unverified loops with an automatic check.",
        examples=[["OL-7k3f9q"]],
    )  # fmt: skip
    budget_seconds: float = Field(BUDGET, gt=0, le=3600, description="Seconds for all checks together.", examples=[5])


class CheckResults(WrittenResult):
    """Results of checks."""

    checks: dict[str, dict[str, Any]] = Field(
        description="The evidence by loop id; `unknown` does not count as passed.",
        examples=[{"OL-7k3f9q": {"result": "passed", "at": "2026-06-17T12:30:00Z", "http_status": 200}}],
    )
    id: str | None = Field(None, description="The id of the loop, if its result was recorded instead of checked.")

    _evidence: Mapping[str, LastCheck] = PrivateAttr()

    @property
    def evidence(self) -> Mapping[str, LastCheck]:
        """The evidence that the checks found, by loop id."""
        return self._evidence

    @classmethod
    def of_checks(cls, written: WriteResult, evidence: Mapping[str, LastCheck], **fields: Any) -> Self:
        """Return the result of checks whose `evidence` was stored by `written`."""
        checks = {id_: check.as_data() for id_, check in evidence.items()}
        return cls.of(written, checks=checks, **fields).keep(evidence)

    def keep(self, evidence: Mapping[str, LastCheck]) -> Self:
        """Keep the evidence as records, in addition to the plain data, and return this result."""
        self._evidence = evidence
        return self

    def show(self, reader: Reader) -> ResultView:
        """Return the outcome of each check; of a result that a person or agent observed, the change."""
        if self.id is not None:
            return ResultView(self.id, self.told)
        lines = [
            f"{id_}  {check.result}{f': {check.why}' if check.why else ''}" for id_, check in self.evidence.items()
        ]
        verdicts = {check.result for check in self.evidence.values()}
        none = () if self.evidence else ["no open loop has a check that can be run"]
        text = "\n".join(lines)
        if "failed" in verdicts:
            return ResultView(text, none, "failed")
        return ResultView(text, none, "unknown" if "unknown" in verdicts else "ok")


@verb(
    "verify",
    "POST /v1/verify",
    progress="checking",
    usage="Exit status: 1 if a check failed, 5 if none failed but one could not be run.",
    effect=SETTLES,
    positional=("ids",),
    options={"budget_seconds": Option(names=("--budget",), metavar="SECONDS"), "ids": Option(metavar="[ID]...")},
    tool=Tool("Check all open loops, or these.", hidden=("budget_seconds",)),
    examples=("baton verify", "baton verify OL-7k3f9q"),
)
def verify(ws: Workspace, now: datetime, verb_input: ChecksToRun) -> CheckResults:
    """Run the checks of open loops concurrently and store the results as evidence."""
    return check_loops(ws, now, verb_input.ids, budget_seconds=verb_input.budget_seconds)


def check_loops(
    ws: Workspace, now: datetime, ids: Sequence[str] = (), *, budget_seconds: float = BUDGET
) -> CheckResults:
    """Check the given loops concurrently, or all unverified loops with an automatic check.

    A result that repeats the stored one is not written again.

    Raises:
        NotFound, Ambiguous: an id names no live loop, or several.
        InvalidArgument: a named loop has no check.
    """
    revision = ws.branch.read()
    state = revision.state
    loops = [state.find(OpenLoop, id_) for id_ in ids] if ids else list_due_loops(state)
    for loop in loops:
        if loop.verify is None:
            hint = f"to record what you observed: baton loop verify {loop.id} --passed, or --failed"
            raise InvalidArgument(f"open loop {loop.id} has no check", hint=hint)
    checks = run_checks(ws, now, revision, loops, budget_seconds)

    def change(tip: Revision) -> State:
        return apply_results(tip.state, loops, select_news(tip.state, checks.to_store))

    return CheckResults.of_checks(ws.update("verify", now, change), checks.results)


def run_some_checks(
    ws: Workspace, now: datetime, revision: Revision, loops: Selection[OpenLoop], budget_seconds: float, most: int
) -> Checks:
    """Run the first `most` checks of `loops` that need no approval, and report as many that wait for it.

    Which of the others wait is decided without decoding them: 10,000 loops with checks made a start six times as long.
    """
    waiting, allowed, consent = list[int](), list[int](), Consent(ws, revision)
    for number, outline in enumerate(loops.outlines):
        (waiting if _waits(consent, loops, number, outline) else allowed).append(number)
    chosen = [loops[number] for number in sorted((*waiting[:most], *allowed[:most]))]
    checks = run_checks(ws, now, revision, chosen, budget_seconds)
    ids = tuple(loops.outlines[number].id for number in waiting)
    return checks._replace(waiting=ids, skipped=max(0, len(allowed) - most))


def _waits(consent: Consent, loops: Selection[OpenLoop], number: int, outline: LoopOutline) -> bool:
    try:
        may_wait = consent.may_wait(outline)
    except BatonError:  # nobody can tell who wrote it
        may_wait = True
    if may_wait and consent.has_approval(outline.id):
        return consent.refusal(loops[number]) is not None
    return may_wait


def run_checks(
    ws: Workspace, now: datetime, revision: Revision, loops: Sequence[OpenLoop], budget_seconds: float
) -> Checks:
    """Run the checks of `loops` within the budget, except those that wait for the user's approval.

    Args:
        revision: the revision that contains the loops.
    """
    refusals = _find_refusals(ws, revision, loops)
    specs = {loop.id: _make_spec(ws, loop.verify) for loop in loops if loop.verify and loop.id not in refusals}
    waiting = {id_: CheckResult(NotApproved(why), 0) for id_, why in refusals.items()}
    answers = waiting | _run_specs(ws, specs, budget_seconds)
    source_commit = head_commit(ws.branch.store) if specs and ws.folder else None
    evidence = {loop.id: _make_evidence(answers[loop.id], now, source_commit) for loop in loops if loop.id in answers}
    to_store = {id_: check for id_, check in evidence.items() if not isinstance(answers[id_].outcome, NotApproved)}
    return Checks(evidence, to_store, tuple(refusals))


def _run_specs(ws: Workspace, specs: Mapping[str, CheckSpec], budget_seconds: float) -> dict[str, CheckResult]:
    if not specs:
        return {}
    answers = run_all(specs, _make_world(ws), budget_seconds=budget_seconds, progress=ws.progress)
    return {id_: _name_approval(id_, answer) for id_, answer in answers.items()}


def _name_approval(id_: str, answer: CheckResult) -> CheckResult:
    """Return the result; if the check is not approved, its reason names the command that approves the check."""
    if not isinstance(answer.outcome, NotApproved):
        return answer
    return CheckResult(NotApproved(f"{answer.outcome.why}; run: baton trust {id_}"), answer.duration_ms)


def _find_refusals(ws: Workspace, revision: Revision, loops: Sequence[OpenLoop]) -> dict[str, str]:
    """Return the reason for each check that waits for approval, by loop id."""
    if not loops:
        return {}
    consent = Consent(ws, revision)
    reasons = ((loop.id, consent.refusal(loop)) for loop in loops)
    return {id_: why for id_, why in reasons if why is not None}


def _make_world(ws: Workspace) -> World:
    repository = ws.branch.store.repository

    def find(text: str, branch: str | None) -> str | None:
        with Store(repository) as own:  # a check past its time limit may still run after the store of `ws` is closed
            return find_commit(own, text, branch)

    return World(
        folder=ws.folder,
        refusal=partial(find_refusal, ws),
        allow_private_hosts=ws.private_hosts,
        environment=ws.environment,
        find_commit=find,
    )


def _make_spec(ws: Workspace, verify: VerifySpec) -> CheckSpec:
    """Return the check as it is made on this machine, where `~` and the labels of work trees are paths again."""
    known = {name: getattr(verify, name) for name in CheckSpec._fields if hasattr(verify, name)}
    path = ws.names.expand(verify.path) if verify.path is not None else None
    return CheckSpec(**{**known, "path": path, "argv": ws.names.expand_arguments(verify.argv or ())})


def _make_evidence(answer: CheckResult, now: datetime, source_commit: str | None) -> LastCheck:
    outcome = answer.outcome
    result = "passed" if isinstance(outcome, Passed) else "failed" if isinstance(outcome, Failed) else "unknown"
    optional = {
        "why": getattr(outcome, "why", None),
        "http_status": outcome.http_status,
        "commit": outcome.commit or source_commit,
    }
    data = {"result": result, "at": iso(now), "duration_ms": answer.duration_ms, "by": "probe"}
    return LastCheck.model_validate(data | {name: value for name, value in optional.items() if value is not None})
