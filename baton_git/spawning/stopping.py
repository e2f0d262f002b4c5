"""Ending a session that was started here."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import psutil

from baton_git.spawning.process import GRACE, end
from baton_git.spawning.records import Records, Spawned


def stop(records: Records, record: Spawned, now: str) -> Spawned:
    """Ends the session with all that it started, and gives its record; one that has ended is left as it is.

    Who looks after it is asked to, as it knows how the session ends; where nobody does, it is ended from here.
    """
    if record.status != "running":
        return record
    if record.keeper.is_alive:
        with contextlib.suppress(psutil.Error):
            psutil.Process(record.keeper.pid).terminate()
        until = time.monotonic() + GRACE + 3
        while (found := records.get(record.id)).status == "running" and time.monotonic() < until:
            time.sleep(0.05)
        if found.status != "running":
            return found
    if record.process.is_alive:
        end(record.process.pid)
    stopped = replace(record, status="stopped", ended=now)
    records.put(stopped)
    return stopped
