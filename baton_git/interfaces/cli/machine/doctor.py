"""`baton doctor`: check the installation, repair problems one by one, undo repairs, and print a report to share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from baton_git.core.errors import BatonError
from baton_git.core.output import count_noun
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.view import Reader
from baton_git.git.store import Repository, Store
from baton_git.interfaces.cli.app import App, command, require_terminal
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN
from baton_git.interfaces.cli.printing import agrees, write
from baton_git.interfaces.context.installation import examine_machine, find_repository
from baton_git.interfaces.context.setting_registry import PREFIX
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.doctor import (
    CHECKS,
    ORDER,
    Check,
    Diagnosis,
    DoctorFinding,
    examine,
    select_checks,
    write_report,
)
from baton_git.verbs.doctor.examination import Examination, Repair, Severity
from baton_git.verbs.doctor.journal import RepairJournal

STATUS: Mapping[Severity, int | None] = {"error": FAILED, "unknown": UNKNOWN, "warning": None, "ok": None}
INDENT = 9
"""Width of the column of severities, in characters."""
ROLES: Mapping[Severity, Role] = {
    "error": Role.BAD, "unknown": Role.WARNING, "warning": Role.WARNING, "ok": Role.GOOD
}  # fmt: skip
CHECK_COLUMNS = (
    Column("check", lambda check: check.name, Role.ID),
    Column("passes when", lambda check: check.about.rstrip(".")),
)


def _complete_check(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [check.name for check in CHECKS if check.name.startswith(incomplete)]


@command("doctor", short_help="Check the installation, and repair it.")
@click.argument("checks", nargs=-1, metavar="[CHECK]...", shell_complete=_complete_check)
@click.option("--fix", is_flag=True, help="Repair the problems that baton can repair, asking before each one.")
@click.option("--yes", "-y", is_flag=True, help="With --fix or --undo: do not ask.")
@click.option(
    "--undo", "undoes", is_flag=True, help="Revert the last repair of hooks, agents' settings or git's configuration."
)
@click.option("--report", is_flag=True, help="Print a report to share, without names, paths or addresses.")
@click.option("--all", "-a", "shows_all", is_flag=True, help="Also show the checks that passed.")
@click.option("--list", "lists", is_flag=True, help="List the checks.")
def doctor_command(
    app: App, checks: tuple[str, ...], fix: bool, yes: bool, undoes: bool, report: bool, shows_all: bool, lists: bool
) -> int | None:
    """Check the installation: store, records, hooks, agent CLIs, remotes, clock, permissions.

    Only --fix and --undo change anything. A repair of records is a revision, which baton undo takes back. Files of
    yours (hooks, agents' settings, git's configuration) are copied before a repair, and --undo restores the last ones.

    Exit status: 1 if there is an error, else 5 if a check could not be run, else 0, even if there are warnings. With
    --fix, also 1 if a problem that has a repair was not repaired.

    \b
    baton doctor
    baton doctor hooks agents --all
    baton doctor --fix
    baton doctor --undo
    baton doctor --report
    """
    _check_options(fix=fix, yes=yes, undoes=undoes, report=report)
    chosen = select_checks(checks)
    if lists:
        app.answer(
            [{"check": check.name, "about": check.about} for check in chosen], app.reader.table(chosen, CHECK_COLUMNS)
        )
        return None
    is_left = False
    with open_examination(app) as examination:
        if undoes:
            return _undo(app, examination, yes=yes)
        if report:
            diagnosis = Diagnosis.of(examine(examination, chosen))
            write(write_report(examination, diagnosis, _list_private_texts(app, examination)))
            return STATUS[diagnosis.verdict]
        if fix:
            is_left = not _fix_each(app, examination, chosen, yes=yes)
    with open_examination(app) as examination:  # reopened, to read the repaired state
        result = Diagnosis.of(examine(examination, chosen))
    app.answer(result.as_data(), format_diagnosis(app.reader, result, shows_all=shows_all or bool(checks)))
    is_left = is_left or (fix and any(part.repair for part in result.findings))
    return FAILED if is_left else STATUS[result.verdict]


def _check_options(*, fix: bool, yes: bool, undoes: bool, report: bool) -> None:
    if fix + undoes + report > 1:
        raise click.UsageError("give one of --fix, --undo and --report")
    if yes and not (fix or undoes):
        raise click.UsageError("--yes goes with --fix or --undo")


# --- the repository and the machine


@contextmanager
def open_examination(app: App) -> Iterator[Examination]:
    """Yield what the checks examine: the repository, the namespace and this machine, as far as they can be opened.

    An error while opening the namespace becomes part of the examination, so that a check can report it.
    """
    app = app.lenient
    with ExitStack() as stack:
        opened: Workspace | BatonError | None
        repository, opened = _find_repository(app)
        store = stack.enter_context(Store(repository)) if repository is not None else None
        prefix = PREFIX
        if store is not None:
            try:
                prefix = app.settings.prefix
                opened = stack.enter_context(app.workspace(may_fetch=False))
            except BatonError as error:
                opened = error
        is_broken = repository is None and opened is not None
        yield Examination(
            app.now, store, prefix, opened, examine_machine(app.settings, repository, is_broken=is_broken)
        )


def _find_repository(app: App) -> tuple[Repository | None, BatonError | None]:
    """Return the repository, or the error if it cannot be used; both are None outside of any repository."""
    try:
        return find_repository(app.settings), None
    except BatonError as error:
        return None, error


# --- repairs


def _journal(examination: Examination) -> RepairJournal:
    if examination.store is not None:
        return RepairJournal(examination.common_dir / "baton" / "doctor")
    return RepairJournal(examination.local.data / "doctor")


def _fix_each(app: App, examination: Examination, checks: list[Check], *, yes: bool) -> bool:
    """Carry out each repair once, in the order of the checks; ask before each one unless `yes`.

    Returns:
        False if a repair failed.

    Raises:
        UsageError: there is a repair, but neither `yes` nor a terminal to ask at.
    """
    items = examine(examination, checks)
    repairs = {item.finding.repair.about: (item, item.finding.repair) for item in items if item.finding.repair}
    if not repairs:
        app.say("no problem has an automatic repair")
    elif not yes:
        require_terminal()
    are_done = []
    for item, repair in repairs.values():
        if not yes:
            app.say(f"{item.check}: {item.finding.summary}")
        if yes or agrees(f"{repair.about}?"):
            are_done.append(_carry_out(app, examination, item.check, repair))
    return all(are_done)


def _carry_out(app: App, examination: Examination, check: str, repair: Repair) -> bool:
    """Carry out a repair and print what was done; return False if it failed."""
    try:
        way_back = _journal(examination).carry_out(check, repair, examination.now)
    except BatonError as error:
        app.say(f"{check}: not repaired: {error}", *([error.hint] if error.hint else []))
        return False
    app.say(f"{check}: done: {repair.about}", *([f"  {way_back}"] if way_back is not None else []))
    return True


def _workspace(examination: Examination) -> Workspace | None:
    return examination.opened if isinstance(examination.opened, Workspace) else None


def _undo(app: App, examination: Examination, *, yes: bool) -> int | None:
    journal = _journal(examination)
    entry = journal.newest()
    if not yes:
        require_terminal()
    if not yes and not agrees(f"Undo the repair of {entry.at}: {entry.about}?"):
        return FAILED
    journal.undo(entry)
    app.answer({"undone": entry.id, "check": entry.check, "repair": entry.about}, "")
    app.say(f"undone: {entry.about}")
    return None


# --- output


def format_diagnosis(reader: Reader, result: Diagnosis, *, shows_all: bool) -> str:
    shown = [part for part in result.findings if shows_all or part.severity != "ok"]
    lines = [line for part in _join_checks(shown) for line in _format_finding(reader, part)]
    summary = _count_checks(result)
    if any(part.repair for part in result.findings):
        summary += " (to repair problems: baton doctor --fix)"
    return join([*lines, *([""] if lines else []), summary], "\n")


def _count_checks(result: Diagnosis) -> str:
    """Return `16 of 19 checks passed; 2 errors, 1 warning`: the checks without problems, and the problems."""
    problems = [part for part in result.findings if part.severity != "ok"]
    checks = {part.check for part in result.findings}
    passed = len(checks - {part.check for part in problems})
    if not problems:
        return f"{count_noun(passed, 'check')} passed"
    numbers = Counter(part.severity for part in problems)
    words = [
        f"{numbers[severity]} unknown" if severity == "unknown" else count_noun(numbers[severity], severity)
        for severity in ORDER
        if numbers[severity]
    ]
    return f"{passed} of {count_noun(len(checks), 'check')} passed; {', '.join(words)}"


def _join_checks(parts: list[DoctorFinding]) -> list[DoctorFinding]:
    """Join the findings of checks that could not be run for the same reason."""
    joined: dict[tuple[str, str], DoctorFinding] = {}
    for number, part in enumerate(parts):
        key = (part.severity, part.summary if part.severity == "unknown" else str(number))
        before = joined.get(key)
        joined[key] = part if before is None else part.model_copy(update={"check": f"{before.check}, {part.check}"})
    return list(joined.values())


def _format_finding(reader: Reader, part: DoctorFinding) -> Iterator[str]:
    """Yield the lines of a finding, wrapped to the width of a terminal."""
    severity = paint(f"{part.severity:<{INDENT}}", ROLES[part.severity])
    yield reader.wrap(severity, f"{part.check}: {part.summary}")
    advice = "" if part.repair else part.advice
    for name, text in (("cause", part.cause), ("repair", part.repair or ""), ("do", advice)):
        if text:
            yield reader.wrap(f"{'':{INDENT}}{name}: ", text)


def _list_private_texts(app: App, examination: Examination) -> Mapping[str, str]:
    """Return the private texts that a report must not contain, each with its replacement."""
    names = {str(Path.home()): "~", os.uname().nodename: "<host>", app.settings.machine: "<host>"}
    for variable in ("USER", "LOGNAME"):
        if os.environ.get(variable, "") not in ("", "root"):
            names[os.environ[variable]] = "<user>"
    if examination.store is not None:
        names[str(examination.common_dir)] = "<repository>"
        if examination.local.work_tree is not None:
            names[str(examination.local.work_tree)] = "<work tree>"
    workspace = _workspace(examination)
    if workspace is not None:
        names |= {workspace.branch.namespace.text: "<namespace>", workspace.branch.namespace.component: "<namespace>"}
    return names


COMMANDS = {"doctor": doctor_command}
