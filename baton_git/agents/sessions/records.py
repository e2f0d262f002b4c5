"""The sessions started on this machine: their records, one local JSON file each, and how they are stopped."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import psutil
from pydantic import TypeAdapter, ValidationError

from baton_git.agents.sessions.process import GRACE, is_alive, terminate
from baton_git.core.codecs import json
from baton_git.core.errors import Ambiguous, BatonError, Corrupt, NotFound
from baton_git.core.names import mint_id
from baton_git.git.files.atomic_files import read_bytes, write_all

KEPT = 500
"""Number of records of ended sessions that are kept."""
LOGS = 100
"""Number of ended sessions whose logs are kept."""
Status = Literal["running", "exited", "failed", "timed_out", "stopped", "lost"]


@dataclass(frozen=True)
class Process:
    """A process id with the start time of the process, so that another process with a reused id is not mistaken for it.

    Attributes:
        pid: the process id; 0 for no process.
        began: the start time in seconds since 1970.
    """

    pid: int = 0
    began: float = 0.0

    @classmethod
    def of(cls, pid: int) -> Process:
        try:
            return cls(pid, psutil.Process(pid).create_time())
        except psutil.Error:
            return cls(pid)

    @property
    def is_alive(self) -> bool:
        try:
            process = psutil.Process(self.pid) if self.pid > 0 else None
            return process is not None and is_alive(process) and abs(process.create_time() - self.began) < 1
        except psutil.Error:
            return False


@dataclass(frozen=True)
class SpawnedSession:
    """A session started on this machine.

    Attributes:
        process: the process of the agent CLI.
        keeper: the process of its supervisor.
        starter: the process that starts it; it matters only until the supervisor runs.
        prompt: the beginning of the prompt, redacted.
        started, ended: ISO timestamps.
        seconds: the time limit.
        iteration: its number in the chain, in the order of the starts; the session that a person started has number 1.
        chain: the id of the chain: the id of the session that a person started or, if it is unknown, the id of the
            chain's first record.
        chain_began: ISO timestamp of the chain's first start.
        parent: the session that started it; `parent_spawn` is that session's record, if it was spawned as well.
        loop: the workflow or command that continues the chain.
        session: the id that the CLI gave it, if known.
        variables: workflow variables inherited from its parent.
        answer: the end of its last answer, redacted.
    """

    id: str
    cli: str
    status: Status = "running"
    process: Process = field(default_factory=Process)
    keeper: Process = field(default_factory=Process)
    starter: Process = field(default_factory=Process)
    prompt: str = ""
    cwd: str = ""
    started: str = ""
    ended: str | None = None
    seconds: float = 0.0
    iteration: int = 1
    chain: str = ""
    chain_began: str = ""
    parent: str | None = None
    parent_spawn: str | None = None
    loop: str = ""
    exit: int | None = None
    error: str | None = None
    session: str | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    answer: str = ""
    log: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exit_in_words(self) -> str:
        """`exit 7`, or the name of the signal that ended it; empty when unknown."""
        if self.exit is None or self.exit >= 0:
            return "" if self.exit is None else f"exit {self.exit}"
        try:
            return signal.Signals(-self.exit).name
        except ValueError:
            return f"signal {-self.exit}"

    @property
    def cost_in_words(self) -> str:
        return cost_in_words(self.cost_usd)

    @property
    def is_unwatched(self) -> bool:
        """Whether its supervisor disappeared without recording the end of the session."""
        was_supervised = self.process.pid > 0 and self.keeper.pid > 0
        return was_supervised and self.ended is None and self.status in ("running", "lost") and not self.keeper.is_alive

    @property
    def public_data(self) -> dict[str, Any]:
        """The record as data for lists."""
        data = asdict(self)
        del data["variables"], data["keeper"], data["process"], data["starter"]
        return {**data, "pid": self.process.pid or None}


def cost_in_words(cost_usd: float | None) -> str:
    return "cost unknown" if cost_usd is None else f"{cost_usd:.2f} USD"


@dataclass(frozen=True)
class SpawnedSessions:
    """The records of a repository's sessions, in `folder`."""

    folder: Path

    @classmethod
    def of(cls, common_dir: Path) -> Self:
        """Return the records of the repository with this common directory."""
        return cls(common_dir / "baton" / "spawned")

    def path(self, id_: str) -> Path:
        return self.folder / f"{id_}.json"

    def get(self, id_: str) -> SpawnedSession:
        """Return a record; its status is `lost` if its processes are gone.

        Raises:
            NotFound: there is no such record.
            Corrupt: the record cannot be read.
        """
        if not id_.replace("-", "").isalnum():
            raise NotFound("spawned session", id_)
        try:
            record = _mark_if_lost(self._read(id_))
            # The supervisor may have recorded the end and exited after we read the record and before we checked it.
            return _mark_if_lost(self._read(id_)) if record.status == "lost" or record.is_unwatched else record
        except NotFound:
            raise NotFound("spawned session", id_, hint="baton session list --spawned shows all") from None
        except (BatonError, ValueError) as error:
            raise Corrupt(str(self.path(id_)), f"cannot be read ({error})", hint="remove it") from error

    def _read(self, id_: str) -> SpawnedSession:
        return _parse_record(json.loads(read_bytes(self.path(id_))))

    def find(self, beginning: str) -> SpawnedSession:
        """Return the record whose id is, or begins with, `beginning`.

        Raises:
            NotFound: no record matches.
            Ambiguous: several records match.
            Corrupt: the record cannot be read.
        """
        ids = [id_ for id_ in self._list_ids() if id_.lower().startswith(beginning.lower())] if beginning else []
        if beginning in ids or len(ids) == 1:
            return self.get(beginning if beginning in ids else ids[0])
        if ids:
            raise Ambiguous("spawned session", beginning, sorted(ids))
        raise NotFound("spawned session", beginning, hint="baton session list --spawned shows all")

    def all(self) -> tuple[list[SpawnedSession], list[str]]:
        """Return all readable records, newest first, and a message for each unreadable one."""
        records, problems = [], []
        for id_ in self._list_ids():
            try:
                records.append(self.get(id_))
            except Corrupt as error:
                problems.append(str(error))
            except NotFound:  # removed meanwhile
                continue
        return sorted(records, key=lambda record: (record.started, record.id), reverse=True), problems

    def save(self, record: SpawnedSession) -> None:
        """Store a record. Raises WriteFailed when the file cannot be written."""
        write_all({self.path(record.id): json.dumps(asdict(record)).encode()})

    def fresh_id(self) -> str:
        return mint_id("SP", os.urandom(4))

    def pipe(self, id_: str) -> Path:
        """Return the path of the named pipe through which a supervisor in a tmux window receives its job."""
        return self.folder / f"{id_}.job"

    def forget_old(self, chain: str = "") -> None:
        """Remove the oldest records of ended sessions, old logs, and unused pipes.

        Args:
            chain: a chain whose records are kept, because they still count towards its limits.
        """
        records = self.all()[0]
        ended = [record for record in records if record.status != "running"]
        waiting = {self.pipe(record.id) for record in records if record.status == "running"}
        old = [record for record in ended[KEPT:] if not chain or record.chain != chain]
        gone = [self.path(record.id) for record in old] + [self.folder / f"{record.id}.log" for record in ended[LOGS:]]
        for path in (*gone, *(path for path in self.folder.glob("SP-*.job") if path not in waiting)):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _list_ids(self) -> list[str]:
        return [path.stem for path in self.folder.glob("SP-*.json")]


@functools.cache
def _record_type() -> TypeAdapter[SpawnedSession]:
    return TypeAdapter(SpawnedSession)  # slow to build, and few commands need it


def _parse_record(data: Any) -> SpawnedSession:
    """Parse a record. Raises ValueError naming the first invalid field."""
    try:
        return _record_type().validate_python(data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, fault['loc'])) or 'the record'}: {fault['msg']}") from None


def _mark_if_lost(record: SpawnedSession) -> SpawnedSession:
    """Return the record; if its status is `running` but its process and its supervisor are gone, with status `lost`."""
    if record.status != "running" or record.process.is_alive or record.keeper.is_alive:
        return record
    if not record.process.pid and not record.keeper.pid and record.starter.is_alive:
        return record  # it is being started; the starter records a failure
    return replace(record, status="lost")


# --- stopping


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
