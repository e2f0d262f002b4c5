"""Start a session of an agent CLI without a person, within limits that no workflow can exceed, and supervise it."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.launcher import (
    MAX_SECONDS,
    MOST_USD,
    Launch,
    LaunchRequest,
    NewSession,
    SessionReport,
    check_prompt,
    find_executable,
    read_objects,
)
from baton_git.agents.registry import AGENTS, make_session_environment
from baton_git.agents.sessions.process import Command, ProcessResult, run
from baton_git.agents.sessions.records import Process, SpawnedSession, SpawnedSessions, Status, end_unwatched_sessions
from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, Busy, InvalidArgument, NotAllowed, StoreError
from baton_git.core.redaction import redact_text
from baton_git.core.times import parse_time_or_none
from baton_git.git.files.atomic_files import make_folder
from baton_git.git.files.ref_locks import hold_flock

# --- supervising a session, in a small process of its own
# The job comes through a pipe, so that the environment and the whole prompt are never written to disk. The record
# contains only the redacted beginning of the prompt.

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


# --- starting

MAX_RUNNING = 8
"""Maximum number of sessions that run at the same time, in all chains of a repository."""
SUPERVISOR = "baton_git.interfaces.hook.session_supervisor"
"""The module that supervises one session."""
_START_SECONDS = 20.0
_PACKAGE = Path(__file__).parents[2]
_MAX_PROMPT = 2000
QUICK_FAILURE_SECONDS = 0.25
"""If a session fails within this time after its start, the caller receives the error."""


class Chain(NamedTuple):
    """Name, start time, length and reported cost of a session chain."""

    name: str
    began: str
    sessions: int
    cost_usd: float


@dataclass(frozen=True)
class Spawner:
    """Starts sessions in a repository on behalf of the calling session.

    Attributes:
        environment: the environment of the calling process.
        now: the current time as ISO text.
        parent: the calling session; `parent_spawn` is its record, if it was spawned as well.
        arguments: the user's additional arguments for new sessions, by CLI.
        stop_files: no session is started while one of these files exists.
    """

    records: SpawnedSessions
    environment: Mapping[str, str]
    now: str
    parent: str | None = None
    parent_spawn: str | None = None
    arguments: Mapping[str, tuple[str, ...]] | None = None
    stop_files: tuple[Path, ...] = ()

    def __call__(self, request: LaunchRequest, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Start a session, and return the result of Gobby's `start_new_session`.

        Returns:
            `session_spawned`, `cli`, `pid` and `spawned`, or only `error`.
        """
        try:
            record = self.start(request, variables)
        except (BatonError, OSError, ValueError) as error:
            return {"error": str(error)}
        if record.status in ("failed", "lost"):
            why = record.error or record.exit_in_words or record.status
            return {"error": f"{request.cli} ended immediately: {why}"}
        return {"session_spawned": True, "cli": request.cli, "pid": record.process.pid, "spawned": record.id}

    def start(self, request: LaunchRequest, variables: Mapping[str, Any]) -> SpawnedSession:
        """Start a session, and return its record once it runs or has failed.

        Raises:
            InvalidArgument: the CLI is unknown or not installed, the folder does not exist, or the request is not valid
                in another way.
            NotAllowed: the chain has reached a limit, too many sessions are running, or a stop file exists.
            Busy: another process is starting sessions.
            NotFound, Corrupt: the record of the calling session cannot be read.
            StoreError: the record cannot be written, or the session did not start in time.
            OSError, ValueError: the supervisor cannot be started.
        """
        record, job = self.prepare(request, variables)
        try:
            process = self._start_process(request, record, job)
            return self._wait_for_start(record, process)
        except BaseException as error:
            self._record_failure(record, str(error) or type(error).__name__)
            raise

    def _start_process(self, request: LaunchRequest, record: SpawnedSession, job: Job) -> subprocess.Popen[bytes]:
        """Start the supervisor, directly or through tmux. Raises OSError or ValueError when it cannot be started."""
        if not request.in_window:
            return _start_supervisor(job, is_detached=request.is_detached)
        return _start_in_window(job, record, request.tmux_session, self.records.pipe(record.id))

    def _record_failure(self, record: SpawnedSession, why: str) -> None:
        """Mark a session that has no supervisor as failed, so that it no longer counts as running."""
        with contextlib.suppress(BatonError):
            if self.records.get(record.id).status == "running" and not self.records.get(record.id).keeper.pid:
                message = redact_text(why)[0]
                self.records.save(replace(record, status="failed", ended=self.now, error=message))

    def prepare(self, request: LaunchRequest, variables: Mapping[str, Any]) -> tuple[SpawnedSession, Job]:
        """Check all limits, save the record of the session, and return record and job. Raises as `start` does."""
        launch, cwd = self._make_launch(request), request.cwd or os.curdir
        stop = find_stop_file(self.stop_files)
        if stop is not None:
            raise NotAllowed(f"{stop} exists, so no session is started", hint="remove it to continue")
        if not os.path.isdir(cwd):
            raise InvalidArgument(f"the folder {cwd} does not exist")
        if request.in_window and not (request.tmux_session or self.environment.get("TMUX")):
            raise InvalidArgument("not inside tmux, and no tmux session is named")
        make_folder(self.records.folder)
        end_unwatched_sessions(self.records, self.now)
        with hold_flock(self.records.folder / ".lock", 5.0) as alone:
            if alone is False:
                raise Busy("another process is starting sessions", hint="try again")
            known = self.records.all()[0]
            chain = self._find_chain(known)
            _check_chain_limits(chain, request, self.now)
            _check_running_limit(known)
            record = self._make_record(request, launch, str(Path(cwd).absolute()), chain, variables)
            self.records.save(record)
            self.records.forget_old(record.chain)
        environment = make_session_environment(self.environment, record.id)
        job = Job(str(self.records.folder), record.id, launch.argv, environment, launch.stdin, request.in_window)
        return record, job

    def _make_launch(self, request: LaunchRequest) -> Launch:
        if request.cli not in AGENTS:
            raise InvalidArgument(f"Unknown CLI: {request.cli}")
        program = find_executable(request.cli, self.environment)
        if program is None:
            raise InvalidArgument(f"{request.cli} CLI not found")
        check_prompt(request.prompt)
        check_prompt(request.system_prompt, "the system prompt")
        start = NewSession(
            program, _protect_single_word(request.prompt), request.system_prompt, str(uuid.uuid4()),
            (self.arguments or {}).get(request.cli, ()), request.in_window,
        )  # fmt: skip
        return AGENTS[request.cli].launcher.launch(start)

    def _find_chain(self, known: list[SpawnedSession]) -> Chain:
        """Return the chain of the calling session, with the values from all records of the chain.

        Raises:
            NotFound, Corrupt: the calling session's record cannot be read, so the limits cannot be checked.
        """
        if self.parent_spawn is None:
            name, begun, before = self.parent or "", self.now, 1 if self.parent else 0
        else:
            parent = self.records.get(self.parent_spawn)
            name, begun, before = parent.chain or parent.id, parent.chain_began or parent.started, parent.iteration
        others = [record for record in known if name and record.chain == name]
        return Chain(
            name,
            min([begun, *(record.chain_began for record in others if record.chain_began)], key=_parse_time),
            max([before, *(record.iteration for record in others)]),
            sum(record.cost_usd or 0.0 for record in others),
        )

    def _make_record(
        self, request: LaunchRequest, launch: Launch, cwd: str, chain: Chain, variables: Mapping[str, Any]
    ) -> SpawnedSession:
        id_ = self.records.fresh_id()
        seconds_left = request.chain_seconds - _seconds_between(chain.began, self.now)
        return SpawnedSession(
            id=id_,
            cli=request.cli,
            prompt=redact_text(request.prompt)[0][:_MAX_PROMPT],
            cwd=cwd,
            started=self.now,
            seconds=min(request.seconds, seconds_left, MAX_SECONDS),
            iteration=chain.sessions + 1,
            chain=chain.name or id_,
            chain_began=chain.began,
            starter=Process.of(os.getpid()),
            parent=self.parent,
            parent_spawn=self.parent_spawn,
            loop=request.loop,
            session=launch.session,
            log=str(self.records.folder / f"{id_}.log"),
            variables=dict(variables),
        )

    def _wait_for_start(self, record: SpawnedSession, process: subprocess.Popen[bytes]) -> SpawnedSession:
        """Wait until the record names a process or a failure, and return it."""
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            current = self.records.get(record.id)
            if current.process.pid or current.status != "running":
                process.wait(_START_SECONDS)  # it exits soon: it is tmux, or leaves the work to a child of its own
                return self._report_quick_failure(current)
            if process.poll() not in (None, 0):
                break
            time.sleep(0.02)
        raise StoreError(f"the session {record.id} did not start", hint="try: baton session list --spawned")

    def _report_quick_failure(self, record: SpawnedSession) -> SpawnedSession:
        """Wait briefly, so that a session that fails immediately (no key, an unknown option) is reported as failed."""
        until = time.monotonic() + QUICK_FAILURE_SECONDS
        while record.status == "running" and time.monotonic() < until:
            time.sleep(0.02)
            record = self.records.get(record.id)
        return record


