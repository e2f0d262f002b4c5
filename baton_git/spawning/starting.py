"""Starting a session of an agent that goes on by itself, within limits that no workflow can lift."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from baton_git.agents.launching import Launch
from baton_git.errors import BatonError, Busy, InvalidArgument, NotAllowed, StoreError
from baton_git.foreign import make_folder
from baton_git.redaction import redact_text
from baton_git.spawning.keeping import Job
from baton_git.spawning.records import Records, Spawned
from baton_git.spawning.starters import STARTERS, executable, surroundings
from baton_git.spawning.wish import MAX_SECONDS, Wish
from baton_git.store.locks import flocked

MAX_RUNNING = 8
"""Sessions that may run at once, of all chains together."""
KEEPER = "baton_git.faces.session_keeper"
"""The module that looks after one session."""
_START_SECONDS = 20.0
_PACKAGE = Path(__file__).parent.parent
_PROMPT = 2000


@dataclass(frozen=True)
class Spawner:
    """Starts sessions for one session of one repository.

    Attributes:
        environment: of the process that asks.
        parent: the session that asks, and `parent_spawn` its record where it was started itself.
        now: ISO text.
        arguments: by CLI, what the user wants each session to be started with.
    """

    records: Records
    environment: Mapping[str, str]
    now: str
    parent: str | None = None
    parent_spawn: str | None = None
    arguments: Mapping[str, tuple[str, ...]] | None = None

    def __call__(self, wish: Wish, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The result of the document's `start_new_session`: `session_spawned`, `cli`, `pid`; or `error`."""
        try:
            record = self.start(wish, variables)
        except (BatonError, OSError, ValueError) as error:
            return {"error": str(error)}
        if record.status == "failed":
            return {"error": record.error or "it ended at once"}
        return {"session_spawned": True, "cli": wish.cli, "pid": record.process.pid, "spawned": record.id}

    def start(self, wish: Wish, variables: Mapping[str, Any]) -> Spawned:
        """Starts it, and gives its record once it runs.

        Raises:
            InvalidArgument: the CLI is unknown or not installed, the folder is not there.
            NotAllowed: the chain is as long as it may be, or too many sessions run.
            Busy: others are starting sessions.
            StoreError: the record cannot be written, or nothing is heard of the session.
        """
        record, job = self.prepared(wish, variables)
        in_window, is_detached = wish.in_window, wish.is_detached
        process = _in_window(job, record, wish.tmux_session) if in_window else _beside(job, is_detached=is_detached)
        return self._begun(record, process)

    def prepared(self, wish: Wish, variables: Mapping[str, Any]) -> tuple[Spawned, Job]:
        """The record, kept, and the job, with every limit looked at. Raises as `start` does."""
        launch, cwd = self._launch(wish), wish.cwd or os.curdir
        if not Path(cwd).is_dir():
            raise InvalidArgument(f"there is no folder {cwd}")
        if wish.in_window and not (wish.tmux_session or self.environment.get("TMUX")):
            raise InvalidArgument("there is no tmux around us for a window, and no session of it is named")
        make_folder(self.records.folder)
        with flocked(self.records.folder / ".lock", 5.0) as alone:
            if alone is False:
                raise Busy("another process is starting sessions", hint="try again")
            iteration = self._iteration(wish.most)
            self._room()
            record = self._record(wish, launch, str(Path(cwd).absolute()), iteration, variables)
            self.records.put(record)
        self.records.forget_old()
        environment = surroundings(self.environment, record.id)
        job = Job(str(self.records.folder), record.id, launch.argv, environment, launch.stdin, wish.in_window)
        return record, job

    def _launch(self, wish: Wish) -> Launch:
        starting = STARTERS.get(wish.cli)
        if starting is None:
            raise InvalidArgument(f"Unknown CLI: {wish.cli}")
        program = executable(wish.cli, self.environment)
        if program is None:
            raise InvalidArgument(f"{wish.cli} CLI not found")
        make = starting.in_window if wish.in_window else starting.launch
        extra = (self.arguments or {}).get(wish.cli, ())
        return make(program, wish.prompt, wish.system_prompt, str(uuid.uuid4()), extra)

    def _iteration(self, most: int) -> int:
        """Which one of its chain it is; where that cannot be known, it is not started."""
        if self.parent_spawn is None:
            before = 1 if self.parent else 0
        else:
            before = self.records.get(self.parent_spawn).iteration
        if before + 1 > most:
            raise NotAllowed(f"the chain has {before} sessions, the limit is {most}")
        return before + 1

    def _room(self) -> None:
        running = [one for one in self.records.all()[0] if one.status == "running"]
        if len(running) >= MAX_RUNNING:
            raise NotAllowed(f"{len(running)} sessions are running, the limit is {MAX_RUNNING}")

    def _record(self, wish: Wish, launch: Launch, cwd: str, iteration: int, variables: Mapping[str, Any]) -> Spawned:
        id_ = self.records.fresh_id()
        return Spawned(
            id=id_,
            cli=wish.cli,
            prompt=redact_text(wish.prompt)[0][:_PROMPT],
            cwd=cwd,
            started=self.now,
            seconds=min(wish.seconds, MAX_SECONDS),
            iteration=iteration,
            parent=self.parent,
            parent_spawn=self.parent_spawn,
            loop=wish.loop,
            session=launch.session,
            log=str(self.records.folder / f"{id_}.log"),
            variables=dict(variables),
        )

    def _begun(self, record: Spawned, process: subprocess.Popen[bytes]) -> Spawned:
        """The record once it names a process, or says why there is none."""
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            found = self.records.get(record.id)
            if found.process.pid or found.status != "running":
                process.wait(_START_SECONDS)  # the one that we started has given way to its child, or is tmux
                return found
            if process.poll() not in (None, 0):
                break
            time.sleep(0.02)
        failed = replace(record, status="failed", ended=self.now, error="who should look after it did not start")
        self.records.put(failed)
        raise StoreError(f"the session {record.id} did not start", hint="try: baton session list --spawned")


def _beside(job: Job, *, is_detached: bool) -> subprocess.Popen[bytes]:
    """The keeper as a process of its own; detached, it outlives us, our terminal and the agent's CLI around us."""
    process = subprocess.Popen(  # noqa: S603  our own module
        _keeper(),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=is_detached, cwd="/", env={**job.environment, "PYTHONPATH": str(_PACKAGE.parent)},
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(job.dumps().encode())
    return process


def _in_window(job: Job, record: Spawned, tmux_session: str) -> subprocess.Popen[bytes]:
    """The keeper in a new window of tmux; its job waits in a file that only the user can read."""
    file = Path(job.folder) / f"{job.id}.job"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as opened:
        opened.write(job.dumps())
    where = ["-t", f"={tmux_session}:"] if tmux_session else []
    keeper = ["env", f"PYTHONPATH={_PACKAGE.parent}", *_keeper(), str(file)]
    return subprocess.Popen(  # noqa: S603  as above
        ["tmux", "new-window", "-d", *where, "-n", record.id, "-c", record.cwd, "--", *keeper],  # noqa: S607  the user's tmux is meant
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=job.environment,
    )  # fmt: skip


def _keeper() -> list[str]:
    return [sys.executable, "-P", "-m", KEEPER]
