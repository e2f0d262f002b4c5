"""Functions to build snapshots, so that the snapshots of all adapters have the same form and correct counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from baton_git.agents.json_lines import open_transcript
from baton_git.core.errors import LimitExceeded
from baton_git.core.times import from_seconds, iso_ms, parse_time_or_none
from baton_git.systems.ecc.record import SCHEMA_VERSION

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
        content = file.read(MAX_BYTES + 1)
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