def find_stop_file(files: Iterable[Path]) -> Path | None:
    """Return the first existing one of the files whose existence prevents the start of sessions, or None."""
    return next((file for file in files if file.exists()), None)


def _check_chain_limits(chain: Chain, request: LaunchRequest, now: str) -> None:
    """Raise NotAllowed when the chain has reached one of its limits."""
    if chain.sessions + 1 > request.most:
        raise NotAllowed(f"this chain of sessions has {chain.sessions} sessions, the limit is {request.most}")
    if _seconds_between(chain.began, now) >= request.chain_seconds:
        raise NotAllowed(
            f"this chain of sessions began at {chain.began}, the limit is {request.chain_seconds:g} seconds"
        )
    if chain.cost_usd >= request.budget_usd:
        raise NotAllowed(
            f"this chain of sessions cost {chain.cost_usd:.2f} USD, the budget is {request.budget_usd:.2f}"
        )


def _check_running_limit(known: list[SpawnedSession]) -> None:
    running = [record for record in known if record.status == "running"]
    if len(running) >= MAX_RUNNING:
        hint = "wait for one to end, or stop one: baton session list --spawned, baton session stop ID"
        raise NotAllowed(f"{len(running)} sessions are running, the limit is {MAX_RUNNING}", hint=hint)


