"""The registry of checks. A new check is a function and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from baton_git.core.errors import BatonError, NotFound
from baton_git.core.isolation import describe_bug
from baton_git.git.files.durable_files import explain_obstacle
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.agent_hooks import check_agent_hooks
from baton_git.verbs.doctor.agent_programs import check_hook_cost, check_mcp
from baton_git.verbs.doctor.diagnostic import Diagnostic, ok
from baton_git.verbs.doctor.examination import Examination
from baton_git.verbs.doctor.git_hooks import check_git_hooks
from baton_git.verbs.doctor.imports import check_imports
from baton_git.verbs.doctor.installation import (
    advise,
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
