"""Write a settings file, and keep a copy of the original, so that uninstalling restores it byte for byte.

Beside the machine's state lies for each file that we changed `<digest of its path>.json`: the digest of what we wrote,
what was there before, and what we had to make. It may be lost: our entries can be taken out without it. Settings hold
keys of their user, so the folder is the user's alone.
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
    without_bom,
)
from baton_git.agents.settings.json_text import parse
from baton_git.core.errors import BatonError, InvalidArgument, InvalidDocument, NotFound
from baton_git.git.files.atomic_files import make_folder, read_bytes, resolve_target, show_path, write_all, writing
from baton_git.git.files.durable_files import remove


class SavedCopy(NamedTuple):
    """What is remembered of a file. `original` is None when there was none; `folders` were made for it."""

    wrote: str
    original: bytes | None
    folders: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    servers: Mapping[str, Any] = {}


class _Added(NamedTuple):
    """Variables and servers that are ours."""

    env: Mapping[str, str]
    servers: Mapping[str, Any]


@dataclass(frozen=True)
class SettingsFile:
    """One settings file of a CLI.

    Attributes:
        path: as the CLI names it; it may be a link, which stays one.
        memory: the folder with the copies.
        comments: whether the file may have comments.
        within: the work tree that must hold what links of the path lead to; None: it may be anywhere.
    """

    path: Path
    memory: Path
    comments: bool = False
    within: Path | None = None

    def entries(self) -> list[HookEntry]:
        """Our handlers in it; none when there is no file.

        Raises:
            InvalidDocument, InvalidArgument, StoreError: it cannot be read, or is not what it should be.
        """
        data = self.read()
        return [] if data is None or not data.strip() else self._of(data, self._entries)

    def entries_or_none(self) -> list[HookEntry]:
        """The same, where a file that cannot be read has none."""
        try:
            return self.entries()
        except BatonError:
            return []

    def was_installed(self) -> bool:
        """Whether we put entries into it and have not taken them out."""
        return self._copy() is not None

    def data(self) -> Any:
        """What the file says; an empty table when there is none. Raises as `entries` does."""
        content = self.read()
        if content is None or not content.strip():
            return {}
        return self._of(content, lambda text: parse(text, comments=self.comments).data)

    def read(self) -> bytes | None:
        """The content; None when there is no file. Raises as `entries` does."""
        self._check_links()
        if self.path.is_fifo() or self.path.is_char_device():  # a read would wait, or never end
            raise InvalidArgument(f"{show_path(self.path)} is no file", hint="move it away")
        try:
            return read_bytes(self.path)
        except NotFound:
            return None

    def install(self, wanted: WantedHooks) -> bool:
        """Puts our entries in, or brings them up to date; False when they were as wanted.

        Raises:
            InvalidDocument, InvalidArgument, StoreError: as for `entries`; nothing was written.
            WriteFailed: the disk said no; nothing was written.
        """
        there = self.read()
        copy = self._copy()
        outdated = {name: value for name, value in (copy.servers if copy else {}).items() if name in wanted.servers}
        fresh = self._edit_text(there or b"", lambda text: install_entries(self._drop_servers(text, outdated), wanted))
        if fresh == there:
            return False
        added = _Added(self._new_members(there, "env", wanted.env), self._new_members(there, SERVERS, wanted.servers))
        known = _Added(copy.env, copy.servers) if copy else _Added({}, {})
        ours = _Added({**known.env, **added.env}, {**known.servers, **added.servers})
        if copy is None or there is None or copy.wrote != _digest(there):
            folders = tuple(str(folder) for folder in list_missing_folders(resolve_target(self.path).parent))
            copy = SavedCopy("", None if there is None else self._without_ours(there, ours), folders)
        servers = {name: wanted.servers.get(name, value) for name, value in ours.servers.items()}
        self._write(fresh, copy._replace(wrote=_digest(fresh), env=ours.env, servers=servers))
        return True

    def find_server(self, name: str) -> Any:
        """Return the MCP server of this name that somebody else put there; None if there is none.

        Raises as `entries` does.
        """
        data, copy = self.data(), self._copy()
        there = data.get(SERVERS, {}).get(name) if isinstance(data, dict) else None
        return None if copy is not None and copy.servers.get(name) == there else there

    def uninstall(self) -> bool:
        """Takes our entries out: to the byte as it was, if nobody has changed it since; False when none were there.

        Raises:
            as for `install`.
        """
        there, copy = self.read(), self._copy()
        if there is None:
            remove(self._memo)
            return False
        is_untouched = copy is not None and copy.wrote == _digest(there)
        fresh = copy.original if copy and is_untouched else self._without_ours(there, copy or _Added({}, {}))
        if copy is not None and copy.original is None and fresh is not None and self._is_bare(fresh):
            fresh = None
        if fresh is None:
            self._delete(copy.folders if copy else ())
        elif fresh != there:
            write_all({self.path: fresh})
        remove(self._memo)
        return fresh != there

    def _check_links(self) -> None:
        check_links(self.path, self.within)

    # --- texts

    def _without_ours(self, there: bytes, ours: _Added | SavedCopy) -> bytes:
        if not there.strip():
            return there
        return self._edit_text(
            there, lambda text: remove_entries(text, comments=self.comments, env=ours.env, servers=ours.servers)
        )

    def _drop_servers(self, text: str, servers: Mapping[str, Any]) -> str:
        """Return the text without these servers of ours, so that they can be put in anew."""
        return remove_servers(text, servers, comments=self.comments) if servers and text.strip() else text

    def _new_members(self, there: bytes | None, outer: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Those that are not in the file yet, and so become ours."""
        has = self._of(there, lambda text: parse(text, comments=self.comments).data) if there and there.strip() else {}
        known = has.get(outer, {}) if isinstance(has, dict) else {}
        return {name: value for name, value in wanted.items() if name not in known}

    def _is_bare(self, data: bytes) -> bool:
        return data.split() in ([b"{}"], [b"{", b"}"])

    def _entries(self, text: str) -> list[HookEntry]:
        return find_entries(text, comments=self.comments)

    def _edit_text(self, data: bytes, change: Callable[[str], str]) -> bytes:
        bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        text: str = self._of(data, change)
        return bom + text.encode()

    def _of(self, data: bytes, look: Callable[[str], Any]) -> Any:
        """What `look` makes of the text; the errors name the file."""
        try:
            return look(without_bom(data)[1])
        except InvalidDocument as error:
            hint = "mend it by hand; nothing was written"
            raise InvalidDocument(error.faults, where=show_path(self.path), hint=hint) from None

    # --- files

    @property
    def _memo(self) -> Path:
        return self.memory / f"{sha256(str(self.path).encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"

    def _copy(self) -> SavedCopy | None:
        """What is remembered; None when nothing is, or nothing that can be read."""
        try:
            data = json.loads(read_bytes(self._memo))
            original = None if data["original"] is None else base64.b64decode(data["original"], validate=True)
            env, servers = dict(data["env"]), dict(data.get("servers", {}))
            return SavedCopy(str(data["wrote"]), original, tuple(map(str, data["folders"])), env, servers)
        except (BatonError, ValueError, KeyError, TypeError):
            return None

    def _write(self, fresh: bytes, copy: SavedCopy) -> None:
        """The file and its copy, both or neither."""
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
        write_all({self._memo: json.dumps(record, indent=2).encode() + b"\n", self.path: fresh})

    def _delete(self, folders: tuple[str, ...]) -> None:
        with writing(self.path):
            resolve_target(self.path).unlink(missing_ok=True)
        for folder in folders:
            with suppress(OSError):  # somebody has put something into it
                Path(folder).rmdir()


def check_links(path: Path, within: Path | None) -> None:
    """Raises InvalidArgument where links, which came with the project, lead out of the work tree or into `.git`."""
    if within is None:
        return
    top, place = within.resolve(), resolve_target(path)
    if not place.is_relative_to(top) or ".git" in place.relative_to(top).parts:
        raise InvalidArgument(
            f"{show_path(path)} leads out of the repository, to {show_path(place)}",
            hint="a symbolic link on its way does; remove that, or leave --project out",
        )


def list_missing_folders(folder: Path) -> list[Path]:
    """The folders that would have to be made, the deepest first."""
    folders = []
    while not folder.exists():
        folders.append(folder)
        folder = folder.parent
    return folders


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
