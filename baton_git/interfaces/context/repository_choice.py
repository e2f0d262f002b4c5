"""Find the repository of a call: the named one, the one around the current folder, or the user's own store."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

from baton_git.core.errors import NotARepository, find_near_names
from baton_git.git.store import Repository
from baton_git.interfaces.context.git_config import is_safe_place, read_user_config
from baton_git.interfaces.context.process import data_home


def current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotARepository("the current folder does not exist any more", hint="change to another folder") from None


def config_home() -> Path:
    """Return the folder of the user's configuration files."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".config"


def own_store() -> Path:
    """Return the path of the user's own store, which has the namespaces of folders outside of repositories."""
    return data_home() / "baton" / "state.git"


def is_vacant(path: Path) -> bool:
    """Return whether a repository can be created at a path: it does not exist, or is an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def open_named(path: Path) -> Repository:
    """Open a repository; if GIT_DIR names it, its work tree is GIT_WORK_TREE, if set."""
    repository = Repository.open(path)
    top = os.environ.get("GIT_WORK_TREE")
    is_bound = bool(top) and path == Path(os.environ.get("GIT_DIR", os.devnull))
    return replace(repository, work_tree=Path(os.path.realpath(top or ""))) if is_bound else repository


def missing_repository(named: Path | None) -> NotARepository:
    """Return the error for a repository that does not exist, with the command that creates it."""
    if named is None:
        return NotARepository(
            "not in a git repository, and your own store is empty",
            hint="to create a namespace for this folder: baton init; for a git repository, change to it first",
        )
    siblings = (
        sorted(path.name for path in named.absolute().parent.glob("*")) if named.absolute().parent.is_dir() else ()
    )
    close = find_near_names(named.name, siblings)
    meant = f"did you mean {named.with_name(close[0])}? " if close and close[0] != named.name else ""
    what = "is an empty folder" if named.exists() else "does not exist"
    command = f"baton init --repo {shlex.quote(str(named))}"
    return NotARepository(f"{named} {what}", hint=f"{meant}to create a repository there: {command}")


def check_owner(repository: Repository) -> None:
    """Raise NotARepository if a repository belongs to another user, and git's `safe.directory` does not have it."""
    owner = repository.foreign_owner
    if owner is None or str(owner) == os.environ.get("SUDO_UID"):
        return
    safe = read_user_config("safe.directory")
    place = repository.work_tree or repository.git_dir
    if not is_safe_place(place, safe):
        raise NotARepository(
            f"{repository.git_dir} belongs to another user",
            hint=f"if you trust it: git config --global --add safe.directory {place}",
        )
