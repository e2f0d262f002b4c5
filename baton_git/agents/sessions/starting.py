"""Start a session of an agent CLI that runs on its own, within limits that no workflow can lift."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.launcher import Launch
from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.launch_request import MAX_SECONDS, LaunchRequest, check_prompt
from baton_git.agents.sessions.launchers import executable, surroundings
from baton_git.agents.sessions.records import Process, SpawnedSession, SpawnedSessions
from baton_git.agents.sessions.stopping import reap
from baton_git.agents.sessions.supervisor import Job, send_job
from baton_git.core.errors import BatonError, Busy, InvalidArgument, NotAllowed, StoreError
from baton_git.core.redaction import redact_text
from baton_git.core.times import parse_time_or_none
from baton_git.git.files.atomic_files import make_folder
from baton_git.git.files.ref_locks import hold_flock

MAX_RUNNING = 8
"""Sessions that may run at once, of all chains together."""
KEEPER = "baton_git.interfaces.hook.session_supervisor"
"""The module that looks after one session."""
_START_SECONDS = 20.0
_PACKAGE = Path(__file__).parents[2]
_PROMPT = 2000
MOMENT = 0.25
"""Seconds after its start in which a session that fails is told of at once."""


class Chain(NamedTuple):
    """Name, start time, length and reported cost of a session chain."""

    name: str
    began: str
    sessions: int
    cost_usd: float


@dataclass(frozen=True)
class Spawner:
    """Starts sessions for one session of one repository.

    Attributes:
        environment: of the process that asks.
        parent: the session that asks, and `parent_spawn` its record where it was started itself.
        now: ISO text.
        arguments: by CLI, what the user wants each session to be started with.
        stop_files: while one of them is there, no session is started.
    """

    records: SpawnedSessions
    environment: Mapping[str, str]
    now: str
    parent: str | None = None
    parent_spawn: str | None = None
    arguments: Mapping[str, tuple[str, ...]] | None = None
    stop_files: tuple[Path, ...] = ()

    def __call__(self, request: LaunchRequest, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The result of the document's `start_new_session`: `session_spawned`, `cli`, `pid`; or `error`."""
        try:
            record = self.start(request, variables)
        except (BatonError, OSError, ValueError) as error:
            return {"error": str(error)}
        if record.status in ("failed", "lost"):
            why = record.error or record.exit_in_words or record.status
            return {"error": f"{request.cli} ended at once: {why}"}
        return {"session_spawned": True, "cli": request.cli, "pid": record.process.pid, "spawned": record.id}

    def start(self, wish: LaunchRequest, variables: Mapping[str, Any]) -> SpawnedSession:
        """Starts it, and gives its record once it runs.

        Raises:
            InvalidArgument: the CLI is unknown or not installed, the folder is not there.
            NotAllowed: the chain is as long as it may be, too many sessions run, or a stop file is there.
            Busy: others are starting sessions.
            StoreError: the record cannot be written, or nothing is heard of the session.
        """
        record, job = self.prepare(wish, variables)
        try:
            process = self._start_process(wish, record, job)
            return self._wait_for_start(record, process)
        except BaseException as error:
            self._record_failure(record, str(error) or type(error).__name__)
            raise

    def _start_process(self, wish: LaunchRequest, record: SpawnedSession, job: Job) -> subprocess.Popen[bytes]:
        """The process that makes the keeper: itself, or tmux. Raises OSError, ValueError: it cannot be started."""
        if not wish.in_window:
            return _start_supervisor(job, is_detached=wish.is_detached)
        return _start_in_window(job, record, wish.tmux_session, self.records.pipe(record.id))

    def _record_failure(self, record: SpawnedSession, why: str) -> None:
        """Nobody looks after it, so it is over, and counts no more."""
        with contextlib.suppress(BatonError):
            if self.records.get(record.id).status == "running" and not self.records.get(record.id).keeper.pid:
                message = redact_text(why)[0]
                self.records.save(replace(record, status="failed", ended=self.now, error=message))

    def prepare(self, wish: LaunchRequest, variables: Mapping[str, Any]) -> tuple[SpawnedSession, Job]:
        """The record, kept, and the job, with every limit looked at. Raises as `start` does."""
        launch, cwd = self._launch(wish), wish.cwd or os.curdir
        stop = find_stop_file(self.stop_files)
        if stop is not None:
            raise NotAllowed(f"{stop} is there, so no session is started", hint="remove it to go on")
        if not Path(cwd).is_dir():
            raise InvalidArgument(f"there is no folder {cwd}")
        if wish.in_window and not (wish.tmux_session or self.environment.get("TMUX")):
            raise InvalidArgument("there is no tmux around us for a window, and no session of it is named")
        make_folder(self.records.folder)
        reap(self.records, self.now)
        with hold_flock(self.records.folder / ".lock", 5.0) as alone:
            if alone is False:
                raise Busy("another process is starting sessions", hint="try again")
            known = self.records.all()[0]
            chain = self._chain(known)
            _check_chain_limits(chain, wish, self.now)
            _check_running_limit(known)
            record = self._record(wish, launch, str(Path(cwd).absolute()), chain, variables)
            self.records.save(record)
            self.records.forget_old(record.chain)
        environment = surroundings(self.environment, record.id)
        job = Job(str(self.records.folder), record.id, launch.argv, environment, launch.stdin, wish.in_window)
        return record, job

    def _launch(self, wish: LaunchRequest) -> Launch:
        if wish.cli not in AGENTS:
            raise InvalidArgument(f"Unknown CLI: {wish.cli}")
        program = executable(wish.cli, self.environment)
        if program is None:
            raise InvalidArgument(f"{wish.cli} CLI not found")
        check_prompt(wish.prompt)
        check_prompt(wish.system_prompt, "the system prompt")
        starting = AGENTS[wish.cli].launcher
        make = starting.in_window if wish.in_window else starting.launch
        extra = (self.arguments or {}).get(wish.cli, ())
        return make(program, _no_command(wish.prompt), wish.system_prompt, str(uuid.uuid4()), extra)

    def _chain(self, known: list[SpawnedSession]) -> Chain:
        """All that was started for what its first session began, by whichever of them; where that cannot be known,
        nothing is started."""
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

    def _record(
        self, wish: LaunchRequest, launch: Launch, cwd: str, chain: Chain, variables: Mapping[str, Any]
    ) -> SpawnedSession:
        id_ = self.records.fresh_id()
        left = wish.chain_seconds - _between(chain.began, self.now)
        return SpawnedSession(
            id=id_,
            cli=wish.cli,
            prompt=redact_text(wish.prompt)[0][:_PROMPT],
            cwd=cwd,
            started=self.now,
            seconds=min(wish.seconds, left, MAX_SECONDS),
            iteration=chain.sessions + 1,
            chain=chain.name or id_,
            chain_began=chain.began,
            starter=Process.of(os.getpid()),
            parent=self.parent,
            parent_spawn=self.parent_spawn,
            loop=wish.loop,
            session=launch.session,
            log=str(self.records.folder / f"{id_}.log"),
            variables=dict(variables),
        )

    def _wait_for_start(self, record: SpawnedSession, process: subprocess.Popen[bytes]) -> SpawnedSession:
        """The record once it names a process, or says why there is none."""
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            current = self.records.get(record.id)
            if current.process.pid or current.status != "running":
                process.wait(_START_SECONDS)  # the one that we started has given way to its child, or is tmux
                return self._after_a_moment(current)
            if process.poll() not in (None, 0):
                break
            time.sleep(0.02)
        raise StoreError(f"the session {record.id} did not start", hint="try: baton session list --spawned")

    def _after_a_moment(self, record: SpawnedSession) -> SpawnedSession:
        """What fails at once (no key, an option that there is not) is told to whoever asked."""
        until = time.monotonic() + MOMENT
        while record.status == "running" and time.monotonic() < until:
            time.sleep(0.02)
            record = self.records.get(record.id)
        return record


