"""The registry of the checks: a new one is a function, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from baton_git.core.errors import BatonError, Corrupt, NotFound
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.agent_hooks import check_agent_hooks
from baton_git.verbs.doctor.agent_programs import check_hook_cost, check_mcp
from baton_git.verbs.doctor.diagnostic import Diagnostic, ok
from baton_git.verbs.doctor.examination import Examination
from baton_git.verbs.doctor.git_hooks import check_git_hooks
from baton_git.verbs.doctor.imports import check_imports
from baton_git.verbs.doctor.installation import (
    check_index,
    check_repository,
    check_settings,
    check_versions,
    namespace_exists,
)
from baton_git.verbs.doctor.leftovers import check_leftovers
from baton_git.verbs.doctor.recorded import check_clock, check_provenance, check_records
from baton_git.verbs.doctor.shared import check_permissions, check_privacy, check_remotes
from baton_git.verbs.doctor.stored import check_objects, check_packs, check_refs

Needs = Literal["repository", "namespace", "machine", "local", "network"]


class Check(NamedTuple):
    """One independent check.

    Attributes:
        about: what it looks at, for the list of checks.
        needs: what must be there, else the check is left out: a repository, a namespace in it, the machine, the machine
            and a repository (`local`), or the machine and a namespace that may have remotes (`network`).
        run: gives what it finds; nothing where all is well.
        fine: what to say then.
    """

    name: str
    about: str
    needs: Needs
    run: Callable[[Examination], Iterator[Diagnostic]]
    fine: str


CHECKS = (
    Check("repository", "The repository and the namespace can be opened.", "machine", check_repository, "it is open"),
    Check("settings", "Settings and variables make sense.", "namespace", check_settings, "all settings make sense"),
    Check("versions", "Git and all batons fit together.", "machine", check_versions, "one version"),
    Check("refs", "The branches and private refs can be read.", "repository", check_refs, "all refs can be read"),
    Check("objects", "Every object behind them is there.", "repository", check_objects, "all objects are there"),
    Check("packs", "Baton's packs are few.", "local", check_packs, "few packs"),
    Check("leftovers", "Nothing is left of killed processes.", "local", check_leftovers, "nothing is left over"),
    Check("records", "Every record can be read.", "namespace", check_records, "all records can be read"),
    Check(
        "provenance",
        "Somebody here vouches for what records claim.",
        "namespace",
        check_provenance,
        "no claims are open",
    ),
    Check("imports", "Everything that was imported fits.", "repository", check_imports, "no row is kept aside"),
    Check("clock", "No machine wrote with a wrong clock.", "namespace", check_clock, "all clocks were right"),
    Check(
        "permissions",
        "Private files are private, and baton can write.",
        "local",
        check_permissions,
        "all is private",
    ),
    Check("hooks", "The hooks of git run.", "local", check_git_hooks, "they run"),
    Check(
        "agents", "The hooks of the agents' CLIs run, and sessions are saved.", "machine", check_agent_hooks, "they run"
    ),
    Check("cost", "A hook costs little.", "machine", check_hook_cost, "no hooks are installed"),
    Check("mcp", "The MCP servers that are configured start.", "machine", check_mcp, "not configured anywhere"),
    Check("remotes", "Remotes answer, and are in step.", "network", check_remotes, "all are in step"),
    Check("privacy", "Nobody can read the remotes without a login.", "network", check_privacy, "there is no remote"),
    Check("index", "The index of recall is whole.", "repository", check_index, "it is whole"),
)


class CheckedDiagnostic(NamedTuple):
    """A finding, and the check that made it."""

    check: str
    finding: Diagnostic


def select_checks(names: Sequence[str]) -> list[Check]:
    """Return the checks of these names, all of them for no name.

    Raises:
        NotFound: there is no such check.
    """
    known = {check.name: check for check in CHECKS}
    for name in names:
        if name not in known:
            raise NotFound("check", name, hint=f"there are: {', '.join(known)}")
    return [known[name] for name in names] if names else list(CHECKS)


def examine(examination: Examination, checks: Sequence[Check]) -> list[CheckedDiagnostic]:
    """Run the checks, and return what they find. One that fails is unknown, and the others go on."""
    return [
        CheckedDiagnostic(check.name, finding)
        for check in checks
        if _applies(check, examination)
        for finding in _run(check, examination)
    ]


def _applies(check: Check, examination: Examination) -> bool:
    """Whether there is what a check looks at; a workspace that could not be opened is there."""
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
        is_known = isinstance(error, Corrupt)  # other checks say what is damaged, and what to do
        hint = error.hint if isinstance(error, BatonError) and not is_known else ""
        findings.append(Diagnostic("unknown", f"could not be checked: {error}", advice=hint))
    return findings or [ok(check.fine)]
