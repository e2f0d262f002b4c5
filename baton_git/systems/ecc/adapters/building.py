"""What snapshots are built of, so that every adapter gives the same shape and the counts are right by construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from baton_git.agents.json_lines import open_transcript
from baton_git.core.errors import LimitExceeded
from baton_git.core.times import iso_ms, parse_time_or_none
from baton_git.systems.ecc.record import SCHEMA_VERSION

Table = dict[str, Any]

STALE_AFTER = timedelta(minutes=5)
"""ECC's limit: who said nothing for longer is not at work any more."""

COMPLETED = ("completed", "succeeded", "success", "done")
FAILED = ("failed", "error")
AT_WORK = ("running", "active")

MAX_BYTES = 4 * 1024 * 1024
"""Bytes of a file that people and agents write for each other; a larger one is none of these."""


def snapshot(adapter: str, session: Table, workers: Sequence[Table]) -> Table:
    """A canonical snapshot, with the counts that its workers give."""
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
    """The session of a snapshot; `source` is the type and the value of the target."""
    type_, value = source
    target = {"type": type_, "value": value}
    return {"id": id_, "kind": kind, "state": state, "repoRoot": root, "sourceTarget": target}


def runtime(
    kind: str, command: str | None, *, pid: int | None = None, active: bool = False, dead: bool = False
) -> Table:
    return {"kind": kind, "command": command, "pid": pid, "active": active, "dead": dead}


def outputs(summary: Iterable[str] = (), validation: Iterable[str] = (), risks: Iterable[str] = ()) -> Table:
    return {"summary": list(summary), "validation": list(validation), "remainingRisks": list(risks)}


def judge_health(state: str, updated: str | None, now: datetime, *, dead: bool = False) -> str:
    """ECC's rule: how a worker is doing, from what it says of itself.

    Args:
        updated: when it said so, ISO 8601; a time without an offset is UTC.
        dead: its process is known to have ended.
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
    """Whether `time` is at most `STALE_AFTER` ago; what cannot be read is not."""
    parsed = parse_time_or_none(time)
    return parsed is not None and now - parsed <= STALE_AFTER


def read_text(path: Path) -> str:
    """The text of a file; what is no UTF-8 in it stands as U+FFFD.

    Raises:
        NotFound, InvalidArgument, StoreError: it cannot be read.
        LimitExceeded: it is larger than `MAX_BYTES`.
    """
    with open_transcript(path) as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise LimitExceeded(str(path), len(content), MAX_BYTES, "bytes")
    return content.decode(errors="replace").replace("\r\n", "\n")


def is_file(path: Path) -> bool:
    """Whether there is a file; no too, where nobody may look, or where no such name can be."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; no too, where nobody may look, or where no such name can be."""
    try:
        return path.is_dir()
    except OSError:
        return False


def find_modified_time(path: Path) -> str:
    """When a file was changed last, ISO 8601 in UTC; empty when it is gone."""
    try:
        seconds = path.stat().st_mtime
    except OSError:
        return ""
    return iso_ms(datetime.fromtimestamp(seconds, UTC))


def first_text(values: Iterable[str | None], otherwise: str) -> str:
    """The first that says something."""
    return next((value for value in values if value and value.strip()), otherwise)


def drop_empty(artifacts: Mapping[str, Any]) -> Table:
    """Only what is there: an adapter's own keys are absent where they would say nothing."""
    return {key: value for key, value in artifacts.items() if value not in (None, "", [])}