def _seconds_between(began: str, now: str) -> float:
    return (_parse_time(now) - _parse_time(began)).total_seconds()


def _parse_time(text: str) -> datetime:
    """Parse a time of a record. Raises InvalidArgument for any other text, because then the chain's age is unknown."""
    moment = parse_time_or_none(text)
    if moment is None:
        raise InvalidArgument(f"the start of this chain of sessions is unknown: {text!r} is not a time")
    return moment


def _protect_single_word(prompt: str) -> str:
    """Return the prompt, with a blank before a single word, so that it is not taken for a subcommand (`review`)."""
    return prompt if len(prompt.split()) > 1 else f" {prompt}"


def _start_supervisor(job: Job, *, is_detached: bool) -> subprocess.Popen[bytes]:
    """Start the supervisor process; a detached one outlives this process, the terminal and the calling agent CLI."""
    process = subprocess.Popen(  # noqa: S603  our own module
        _supervisor_command(),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=is_detached, cwd="/", env={**job.environment, "PYTHONPATH": str(_PACKAGE.parent)},
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(job.dumps().encode())
    return process


def _start_in_window(job: Job, record: SpawnedSession, tmux_session: str, pipe: Path) -> subprocess.Popen[bytes]:
    """Start the supervisor in a new tmux window, and send it the job through a named pipe for this user only."""
    where = ["-t", f"={tmux_session}:"] if tmux_session else []
    keeper = ["env", f"PYTHONPATH={_PACKAGE.parent}", *_supervisor_command(), str(pipe)]
    process = subprocess.Popen(  # noqa: S603  our own module, started through tmux
        ["tmux", "new-window", "-d", *where, "-n", record.id, "-c", record.cwd, "--", *keeper],  # noqa: S607  the user's tmux is meant
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=job.environment,
    )  # fmt: skip
    send_job(pipe, job, lambda: process.poll() not in (None, 0))
    return process


def _supervisor_command() -> list[str]:
    return [sys.executable, "-P", "-m", SUPERVISOR]
