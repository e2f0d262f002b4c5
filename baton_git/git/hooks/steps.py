"""The steps of an installation as data (changes of files and of git's configuration), and their execution."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from baton_git.git.files import durable_files
from baton_git.git.local_git import LocalGit


@dataclass(frozen=True)
class KeepAs:
    """Give a file a second name, so that it is never missing; without hard links, rename it instead."""

    path: Path
    name: Path


@dataclass(frozen=True)
class Write:
    """Create or replace an executable file atomically."""

    path: Path
    data: bytes


@dataclass(frozen=True)
class Move:
    """Rename a file to `to`, replacing a file there."""

    path: Path
    to: Path


@dataclass(frozen=True)
class Remove:
    path: Path


@dataclass(frozen=True)
class Configure:
    """Set a key in the repository's configuration to this single value."""

    key: str
    value: str


@dataclass(frozen=True)
class Unconfigure:
    section: str


@dataclass(frozen=True)
class RunGit:
    """Run a command of git, with which another tool installs the hooks that baton's had kept out."""

    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Say:
    """Show a note to the user; nothing is changed."""

    text: str


Step = KeepAs | Write | Move | Remove | Configure | Unconfigure | RunGit | Say


def run(steps: Iterable[Step], git: LocalGit) -> None:
    """Execute the steps in order. If this is interrupted, the next `install` or `uninstall` completes it.

    Raises:
        WriteFailed: writing to disk failed.
        StoreError: git could not write its configuration, or its command failed.
    """
    for step in steps:
        match step:
            case Configure(key, value):
                git.do("config", "--local", "--replace-all", key, value)
            case Unconfigure(section):
                git.do("config", "--local", "--remove-section", section)
            case RunGit(arguments):
                git.do(*arguments)
            case Say():
                pass
            case _:
                with durable_files.writing(str(step.path)):
                    _change_file(step)


def _change_file(step: KeepAs | Write | Move | Remove) -> None:
    match step:
        case KeepAs(path, name):
            _link_or_rename(path, name)
        case Write(path, data):
            durable_files.make_folder(path.parent)
            durable_files.replace_file(path, data, mode=0o755)
        case Move(path, to):
            path.replace(to)
        case Remove(path):
            path.unlink(missing_ok=True)
    durable_files.sync_folder(step.path.parent)


def _link_or_rename(path: Path, name: Path) -> None:
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; the file is missing until the next step writes it
        path.replace(name)
