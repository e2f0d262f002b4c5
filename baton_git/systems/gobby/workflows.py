"""The workflows of a namespace's work tree: list them, run them at an event, and approve those of the project."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton_git.agents.launcher import LaunchRequest
from baton_git.agents.registry import SPAWNED, make_session_environment
from baton_git.checks.approvals import Approvals
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.redaction import redact_text
from baton_git.core.times import iso
from baton_git.git.files.durable_files import writing
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflow.definition import Event, SessionInfo, WorkflowActions
from baton_git.systems.gobby.workflow.engine import run_workflows
from baton_git.systems.gobby.workflow.event_run import EventOutcome, KeptVariables
from baton_git.systems.gobby.workflow.files import (
    WorkflowFile,
    WorkflowFolders,
    list_running,
    list_workflow_files,
    pick_workflow,
)

if TYPE_CHECKING:
    from baton_git.agents.sessions.records import SpawnedSessions

MAX_NOTICES = 1024 * 1024
"""Maximum size of the file of notices in bytes; a larger file is renamed to `notices.old`."""


def list_workflows(ws: Workspace, folders: WorkflowFolders) -> tuple[list[WorkflowFile], list[str]]:
    """Return all workflow files, and the problems with them."""
    is_approved, problems = _load_approvals(ws)
    files = list_workflow_files(folders, is_approved)
    return files, [*problems, *(file.problem for file in files if file.problem)]


def find_project_workflow(ws: Workspace, folders: WorkflowFolders, name: str) -> WorkflowFile:
    """Return the file of the project's workflow with this name; `allow_workflow` approves its text.

    Raises:
        NotFound: the project has no workflow with that name.
        InvalidArgument: the workflow is broken.
    """
    file = pick_workflow(list_workflows(ws, folders)[0], name, "project")
    if file.workflow is None:
        raise InvalidArgument(f"the workflow {name} is broken: {file.problem}", hint="baton workflow check FILE")
    return file


def allow_workflow(ws: Workspace, now: datetime, shown: WorkflowFile) -> bool:
    """Approve exactly the text that was shown, even if the file has changed since; return False if it was approved
    already.

    Raises InvalidArgument: the workspace has no approvals.
    """
    return _require_approvals(ws).allow_workflow(shown.digest, iso(now))


def disallow_workflow(ws: Workspace, shown: WorkflowFile) -> bool:
    """Withdraw the approval of the text that was shown; return False if it was not approved.

    Raises InvalidArgument: the workspace has no approvals.
    """
    return _require_approvals(ws).disallow_workflow(shown.digest)


def list_wanted_events(ws: Workspace, folders: WorkflowFolders) -> tuple[str, ...]:
    """Return the events for which a running workflow has a trigger."""
    files = list_workflow_files(folders, _load_approvals(ws)[0], is_checked=False)
    return tuple(sorted({trigger.event for workflow in list_running(files) for trigger in workflow.triggers}))


def run_event(
    ws: Workspace, now: datetime, event: Event, session: SessionInfo, effects: WorkflowActions,
    folders: WorkflowFolders, *, dry_run: bool = False,
) -> EventOutcome:  # fmt: skip
    """Run the workflows of `event`; failures are among the problems of the outcome."""
    is_approved, problems = _load_approvals(ws)
    files = list_workflow_files(folders, is_approved, is_checked=False)
    problems += [file.problem for file in files if file.problem]
    wanted = [workflow for workflow in list_running(files) if workflow.triggers_of(event.name)]
    if not wanted:
        return EventOutcome(problems=problems)
    kept = KeptVariables(_own_path(ws, "workflow"), session.id)
    variables = _load_variables(ws, kept, problems)

    def start_session(request: LaunchRequest, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        from baton_git.agents.sessions.starting import Spawner  # few workflows start sessions

        parent, arguments = ws.environment.get(SPAWNED) or None, dict(folders.arguments)
        records, stop_files = open_spawned_sessions(ws), list_stop_files(ws)
        spawner = Spawner(records, ws.environment, iso(now), session.id, parent, arguments, stop_files)
        return spawner(request, variables)

    outcome = run_workflows(event, session, wanted, effects, variables, start_session, dry_run=dry_run)
    if not dry_run:
        _save_variables(kept, variables, outcome.variables, problems)
        _deliver_notices(ws, now, folders, outcome, problems)
    outcome.problems[:0] = problems
    return outcome


def open_spawned_sessions(ws: Workspace) -> SpawnedSessions:
    """Return the records of the sessions that were started in this repository."""
    from baton_git.agents.sessions.records import SpawnedSessions  # slow to import

    return SpawnedSessions.of(ws.branch.store.repository.common_dir)


def list_stop_files(ws: Workspace) -> tuple[Path, ...]:
    """Return the files whose existence stops chains and loops: `baton/stop` of this work tree and of the repository."""
    repository = ws.branch.store.repository
    folders = dict.fromkeys((repository.git_dir, repository.common_dir))
    return tuple(folder / "baton" / "stop" for folder in folders)


# --- approvals, variables and notices


def _own_path(ws: Workspace, name: str) -> Path:
    return ws.branch.store.repository.common_dir / "baton" / name


def _require_approvals(ws: Workspace) -> Approvals:
    if ws.approvals is None:
        raise InvalidArgument("this interface cannot approve workflows")
    return ws.approvals


def _load_approvals(ws: Workspace) -> tuple[Callable[[str], bool], list[str]]:
    """Return a function that tells whether a digest is approved, and problems. If the approvals cannot be read, no
    digest is approved."""
    try:
        approved = set(ws.approvals.workflows()) if ws.approvals is not None else set()
    except BatonError as error:
        return (lambda _: False), [f"no workflow of the project can run: {error}"]
    return approved.__contains__, []


def _load_variables(ws: Workspace, kept: KeptVariables, problems: list[str]) -> dict[str, Any]:
    """Return the session's variables. At the start of a session they are those of the session that started it."""
    variables, problem = kept.load()
    problems += [problem] if problem else []
    spawned = ws.environment.get(SPAWNED)
    if variables is not None or not spawned:
        return variables or {}
    try:
        return dict(open_spawned_sessions(ws).get(spawned).variables)
    except BatonError as error:
        problems.append(f"the variables of the previous session are lost: {error}")
        return {}


