"""What the user of this machine approved for one repository: commands, checks of others, workflows and remotes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from baton_git.core.errors import Corrupt, LimitExceeded, StoreError
from baton_git.git.files.durable_files import random_name, replace_file, writing
from baton_git.git.files.private_json import PrivateJsonFile

MAX_FILES: Final = 64
MAX_BYTES: Final = 64 * 1024 * 1024
"""Maximum total size in bytes of the files that a command names."""
_CHUNK: Final = 1024 * 1024

Contents = Mapping[str, str]
"""For each path relative to the work tree, the SHA-256 of the file, or `link to PATH` if it leads out of the tree."""


def contents_of(argv: Sequence[str], folder: Path | None, search_path: str) -> Contents:
    """Return the digests of the files in `folder` that a command started there names.

    Args:
        folder: the work tree, or None.
        search_path: the value of PATH for the command.

    Raises:
        LimitExceeded: the command names too many files, or files that are too large.
        StoreError: one of the files cannot be read.
    """
    if folder is None or not argv:
        return {}
    top, room = Path(os.path.realpath(folder)), MAX_BYTES
    contents: dict[str, str] = {}
    for path in dict.fromkeys(_named_paths(argv, top, search_path)):
        if os.path.isfile(path):
            contents[path.relative_to(top).as_posix()], size = _content(path, top, room)
            room -= size
        if len(contents) > MAX_FILES:
            raise LimitExceeded("files of the work tree in one command", len(contents), MAX_FILES)
    return dict(sorted(contents.items()))


def _named_paths(argv: Sequence[str], top: Path, search_path: str) -> Iterator[Path]:
    """Yield the paths inside the work tree that the command names, whether or not they exist."""
    words = [argv[0] if "/" in argv[0] else _program(argv[0], top, search_path)]
    for word in argv[1:]:
        words += [word, word.partition("=")[2], word.partition("::")[0]]
    for word in words:
        path = _inside(word, top)
        if path is not None:
            yield path


def _inside(word: str, top: Path) -> Path | None:
    """Return the path in the work tree that a word names, or None if it is outside."""
    if not word or "\0" in word:
        return None
    plain = Path(os.path.normpath(top / word))
    real = Path(os.path.realpath(plain.parent), plain.name)  # `top` may also be reachable through a link
    return next((path for path in (plain, real) if path != top and path.is_relative_to(top)), None)


def _program(name: str, top: Path, search_path: str) -> str:
    """Return the path of a program in the folders of PATH, relative ones from the work tree; "" if it is not found."""
    candidates = (os.path.join(top, entry, name) for entry in search_path.split(os.pathsep))  # noqa: PTH118
    return next((path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)), "")


def _content(path: Path, top: Path, room: int) -> tuple[str, int]:
    """Return the digest of a file (or `link to PATH`), and the number of bytes that were read."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(top):
        return f"link to {real}", 0
    try:
        size = real.stat().st_size
        if size > room:
            raise LimitExceeded(f"{path.name} and the other files that the command names", size, MAX_BYTES, "bytes")
        with real.open("rb") as file:
            digest = sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check that file") from error
    return digest.hexdigest(), size


# --- the identity of a repository on this machine: a random id in a file of the common directory, never in a branch
#
# Approvals are bound to this id. So a repository that is moved keeps its approvals, and a different one that is
# unpacked at the same path has none.

_FORM: Final = re.compile(r"[0-9a-f]{32}")


def identity_file(common_dir: Path) -> Path:
    return common_dir / "baton" / "repository-id"


def read_identity(common_dir: Path) -> str | None:
    """Return the id of the repository, or None if it has no valid id."""
    with suppress(OSError, UnicodeDecodeError):
        text = identity_file(common_dir).read_text(encoding="ascii").strip()
        return text if _FORM.fullmatch(text) else None
    return None


def make_identity(common_dir: Path) -> str:
    """Give the repository a new random id, replacing an existing one.

    Raises:
        WriteFailed: writing to disk failed.
    """
    path, made = identity_file(common_dir), random_name(32)
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{made}\n".encode(), mode=0o600)
    return made


def is_copy(common_dir: Path, recorded: str) -> bool:
    """Return whether the repository at `common_dir` is a copy of the one at `recorded`, which has the same id.

    A repository that was moved, or is accessed by another path, is not a copy.
    """
    id_ = read_identity(common_dir)
    if recorded == str(common_dir) or id_ is None or read_identity(Path(recorded)) != id_:
        return False
    return not Path(recorded).samefile(common_dir)


# --- the user's file of approvals, which holds those for each repository by its id
#
# The file is outside of every repository, so nothing that is fetched, cloned or unpacked can approve itself.
#
#     {"repositories": {"<id>": {"path": "…/.git", "commands": […], "checks": […], "workflows": […], "remotes": […]}}}
#
# Earlier versions stored lists of commands by the path of the repository. Another repository may be at that path now,
# so these approvals no longer count. They stay in the file, and are reported to the user.

Kept = Mapping[str, Any]
"""The stored approvals of one repository."""


