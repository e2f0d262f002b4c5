"""The sessions for which hooks ran on this machine: small local files for each session.

If the first of them is lost, the next hook extracts the session's facts again, or injects its context twice; nothing
else is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from baton_git.agents.hook_events.payloads import PROMPT, STOP, Payload

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
            for suffix in (".json", ".facts", ".lock", ".turn", ".waiting", ".heard", ".first", ".told"):
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


# --- which sessions are still running


def list_running(memory: HookSessionStore, without_pid: int = 0) -> set[str]:
    """Return the ids of the sessions that have not ended and whose process is running.

    Args:
        without_pid: the id of a process whose sessions are left out; 0: none is left out.
    """
    others = (session for session in memory.all() if not session.ended and session.pid != without_pid)
    return {session.session for session in others if is_running(session)}


def list_gone(memory: HookSessionStore) -> set[str]:
    """Return the ids of the sessions whose process disappeared without a hook event for their end."""
    return {
        session.session
        for session in memory.all()
        if session.ended == GONE or (not session.ended and not is_running(session))
    }


def is_running(session: HookSession) -> bool:
    """Whether the process of a session is still running.

    Process ids are reused, so a process that started after the session's last event is a different one.
    """
    from baton_git.core.times import parse_time_or_none  # a hook without work imports only the standard library

    last = parse_time_or_none(session.last_seen)
    if session.pid <= 1 or last is None or not _is_number_taken(session.pid):
        return False
    import psutil  # rarely needed: most sessions without an end have no process any more

    try:
        process = psutil.Process(session.pid)
        return bool(process.create_time() <= last.timestamp() + 1 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # it exists, but we may not inspect it
        return True


def _is_number_taken(pid: int) -> bool:
    """Whether a process with this id may exist."""
    if os.name != "posix":  # elsewhere os.kill would end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


# --- the last ended turn, whose facts are saved shortly after the hook
# Its file contains the data that only the hook at the turn's end receives. It is not deleted after the save; instead,
# `HookSession.saved_turn` has the id of the saved turn. So nothing is lost if the saving process is killed.

TURN_SUFFIX = ".turn"


class EndedTurn(NamedTuple):
    """A turn that ended.

    Attributes:
        id: a unique id.
        event: the agent CLI's name of the event.
        response: the model's answer, which may not be in the transcript yet.
        size: size of the transcript in bytes when the hook ran; -1 if there was none.
    """

    id: str
    event: str = ""
    transcript: str = ""
    cwd: str = ""
    response: str = ""
    size: int = -1

    def payload(self, agent: str, session: str) -> Payload:
        """Return the event that ended the turn."""
        return Payload(
            agent, self.event, STOP, session, transcript=self.transcript, cwd=self.cwd, response=self.response,
            size=self.size,
        )  # fmt: skip


def save_ended_turn(memory: HookSessionStore, payload: Payload) -> bool:
    """Store the turn that an event ended, replacing the previous one; return False if the file cannot be written."""
    try:
        size = os.stat(payload.transcript).st_size
    except (OSError, ValueError):
        size = -1
    turn = EndedTurn(
        os.urandom(8).hex(), payload.event, payload.transcript, payload.cwd, payload.response, size
    )  # fmt: skip
    return replace_file(memory.path(payload.agent, payload.session, TURN_SUFFIX), json.dumps(turn._asdict()))


def find_unsaved_turn(memory: HookSessionStore, session: HookSession) -> EndedTurn | None:
    """Return a session's last turn if its facts have not been saved; None if they have, or no turn can be read."""
    try:
        with open(memory.path(session.cli, session.session, TURN_SUFFIX), encoding="utf-8") as file:
            turn = _parse_turn(json.load(file))
    except (OSError, ValueError):
        return None
    return turn if turn is not None and turn.id != session.saved_turn else None


def _parse_turn(data: Any) -> EndedTurn | None:
    """Return the turn; None for data of another shape."""
    if not isinstance(data, dict) or any(type(data.get(name)) is not type_ for name, type_ in _TURN_TYPES.items()):
        return None
    return EndedTurn(**{name: data[name] for name in _TURN_TYPES})


_TURN_TYPES = {name: type(value) for name, value in EndedTurn("")._asdict().items()}


# --- prompts and answers that hook events contain, for sessions whose transcript does not have them
# `codex exec --ephemeral` and `claude --no-session-persistence` write no transcript. Gemini CLI (0.61) begins it before
# the first prompt and writes that after the hook, so a session that is killed then has a transcript without a prompt:
# the first prompt has a file of its own. The files are read only if the transcript has no turn when facts are saved.

