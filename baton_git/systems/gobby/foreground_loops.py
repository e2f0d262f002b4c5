"""A loop of sessions in the foreground: one after the other, each fresh, until the task is done or a limit is met."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.launch_request import MAX_SECONDS, LaunchRequest, check_prompt
from baton_git.agents.sessions.launchers import SPAWNED, executable, surroundings
from baton_git.agents.sessions.records import SpawnedSession
from baton_git.agents.sessions.starting import Spawner
from baton_git.agents.sessions.supervisor import run_recorded
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.times import iso
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflow.looping import (
    Ending,
    Limits,
    Turn,
    context,
    ending,
    is_marker,
    last_line,
    total_cost,
    total_tokens,
)
from baton_git.systems.gobby.workflows import spawned_records

_GIT_SECONDS = 20.0
INTERRUPTED = Ending("interrupted", "you ended it; the session that ran is ended too")
_UNTRACKED = 5000
"""Untracked files whose size and age are looked at."""


@dataclass(frozen=True)
class Loop:
    """What is to be done again and again.

    Attributes:
        cwd: where the sessions work.
        stop_file: while it is there, no session is started.
        arguments: by CLI, what each session is started with besides.
    """

    prompt: str
    cli: str
    cwd: str
    stop_file: Path
    limits: Limits = field(default_factory=Limits)
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Looped:
    """How a loop went."""

    ended: Ending
    turns: tuple[Turn, ...] = ()
    sessions: tuple[SpawnedSession, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        return {
            "iterations": len(self.sessions),
            "ended_by": self.ended.by,
            "why": self.ended.why,
            "sessions": [one.public_data for one in self.sessions],
            "cost_usd": total_cost(self.turns),
            "cost_is_known": bool(self.turns) and all(one.cost_usd is not None for one in self.turns),
            "tokens": total_tokens(self.turns),
        }


def installed(environment: Mapping[str, str]) -> str:
    """The first CLI that is installed. Raises InvalidArgument when none is."""
    for cli in AGENTS:
        if executable(cli, environment):
            return cli
    raise InvalidArgument(f"none of {', '.join(AGENTS)} is installed", hint="say which with --cli, or install one")


def run_loop(
    ws: Workspace,
    loop: Loop,
    now: Callable[[], datetime],
    say: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
) -> Looped:
    """Runs sessions until one says that all is done, a limit is met, or `stopped` says so, which ends the session that
    runs.

    Raises:
        InvalidArgument: there is nothing to do, or no such CLI.
    """
    _possible(ws, loop)
    begun, before = time.monotonic(), work_digest(loop.cwd, ws.environment)
    turns: list[Turn] = []
    sessions: list[SpawnedSession] = []
    ended: Ending | None = None
    try:
        while ended is None:
            ended = _stop_wanted(loop, stopped) or _one(ws, loop, now, say, stopped, turns, sessions, begun)
            ended = ended or ending(turns, loop.limits, _told(loop, turns), before, time.monotonic() - begun)
    except KeyboardInterrupt:
        ended = INTERRUPTED
    except (BatonError, OSError) as error:
        ended = Ending("error", str(error))
    return Looped(ended, tuple(turns), tuple(_newest(ws, sessions)))


def _possible(ws: Workspace, loop: Loop) -> None:
    if not loop.prompt.strip():
        raise InvalidArgument("the prompt is empty", hint="say what is to be done")
    if not loop.limits.marker.strip() or "\n" in loop.limits.marker:
        raise InvalidArgument("the marker is no word on one line")
    if is_marker(last_line(loop.prompt), loop.limits.marker):
        raise InvalidArgument(
            f"the prompt ends with the line {loop.limits.marker}, as an answer does when all is done",
            hint="leave it out, sessions are told of it; or choose another with --marker",
        )
    check_prompt(loop.prompt)
    if loop.cli not in AGENTS:
        raise InvalidArgument(f"Unknown CLI: {loop.cli}")
    if executable(loop.cli, ws.environment) is None:
        raise InvalidArgument(f"{loop.cli} CLI not found", hint="install it, or say another with --cli")


def _stop_wanted(loop: Loop, stopped: Callable[[], bool]) -> Ending | None:
    """The file is looked at and left as it is: whoever made it may want more than this loop to stop."""
    if stopped():
        return INTERRUPTED
    if loop.stop_file.exists():
        return Ending("stop_file", f"{loop.stop_file} is there; remove it to go on")
    return None


def _one(
    ws: Workspace, loop: Loop, now: Callable[[], datetime], say: Callable[[str], None], stopped: Callable[[], bool],
    turns: list[Turn], sessions: list[SpawnedSession], begun: float,
) -> Ending | None:  # fmt: skip
    """One session, to its end."""
    left = loop.limits.total_seconds - (time.monotonic() - begun)
    if left <= 0:
        return Ending("total_timeout", f"it took longer than {loop.limits.total_seconds:g} seconds")
    parent = sessions[-1].id if sessions else ws.environment.get(SPAWNED) or None
    spawner = Spawner(spawned_records(ws), ws.environment, iso(now()), None, parent, loop.arguments)
    record, job = spawner.prepare(_wish(loop, turns, left), {})
    name = f"session {len(turns) + 1}/{loop.limits.iterations}"
    say(f"{name}: {loop.cli}, {record.id}")
    sessions.append(record)
    ended, report = run_recorded(spawner.records, record, job, lambda: iso(now()), stopped)
    sessions[-1] = ended
    work = work_digest(loop.cwd, ws.environment)
    turns.append(Turn(ended.status, report.answer, work, ended.cost_usd, ended.tokens))
    say(f"{name}: {_in_words(ended)}")
    if ended.status == "stopped" and stopped():
        return INTERRUPTED
    if ended.status == "stopped":
        return Ending("interrupted", f"the session {ended.id} was stopped")
    return None


def _wish(loop: Loop, turns: list[Turn], left: float) -> LaunchRequest:
    limits = loop.limits
    return LaunchRequest(
        cli=loop.cli,
        prompt=loop.prompt,
        system_prompt=context(len(turns) + 1, limits, turns[-1] if turns else None),
        cwd=loop.cwd,
        seconds=min(limits.session_seconds, left, MAX_SECONDS),
        most=limits.iterations,  # a loop within a chain goes on counting where the chain is
        chain_seconds=limits.total_seconds + 1,  # by the clock on the wall, which rounds; ours is looked at before
        budget_usd=limits.budget_usd,
        loop="loop-run",
    )


def _told(loop: Loop, turns: list[Turn]) -> str:
    """All that the last session was told, which it may repeat without meaning it."""
    return f"{loop.prompt}\n{context(len(turns), loop.limits, None)}"


def _newest(ws: Workspace, sessions: list[SpawnedSession]) -> list[SpawnedSession]:
    """The records as they are kept: of a session that was interrupted we have not seen the end."""
    records, found = spawned_records(ws), []
    for one in sessions:
        try:
            found.append(records.get(one.id))
        except BatonError:
            found.append(replace(one, status="lost") if one.status == "running" else one)
    return found


def _in_words(ended: SpawnedSession) -> str:
    said = [ended.status.replace("_", " "), ended.cost_in_words, tokens_in_words(ended.tokens)]
    if ended.status != "failed":
        return ", ".join(said) + (f": {ended.error}" if ended.error else "")
    why = ": ".join(one for one in (ended.exit_in_words, ended.error) if one)
    return f"{', '.join(said)}: {why or 'nothing says why'}; log: {ended.log}"


def tokens_in_words(tokens: int | None) -> str:
    return "tokens unknown" if tokens is None else f"{tokens:,} token{'' if tokens == 1 else 's'}"


def work_digest(cwd: str, environment: Mapping[str, str]) -> str | None:
    """Changes when a commit is made or a file of the work tree that git does not ignore is; None outside of one."""
    top = _git(cwd, environment, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    folder = Path(os.fsdecode(top.rstrip(b"\n")))
    status = _git(cwd, environment, "status", "--porcelain=v1", "-z", "-uall") or b""
    digest = hashlib.sha256(status + _ages(folder, status))
    for words in (("rev-parse", "HEAD"), ("diff", "HEAD", "--no-ext-diff")):
        digest.update(_git(cwd, environment, *words) or b"-")
    return digest.hexdigest()


def _ages(top: Path, status: bytes) -> bytes:
    """Size and time of untracked files, of which `git diff` says nothing."""
    found = []
    for entry in status.split(b"\0")[:_UNTRACKED]:
        if entry.startswith(b"?? "):
            try:
                there = (top / os.fsdecode(entry[3:])).stat()
            except OSError:
                continue
            found.append(f"{there.st_size}:{there.st_mtime_ns}")
    return " ".join(found).encode()


def _git(cwd: str, environment: Mapping[str, str], *words: str) -> bytes | None:
    try:
        done = subprocess.run(  # noqa: S603  the arguments are ours
            ["git", "--no-optional-locks", "-C", cwd, *words],  # noqa: S607  the user's git is meant
            capture_output=True, stdin=subprocess.DEVNULL, timeout=_GIT_SECONDS, check=False,
            env=surroundings(environment, ""),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
