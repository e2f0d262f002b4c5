"""Write a settings file, and keep a copy of the original, so that uninstalling restores it byte for byte.

For each changed file, `<digest of its path>.json` in the machine state contains the digest of what we wrote, the
original content, and the folders that we created. If it is lost, our entries can still be removed, but perhaps not byte
for byte. Settings may contain the user's keys, so only the user can read the folder with these copies.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.settings.entries import (
    SERVERS,
    HookEntry,
    WantedHooks,
    find_entries,
    install_entries,
    remove_entries,
    remove_servers,
    split_bom,
)
from baton_git.agents.settings.json_text import parse
from baton_git.core.errors import BatonError, InvalidArgument, InvalidDocument, NotFound
from baton_git.git.files.atomic_files import make_folder, read_bytes, resolve_target, show_path, write_all, writing
from baton_git.git.files.durable_files import remove


class SavedCopy(NamedTuple):
    """The stored data about a changed file.

    Attributes:
        wrote: digest of the content that we wrote.
        original: the content before we changed the file; None when there was no file.
        folders: the folders that were created for the file, the deepest first.
        env, servers: the variables and MCP servers that we added.
    """

    wrote: str
    original: bytes | None
    folders: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    servers: Mapping[str, Any] = {}


class _Added(NamedTuple):
    """The variables and servers that we added."""

    env: Mapping[str, str]
    servers: Mapping[str, Any]


@dataclass(frozen=True)
class SettingsFile:
    """One settings file of a CLI.

    Attributes:
        path: the CLI's path of the file; a symbolic link is followed and stays a link.
        memory: the folder with the copies.
        comments: whether the file may contain comments.
        within: the work tree that symbolic links in the path must not leave; None: no limit.
    """

    path: Path
    memory: Path
    comments: bool = False
    within: Path | None = None

    def entries(self) -> list[HookEntry]:
        """Return our handlers in the file; none if there is no file.

        Raises:
            InvalidDocument: the file is not JSON, or its hooks do not have the expected types.
            InvalidArgument: the path is not a regular file, or leads out of the work tree.
            StoreError: the file cannot be read.
        """
        data = self.read()
        return [] if data is None or not data.strip() else self._apply(data, self._find_entries)

    def entries_or_none(self) -> list[HookEntry]:
        """Return our handlers as `entries` does, or none if the file cannot be read."""
        try:
            return self.entries()
        except BatonError:
            return []

    def was_installed(self) -> bool:
        """Whether we installed entries and have not uninstalled them."""
        return self._load_copy() is not None

    def data(self) -> Any:
        """Return the parsed content; an empty table if there is no file. Raises as `entries` does."""
        content = self.read()
        if content is None or not content.strip():
            return {}
        return self._apply(content, lambda text: parse(text, comments=self.comments).data)

    def read(self) -> bytes | None:
        """Return the content; None if there is no file. Raises InvalidArgument, StoreError as `entries` does."""
        self._check_links()
        if self.path.is_fifo() or self.path.is_char_device():  # a read would wait, or never end
            raise InvalidArgument(f"{show_path(self.path)} is not a regular file", hint="move it away")
        try:
            return read_bytes(self.path)
        except NotFound:
            return None

    def install(self, wanted: WantedHooks) -> bool:
        """Install or update our entries; return whether the file changed.

        Raises:
            InvalidDocument, InvalidArgument, StoreError: as for `entries`; nothing was written.
            InvalidArgument: a variable or server is already set to another value; nothing was written.
            WriteFailed: the file cannot be written; nothing was written.
        """
        current = self.read()
        copy = self._load_copy()
        outdated = {name: value for name, value in (copy.servers if copy else {}).items() if name in wanted.servers}
        fresh = self._edit_text(
            current or b"", lambda text: install_entries(self._drop_servers(text, outdated), wanted)
        )
        if fresh == current:
            return False
        added = _Added(
            self._find_new_members(current, "env", wanted.env), self._find_new_members(current, SERVERS, wanted.servers)
        )
        known = _Added(copy.env, copy.servers) if copy else _Added({}, {})
        ours = _Added({**known.env, **added.env}, {**known.servers, **added.servers})
        if copy is None or current is None or copy.wrote != _compute_digest(current):
            folders = tuple(str(folder) for folder in list_missing_folders(resolve_target(self.path).parent))
            copy = SavedCopy("", None if current is None else self._remove_ours(current, ours), folders)
        servers = {name: wanted.servers.get(name, value) for name, value in ours.servers.items()}
        self._write(fresh, copy._replace(wrote=_compute_digest(fresh), env=ours.env, servers=servers))
        return True

    def find_server(self, name: str) -> Any:
        """Return the settings of an MCP server; None if it is missing, or as we added it. Raises as `entries` does."""
        data, copy = self.data(), self._load_copy()
        current = data.get(SERVERS, {}).get(name) if isinstance(data, dict) else None
        return None if copy is not None and copy.servers.get(name) == current else current

    def uninstall(self) -> bool:
        """Remove our entries; return whether the file changed. Raises as `install` does.

        A file that nobody changed since `install` gets back its original content.
        """
        current, copy = self.read(), self._load_copy()
        if current is None:
            remove(self._copy_path)
            return False
        is_untouched = copy is not None and copy.wrote == _compute_digest(current)
        fresh = copy.original if copy and is_untouched else self._remove_ours(current, copy or _Added({}, {}))
        if copy is not None and copy.original is None and fresh is not None and self._is_bare(fresh):
            fresh = None
        if fresh is None:
            self._delete(copy.folders if copy else ())
        elif fresh != current:
            write_all({self.path: fresh})
        remove(self._copy_path)
        return fresh != current

    def _check_links(self) -> None:
        check_links(self.path, self.within)

    # --- texts

    def _remove_ours(self, current: bytes, ours: _Added | SavedCopy) -> bytes:
        if not current.strip():
            return current
        return self._edit_text(
            current, lambda text: remove_entries(text, comments=self.comments, env=ours.env, servers=ours.servers)
        )

    def _drop_servers(self, text: str, servers: Mapping[str, Any]) -> str:
        """Return the text without these servers of ours, so that they can be added again."""
        return remove_servers(text, servers, comments=self.comments) if servers and text.strip() else text

    def _find_new_members(self, current: bytes | None, outer: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the wanted members of the object `outer` that the file does not contain yet."""
        data = (
            self._apply(current, lambda text: parse(text, comments=self.comments).data)
            if current and current.strip()
            else {}
        )
        known = data.get(outer, {}) if isinstance(data, dict) else {}
        return {name: value for name, value in wanted.items() if name not in known}

    def _is_bare(self, data: bytes) -> bool:
        return data.split() in ([b"{}"], [b"{", b"}"])

    def _find_entries(self, text: str) -> list[HookEntry]:
        return find_entries(text, comments=self.comments)

    def _edit_text(self, data: bytes, change: Callable[[str], str]) -> bytes:
        bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        text: str = self._apply(data, change)
        return bom + text.encode()

    def _apply(self, data: bytes, function: Callable[[str], Any]) -> Any:
        """Return the result of `function` for the text of the file; in its InvalidDocument errors, add the path."""
        try:
            return function(split_bom(data)[1])
        except InvalidDocument as error:
            hint = "correct it by hand; nothing was written"
            raise InvalidDocument(error.faults, where=show_path(self.path), hint=hint) from None

    # --- files

    @property
    def _copy_path(self) -> Path:
        return self.memory / f"{sha256(str(self.path).encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"

    def _load_copy(self) -> SavedCopy | None:
        """Return the stored data about the file; None if it is missing or damaged."""
        try:
            data = json.loads(read_bytes(self._copy_path))
            original = None if data["original"] is None else base64.b64decode(data["original"], validate=True)
            env, servers = dict(data["env"]), dict(data.get("servers", {}))
            return SavedCopy(str(data["wrote"]), original, tuple(map(str, data["folders"])), env, servers)
        except (BatonError, ValueError, KeyError, TypeError):
            return None

    def _write(self, fresh: bytes, copy: SavedCopy) -> None:
        """Write the file and the stored data about it, both or neither."""
        original = None if copy.original is None else base64.b64encode(copy.original).decode()
        record = {
            **copy._asdict(),
            "original": original,
            "env": dict(copy.env),
            "servers": dict(copy.servers),
            "path": show_path(self.path),
        }
        make_folder(self.memory)
        with writing(self.memory):
            self.memory.chmod(0o700)
        write_all({self._copy_path: json.dumps(record, indent=2).encode() + b"\n", self.path: fresh})

    def _delete(self, folders: tuple[str, ...]) -> None:
        with writing(self.path):
            resolve_target(self.path).unlink(missing_ok=True)
        for folder in folders:
            with suppress(OSError):  # the folder is not empty
                Path(folder).rmdir()


def check_links(path: Path, within: Path | None) -> None:
    """Raise InvalidArgument if symbolic links in `path` lead out of the work tree `within` or into its `.git`.

    The links come with the project, so they are not trusted.
    """
    if within is None:
        return
    top, target = within.resolve(), resolve_target(path)
    if not target.is_relative_to(top) or ".git" in target.relative_to(top).parts:
        raise InvalidArgument(
            f"{show_path(path)} leads out of the repository, to {show_path(target)}",
            hint="remove the symbolic link in the path, or run without --project",
        )


def list_missing_folders(folder: Path) -> list[Path]:
    """Return the folders that must be created for `folder` to exist, the deepest first."""
    folders = []
    while not folder.exists():
        folders.append(folder)
        folder = folder.parent
    return folders


def _compute_digest(data: bytes) -> str:
    return sha256(data).hexdigest()
