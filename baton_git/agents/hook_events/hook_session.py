"""The agent sessions seen by hooks on this machine: one small local file per session.

If a file is lost, the only cost is a repeated extraction or a context that is injected twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

KEPT = 60
"""How many files are kept; the oldest are removed."""
GONE = "gone"
"""The end reason of a session whose process no longer exists."""
LEFT_AFTER = 3600.0
"""A temporary file that is this many seconds older than the newest file was left by a killed writer."""


class HookSession(NamedTuple):
    """A session as seen by hooks.

    Attributes:
        git_dir: the git directory of the work tree in which it started.
        pid: the agent's process id, which does not change when the context is cleared.
        seen: the time (ISO 8601) at which a hook last had something to do; `event` is the event.
        size: number of bytes of the transcript that the last save read.
        knows: the commit of the namespace that the session was last told about.
        told: whether it received any context at its start.
        owed: the start sources (joined by `+`) whose context must be injected with the next prompt.
        mark: a text within the injected context, by which the transcript shows whether it arrived.
        compactions: number of compactions after which context was injected again.
        blocks: how many times in a row a workflow kept it from stopping.
        ended: the reason why it ended; empty while it is running.
        parent: the session that it continues.
        wants: the events that workflows handle.
        recalls: whether `recall` answers are added to its prompts.
        recalled: digests of the sentences already added to its prompts.
        spawned: the spawn record of the session, if baton started it.
        saves_later: whether the facts of a turn may be saved shortly after its end, because nothing else is due then.
        saved_turn: the id of the last turn whose facts were saved later than its hook.
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
        """Store a session; False when the file cannot be written."""
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
        try:  # noqa: SIM105  importing contextlib would cost more
            os.remove(os.path.join(self.folder, name))
        except OSError:
            pass


def replace_file(path: str, text: str) -> bool:
    """Write a private file atomically; False when it cannot be written."""
    fresh = f"{path}.{os.getpid()}.tmp"
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)  # it contains unredacted parts of transcripts
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
    """Build a session from JSON. A field of another type counts as missing; a session without an id gives None."""
    fields: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = data.get(name)
        if isinstance(default, tuple):
            value = tuple(str(item) for item in value) if isinstance(value, list) else None
        if type(value) is type(default):
            fields[name] = value
    return HookSession(**fields) if fields.get("cli") and fields.get("session") else None


_DEFAULTS = HookSession("", "")._asdict()
