"""The sessions for which hooks ran on this machine: one small local file per session.

If a file is lost, the next hook extracts the session's facts again, or injects its context twice; nothing else is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

KEPT = 60
"""Maximum number of sessions whose files are kept; those not seen for the longest time are removed."""
GONE = "gone"
"""The end reason of a session whose process no longer exists."""
LEFT_AFTER = 3600.0
"""A temporary file that is this many seconds older than the newest file was left by a killed writer."""


class HookSession(NamedTuple):
    """A session as hooks remember it.

    Attributes:
        git_dir: the git directory of the work tree in which it started.
        work_tree: the top of the work tree in which its hooks last ran; it may have been removed since.
        work_trees: the tops of all work trees in which its hooks ran; a session may be resumed in another one.
        namespace: the namespace in which its facts are saved; empty if an older version stored the session.
        pid: the agent's process id, which does not change when the context is cleared.
        last_seen: the time (ISO 8601) at which a hook last had something to do.
        event: the fingerprint of that hook's event, as `planner.identify_event` returns it.
        size: number of bytes of the transcript that the last save read; -1 before the first save.
        known_commit: the commit of the namespace whose state the session last received.
        has_context: whether the session received the context of its start.
        owed_sources: the start sources (joined by `+`) whose context must be injected with the next prompt.
        mark: a text within the injected context, by which the transcript shows whether it arrived.
        compactions: number of compactions after which context was injected again.
        blocks: how many times in a row a workflow kept it from stopping.
        ended: the reason why it ended; empty while it is running.
        parent: the session that it continues.
        wanted_events: the events that workflows handle.
        recalls: whether `recall` answers are added to its prompts.
        spawn_record: the id of the session's spawn record, if baton started the session.
        saves_later: whether the facts of a turn may be saved shortly after its end, because nothing else is due then.
        doubt: why its transcript probably belongs to another project, so that its facts are not saved; see
            `mining.weighing`.
        is_weighed: whether that was decided.
        saved_turn: the id of the last turn whose facts were saved after its hook had ended.
        unreadable: the line about an unreadable state that it received last; empty once the state could be read.
    """

    cli: str
    session: str
    git_dir: str = ""
    cwd: str = ""
    transcript: str = ""
    pid: int = 0
    last_seen: str = ""
    event: str = ""
    size: int = -1
    known_commit: str = ""
    has_context: bool = False
    owed_sources: str = ""
    mark: str = ""
    compactions: int = 0
    blocks: int = 0
    ended: str = ""
    parent: str = ""
    wanted_events: tuple[str, ...] = ()
    recalls: bool = False
    spawn_record: str = ""
    saves_later: bool = False
    saved_turn: str = ""
    doubt: str = ""
    is_weighed: bool = False
    unreadable: str = ""
    work_tree: str = ""
    work_trees: tuple[str, ...] = ()
    namespace: str = ""


_STORED_NAMES = {
    "last_seen": "seen", "known_commit": "knows", "has_context": "told", "owed_sources": "owed",
    "wanted_events": "wants", "spawn_record": "spawned",
}  # fmt: skip
"""The names in the files of the fields that were renamed later."""


class HookSessionStore:
    """The files of all sessions, in `baton/agents` of a repository's common directory."""

    def __init__(self, common_dir: str) -> None:
        self.folder = os.path.join(common_dir, "baton", "agents")

    def path(self, cli: str, session: str, suffix: str = ".json") -> str:
        """Return the path of a session's file; an id that is long or has special characters is encoded."""
        plain = session if _is_plain(session) else session.encode("utf-8", "replace").hex()[:120]
        return os.path.join(self.folder, f"{cli}-{plain}{suffix}")

    def get(self, cli: str, session: str) -> HookSession | None:
        """Return the stored session; None when there is none, or it cannot be read."""
        return _read(self.path(cli, session))

    def save(self, session: HookSession) -> bool:
        """Store a session; return False when the file cannot be written."""
        data = {_STORED_NAMES.get(name, name): value for name, value in session._asdict().items()}
        return replace_file(self.path(session.cli, session.session), json.dumps(data))

    def all(self) -> Iterator[HookSession]:
        """Yield every readable session, the last seen first."""
        sessions = (_read(os.path.join(self.folder, name)) for name in self._list_names())
        yield from sorted(
            (session for session in sessions if session), key=lambda session: session.last_seen, reverse=True
        )

    def _list_names(self, suffix: str = ".json") -> list[str]:
        try:
            return [name for name in os.listdir(self.folder) if name.endswith(suffix)]
        except OSError:
            return []

    def forget_old(self) -> None:
        """Remove the files of all but the `KEPT` last seen sessions, and the temporary files of killed hooks."""
        newest = max(map(self._get_modified_time, self._list_names()), default=0.0)
        for name in self._list_names(".tmp"):
            if newest - self._get_modified_time(name) > LEFT_AFTER:
                self._remove(name)
        for old in list(self.all())[KEPT:]:
            for suffix in (".json", ".facts", ".lock", ".turn", ".waiting", ".heard", ".told"):
                self._remove(self.path(old.cli, old.session, suffix))

    def _get_modified_time(self, name: str) -> float:
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
    """Write a file that only the user can read, atomically; return False when it cannot be written."""
    fresh = f"{path}.{os.getpid()}.tmp"
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)  # its files contain unredacted parts of transcripts
        with open(fresh, "w", encoding="utf-8", errors="replace", opener=open_private) as file:
            file.write(text)
        os.replace(fresh, path)
    except OSError:
        return False
    return True


def open_private(path: str, flags: int) -> int:
    """Open a file that only the user can read; an opener for `open`."""
    return os.open(path, flags, 0o600)


def _is_plain(session: str) -> bool:
    return len(session) <= 120 and session.isascii() and session.replace("-", "").replace("_", "").isalnum()


def _read(path: str) -> HookSession | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            data = json.load(file)
    except (OSError, ValueError):
        return None
    return _parse_session(data) if isinstance(data, dict) else None


def _parse_session(data: Mapping[str, Any]) -> HookSession | None:
    """Build a session from JSON; None without a CLI or an id. A field of another type counts as missing."""
    fields: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = data.get(_STORED_NAMES.get(name, name))
        if isinstance(default, tuple):
            value = tuple(str(item) for item in value) if isinstance(value, list) else None
        if type(value) is type(default):
            fields[name] = value
    return HookSession(**fields) if fields.get("cli") and fields.get("session") else None


_DEFAULTS = HookSession("", "")._asdict()
