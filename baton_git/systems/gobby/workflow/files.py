"""Which workflows there are: the project's, the user's and those that are shipped, and which of them run here.

A project's file comes from a remote, so it runs only when exactly its bytes were approved on this machine; until then
the one of the same name that the user has, or that is shipped, runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.output import terminal_line
from baton_git.git.files.atomic_files import read_bytes
from baton_git.systems.gobby.workflow.definition import Workflow, read

TIERS = ("project", "user", "built-in")
"""Who wins, in this order, where two have one name."""
MAX_FILES = 100


@dataclass(frozen=True)
class Folders:
    """Where workflows are, and what this machine's user says of them.

    Attributes:
        project: `<work tree>/.baton/workflows`; None outside of one.
        user: `<config home>/baton/workflows`.
        shipped: those of this package.
        enabled, disabled: names, from git's untracked configuration.
        notify: what runs for a notice besides; the message is added to it.
        arguments: by CLI, what every new session of it is started with besides.
    """

    project: Path | None
    user: Path | None
    shipped: Path | None
    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()
    notify: tuple[str, ...] = ()
    arguments: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Found(NamedTuple):
    """A file of a workflow.

    Attributes:
        state: `on`, `off` (switched off), `not allowed` (here), `hidden` (another of its name runs), or `broken`.
        workflow: None when it is broken.
        problem: what is wrong with it.
        text: the file, as it was when `digest` was made of it.
    """

    name: str
    tier: str
    path: Path
    digest: str
    state: str
    workflow: Workflow | None = None
    problem: str = ""
    text: str = ""


def find(folders: Folders, approved: Callable[[str], bool], *, is_checked: bool = True) -> list[Found]:
    """Every file, those that run first, by priority; whoever is broken or not allowed hides nothing."""
    taken: set[str] = set()
    found = [_judged(one, folders, approved, taken) for one in _read(folders, is_checked)]
    return sorted(found, key=lambda one: (one.state != "on", one.workflow.priority if one.workflow else 0, one.name))


def running(found: list[Found]) -> list[Workflow]:
    """Those that run, in their order."""
    return [one.workflow for one in found if one.state == "on" and one.workflow is not None]


def pick(found: list[Found], name: str, tier: str | None = None) -> Found:
    """The file that `name` means: the one that runs, else that of the first tier.

    Raises:
        NotFound: there is none.
    """
    matching = [one for one in found if one.name == name and tier in (None, one.tier)]
    matching.sort(key=lambda one: (one.state != "on", TIERS.index(one.tier)))
    if not matching:
        where = f" among those of the {tier}" if tier else ""
        raise NotFound(f"workflow{where} called", name, hint="baton workflow list shows all")
    return matching[0]


def _read(folders: Folders, is_checked: bool) -> Iterator[Found]:
    for tier, folder in zip(TIERS, (folders.project, folders.user, folders.shipped), strict=True):
        for path in _paths(folder):
            yield _parsed(tier, path, is_checked)


def _paths(folder: Path | None) -> list[Path]:
    try:
        inside = sorted(folder.iterdir()) if folder is not None else []
    except OSError:
        return []
    return [one for one in inside if one.suffix in (".yaml", ".yml")][:MAX_FILES]


def _parsed(tier: str, path: Path, is_checked: bool) -> Found:
    where = terminal_line(str(path))
    try:
        if not path.is_file():
            raise InvalidArgument(f"{where}: {_kind(path)}")
        content = read_bytes(path)
        digest = sha256(content).hexdigest()
    except BatonError as error:
        return Found(path.stem, tier, path, "", "broken", None, str(error))
    text = content.decode("utf-8", "replace")
    try:
        workflow = read(content.decode(), name=path.stem, where=where, is_checked=is_checked)
    except BatonError as error:
        return Found(path.stem, tier, path, digest, "broken", None, str(error), text)
    except UnicodeDecodeError:
        return Found(path.stem, tier, path, digest, "broken", None, f"{where}: is not UTF-8 text", text)
    return Found(workflow.name, tier, path, digest, "on", workflow, "", text)


def _kind(path: Path) -> str:
    """What is there instead of a file; none of it is opened, as that could take for ever."""
    if path.is_dir():
        return "is a folder and no file"
    if path.is_symlink() and not path.exists():
        return "is a link that leads nowhere"
    return "is a pipe or a device and no file"


def _judged(one: Found, folders: Folders, approved: Callable[[str], bool], taken: set[str]) -> Found:
    if one.workflow is None:
        return one
    if one.tier == "project" and not approved(one.digest):
        return one._replace(state="not allowed")
    if one.name in taken:
        return one._replace(state="hidden")
    taken.add(one.name)
    wanted = one.workflow.enabled or one.name in folders.enabled
    return one if wanted and one.name not in folders.disabled else one._replace(state="off")
