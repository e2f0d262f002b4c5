"""Stop a spawned session, and end sessions whose supervisor is gone."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import psutil

from baton_git.agents.sessions.records import SpawnedSession, SpawnedSessions
from baton_git.agents.sessions.termination import GRACE, end


def stop(records: SpawnedSessions, record: SpawnedSession, now: str) -> SpawnedSession:
    """End a session with all its descendant processes, and return its record. Does nothing if the session has ended.

    The supervisor is asked to end it, because it records how the session ends. Without one, it is ended directly.
    """
    if record.status != "running":
        return record
    if record.keeper.is_alive:
        with contextlib.suppress(psutil.Error):
            psutil.Process(record.keeper.pid).terminate()
        until = time.monotonic() + GRACE + 3
        while (current := records.get(record.id)).status == "running" and time.monotonic() < until:
            time.sleep(0.05)
        if current.status != "running":
            return current
    if record.process.is_alive:
        end(record.process.pid)
    stopped = replace(record, status="stopped", ended=now)
    records.save(stopped)
    return stopped


def reap(records: SpawnedSessions, now: str) -> None:
    """End the sessions whose supervisor is gone, because nothing enforces their time limits any more.

    Raises:
        WriteFailed: a record cannot be written.
    """
    for record in records.all()[0]:
        if record.is_unwatched:
            end_unwatched(records, record, now)


def end_unwatched(records: SpawnedSessions, record: SpawnedSession, now: str, grace: float = GRACE) -> None:
    """End a session without a supervisor, with all its descendant processes, and record it as lost.

    Raises:
        WriteFailed: the record cannot be written.
    """
    was_alive = record.process.is_alive
    if was_alive:
        end(record.process.pid, grace)
    why = "its supervisor was killed" + ("; it kept running and was ended now" if was_alive else "")
    records.save(replace(record, status="lost", ended=now, error=why))
