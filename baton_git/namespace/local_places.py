"""Where the work trees of a repository and the user's home are, kept on this machine: state has labels in their place.

The label of a work tree is derived from its path and this machine, and recorded in `<git dir>/baton/work-trees.json`,
so that it still names the path after the work tree was moved or removed. A lost file is made again, with the same
labels for the work trees that still exist. A file of a newer version is neither used nor changed.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_git.core.local_names import LABEL, LocalNames
from baton_git.core.names import mint_id
from baton_git.git.files import durable_files
from baton_git.git.store import Repository
from baton_git.git.store.repository import list_work_trees

VERSION = 1
MAX_WORK_TREES = 10_000
"""Maximum number of work trees in the file; more would make every write slow."""


@dataclass(frozen=True)
class Host:
    """What this machine and its user are called.

    Attributes:
        home: the home of the user, as its variable has it; empty if unknown.
        name: the host name, without its domain.
        login: the login name.
        machine: the name of the machine that is stored.
        key: a text that only this machine has, from which labels are derived.
        other_names: names under which older records have this machine.
    """

    home: str = ""
    name: str = ""
    login: str = ""
    machine: str = ""
    key: str = ""
    other_names: frozenset[str] = frozenset()

    @property
    def former_host_names(self) -> frozenset[str]:
        """The host name as older commits have it; empty if the user chose it as the name of the machine."""
        return frozenset((self.name,)) - {self.machine, ""}


@dataclass(frozen=True)
class LocalPlaces:
    """The places of one repository on this machine.

    Attributes:
        folder: the work tree of the call, or the folder outside of repositories that a namespace belongs to.
    """

    repository: Repository
    host: Host
    folder: Path | None = None

    @cached_property
    def names(self) -> LocalNames:
        """The names that are not stored. The file system is read once."""
        host = self.host
        top = os.path.realpath(self.folder) if self.folder is not None else ""
        tops = [str(path) for path in list_work_trees(self.repository)]
        known = self._load()
        paths = dict.fromkeys([*([top] if top else []), *tops])
        labels = {**{path: label for label, path in known.items()}, **{path: self._derive(path) for path in paths}}
        labels |= {path: label for label, path in known.items() if path in labels}
        home = os.path.realpath(host.home) if host.home else ""
        aliases = {host.home.rstrip("/"): home} if host.home and host.home.rstrip("/") != home else {}
        aliases |= {
            alias: path for path in labels for alias in _list_aliases(path, home, host.home.rstrip("/"))
            if alias not in labels
        }  # fmt: skip
        aliases |= {alias: home for alias in _list_aliases(home, "", "") if alias not in aliases}
        return LocalNames(
            top, labels, home, aliases, _ignores_case(home or top), host.name, host.login, host.machine
        )  # fmt: skip

    def load_names(self) -> LocalNames:
        return self.names

    def label(self, work_tree: str | Path) -> str:
        """Return the label of a work tree."""
        path = self._find_spelling(work_tree)
        return self.names.labels.get(path) or self._derive(path)

    def remember(self, work_tree: str | Path) -> None:
        """Record the path of a work tree, so that its label can be resolved when the work tree is gone."""
        path, known = self._find_spelling(work_tree), self._load()
        if path not in known.values():
            self._record({**known, self._derive(path): path})

    def find_top(self, folder: str) -> str:
        """Return the known work tree that a folder is in, or else the folder itself."""
        path = self._find_spelling(folder)
        around = [top for top in self.names.labels if path == top or path.startswith(f"{top}/")]
        return max(around, key=len, default=folder)

    def names_for(self, work_tree: str | Path | None, *spellings: str | None) -> LocalNames:
        """Return the names for a text that was written in a work tree (None: in the current one)."""
        if work_tree is None:
            return self.names
        path, names = self._find_spelling(work_tree), self.names
        if path not in names.labels:
            names = replace(names, labels={**names.labels, path: self._derive(path)})
        return names.at(path, str(work_tree), *spellings)

    def _find_spelling(self, work_tree: str | Path) -> str:
        """Return the path of a work tree, in the case of a known one if the file system ignores case."""
        path = os.path.realpath(work_tree)
        if path in self.names.labels or not self.names.ignores_case:
            return path
        return next((known for known in self.names.labels if known.lower() == path.lower()), path)

    def is_here(self, machine: str | None, work_tree: str | None) -> bool:
        """Return whether a record's machine and work tree, a label or a path, are the work tree of this call."""
        if not work_tree or self.folder is None:
            return False
        here = self.names.work_tree
        if LABEL.fullmatch(work_tree):
            return self.names.labels.get(here) == work_tree
        return self.is_own(machine) and os.path.realpath(self.names.resolve(work_tree)) == here

    def is_own(self, machine: str | None) -> bool:
        """Return whether a machine's name is, or was, the one of this machine."""
        return machine is not None and (machine == self.host.machine or machine in self.host.other_names)

    def _derive(self, path: str) -> str:
        return mint_id("wt", sha256(f"{self.host.key}\0{path}".encode("utf-8", "surrogateescape")).digest()).lower()

    @property
    def _file(self) -> Path:
        return self.repository.common_dir / "baton" / "work-trees.json"

    def _load(self) -> dict[str, str]:
        """Return the recorded paths by label; empty if the file is missing, damaged or of a newer version."""
        data = self._read()
        if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("paths"), dict):
            return {}
        pairs = list(data["paths"].items())[-MAX_WORK_TREES:]
        return {label: path for label, path in pairs if isinstance(path, str) and LABEL.fullmatch(label)}

    def _read(self) -> Any:
        try:
            return json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None

    def _record(self, paths: dict[str, str]) -> None:
        """Write the file. Errors are ignored: the labels of existing work trees can be derived again."""
        data = self._read()
        if isinstance(data, dict) and isinstance(data.get("version"), int) and data["version"] > VERSION:
            return
        durable_files.save_derived(self._file, json.dumps({"version": VERSION, "paths": paths}, indent=1).encode())


def _list_aliases(path: str, home: str, named_home: str) -> list[str]:
    """Return other spellings of a folder: below the home as its variable has it, and without macOS's `/private`."""
    found = [path.removeprefix("/private")] if path.startswith("/private/") else []
    if home and named_home and home != named_home and path.startswith(f"{home}/"):
        found.append(named_home + path[len(home) :])
    return found


def _ignores_case(folder: str) -> bool:
    """Return whether the file system of a folder ignores case: the folder is also found in the other case."""
    other = folder.swapcase()
    try:
        return other != folder and Path(folder).samefile(other)
    except OSError:
        return False
