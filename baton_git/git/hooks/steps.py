"""What is to be done on the disk and in git's configuration, as data; and doing it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from baton_git.git.files import durable_files
from baton_git.git.local_git import LocalGit


@dataclass(frozen=True)
class KeepAs:
    """Gives a file a second name. It keeps its first one, so that at no moment a hook is missing."""

    path: Path
    name: Path


@dataclass(frozen=True)
class Write:
    """Puts a program in place of whatever is there, at once."""

    path: Path
    data: bytes


@dataclass(frozen=True)
class Move:
    """Puts a file in place of whatever is at `to`."""

    path: Path
    to: Path


@dataclass(frozen=True)
class Remove:
    path: Path


@dataclass(frozen=True)
class Configure:
    """Gives a key of the repository's own configuration this one value."""

    key: str
    value: str


@dataclass(frozen=True)
class Unconfigure:
    section: str


@dataclass(frozen=True)
class Say:
    """Nothing is done; somebody should know something."""

    text: str


Step = KeepAs | Write | Move | Remove | Configure | Unconfigure | Say


def run(steps: Iterable[Step], git: LocalGit) -> None:
    """Does the steps in their order. Each leaves a state from which `install` and `uninstall` go on.

    Raises:
        WriteFailed: writing to disk failed.
        StoreError: git could not write its configuration.
    """
    for step in steps:
        match step:
            case Configure(key, value):
                git.do("config", "--local", "--replace-all", key, value)
            case Unconfigure(section):
                git.do("config", "--local", "--remove-section", section)
            case Say():
                pass
            case _:
                with durable_files.writing(str(step.path)):
                    _on_disk(step)


def _on_disk(step: KeepAs | Write | Move | Remove) -> None:
    match step:
        case KeepAs(path, name):
            _second_name(path, name)
        case Write(path, data):
            durable_files.make_folder(path.parent)
            durable_files.replace_file(path, data, mode=0o755)
        case Move(path, to):
            path.replace(to)
        case Remove(path):
            path.unlink(missing_ok=True)
    durable_files.sync_folder(step.path.parent)


def _second_name(path: Path, name: Path) -> None:
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: for a moment there is no hook
        path.replace(name)
