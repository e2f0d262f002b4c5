"""The workflows of a namespace's work tree: which there are, what they do at an event, and who may run here."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from baton_git.agents.sessions.launchers import SPAWNED, surroundings
from baton_git.agents.sessions.records import SpawnedSessions
from baton_git.agents.sessions.starting import Spawner
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.redaction import redact_text
from baton_git.core.times import iso
from baton_git.git.files.durable_files import writing
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflow.definition import Workflow, read
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo, WorkflowActions
from baton_git.systems.gobby.workflow.engine import run_event as run_workflows
from baton_git.systems.gobby.workflow.event_run import Outcome
from baton_git.systems.gobby.workflow.files import Folders, Found, find, pick, running
from baton_git.systems.gobby.workflow.variables import KeptVariables

MAX_NOTICES = 1024 * 1024
"""Bytes of the file of notices; then it begins anew."""

__all__ = [
    "Folders",
    "allow",
    "check_text",
    "disallow",
    "run_event",
    "spawned_records",
    "waiting",
    "wanted_events",
    "workflows",
]


def workflows(ws: Workspace, folders: Folders) -> tuple[list[Found], list[str]]:
    """Every file of a workflow, and what is wrong."""
    approved, problems = _approved(ws)
    found = find(folders, approved)
    return found, [*problems, *(one.problem for one in found if one.problem)]


def waiting(ws: Workspace, folders: Folders, name: str) -> Found:
    """The project's workflow of this name, with the text that `allow` approves.

    Raises:
        NotFound: the project has none of that name.
        InvalidArgument: it is broken.
    """
    found = pick(workflows(ws, folders)[0], name, "project")
    if found.workflow is None:
        raise InvalidArgument(f"the workflow {name} is broken: {found.problem}", hint="baton workflow check FILE")
    return found


def allow(ws: Workspace, now: datetime, shown: Found) -> bool:
    """Approves exactly the text that was shown, whatever the file says by now; False: it was approved already.

    Raises InvalidArgument: nothing can be approved here.
    """
    if ws.approvals is None:
        raise InvalidArgument("nothing can be approved here")
    return ws.approvals.allow_workflow(shown.digest, iso(now))


def disallow(ws: Workspace, shown: Found) -> bool:
    """Withdraws the approval of the text that the file has now; False: there was none. Raises InvalidArgument: nothing
    can be approved here."""
    if ws.approvals is None:
        raise InvalidArgument("nothing can be approved here")
    return ws.approvals.disallow_workflow(shown.digest)


def check_text(text: str, name: str, where: str) -> Workflow:
    """The workflow that a file says. Raises InvalidDocument with all its faults."""
    return read(text, name=name, where=where)


def wanted_events(ws: Workspace, folders: Folders) -> tuple[str, ...]:
    """The events at which a workflow that runs here does something."""
    found = find(folders, _approved(ws)[0], is_checked=False)
    return tuple(sorted({trigger.event for one in running(found) for trigger in one.triggers}))


def run_event(
    ws: Workspace,
    now: datetime,
    event: Event,
    session: SessionInfo,
    effects: WorkflowActions,
    folders: Folders,
    *,
    dry_run: bool = False,
) -> Outcome:
    """Runs what the workflows have for `event`; whatever fails is among the problems of the outcome."""
    approved, problems = _approved(ws)
    found = find(folders, approved, is_checked=False)
    problems += [one.problem for one in found if one.problem]
    wanted = [one for one in running(found) if one.at(event.name)]
    if not wanted:
        return Outcome(problems=tuple(problems))
    kept = KeptVariables(ws.branch.store.repository.common_dir / "baton" / "workflow", session.id)
    variables, said = _variables(ws, kept)
    problems += said
    outcome = run_workflows(
        event, session, wanted, effects, variables, _spawner(ws, now, session, folders), dry_run=dry_run
    )
    if not dry_run:
        problems += _remember(kept, variables, outcome.variables)
        problems += _notices(ws, now, folders, outcome)
    return outcome._replace(problems=(*problems, *outcome.problems))


def spawned_records(ws: Workspace) -> SpawnedSessions:
    """What is known of the sessions that were started in this repository."""
    return SpawnedSessions(ws.branch.store.repository.common_dir / "baton" / "spawned")


# --- what surrounds an event


def _approved(ws: Workspace) -> tuple[Any, list[str]]:
    """What tells whether something was approved. Where that cannot be known nothing was, and it is said."""
    approvals = ws.approvals
    if approvals is None:
        return (lambda _: False), []
    try:
        known = set(approvals.workflows())
    except BatonError as error:
        return (lambda _: False), [f"no workflow of the project runs: {error}"]
    return known.__contains__, []


def _variables(ws: Workspace, kept: KeptVariables) -> tuple[dict[str, Any], list[str]]:
    """The session's own, or at its start those of the session that started it."""
    variables, problem = kept.load()
    if variables is not None:
        return variables, [problem] if problem else []
    spawned = ws.environment.get(SPAWNED)
    if not spawned:
        return {}, []
    try:
        return dict(spawned_records(ws).get(spawned).variables), []
    except BatonError as error:
        return {}, [f"the variables of the session before are lost: {error}"]


def _remember(kept: KeptVariables, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    if before == after and kept.path.exists():
        return []
    try:
        kept.save(dict(after))
    except BatonError as error:
        return [str(error)]
    return []


def _spawner(ws: Workspace, now: datetime, session: SessionInfo, folders: Folders) -> Spawner:
    return Spawner(
        spawned_records(ws), ws.environment, iso(now), session.id, ws.environment.get(SPAWNED) or None,
        dict(folders.arguments),
    )  # fmt: skip


def _notices(ws: Workspace, now: datetime, folders: Folders, outcome: Outcome) -> list[str]:
    said = [dict(one.result) for one in outcome.ran if one.action == "notify" and one.result.get("notified")]
    problems = []
    for one in said:
        title, message = (redact_text(" ".join(str(one[key]).split()))[0] for key in ("title", "message"))
        try:
            _note(ws.branch.store.repository.common_dir / "baton" / "notices", f"{iso(now)}  {title}: {message}\n")
            _tell(ws, folders.notify, title, message)
        except (BatonError, OSError, ValueError) as error:
            problems.append(f"a notice did not reach you: {error}")
    return problems


def _note(file: Path, line: str) -> None:
    with writing(str(file)):
        file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_size > MAX_NOTICES:
                file.replace(file.with_name("notices.old"))
        with file.open("a", encoding="utf-8") as opened:
            opened.write(line)


def _tell(ws: Workspace, command: tuple[str, ...], title: str, message: str) -> None:
    """Runs the command that the user's own configuration names; it is not waited for longer than it takes to start."""
    if not command:
        return
    argv = [*command, title, message]
    process = subprocess.Popen(  # noqa: S603  the user's own command, from untracked configuration
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        cwd=ws.folder or os.curdir, env=surroundings(ws.environment, ""),
    )  # fmt: skip
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2.0)
    if process.returncode is None:
        process.kill()
        process.wait()
        raise InvalidArgument(f"{command[0]} took longer than 2 seconds", hint="git config baton.notifyCommand")
