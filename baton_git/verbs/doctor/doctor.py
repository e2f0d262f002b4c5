"""The verb `doctor`: the table of its checks, their findings as a result, and a report to share."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Self

from pydantic import Field

from baton_git.core.errors import BatonError, NotFound
from baton_git.core.isolation import describe_bug
from baton_git.core.redaction import redact_text
from baton_git.core.verb import READS, Input, Option, Result, verb
from baton_git.git.files.durable_files import explain_obstacle
from baton_git.namespace.results import ResultPart
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.examination import Diagnostic, Examination, ExaminedMachine, Severity, ok
from baton_git.verbs.doctor.installation import (
    advise,
    check_index,
    check_repository,
    check_settings,
    check_versions,
    namespace_exists,
)
from baton_git.verbs.doctor.leftovers import check_leftovers
from baton_git.verbs.doctor.programs import check_agent_hooks, check_git_hooks, check_hook_cost, check_mcp
from baton_git.verbs.doctor.recorded import check_clock, check_imports, check_provenance, check_records
from baton_git.verbs.doctor.shared import check_permissions, check_privacy, check_remotes
from baton_git.verbs.doctor.stored import check_objects, check_packs, check_refs

# --- the registry of checks. A new check is a function and one entry here


Needs = Literal["repository", "namespace", "machine", "local", "network"]


class Check(NamedTuple):
    """One independent check.

    Attributes:
        about: a sentence that is true if the check passes, for the list of checks.
        needs: the inputs without which the check is skipped: a repository, a namespace in it, the machine, the machine
            and a repository (`local`), or the machine and a namespace that may have remotes (`network`).
        run: yields the findings, which need not be problems; it may yield none.
        fine: the summary if there is no finding.
        advice: what a person can do about a problem, for findings that have neither a repair nor advice of their own.
    """

    name: str
    about: str
    needs: Needs
    run: Callable[[Examination], Iterator[Diagnostic]]
    fine: str
    advice: str


CHECKS = (
    Check(
        "repository", "The repository and the namespace can be opened.", "machine", check_repository, "it is open",
        "git status and git fsck show what is wrong; baton init creates a missing namespace",
    ),
    Check(
        "settings", "All settings and variables are valid.", "namespace", check_settings, "all settings are valid",
        "git config --show-origin --list shows the file of each setting",
    ),
    Check(
        "versions", "git and all installations of baton have compatible versions.", "machine", check_versions,
        "one version", "install the newest baton-git on each machine (pipx upgrade baton-git)",
    ),
    Check(
        "refs", "The branches and private refs can be read.", "repository", check_refs, "all refs can be read",
        "git for-each-ref shows the refs that git can read; baton sync fetches what a remote still has",
    ),
    Check(
        "objects", "All objects of the namespaces exist and are intact.", "repository", check_objects,
        "all objects are there", "git fetch --refetch REMOTE, from a remote or a clone that has them",
    ),
    Check(
        "packs", "Baton has few packs.", "local", check_packs, "few packs", "baton gc",
    ),
    Check(
        "leftovers", "There are no files of killed processes.", "local", check_leftovers, "there are no leftover files",
        "end the running processes, then baton doctor --fix",
    ),
    Check(
        "records", "Every record can be read.", "namespace", check_records, "all records can be read",
        "baton validate lists the files; baton rollback --record ID restores a record",
    ),
    Check(
        "provenance", "Somebody on this machine vouches for the claims of records.", "namespace", check_provenance,
        "somebody vouches for each claim",
        "baton show ID shows who vouches for it; baton undo reverts a change",
    ),
    Check(
        "imports", "No imported row is in quarantine.", "repository", check_imports, "no row is in quarantine",
        "baton import quarantine",
    ),
    Check(
        "clock", "No commit has an impossible time.", "namespace", check_clock, "all clocks were right",
        "set the clock, then baton doctor clock",
    ),
    Check(
        "permissions", "Only you can read private files, and baton can write its files.", "local",
        check_permissions, "all private files are private",
        "make the named files readable and writable for you alone; their owner or root can do this",
    ),
    Check(
        "hooks", "The git hooks run.", "local", check_git_hooks, "they run",
        "baton hooks install",
    ),
    Check(
        "agents", "The hooks of agent CLIs run, and sessions are saved.", "machine", check_agent_hooks,
        "they run",
        "baton agents status, then baton agents install",
    ),
    Check(
        "cost", "A hook takes little time.", "machine", check_hook_cost, "no hooks are installed",
        "baton agents status lists the installed hooks",
    ),
    Check(
        "mcp", "The configured MCP servers start.", "machine", check_mcp, "no MCP server is configured",
        "baton agents install --with mcp",
    ),
    Check(
        "remotes", "The remotes answer and are up to date.", "network", check_remotes, "all are up to date",
        "git ls-remote REMOTE shows whether it answers; then baton sync",
    ),
    Check(
        "privacy", "The remotes cannot be read without a login.", "network", check_privacy, "there is no remote",
        "check the repository's visibility on the website of its host",
    ),
    Check(
        "index", "The index of recall is intact.", "repository", check_index, "it is intact",
        "the next baton recall rebuilds it; if it does not, check that the folder is writable",
    ),
)  # fmt: skip


class CheckedDiagnostic(NamedTuple):
    """A finding, and the check that made it."""

    check: str
    finding: Diagnostic


def select_checks(names: Sequence[str]) -> list[Check]:
    """Return the checks with these names; all of them if no name is given.

    Raises:
        NotFound: there is no such check.
    """
    known = {check.name: check for check in CHECKS}
    for name in names:
        if name not in known:
            raise NotFound("check", name, hint=f"there are: {', '.join(known)}")
    return [known[name] for name in names] if names else list(CHECKS)


def examine(examination: Examination, checks: Sequence[Check]) -> list[CheckedDiagnostic]:
    """Run the checks and return their findings. A check that fails gives `unknown`, and the others still run."""
    return [
        CheckedDiagnostic(check.name, finding)
        for check in checks
        if _applies(check, examination)
        for finding in _run(check, examination)
    ]


def _applies(check: Check, examination: Examination) -> bool:
    """Return whether the inputs of a check exist.

    If the workspace cannot be opened, its namespace counts as existing.
    """
    if check.needs == "machine":
        return examination.machine is not None
    if examination.store is None:
        return False
    if check.needs in ("local", "network") and examination.machine is None:
        return False
    if check.needs in ("namespace", "network") and isinstance(examination.opened, Workspace):
        return namespace_exists(examination.opened)
    return True


def _run(check: Check, examination: Examination) -> list[Diagnostic]:
    findings: list[Diagnostic] = []
    try:
        findings.extend(check.run(examination))
    except (BatonError, OSError) as error:
        why, hint = _explain(error)
        findings.append(Diagnostic("unknown", f"could not be checked: {why}", advice=hint))
    except Exception as error:  # noqa: BLE001  reported, and the other checks still run
        findings.append(Diagnostic("unknown", f"could not be checked: {describe_bug(error)}"))
    return [_complete_advice(check, finding) for finding in findings] or [ok(check.fine)]


def _explain(error: BatonError | OSError) -> tuple[str, str]:
    """Return why a check could not be made, and the next step."""
    if isinstance(error, OSError):
        return explain_obstacle(error) or (str(error), "")
    return str(error), advise(error)


def _complete_advice(check: Check, finding: Diagnostic) -> Diagnostic:
    """Return the finding with the check's advice if it is a problem without advice."""
    if finding.severity == "ok" or finding.advice:
        return finding
    return finding._replace(advice=check.advice if finding.repair is None else "baton doctor --fix")


