"""The verb `doctor`: check the installation, and suggest repairs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from pydantic import Field

from baton_git.core.verb import READS, Input, Option, Result, verb
from baton_git.namespace.results import ResultPart
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.diagnostic import Severity
from baton_git.verbs.doctor.examination import Examination, ExaminedMachine
from baton_git.verbs.doctor.registry import CheckedDiagnostic, examine, select_checks

SECONDS = 3.0
"""Time limit, in seconds, for checking all objects when a program or a browser waits for the result."""
ORDER: tuple[Severity, ...] = ("error", "unknown", "warning", "ok")
"""The severities, most urgent first."""


class ExaminedChecks(Input):
    """The checks to run."""

    checks: list[str] = Field(
        [], description="The names of the checks to run. Default: all checks.", examples=[["refs"]]
    )


class DoctorFinding(ResultPart):
    """One finding of a check."""

    check: str = Field(description="The name of the check.", examples=["refs"])
    severity: Severity = Field(description="`ok`, `warning`, `error`, or `unknown` if the check could not be run.")
    summary: str = Field(description="The finding in one sentence.", examples=["3 namespaces, 2 private refs"])
    cause: str = Field(description="The possible cause.")
    advice: str = Field(description="What a person can do.", examples=["baton hooks install"])
    repair: str | None = Field(description="What `baton doctor --fix` does; null if there is no repair.")


class Diagnosis(Result):
    """The findings of all checks."""

    verdict: Severity = Field(description="The worst severity of the findings: `error`, `unknown`, `warning` or `ok`.")
    findings: list[DoctorFinding] = Field(description="The findings, in the order of the checks.")

    @classmethod
    def of(cls, diagnostics: Iterable[CheckedDiagnostic]) -> Self:
        """Return the result for these findings."""
        parts = [
            DoctorFinding(
                check=name, severity=finding.severity, summary=finding.summary, cause=finding.cause,
                advice=finding.advice, repair=finding.repair.about if finding.repair else None,
            )
            for name, finding in diagnostics
        ]  # fmt: skip
        severities = {part.severity for part in parts}
        return cls(verdict=next((severity for severity in ORDER if severity in severities), "ok"), findings=parts)


@verb(
    "doctor",
    "GET /v1/doctor",
    effect=READS,
    anywhere=True,
    machine=True,
    tag="state",
    positional=("checks",),
    options={"checks": Option(metavar="[CHECK]...")},
    examples=("baton doctor", "baton doctor refs objects", "baton doctor --fix", "baton doctor --report"),
)
def doctor(ws: Workspace, now: datetime, verb_input: ExaminedChecks) -> Diagnosis:
    """Check the installation: store, records, hooks, agent CLIs, remotes, clock, permissions. Nothing is changed.

    Over HTTP, only the repository and the namespace are checked, because the client may be on another machine.
    `baton doctor --fix` repairs what it can.

    Raises:
        NotFound: there is no such check.
    """
    examine_machine = ws.machine.examine if ws.machine is not None else None
    machine: ExaminedMachine | None = examine_machine() if examine_machine is not None else None
    examination = Examination(now, ws.branch.store, ws.branch.prefix, ws, machine, SECONDS)
    return Diagnosis.of(examine(examination, select_checks(verb_input.checks)))
