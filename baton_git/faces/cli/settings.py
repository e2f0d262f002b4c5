"""What the surroundings say: the repository, git's configuration, who acts, the time. Read here and nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from baton_git.errors import InvalidArgument, NotARepository
from baton_git.faces.cli.surroundings import FOUND
from baton_git.lifecycle import Policy
from baton_git.names import AgentId, Namespace, SessionId
from baton_git.store import Repository

_LOCAL_GIT = re.compile(r"GIT_(?!CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)$)")
"""Variables that bind git to the repository of the hook or command around us, not to the one we are asked for."""


class Asked(NamedTuple):
    """What the options of a command say; None where they say nothing."""

    repo: str | None = None
    namespace: str | None = None
    session: str | None = None
    agent: str | None = None


@dataclass(frozen=True)
class Settings:
    """The answers, each worked out when it is first needed."""

    asked: Asked

    def _named(self, what: str) -> str | None:
        """What the option says, else the variable; an empty variable says nothing, an empty option is a mistake."""
        option: str | None = getattr(self.asked, what)
        if option == "":
            raise InvalidArgument(f"--{what} is empty", hint="leave it out, or say which")
        return option or os.environ.get(f"BATON_{what.upper()}") or None

    @staticmethod
    def now() -> datetime:
        return datetime.now().astimezone()

    @cached_property
    def repository(self) -> Repository:
        """The one that was named, the one around us, or else the user's own, made on first use."""
        named = self._named("repo")
        found = _opened(Path(named)) if named else Repository.discover(_here())
        if found is None:
            return Repository.create_bare(data_home() / "baton" / "state.git")
        self._check_owner(found)
        return found

    def _check_owner(self, found: Repository) -> None:
        owner = found.foreign_owner
        if owner is None or str(owner) == os.environ.get("SUDO_UID"):
            return
        safe = _git_config(None, "^safe\\.directory$").get("safe.directory", "")
        places = {str(found.work_tree), str(found.git_dir), "*"}
        if safe not in places:
            raise NotARepository(
                f"{found.git_dir} belongs to another user",
                hint=f"if you trust it: git config --global --add safe.directory {found.work_tree or found.git_dir}",
            )

    @property
    def is_own_store(self) -> bool:
        """Whether this is the user's own store, which belongs to no folder."""
        return self.repository.common_dir == Path(os.path.realpath(data_home() / "baton" / "state.git"))

    @cached_property
    def config(self) -> Mapping[str, str]:
        """Git's configuration for this repository, the keys that matter here, in lower case."""
        return _git_config(self.repository.git_dir, r"^(baton|user)\.")

    @cached_property
    def namespace(self) -> Namespace:
        return Namespace(self._named("namespace") or self.config.get("baton.namespace") or self._folder_name())

    def _folder_name(self) -> str:
        """The name of the folder: that of the main work tree, for the linked ones too."""
        if self.is_own_store:
            return _here().name or "default"
        common = self.repository.common_dir
        if common.name == ".git":
            return common.parent.name or "default"
        if self.repository.work_tree is not None:
            return self.repository.work_tree.name or "default"
        return common.name.removesuffix(".git") or "default"

    @property
    def prefix(self) -> str:
        prefix = self.config.get("baton.refprefix", "refs/heads/baton/")
        if not re.fullmatch(r"refs/(?:[A-Za-z0-9_-]+/)+", prefix):
            raise InvalidArgument(f"baton.refPrefix {prefix!r} is no folder of refs", hint="for example refs/baton/")
        return prefix

    @property
    def policy(self) -> Policy:
        """The rules' numbers, with those that git's configuration sets (`baton.ttlDays`, …)."""
        chosen = {}
        for field in fields(Policy):
            text = self.config.get(f"baton.{field.name.replace('_', '')}")
            if text is not None:
                chosen[field.name] = _whole(field.name, text)
        return Policy(**chosen)

    @property
    def author(self) -> str:
        """`Name <mail>`, as git would have it."""
        name = os.environ.get("GIT_AUTHOR_NAME") or self.config.get("user.name") or _login()
        mail = os.environ.get("GIT_AUTHOR_EMAIL") or self.config.get("user.email") or f"{_login()}@{self.machine}"
        return f"{_plain(name) or 'unknown'} <{_plain(mail)}>"

    @property
    def machine(self) -> str:
        return re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename.split(".")[0]) or "unknown"

    @property
    def session(self) -> str | None:
        named = self._named("session")
        return SessionId(named).text if named else None

    @property
    def agent(self) -> str | None:
        named = self._named("agent")
        return AgentId(named).text if named else None

    @property
    def private_hosts(self) -> bool:
        return self.config.get("baton.allowprivatehosts", "false").lower() in ("true", "yes", "on", "1")

    @property
    def folder(self) -> Path | None:
        """Where checks look: the work tree, or where we stand when the store belongs to no folder."""
        return _here() if self.is_own_store else self.repository.work_tree

    @property
    def environment(self) -> dict[str, str]:
        return dict(FOUND)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotARepository("the folder that we stand in is gone", hint="go to one that is there") from None


def data_home() -> Path:
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "share"


def _opened(path: Path) -> Repository:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return Repository.create_bare(path.absolute())
    return Repository.open(path)


def _git_config(folder: Path | None, pattern: str) -> dict[str, str]:
    """What `git config` says, so that includes and conditions hold; without a git program, what the file says."""
    where = [f"--git-dir={folder}"] if folder else []
    environment = {name: value for name, value in os.environ.items() if not _LOCAL_GIT.match(name)}
    try:
        said = subprocess.run(  # noqa: S603  the arguments are ours
            ["git", *where, "config", "-z", "--get-regexp", pattern],  # noqa: S607  the user's git is meant
            capture_output=True, env=environment, timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return _file_config(folder)
    lines = said.stdout.decode("utf-8", "replace").split("\0")
    pairs = (line.partition("\n") for line in lines if line)
    return {name.lower(): value if newline else "true" for name, newline, value in pairs}


def _file_config(folder: Path | None) -> dict[str, str]:
    if folder is None:
        return {}
    config = Repository.open(folder).config()
    keys = [f"baton.{name}" for name in config.keys("baton")] + ["user.name", "user.email"]
    return {key: value for key in keys if (value := config.get(key)) is not None}


def _whole(name: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 1:
        key = f"baton.{name.replace('_', '')}"
        raise InvalidArgument(
            f"git config {key} is {text!r}, not a whole number above 0", hint=f"git config {key} NUMBER"
        )
    return number


def _plain(text: str) -> str:
    return re.sub(r"[<>\x00-\x1f\x7f]", "", text).strip()


def _login() -> str:
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "unknown"