class ApprovalFile(NamedTuple):
    """The part of the file `path` that belongs to the repository whose common directory is `repository`."""

    path: Path
    repository: Path

    def read(self) -> Kept:
        """Return the approvals for this repository.

        Raises:
            Corrupt: the file cannot be read; then nothing counts as approved.
        """
        return self._mine(self._load())

    def earlier(self) -> list[Any]:
        """Return the commands that an earlier version of baton stored by the repository's path. Raises Corrupt."""
        commands = self._load().get(str(self.repository), [])
        return commands if isinstance(commands, list) else []

    def change(self, change: Callable[[Kept], Kept]) -> bool:
        """Apply `change` to the stored approvals; return False if it changed nothing.

        Raises:
            Busy: another process is changing the file.
            Corrupt: the file cannot be read.
            WriteFailed: writing to disk failed.
        """
        with self._file.lock():
            data = self._load()
            before = self._mine(data)
            after = change(before)
            if after == before:
                return False
            id_ = self._id(data) or make_identity(self.repository)
            mine = {**after, "path": str(self.repository)}
            self._file.save({**data, "repositories": {**data["repositories"], id_: mine}})
            return True

    def _id(self, data: Mapping[str, Any]) -> str | None:
        """Return the id of this repository's approvals; None if it needs a new id, as a copy of a repository does."""
        id_ = read_identity(self.repository)
        recorded = data["repositories"].get(id_, {}).get("path", str(self.repository))
        return None if id_ is None or is_copy(self.repository, str(recorded)) else id_

    def _mine(self, data: Mapping[str, Any]) -> Kept:
        mine = data["repositories"].get(self._id(data), {})
        return {name: value for name, value in mine.items() if name != "path"}

    @property
    def _file(self) -> PrivateJsonFile:
        return PrivateJsonFile(self.path, "remove it and approve again")

    def _load(self) -> dict[str, Any]:
        data = self._file.load({})
        repositories = data.setdefault("repositories", {})
        if not isinstance(repositories, dict) or not all(
            isinstance(repository, dict) for repository in repositories.values()
        ):
            raise self.corrupt("is not a table of approvals")
        return data

    def corrupt(self, why: str) -> Corrupt:
        """Return the error for a damaged file."""
        return self._file.corrupt(why)


# --- the address of a remote without its login; approvals refer to it

_LOGIN: Final = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<login>[^/]*)@", re.IGNORECASE)


def without_login(url: str) -> str:
    """Return the address without the password, and for http and https also without the user, which ssh needs."""
    return _LOGIN.sub(_strip_login, url)


