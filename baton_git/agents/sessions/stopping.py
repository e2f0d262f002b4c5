"""Stop a spawned session, and terminate sessions whose supervisor is gone."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import psutil

from baton_git.agents.sessions.process import GRACE, terminate
from baton_git.agents.sessions.records import SpawnedSession, SpawnedSessions


def stop(records: SpawnedSessions, record: SpawnedSession, now: str) -> SpawnedSession:
    """Terminate a session with all its processes, and return its record; a session that has ended is left as it is.

    The supervisor is asked to terminate the session, because it also records how the session ended. If the supervisor
    is gone or does not respond in time, the session is terminated and recorded here.

    Raises:
        NotFound, Corrupt: the record cannot be read.
        WriteFailed: the record cannot be written.
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
        terminate(record.process.pid)
    stopped = replace(record, status="stopped", ended=now)
    records.save(stopped)
    return stopped


def end_unwatched_sessions(records: SpawnedSessions, now: str) -> None:
    """Terminate the sessions whose supervisor is gone, because nothing enforces their time limits any more.

    Raises:
        WriteFailed: a record cannot be written.
    """
    for record in records.all()[0]:
        if record.is_unwatched:
            end_unwatched(records, record, now)


def end_unwatched(records: SpawnedSessions, record: SpawnedSession, now: str, grace: float = GRACE) -> None:
    """Terminate a session whose supervisor is gone, with all its processes, and record it as lost.

    Raises:
        WriteFailed: the record cannot be written.
    """
    was_alive = record.process.is_alive
    if was_alive:
        terminate(record.process.pid, grace)
    why = "its supervisor was killed" + ("; it kept running and was ended now" if was_alive else "")
    records.save(replace(record, status="lost", ended=now, error=why))
