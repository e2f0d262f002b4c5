"""The interface of an adapter, its view of the machine, and what adapters share to build their snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from baton_git.agents.json_lines import open_transcript
from baton_git.agents.transcripts import ignore_warning
from baton_git.core.errors import LimitExceeded
from baton_git.core.state import State
from baton_git.core.times import from_seconds, iso_ms, parse_time_or_none
from baton_git.git.files.atomic_files import read_at_most
from baton_git.systems.ecc.record import SCHEMA_VERSION


class Target(NamedTuple):
    """A target to open: a value such as `claude:latest`, `plan.json` or `demo`. `type` is empty if no type is given."""

    value: str
    type: str = ""


class Listed(NamedTuple):
    """A session that an adapter can open.

    Attributes:
        target: the text that opens it in any command.
        updated_at: ISO 8601 in UTC; empty if unknown.
    """

    target: str
    id: str
    title: str
    updated_at: str = ""


@dataclass(frozen=True)
class Surroundings:
    """The parts of the machine that an adapter may see.

    Attributes:
        cwd: the folder that relative targets refer to.
        state: the state of the current namespace, for baton's own sessions.
        warn: called with one line for each thing that was left out.
    """

    home: Path
    cwd: Path
    now: datetime
    environment: Mapping[str, str] = field(default_factory=dict)
    state: State = field(default_factory=State)
    warn: Callable[[str], None] = ignore_warning


class Adapter(Protocol):
    """A source of sessions: any module with these names, also one from the entry point group `baton_git.adapters`."""

    ID: str
    DESCRIPTION: str
    TARGET_TYPES: tuple[str, ...]

    def can_open(self, target: Target, around: Surroundings) -> bool:
        """Return whether the target belongs to this source. This must be fast, and must not raise an error."""

    def open_session(self, target: Target, around: Surroundings) -> dict[str, Any]:
        """Return the snapshot as plain data (`ecc.session.v1`).

        Raises:
            NotFound: no session matches the target.
            InvalidDocument: the session cannot be parsed.
        """

    def sessions(self, around: Surroundings) -> Iterable[Listed]:
        """Yield the sessions that can be opened, newest first."""


# --- building snapshots: those of all adapters have the same form and correct counts


Table = dict[str, Any]

STALE_AFTER = timedelta(minutes=5)
"""ECC's limit: a session without an update for longer than this is stale."""

COMPLETED = ("completed", "succeeded", "success", "done")
FAILED = ("failed", "error")
AT_WORK = ("running", "active")

MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of a file that an adapter reads, in bytes."""


def snapshot(adapter: str, session: Table, workers: Sequence[Table]) -> Table:
    """Return a canonical snapshot with the counts of its workers."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "adapterId": adapter,
        "session": session,
        "workers": list(workers),
        "aggregates": {
            "workerCount": len(workers),
            "states": dict(Counter(worker["state"] for worker in workers)),
            "healths": dict(Counter(worker["health"] for worker in workers)),
        },
    }


def session(id_: str, kind: str, state: str, root: str | None, source: tuple[str, str]) -> Table:
    """Return the `session` of a snapshot; `source` is the type and the value of the target."""
    type_, value = source
    target = {"type": type_, "value": value}
    return {"id": id_, "kind": kind, "state": state, "repoRoot": root, "sourceTarget": target}


def runtime(
    kind: str, command: str | None, *, pid: int | None = None, active: bool = False, dead: bool = False
) -> Table:
    """Return the `runtime` of a worker."""
    return {"kind": kind, "command": command, "pid": pid, "active": active, "dead": dead}


def outputs(summary: Iterable[str] = (), validation: Iterable[str] = (), risks: Iterable[str] = ()) -> Table:
    """Return the `outputs` of a worker."""
    return {"summary": list(summary), "validation": list(validation), "remainingRisks": list(risks)}


def judge_health(state: str, updated: str | None, now: datetime, *, dead: bool = False) -> str:
    """Return a worker's health by ECC's rule: `healthy`, `stale`, `degraded` or `unknown`.

    Args:
        updated: the time of the state, ISO 8601; UTC if it has no offset.
        dead: whether its process is known to have ended.
    """
    if state in FAILED:
        return "degraded"
    if state in COMPLETED:
        return "healthy"
    if state in AT_WORK:
        if dead:
            return "degraded"
        return "healthy" if is_fresh(updated, now) else "stale"
    return "unknown"


def is_fresh(time: str | None, now: datetime) -> bool:
    """Return whether `time` is at most `STALE_AFTER` ago; False if it cannot be parsed."""
    parsed = parse_time_or_none(time)
    return parsed is not None and now - parsed <= STALE_AFTER


def read_text(path: Path) -> str:
    """Return the text of a file; bytes that are not UTF-8 become U+FFFD, and CRLF becomes LF.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
        LimitExceeded: the file is larger than `MAX_BYTES`.
    """
    with open_transcript(path) as file:
        content = read_at_most(file, MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise LimitExceeded(str(path), len(content), MAX_BYTES, "bytes")
    return content.decode(errors="replace").replace("\r\n", "\n")


def is_file(path: Path) -> bool:
    """Return whether the path is a file; False also if the path is invalid or not accessible."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether the path is a folder; False also if the path is invalid or not accessible."""
    try:
        return path.is_dir()
    except OSError:
        return False


def find_modified_time(path: Path) -> str:
    """Return when a file was last modified, ISO 8601 in UTC; empty if that cannot be read."""
    try:
        seconds = path.stat().st_mtime
    except OSError:
        return ""
    return iso_ms(from_seconds(seconds))


def choose_text(values: Iterable[str | None], otherwise: str) -> str:
    """Return the first text that is not blank; `otherwise` if there is none."""
    return next((value for value in values if value and value.strip()), otherwise)


def drop_empty(artifacts: Mapping[str, Any]) -> Table:
    """Return the artifacts that have a value."""
    return {key: value for key, value in artifacts.items() if value not in (None, "", [])}
