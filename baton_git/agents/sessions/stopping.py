"""Stop a session that was started here, and clean up sessions whose supervisor is gone."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import psutil

from baton_git.agents.sessions.records import SpawnedSession, SpawnedSessions
from baton_git.agents.sessions.termination import GRACE, end


def stop(records: SpawnedSessions, record: SpawnedSession, now: str) -> SpawnedSession:
    """Ends the session with all that it started, and gives its record; one that has ended is left as it is.

    Who looks after it is asked to, as it knows how the session ends; where nobody does, it is ended from here.
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
    """Ends the sessions whose keeper is gone, as nobody looks at their time limits any more, and says so in their
    records. Raises WriteFailed when the disk says no."""
    for record in records.all()[0]:
        if record.is_unwatched:
            end_unwatched(records, record, now)


def end_unwatched(records: SpawnedSessions, record: SpawnedSession, now: str, grace: float = GRACE) -> None:
    """End a session whose keeper is gone, with all that it started, and say so in its record.

    Raises WriteFailed when the disk says no.
    """
    was_alive = record.process.is_alive
    if was_alive:
        end(record.process.pid, grace)
    why = "who looked after it was killed" + ("; it ran on unwatched, and is ended now" if was_alive else "")
    records.save(replace(record, status="lost", ended=now, error=why))
