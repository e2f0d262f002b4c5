"""Find workflow files (the project's, the user's and the shipped ones), and decide which of them run.

A project's file comes from a remote, so it runs only if exactly its bytes were approved on this machine. Until then,
the user's or the shipped workflow of the same name runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.output import terminal_line
from baton_git.git.files.atomic_files import read_bytes
from baton_git.systems.gobby.workflow.definition import Workflow, parse_workflow

TIERS = ("project", "user", "built-in")
"""The tiers in order of precedence, if several workflows have the same name."""
MAX_FILES = 100


@dataclass(frozen=True)
class WorkflowFolders:
    """The folders of workflows, and the user's settings for them.

    Attributes:
        project: `<work tree>/.baton/workflows`; None outside of a work tree.
        user: `<config home>/baton/workflows`.
        shipped: the workflows of this package.
        enabled, disabled: names, from git's untracked configuration.
        notify: a command that runs for each notice, with the title and the message as additional arguments.
        arguments: additional arguments for every new session, by agent CLI.
    """

    project: Path | None
    user: Path | None
    shipped: Path | None
    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()
    notify: tuple[str, ...] = ()
    arguments: tuple[tuple[str, tuple[str, ...]], ...] = ()


class WorkflowFile(NamedTuple):
    """A workflow file.

    Attributes:
        state: `on`, `off` (disabled, or not enabled), `not allowed` (not approved on this machine), `hidden`
            (another workflow with this name takes precedence), or `broken`.
        workflow: the parsed file; None if it is broken.
        problem: why it is broken.
        text: the content; `digest` was computed from its bytes.
    """

    name: str
    tier: str
    path: Path
    digest: str
    state: str
    workflow: Workflow | None = None
    problem: str = ""
    text: str = ""


def list_workflow_files(
    folders: WorkflowFolders, is_approved: Callable[[str], bool], *, is_checked: bool = True
) -> list[WorkflowFile]:
    """Return all files: first those that run, by priority. A broken or not allowed file does not hide another.

    Args:
        is_approved: returns whether a project's file with this digest was approved on this machine.
        is_checked: as for `parse_workflow`.
    """
    taken: set[str] = set()
    files = [
        _decide_state(_read_workflow(tier, path, is_checked), folders, is_approved, taken)
        for tier, folder in zip(TIERS, (folders.project, folders.user, folders.shipped), strict=True)
        for path in _list_yaml(folder)
    ]
    return sorted(
        files, key=lambda file: (file.state != "on", file.workflow.priority if file.workflow else 0, file.name)
    )


def list_running(files: list[WorkflowFile]) -> list[Workflow]:
    """Return the workflows that run, in the order in which they run."""
    return [file.workflow for file in files if file.state == "on" and file.workflow is not None]


def pick_workflow(files: list[WorkflowFile], name: str, tier: str | None = None) -> WorkflowFile:
    """Return the file for `name`: the one that runs, else the one of the first tier.

    Raises:
        NotFound: there is no workflow with this name.
    """
    matching = [file for file in files if file.name == name and tier in (None, file.tier)]
    if not matching:
        kind = f"{tier} workflow" if tier else "workflow"
        raise NotFound(f"{kind} called", name, hint="to list the workflows: baton workflow list")
    return min(matching, key=lambda file: (file.state != "on", TIERS.index(file.tier)))


def _list_yaml(folder: Path | None) -> list[Path]:
    try:
        paths = sorted(folder.iterdir()) if folder is not None else []
    except OSError:
        return []
    return [path for path in paths if path.suffix in (".yaml", ".yml")][:MAX_FILES]


def _read_workflow(tier: str, path: Path, is_checked: bool) -> WorkflowFile:
    where = terminal_line(str(path))
    broken = WorkflowFile(path.stem, tier, path, "", "broken")
    try:
        if not path.is_file():
            raise InvalidArgument(f"{where}: {_describe_kind(path)}")
        content = read_bytes(path)
        broken = broken._replace(digest=sha256(content).hexdigest(), text=content.decode("utf-8", "replace"))
        workflow = parse_workflow(content.decode(), name=path.stem, where=where, is_checked=is_checked)
    except BatonError as error:
        return broken._replace(problem=str(error))
    except UnicodeDecodeError:
        return broken._replace(problem=f"{where}: is not UTF-8 text")
    return broken._replace(name=workflow.name, state="on", workflow=workflow)


def _describe_kind(path: Path) -> str:
    """Return the type of an object that is not a file. It is not opened, because opening a pipe could block forever."""
    if path.is_dir():
        return "is a folder, not a file"
    if path.is_symlink() and not path.exists():
        return "is a dangling link"
    return "is a pipe or a device, not a file"


def _decide_state(
    file: WorkflowFile, folders: WorkflowFolders, is_approved: Callable[[str], bool], taken: set[str]
) -> WorkflowFile:
    if file.workflow is None:
        return file
    if file.tier == "project" and not is_approved(file.digest):
        return file._replace(state="not allowed")
    if file.name in taken:
        return file._replace(state="hidden")
    taken.add(file.name)
    is_wanted = file.workflow.enabled or file.name in folders.enabled
    return file if is_wanted and file.name not in folders.disabled else file._replace(state="off")
