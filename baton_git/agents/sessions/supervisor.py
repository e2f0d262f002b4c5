"""Supervise one session until it ends, in a small process of its own.

The job comes through a pipe, so that the environment and the whole prompt are never written to disk. The record
contains only the redacted beginning of the prompt.
"""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from baton_git.agents.launcher import SessionReport, read_objects
from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.launch_request import MOST_USD
from baton_git.agents.sessions.process import Command, ProcessResult, run
from baton_git.agents.sessions.records import Process, SpawnedSession, SpawnedSessions, Status
from baton_git.core.codecs import json
from baton_git.core.redaction import redact_text

ANSWER = 2000
"""Maximum number of characters of an answer that are kept, from its end."""
PIPE_SECONDS = 20.0
"""Seconds for which each end of the named pipe waits for the other end."""
MOST_TOKENS = 10**12
"""A reported number of tokens above this is implausible, and counts as unknown."""
_ENDS: dict[str, Status] = {"timed_out": "timed_out", "stopped": "stopped"}


@dataclass(frozen=True)
class Job:
    """A session to run: the folder and id of its record, and the command."""

    folder: str
    id: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    stdin: str | None
    has_terminal: bool

    def dumps(self) -> str:
        return json.dumps(asdict(self), indent=None)

    @classmethod
    def loads(cls, text: str) -> Job:
        data: dict[str, Any] = json.loads(text)
        return cls(**{**data, "argv": tuple(data["argv"])})


def send_job(pipe: Path, job: Job, is_over: Callable[[], bool]) -> None:
    """Create a named pipe that only the user can open, send the job to its reader, and remove the pipe.

    Args:
        is_over: returns True when no process will read the job any more.

    Raises:
        OSError: the pipe cannot be created, or nobody read the job.
    """
    try:
        os.mkfifo(pipe, 0o600)
        _send(pipe, job.dumps().encode(), time.monotonic() + PIPE_SECONDS, is_over)
    finally:
        pipe.unlink(missing_ok=True)


def _send(pipe: Path, rest: bytes, until: float, is_over: Callable[[], bool]) -> None:
    end: int | None = None
    try:
        while rest:
            if time.monotonic() > until or is_over():
                raise OSError("the session did not start: its supervisor did not read the job")
            try:
                if end is None:
                    end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                rest = rest[os.write(end, rest) :]
            except BlockingIOError:
                time.sleep(0.01)
            except OSError as error:
                if error.errno != errno.ENXIO:  # ENXIO: no reader yet
                    raise
                time.sleep(0.01)
    finally:
        if end is not None:
            os.close(end)


def receive_job(pipe: Path) -> Job:
    """Receive a job through the named pipe. Raises OSError or ValueError when none arrives in time."""
    received, until = b"", time.monotonic() + PIPE_SECONDS
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while time.monotonic() < until:
            try:
                chunk = os.read(end, 65536)
            except BlockingIOError:
                chunk = b""
            else:
                if not chunk and received:
                    break
            received += chunk
            if not chunk:
                time.sleep(0.01)
    finally:
        os.close(end)
    return Job.loads(received.decode())


def supervise(job: Job, now: Callable[[], str], stopped: Callable[[], bool]) -> SpawnedSession:
    """Run the session of `job` until it ends, save its record, and return the final record.

    Args:
        now: returns the time as ISO text.
        stopped: returns True when the session has to be stopped.
    """
    records = SpawnedSessions(Path(job.folder))
    return run_recorded(records, records.get(job.id), job, now, stopped)[0]


def run_recorded(
    records: SpawnedSessions, record: SpawnedSession, job: Job, now: Callable[[], str], stopped: Callable[[], bool]
) -> tuple[SpawnedSession, SessionReport]:
    """Run a session and save its record at every change; return the final record and the session's report."""
    command = Command(
        job.argv, record.cwd or None, job.environment, record.seconds, job.stdin,
        None if job.has_terminal else Path(record.log), job.has_terminal,
    )  # fmt: skip
    running = [replace(record, keeper=Process.of(os.getpid()))]

    def save_process(pid: int) -> None:
        running[0] = replace(running[0], process=Process.of(pid))
        records.save(running[0])

    try:
        finished = run(command, stopped, save_process)
    except (OSError, ValueError) as error:
        failed = replace(running[0], status="failed", ended=now(), error=str(error))
        records.save(failed)
        return failed, SessionReport()
    except BaseException:
        records.save(replace(running[0], status="stopped", ended=now()))
        raise
    return _record_end(records, running[0], finished, now())


def _record_end(
    records: SpawnedSessions, record: SpawnedSession, finished: ProcessResult, now: str
) -> tuple[SpawnedSession, SessionReport]:
    report = _read_report(record.cli, finished.output)
    is_fine = finished.exit == 0 and not _reports_error(finished.output)
    status: Status = _ENDS.get(finished.how) or ("exited" if is_fine else "failed")
    why = finished.complaint or " ".join(report.answer.split())[-300:]
    ended = replace(
        record,
        status=status,
        ended=now,
        exit=finished.exit,
        error=redact_text(why)[0] or None if status == "failed" else None,
        session=report.session or record.session,
        cost_usd=report.cost_usd,
        tokens=report.tokens,
        answer=redact_text(report.answer)[0][-ANSWER:],
    )
    records.save(ended)
    return ended, report


def _read_report(cli: str, output: str) -> SessionReport:
    """Return the session's report from its output; implausible numbers count as unknown."""
    try:
        report = AGENTS[cli].launcher.report(output)
    except (OverflowError, ValueError):  # a number that Python cannot represent
        return SessionReport(output.strip()[-ANSWER:])
    cost, tokens = report.cost_usd, report.tokens
    return report._replace(
        cost_usd=cost if cost is not None and math.isfinite(cost) and cost <= MOST_USD else None,
        tokens=tokens if tokens is not None and 0 < tokens <= MOST_TOKENS else None,
    )


def _reports_error(output: str) -> bool:
    """Whether the last result in the output reports an error. Claude Code may then still exit with 0."""
    results = [item for item in read_objects(output) if isinstance(item, dict) and item.get("type") == "result"]
    return bool(results) and results[-1].get("is_error") is True