HEARD_SUFFIX, FIRST_SUFFIX = ".heard", ".first"
MAX_HEARD = 4 << 20
"""Maximum size of the file; later events are not added."""
MAX_YOUNG = 1 << 18
"""Maximum size in bytes of a transcript that may have no prompt; the beginning of a Codex transcript has 64 KiB."""


def note_event(memory: HookSessionStore, payload: Payload, time: str) -> None:
    """Add the prompt or the answer of an event to the session's file, if its transcript may not have it.

    Args:
        time: when the event came: ISO 8601, UTC.
    """
    text = {PROMPT: payload.prompt, STOP: payload.response}.get(payload.kind, "")
    if not text.strip() or payload.aside:
        return
    has_transcript = os.path.isfile(payload.transcript)
    path = memory.path(payload.agent, payload.session, FIRST_SUFFIX if has_transcript else HEARD_SUFFIX)
    if has_transcript and (payload.kind != PROMPT or os.path.exists(path)):
        return
    line = json.dumps({"kind": payload.kind, "time": time, "text": text}) + "\n"
    try:
        if has_transcript and os.path.getsize(payload.transcript) > MAX_YOUNG:
            return
        os.makedirs(memory.folder, mode=0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8", opener=open_private) as file:
            if file.tell() < MAX_HEARD:
                file.write(line)
    except OSError:  # a read-only or full disk: the facts are those of the transcript, if there is one
        return


def read_heard(memory: HookSessionStore, agent: str, session: str) -> list[tuple[str, str, str]]:
    """Return kind (`PROMPT` or `STOP`), time and text of each noted event; empty without a file."""
    for suffix in (HEARD_SUFFIX, FIRST_SUFFIX):
        try:
            with open(memory.path(agent, session, suffix), encoding="utf-8", errors="replace") as file:
                return [data for line in file if (data := _parse_heard(line)) is not None]
        except OSError:
            continue
    return []


def _parse_heard(line: str) -> tuple[str, str, str] | None:
    """Return the event of a line; None if it is damaged, as the last one of a killed hook."""
    try:
        data = json.loads(line)
        values = (data["kind"], data["time"], data["text"])
    except (ValueError, KeyError, TypeError):
        return None
    return values if all(isinstance(value, str) for value in values) else None


# --- what a session was told by hooks, so that nothing is told twice
# Each line of the file is a JSON array, a `ToldText`: the context of a start, or a prompt with the quotes that were
# added to it. If the file is lost, something may be told twice.

TOLD_SUFFIX = ".told"
MAX_TOLD = 256 << 10
"""Maximum size of the file; after that, the texts of prompts are not added any more."""


class ToldText(NamedTuple):
    """A text that a session was told.

    Attributes:
        at: when, in seconds since the epoch.
        event: the fingerprint of the prompt, as `planner.identify_event` returns it; empty for the context of a start.
        text: may be empty: a prompt to which nothing was added.
    """

    at: float
    event: str
    text: str


def read_told(memory: HookSessionStore, agent: str, session: str) -> list[ToldText]:
    """Return what a session was told, oldest first; empty without a file."""
    try:
        with open(memory.path(agent, session, TOLD_SUFFIX), encoding="utf-8", errors="replace") as file:
            return [text for line in file if (text := _parse_told(line)) is not None]
    except OSError:
        return []


def note_told(memory: HookSessionStore, agent: str, session: str, told: ToldText) -> None:
    """Add what a session was told; without a disk that can be written, it may be told again."""
    try:
        os.makedirs(memory.folder, mode=0o700, exist_ok=True)
        with open(memory.path(agent, session, TOLD_SUFFIX), "a", encoding="utf-8", opener=open_private) as file:
            kept = told if file.tell() < MAX_TOLD else told._replace(text="")
            file.write(json.dumps(kept) + "\n")
    except OSError:
        return


def begin_again(memory: HookSessionStore, agent: str, session: str) -> None:
    """Forget the texts, because the session's context is lost, but not which prompts there were."""
    told = read_told(memory, agent, session)
    prompts = [one._replace(text="") for one in told if one.event]
    if told:
        replace_file(memory.path(agent, session, TOLD_SUFFIX), "".join(f"{json.dumps(one)}\n" for one in prompts[-1:]))


def _parse_told(line: str) -> ToldText | None:
    """Return the text of a line; None if it is damaged, as the last one of a killed hook."""
    try:
        at, event, text = json.loads(line)
        return ToldText(float(at), str(event), str(text))
    except (ValueError, TypeError):
        return None
