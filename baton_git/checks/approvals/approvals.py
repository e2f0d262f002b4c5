"""The approvals for one repository: commands, checks that somebody else wrote, workflows and remotes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from baton_git.checks.approvals.contents import Contents
from baton_git.checks.approvals.file import ApprovalFile, Kept
from baton_git.checks.approvals.remotes import without_login

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

        They were stored by the path of the repository. The module `file` explains why they no longer count.
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