def _save_variables(
    kept: KeptVariables, before: dict[str, Any], after: dict[str, Any], problems: list[str]
) -> None:  # fmt: skip
    if before != after or not kept.path.exists():
        try:
            kept.save(after)
        except BatonError as error:
            problems.append(str(error))


def _deliver_notices(
    ws: Workspace, now: datetime, folders: WorkflowFolders, outcome: EventOutcome, problems: list[str]
) -> None:  # fmt: skip
    for action in outcome.ran:
        if action.action == "notify" and action.result.get("notified"):
            texts = (" ".join(str(action.result[key]).split()) for key in ("title", "message"))
            title, message = (redact_text(text)[0] for text in texts)
            try:
                _append_notice(_own_path(ws, "notices"), f"{iso(now)}  {title}: {message}\n")
                _run_notify_command(ws, folders.notify, title, message)
            except (BatonError, OSError, ValueError) as error:
                problems.append(f"a notice could not be delivered: {error}")


def _append_notice(path: Path, line: str) -> None:
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size > MAX_NOTICES:
                path.replace(path.with_name("notices.old"))
        with path.open("a", encoding="utf-8") as file:
            file.write(line)


def _run_notify_command(ws: Workspace, command: tuple[str, ...], title: str, message: str) -> None:
    """Run the command that the user's own configuration names, for at most 2 seconds."""
    if not command:
        return
    argv = [*command, title, message]
    process = subprocess.Popen(  # noqa: S603  the user's own command, from untracked configuration
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        cwd=ws.folder or os.curdir, env=make_session_environment(ws.environment, ""),
    )  # fmt: skip
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise InvalidArgument(
            f"{command[0]} took longer than 2 seconds", hint="to set a faster command: git config baton.notifyCommand"
        ) from None
