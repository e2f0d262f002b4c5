"""The agent sessions that hooks have seen on this machine: one small local file for each.

A lost file only costs a second extraction, or a context that is injected twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

KEPT = 60
"""How many files are kept; the oldest are removed."""
GONE = "gone"
"""Why a session ended whose process is not there any more."""
LEFT_AFTER = 3600.0
"""Seconds by which a file in the making is older than the newest one when its writer was killed."""


class HookSession(NamedTuple):
    """A session as seen by hooks.

    Attributes:
        git_dir: of the work tree that it began in.
        pid: the process of the agent, which stays the same when a context is cleared.
        seen: when a hook last had something to do, ISO 8601, and at which `event`.
        size: bytes of the transcript that the last save has read.
        knows: the commit of the namespace that it has been told of.
        told: whether it was told anything at its start.
        owed: what the next prompt must bring: the sources of a start, with `+` between them.
        mark: what an injected text holds, so that the transcript shows whether it arrived.
        compactions: how many of them were made up for.
        blocks: how often in a row a workflow has kept it from stopping.
        ended: why it ended; empty while it goes on.
        parent: the session that it follows.
        wants: the events that workflows listen to.
        recalls: whether its prompts are looked up.
        recalled: digests of the sentences that were added to its prompts.
        spawned: the record of the session, where baton started it.
        saves_later: whether the facts of a turn may be saved a little after its end: nothing else is due then.
        saved_turn: the last turn whose facts were saved though its hook had left that for later.
    """

    cli: str
    session: str
    git_dir: str = ""
    cwd: str = ""
    transcript: str = ""
    pid: int = 0
    seen: str = ""
    event: str = ""
    size: int = -1
    knows: str = ""
    told: bool = False
    owed: str = ""
    mark: str = ""
    compactions: int = 0
    blocks: int = 0
    ended: str = ""
    parent: str = ""
    wants: tuple[str, ...] = ()
    recalls: bool = False
    recalled: tuple[str, ...] = ()
    spawned: str = ""
    saves_later: bool = False
    saved_turn: str = ""


class HookSessionStore:
    """The files of all sessions, in `baton/agents` of a repository's common directory."""

    def __init__(self, common_dir: str) -> None:
        self.folder = os.path.join(common_dir, "baton", "agents")

    def path(self, cli: str, session: str, suffix: str = ".json") -> str:
        """Return the path of a session's file; an id with special characters is encoded."""
        plain = session if _is_plain(session) else session.encode("utf-8", "replace").hex()[:120]
        return os.path.join(self.folder, f"{cli}-{plain}{suffix}")

    def get(self, cli: str, session: str) -> HookSession | None:
        """Return the stored session; None when there is none, or it cannot be read."""
        return _read(self.path(cli, session))

    def save(self, seen: HookSession) -> bool:
        """Store a session; False when the disk refuses."""
        return replace_file(self.path(seen.cli, seen.session), json.dumps(seen._asdict()))

    def all(self) -> Iterator[HookSession]:
        """Yield every readable session, the last seen first."""
        sessions = (_read(os.path.join(self.folder, name)) for name in self._names())
        yield from sorted((session for session in sessions if session), key=lambda session: session.seen, reverse=True)

    def _names(self, suffix: str = ".json") -> list[str]:
        try:
            return [name for name in os.listdir(self.folder) if name.endswith(suffix)]
        except OSError:
            return []

    def forget_old(self) -> None:
        """Remove all but the newest sessions with their files, and temporary files of killed hooks."""
        newest = max(map(self._modified_at, self._names()), default=0.0)
        for name in self._names(".tmp"):
            if newest - self._modified_at(name) > LEFT_AFTER:
                self._remove(name)
        for old in list(self.all())[KEPT:]:
            for suffix in (".json", ".facts", ".lock", ".turn", ".waiting"):
                self._remove(self.path(old.cli, old.session, suffix))

    def _modified_at(self, name: str) -> float:
        try:
            return os.stat(os.path.join(self.folder, name)).st_mtime
        except OSError:
            return 0.0

    def _remove(self, name: str) -> None:
        try:  # noqa: SIM105  contextlib is not loaded for this
            os.remove(os.path.join(self.folder, name))
        except OSError:
            pass


def replace_file(path: str, text: str) -> bool:
    """Store a private file of a session, whole or not at all; False when the disk refuses."""
    fresh = f"{path}.{os.getpid()}.tmp"
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)  # what is read of a transcript lies there as it was said
        with open(fresh, "w", encoding="utf-8", errors="replace", opener=_open_private) as file:
            file.write(text)
        os.replace(fresh, path)
    except OSError:
        return False
    return True


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_plain(session: str) -> bool:
    return len(session) <= 120 and session.isascii() and session.replace("-", "").replace("_", "").isalnum()


def _read(path: str) -> HookSession | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            data = json.load(file)
    except (OSError, ValueError):
        return None
    return _seen(data) if isinstance(data, dict) else None


def _seen(data: Mapping[str, Any]) -> HookSession | None:
    """A field of another type is as good as none; a session without a name is none."""
    fields: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = data.get(name)
        if isinstance(default, tuple):
            value = tuple(str(item) for item in value) if isinstance(value, list) else None
        if type(value) is type(default):
            fields[name] = value
    return HookSession(**fields) if fields.get("cli") and fields.get("session") else None


_DEFAULTS = HookSession("", "")._asdict()