# --- the verb `doctor`: check the installation, and suggest repairs


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


# --- the report of `doctor`, redacted so that it can be published: without names, paths, addresses and secrets


_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ADDRESS = re.compile(r"\b(?:https?|ssh|git|ftp)://[^\s'\")]+|\b[\w.-]+@[\w.-]+:[\w./~-]+")
_PATH = re.compile(r"(?<![\w<>.~-])/(?:[^\s'\",:;()]+/)+[^\s'\",:;()]*")
SHORT = 3
"""Names with fewer characters are not replaced, because they also occur as ordinary words."""


def write_report(examination: Examination, diagnosis: Diagnosis, names: Mapping[str, str]) -> str:
    """Return the report as Markdown.

    Args:
        names: texts that must not appear in it, and their replacements.
    """
    lines = [*_head(examination), "", *_list_findings(diagnosis)]
    return "\n".join(hide_names(line, names) for line in lines)


def hide_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text without secrets, names, addresses and paths."""
    text, _ = redact_text(text)
    for name in sorted(names, key=len, reverse=True):
        if name.startswith("/"):
            text = text.replace(name, names[name])
        elif len(name) >= SHORT:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], text)
    return _PATH.sub("<path>", _ADDRESS.sub("<address>", _MAIL.sub("<mail>", text)))


def _head(examination: Examination) -> Iterator[str]:
    machine = examination.local
    yield "### baton doctor"
    yield ""
    yield f"- baton {machine.version}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
    try:
        yield f"- git {'.'.join(map(str, examination.git.version))}"
    except BatonError as error:
        yield f"- git: {error}"


def _list_findings(diagnosis: Diagnosis) -> Iterator[str]:
    for part in diagnosis.findings:
        yield f"- **{part.severity}** {part.check}: {part.summary}"
        yield from (f"  - {name}: {text}" for name, text in (("cause", part.cause), ("repair", part.repair)) if text)