def _strip_login(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["login"].partition(":")[0]
    return f"{scheme}://" if scheme.lower().startswith("http") or not user else f"{scheme}://{user}@"


Approval = TypeVar("Approval")


class ApprovedCommand(NamedTuple):
    """An approved command.

    Attributes:
        argv: its exact arguments.
        at: the time of the approval, ISO 8601.
        contents: the digests at that time of the files in the work tree that the arguments name, by path.
    """

    argv: tuple[str, ...]
    at: str
    contents: Contents


class ApprovedCheck(NamedTuple):
    """An approved check that somebody else wrote.

    Attributes:
        namespace: the namespace of its record.
        id: the id of its record.
        digest: the digest of its specification.
        at: the time of the approval, ISO 8601.
    """

    namespace: str
    id: str
    digest: str
    at: str


class TrustedRemote(NamedTuple):
    """A trusted remote: its name at the time of the approval, its address without login, and the time (ISO 8601)."""

    name: str
    url: str
    at: str


class Approvals(NamedTuple):
    """The approvals for one repository, whose git common directory is `repository`, in the file `path`.

    Raises:
        Corrupt: the file cannot be read, so nothing counts as approved. Raised by every method.
        Busy: another process is changing the file. Raised by the methods that change it.
        WriteFailed: writing to disk failed. Raised by the methods that change the file.
    """

    path: Path
    repository: Path

    # --- commands

    def holds(self, argv: tuple[str, ...], contents: Contents = MappingProxyType({})) -> bool:
        """Return whether exactly `argv` was approved with exactly these contents of its files."""
        return any(command.argv == argv and command.contents == contents for command in self.commands())

    def changed_since(self, argv: tuple[str, ...], contents: Contents) -> list[str]:
        """Return the files that changed since `argv` was approved; empty if it was not approved."""
        approved = next((command.contents for command in self.commands() if command.argv == argv), contents)
        return sorted(path for path in {*approved, *contents} if approved.get(path) != contents.get(path))

    def commands(self) -> list[ApprovedCommand]:
        return self._read("commands", _command)

    def earlier_commands(self) -> list[tuple[str, ...]]:
        """Return the commands that an earlier version of baton stored, and that are not approved now.

        They were stored by the path of the repository. A comment at `ApprovalFile` explains why they no longer count.
        """
        known = {command.argv for command in self.commands()}
        earlier = self._parse_entries(self._file.earlier(), lambda entry: tuple(entry["argv"]))
        return [argv for argv in earlier if argv not in known]

    def add(self, argv: tuple[str, ...], at: str, contents: Contents = MappingProxyType({})) -> bool:
        """Approve `argv` while its files have these contents; False if it was approved already."""

        def is_same(entry: Any) -> bool:
            return _command(entry).argv == argv and _command(entry).contents == contents

        entry = {"argv": list(argv), "at": at, **({"contents": dict(contents)} if contents else {})}
        return self._add("commands", entry, is_same, lambda entry: entry["argv"] == list(argv))

    def revoke(self, argv: tuple[str, ...]) -> bool:
        """Revoke the approval; False if there was none."""
        return self._remove("commands", lambda entry: entry["argv"] == list(argv))

    # --- checks that somebody else wrote

    def checks(self) -> list[ApprovedCheck]:
        names = ApprovedCheck._fields
        return self._read("checks", lambda entry: ApprovedCheck(*(str(entry[name]) for name in names)))

    def approve_check(self, check: ApprovedCheck) -> bool:
        """Approve a check and revoke the previous approval for its record; False if it was approved already."""

        def is_same(entry: Any) -> bool:
            return bool(entry["digest"] == check.digest) and is_of_record(entry)

        def is_of_record(entry: Any) -> bool:
            return _is_check(entry, check.namespace, check.id)

        return self._add("checks", check._asdict(), is_same, is_of_record)

    def revoke_check(self, namespace: str, id_: str) -> bool:
        """Revoke the approval of a record's check; False if there was none."""
        return self._remove("checks", lambda entry: _is_check(entry, namespace, id_))

    # --- workflows of the project

    def workflows(self) -> list[str]:
        """Return the digests of the approved workflows."""
        return self._read("workflows", lambda entry: str(entry["digest"]))

    def allow_workflow(self, digest: str, at: str) -> bool:
        """Allow a workflow to run; False if it was allowed already."""
        return self._add("workflows", {"digest": digest, "at": at}, lambda entry: entry["digest"] == digest)

    def disallow_workflow(self, digest: str) -> bool:
        """Revoke the approval of a workflow; False if there was none."""
        return self._remove("workflows", lambda entry: entry["digest"] == digest)

    # --- remotes

    def trusts_remote(self, url: str) -> bool:
        """Return whether the user trusts the remote with this address; a login in `url` is ignored."""
        address = without_login(url)
        return any(remote.url == address for remote in self.remotes())

    def remotes(self) -> list[TrustedRemote]:
        return self._read(
            "remotes", lambda entry: TrustedRemote(str(entry["name"]), str(entry["url"]), str(entry["at"]))
        )

    def trust_remote(self, name: str, url: str, at: str) -> bool:
        """Trust the remote at `url`; return False if it was trusted already, even under another name."""
        address = without_login(url)
        entry = {"name": without_login(name), "url": address, "at": at}
        return self._add("remotes", entry, lambda entry: entry["url"] == address)

    def revoke_remote(self, url: str) -> bool:
        """Revoke the trust in a remote; False if it was not trusted."""
        address = without_login(url)
        return self._remove("remotes", lambda entry: entry["url"] == address)

    # --- entries of any kind

    @property
    def _file(self) -> ApprovalFile:
        return ApprovalFile(self.path, self.repository)

    def _read(self, kind: str, make: Callable[[Any], Approval]) -> list[Approval]:
        return self._parse_entries(self._file.read().get(kind, []), make)

    def _parse_entries(self, entries: Any, make: Callable[[Any], Approval]) -> list[Approval]:
        try:
            return [make(entry) for entry in entries]
        except (KeyError, TypeError, AttributeError) as error:
            raise self._file.corrupt(f"is not a table of approvals ({error})") from error

    def _add(
        self,
        kind: str,
        entry: Mapping[str, Any],
        is_same: Callable[[Any], bool],
        is_replaced: Callable[[Any], bool] = lambda _: False,
    ) -> bool:
        """Add an entry and remove those for which `is_replaced` is true; False if an entry `is_same` exists already."""

        def change(kept: Kept) -> Kept:
            present = kept.get(kind, [])
            if any(is_same(old) for old in present):
                return kept
            return {**kept, kind: [*(old for old in present if not is_replaced(old)), entry]}

        return self._change(change)

    def _remove(self, kind: str, is_meant: Callable[[Any], bool]) -> bool:
        def change(kept: Kept) -> Kept:
            present = kept.get(kind, [])
            left = [entry for entry in present if not is_meant(entry)]
            return kept if len(left) == len(present) else {**kept, kind: left}

        return self._change(change)

    def _change(self, change: Callable[[Kept], Kept]) -> bool:
        try:
            return self._file.change(change)
        except (KeyError, TypeError, AttributeError) as error:
            raise self._file.corrupt(f"is not a table of approvals ({error})") from error


def _is_check(entry: Any, namespace: str, id_: str) -> bool:
    return (entry["namespace"], entry["id"]) == (namespace, id_)


def _command(entry: Any) -> ApprovedCommand:
    contents = {str(path): str(digest) for path, digest in entry.get("contents", {}).items()}
    return ApprovedCommand(tuple(entry["argv"]), str(entry["at"]), contents)
