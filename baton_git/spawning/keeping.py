"""Looking after one session until it has ended: what the small process beside a session of its own does.

Its job comes over standard input, so that no prompt and no environment is ever written to a disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from baton_git.agents.launching import Report
from baton_git.codecs import json
from baton_git.redaction import redact_text
from baton_git.spawning.process import Command, Finished, run
from baton_git.spawning.records import Process, Records, Spawned
from baton_git.spawning.starters import STARTERS

ANSWER = 2000
"""Characters of the end of an answer that are kept."""
_ENDS = {"timed_out": "timed_out", "stopped": "stopped"}


@dataclass(frozen=True)
class Job:
    """A session that is to be run: its record's place, and the command."""

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


def keep(job: Job, now: Callable[[], str], stopped: Callable[[], bool]) -> Spawned:
    """Runs the session of `job` to its end, and keeps what came of it.

    Args:
        now: gives the time as ISO text.
        stopped: whether somebody wants it to end.
    """
    records = Records(Path(job.folder))
    return run_recorded(records, records.get(job.id), job, now, stopped)[0]


def run_recorded(
    records: Records, record: Spawned, job: Job, now: Callable[[], str], stopped: Callable[[], bool]
) -> tuple[Spawned, Report]:
    """The session's record as it ended, and what the session said; the record is kept as it changes."""
    command = Command(
        job.argv, record.cwd or None, job.environment, record.seconds, job.stdin,
        None if job.has_terminal else Path(record.log), job.has_terminal,
    )  # fmt: skip
    running = [replace(record, keeper=Process.of(os.getpid()))]

    def started(pid: int) -> None:
        running[0] = replace(running[0], process=Process.of(pid))
        records.put(running[0])

    try:
        finished = run(command, stopped, started)
    except (OSError, ValueError) as error:
        failed = replace(running[0], status="failed", ended=now(), error=str(error))
        records.put(failed)
        return failed, Report()
    except BaseException:
        records.put(replace(running[0], status="stopped", ended=now()))
        raise
    return _ended(records, running[0], finished, now())


def _ended(records: Records, record: Spawned, finished: Finished, now: str) -> tuple[Spawned, Report]:
    report = STARTERS[record.cli].report(finished.output)
    status = _ENDS.get(finished.how) or ("exited" if finished.exit == 0 else "failed")
    ended = replace(
        record,
        status=status,
        ended=now,
        exit=finished.exit,
        error=redact_text(finished.complaint)[0] or None if status == "failed" else None,
        session=report.session or record.session,
        cost_usd=report.cost_usd,
        tokens=report.tokens,
        answer=redact_text(report.answer)[0][-ANSWER:],
    )
    records.put(ended)
    return ended, report