def find_stop_file(files: Iterable[Path]) -> Path | None:
    """Return the first of the files that keeps sessions from being started."""
    return next((file for file in files if file.exists()), None)


def _check_chain_limits(chain: Chain, wish: LaunchRequest, now: str) -> None:
    """Raise NotAllowed when the chain has reached one of its limits."""
    if chain.sessions + 1 > wish.most:
        raise NotAllowed(f"the chain has {chain.sessions} sessions, the limit is {wish.most}")
    if _between(chain.began, now) >= wish.chain_seconds:
        raise NotAllowed(f"the chain began at {chain.began}, the limit is {wish.chain_seconds:g} seconds")
    if chain.cost_usd >= wish.budget_usd:
        raise NotAllowed(f"the chain cost {chain.cost_usd:.2f} USD, the budget is {wish.budget_usd:.2f}")


def _check_running_limit(known: list[SpawnedSession]) -> None:
    running = [record for record in known if record.status == "running"]
    if len(running) >= MAX_RUNNING:
        raise NotAllowed(f"{len(running)} sessions are running, the limit is {MAX_RUNNING}")


def _between(began: str, now: str) -> float:
    return (_parse_time(now) - _parse_time(began)).total_seconds()


def _parse_time(text: str) -> datetime:
    """Raises InvalidArgument where a record does not say it: how long its chain takes cannot be known then."""
    moment = parse_time_or_none(text)
    if moment is None:
        raise InvalidArgument(f"the chain has no beginning: {text!r} is no point in time")
    return moment


def _no_command(prompt: str) -> str:
    """The prompt as an argument that no CLI takes for one of its commands (`review`, `mcp`), which are single words."""
    return prompt if len(prompt.split()) > 1 else f" {prompt}"


def _start_supervisor(job: Job, *, is_detached: bool) -> subprocess.Popen[bytes]:
    """The keeper as a process of its own; detached, it outlives us, our terminal and the agent's CLI around us."""
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
    """The keeper in a new window of tmux; its job comes through a named pipe that only the user can open."""
    where = ["-t", f"={tmux_session}:"] if tmux_session else []
    keeper = ["env", f"PYTHONPATH={_PACKAGE.parent}", *_supervisor_command(), str(pipe)]
    process = subprocess.Popen(  # noqa: S603  as above
        ["tmux", "new-window", "-d", *where, "-n", record.id, "-c", record.cwd, "--", *keeper],  # noqa: S607  the user's tmux is meant
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=job.environment,
    )  # fmt: skip
    send_job(pipe, job, lambda: process.poll() not in (None, 0))
    return process


def _supervisor_command() -> list[str]:
    return [sys.executable, "-P", "-m", KEEPER]
