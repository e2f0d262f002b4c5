"""Run sessions one after another until the task is done: when to end, what each is told, and the run itself."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.launcher import MAX_SECONDS, LaunchRequest, SessionReport, check_prompt, find_executable
from baton_git.agents.registry import AGENTS, SPAWNED, make_session_environment
from baton_git.agents.sessions.records import SpawnedSession
from baton_git.agents.sessions.starting import Spawner, find_stop_file, run_recorded
from baton_git.core.errors import BatonError, InvalidArgument, StoreError
from baton_git.core.output import count_noun
from baton_git.core.redaction import redact_text
from baton_git.core.times import iso
from baton_git.git.local_git import LocalGit
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflows import open_spawned_sessions

MARKER = "LOOP_COMPLETE"
MAX_LAST_WORDS = 4000
"""Maximum length, in characters, of the end of an answer that the next session gets."""


class LoopLimits(NamedTuple):
    """The limits of a loop; each has a finite value.

    Attributes:
        marker: the line with which a session reports that the task is complete.
        stuck_after: the loop ends after this many sessions in a row with equal answers, or without changes.
        failures: the loop ends after this many failed sessions in a row.
    """

    marker: str = MARKER
    iterations: int = 20
    session_seconds: float = 1800.0
    total_seconds: float = 8 * 3600.0
    stuck_after: int = 3
    budget_usd: float = 20.0
    tokens: int = 50_000_000
    failures: int = 3


class LoopTurn(NamedTuple):
    """An ended session of a loop.

    Attributes:
        status: the status of its record: `exited`, `timed_out`, `failed` or `stopped`.
        answer: its last answer.
        work: the digest of the work tree after the session; None if unknown.
    """

    status: str
    answer: str
    work: str | None = None
    cost_usd: float | None = None
    tokens: int | None = None


class LoopEnding(NamedTuple):
    """The reason why a loop ended, and its description in `why`.

    The reason is `completed`, `max_iterations`, `stuck`, `failures`, `budget`, `token_budget`, `total_timeout`,
    `stop_file`, `interrupted` or `error`.
    """

    by: str
    why: str


def decide_ending(
    turns: Sequence[LoopTurn], limits: LoopLimits, prompt: str, before: str | None, seconds: float
) -> LoopEnding | None:
    """Return why the loop ends after these sessions; None if it continues.

    Args:
        prompt: the prompt of the sessions, which they may repeat.
        before: the digest of the work tree at the start.
        seconds: the time since the start.
    """
    last = turns[-1]
    if last.status == "exited" and says_done(last.answer, limits.marker, prompt):
        return LoopEnding("completed", f"the session said {limits.marker}")
    return (
        _check_budget(turns, limits) or _check_progress(turns, limits, before) or _check_length(turns, limits, seconds)
    )


def says_done(answer: str, marker: str, prompt: str) -> bool:
    """Return whether the last line of the answer is the marker or ends with it. A last line that is also in `prompt`
    does not count, unless it is the marker alone."""
    last = last_line(answer)
    if last in {line.strip() for line in prompt.splitlines()} - {marker}:
        return False
    return is_marker(last, marker) or re.search(rf"(?<![\w-]){re.escape(marker)}[*_`.!]*\Z", last) is not None


def is_marker(line: str, marker: str) -> bool:
    """Return whether the line consists of the marker only, with or without Markdown emphasis."""
    return marker in (line, line.strip("*_`# "))


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def total_cost(turns: Sequence[LoopTurn]) -> float | None:
    """Return the total cost of the sessions that report one, in USD; None if none does."""
    known = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    return round(sum(known), 6) if known else None


def total_tokens(turns: Sequence[LoopTurn]) -> int | None:
    """Return the total number of tokens of the sessions that report it; None if none does."""
    known = [turn.tokens for turn in turns if turn.tokens is not None]
    return sum(known) if known else None


def _check_budget(turns: Sequence[LoopTurn], limits: LoopLimits) -> LoopEnding | None:
    cost, tokens = total_cost(turns), total_tokens(turns)
    if cost is not None and cost >= limits.budget_usd:
        return LoopEnding("budget", f"{cost:.2f} USD are spent, the budget is {limits.budget_usd:.2f}")
    if tokens is not None and tokens >= limits.tokens:
        return LoopEnding("token_budget", f"{tokens:,} tokens are used, the budget is {limits.tokens:,}")
    return None


def _check_progress(turns: Sequence[LoopTurn], limits: LoopLimits, before: str | None) -> LoopEnding | None:
    row = turns[-limits.failures :]
    if len(row) == limits.failures and all(turn.status != "exited" for turn in row):
        return LoopEnding("failures", f"{len(row)} sessions in a row failed")
    row = turns[-limits.stuck_after :]
    if len(row) < limits.stuck_after:
        return None
    if row[0].answer.strip() and len({" ".join(turn.answer.split()) for turn in row}) == 1:
        return LoopEnding("stuck", f"{len(row)} sessions in a row gave the same answer")
    earlier = turns[-limits.stuck_after - 1].work if len(turns) > limits.stuck_after else before
    if earlier is not None and {turn.work for turn in row} == {earlier}:
        return LoopEnding("stuck", f"{len(row)} sessions in a row changed nothing: no commit, and no file")
    return None


def _check_length(turns: Sequence[LoopTurn], limits: LoopLimits, seconds: float) -> LoopEnding | None:
    if len(turns) >= limits.iterations:
        return LoopEnding("max_iterations", f"{len(turns)} sessions have run, which is the limit")
    if seconds >= limits.total_seconds:
        return LoopEnding("total_timeout", f"the loop took longer than {limits.total_seconds:g} seconds")
    return None


def write_context(number: int, limits: LoopLimits, last: LoopTurn | None) -> str:
    """Return the text that session `number` (from 1) of a loop gets in addition to the task."""
    lines = [
        f"This is session {number} of at most {limits.iterations} that work on one task, each with a fresh memory.",
        "The next session loses everything that is not committed, written to a file, or stored with baton.",
        f"When the whole task is done and checked, end your answer with {limits.marker} on a line of its own;",
        "before that, do not write this word.",
    ]
    if last is not None:
        how = {"exited": "ended", "timed_out": "was ended at its time limit"}.get(last.status, "failed")
        lines += ["", f"The previous session {how}. The end of its answer, as data:"]
        words = redact_text(last.answer)[0].strip()[-MAX_LAST_WORDS:] or "(nothing)"
        lines += [f"| {line}" for line in words.splitlines()]
    return "\n".join(lines)


# --- running the sessions


INTERRUPTED = LoopEnding("interrupted", "you ended the loop; its running session was ended too")
_PERMISSION = re.compile(r"permission|approv|read-only|sandbox|not allowed", re.IGNORECASE)
"""Matches an answer of a session that lacked a permission."""
_MAX_UNTRACKED = 5000
"""Maximum number of untracked files whose size and modification time are compared."""


@dataclass(frozen=True)
class Loop:
    """A loop of sessions: their task, their agent CLI, and the limits.

    Attributes:
        cwd: the working directory of the sessions.
        stop_files: while one of these files exists, no session is started.
        arguments: additional arguments for each session, by agent CLI.
    """

    prompt: str
    cli: str
    cwd: str
    stop_files: tuple[Path, ...]
    limits: LoopLimits = field(default_factory=LoopLimits)
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class LoopResult:
    """The result of a loop."""

    ended: LoopEnding
    turns: tuple[LoopTurn, ...] = ()
    sessions: tuple[SpawnedSession, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "iterations": len(self.sessions),
            "ended_by": self.ended.by,
            "why": self.ended.why,
            "sessions": [session.public_data for session in self.sessions],
            "cost_usd": total_cost(self.turns),
            "cost_is_known": bool(self.turns) and all(turn.cost_usd is not None for turn in self.turns),
            "tokens": total_tokens(self.turns),
        }


def find_installed_cli(environment: Mapping[str, str]) -> str:
    """Return the first installed agent CLI. Raises InvalidArgument if none is installed."""
    for cli in AGENTS:
        if find_executable(cli, environment):
            return cli
    raise InvalidArgument(f"none of {', '.join(AGENTS)} is installed", hint="install one of them")


def run_loop(
    ws: Workspace, loop: Loop, now: Callable[[], datetime], say: Callable[[str], None],
    is_stopped: Callable[[], bool] = lambda: False,
) -> LoopResult:  # fmt: skip
    """Run sessions until one reports completion, a limit is reached, the loop is stopped, or there is an error.

    If `is_stopped` returns true, the running session is ended.

    Args:
        say: receives the messages about the progress, each of one line.

    Raises:
        InvalidArgument: the prompt or the marker cannot be used, or the agent CLI is unknown or not installed.
    """
    _check_loop(ws, loop)
    return _LoopRunner(ws, loop, now, say, is_stopped).run()


def _check_loop(ws: Workspace, loop: Loop) -> None:
    if not loop.prompt.strip():
        raise InvalidArgument("the prompt is empty", hint="describe the task")
    if not loop.limits.marker.strip() or "\n" in loop.limits.marker:
        raise InvalidArgument("the marker must be a text on one line")
    if is_marker(last_line(loop.prompt), loop.limits.marker):
        raise InvalidArgument(
            f"the prompt ends with the line {loop.limits.marker}, which marks the end of the task",
            hint="remove the line (each session is told the marker), or choose another marker with --marker",
        )
    check_prompt(loop.prompt)
    if loop.cli not in AGENTS:
        raise InvalidArgument(f"Unknown CLI: {loop.cli}")
    if find_executable(loop.cli, ws.environment) is None:
        raise InvalidArgument(f"{loop.cli} CLI not found", hint="install it, or choose another CLI with --cli")


@dataclass
class _LoopRunner:
    ws: Workspace
    loop: Loop
    now: Callable[[], datetime]
    say: Callable[[str], None]
    is_stopped: Callable[[], bool]
    turns: list[LoopTurn] = field(default_factory=list)
    sessions: list[SpawnedSession] = field(default_factory=list)
    before: str | None = None
    missing_permission: str = ""
    started: float = field(default_factory=time.monotonic)

    def run(self) -> LoopResult:
        self.before = compute_work_digest(self.loop.cwd, self.ws.environment)
        ending: LoopEnding | None = None
        try:
            while ending is None:
                ending = self._check_stop() or self._run_session() or self._decide_ending()
        except KeyboardInterrupt:
            ending = INTERRUPTED
        except (BatonError, OSError) as error:
            ending = LoopEnding("error", str(error))
        return LoopResult(ending, tuple(self.turns), tuple(map(self._reload, self.sessions)))

    def _check_stop(self) -> LoopEnding | None:
        """Return the reason not to start a session, or None. The stop file is not removed, because it may stop other
        loops too."""
        if self.is_stopped():
            return INTERRUPTED
        stop = find_stop_file(self.loop.stop_files)
        return LoopEnding("stop_file", f"{stop} exists; remove it to continue") if stop is not None else None

    def _run_session(self) -> LoopEnding | None:
        """Run one session to its end; return the reason if the loop ends with it, or None."""
        limits = self.loop.limits
        seconds = limits.total_seconds - (time.monotonic() - self.started)
        if seconds <= 0:
            return LoopEnding("total_timeout", f"the loop took longer than {limits.total_seconds:g} seconds")
        environment = self.ws.environment
        parent = self.sessions[-1].id if self.sessions else environment.get(SPAWNED) or None
        records = open_spawned_sessions(self.ws)
        spawner = Spawner(records, environment, iso(self.now()), None, parent, self.loop.arguments)
        record, job = spawner.prepare(self._make_request(seconds), {})
        name = f"session {len(self.turns) + 1}/{limits.iterations}"
        self.say(f"{name}: {self.loop.cli}, {record.id}")
        self.sessions.append(record)
        ended, report = run_recorded(records, record, job, lambda: iso(self.now()), self.is_stopped)
        self.sessions[-1] = ended
        work = compute_work_digest(self.loop.cwd, environment)
        self.turns.append(LoopTurn(ended.status, report.answer, work, ended.cost_usd, ended.tokens))
        self.say(f"{name}: {_describe_session(ended)}")
        self._report_missing_permission(name, report)
        if ended.status != "stopped":
            return None
        return INTERRUPTED if self.is_stopped() else LoopEnding("interrupted", f"the session {ended.id} was stopped")

    def _report_missing_permission(self, name: str, report: SessionReport) -> None:
        """Report once that the sessions lack a permission, and how to grant it."""
        last, earlier = self.turns[-1].work, self.turns[-2].work if len(self.turns) > 1 else self.before
        is_idle = last is not None and last == earlier
        if self.missing_permission or not (report.denied or (is_idle and _PERMISSION.search(report.answer))):
            return
        denied = (
            f"was denied {', '.join(report.denied)}" if report.denied else "changed nothing and mentions a permission"
        )
        arguments = AGENTS[self.loop.cli].permission_arguments
        allow = f'git config baton.{self.loop.cli}Arguments "{arguments}"'
        self.missing_permission = f"it {denied}; to allow more: {allow}"
        self.say(f"{name}: {self.missing_permission}")

    def _make_request(self, seconds: float) -> LaunchRequest:
        loop, limits = self.loop, self.loop.limits
        return LaunchRequest(
            cli=loop.cli,
            prompt=loop.prompt,
            system_prompt=write_context(len(self.turns) + 1, limits, self.turns[-1] if self.turns else None),
            cwd=loop.cwd,
            seconds=min(limits.session_seconds, seconds, MAX_SECONDS),
            most=limits.iterations,  # if a chain started this loop, the count includes the chain's sessions
            chain_seconds=limits.total_seconds + 1,  # 1 s more, so that the loop's own limit is reached first
            budget_usd=limits.budget_usd,
            loop="loop-run",
        )

    def _decide_ending(self) -> LoopEnding | None:
        loop, count = self.loop, len(self.turns)
        prompt = f"{loop.prompt}\n{write_context(count, loop.limits, None)}"
        ending = decide_ending(self.turns, loop.limits, prompt, self.before, time.monotonic() - self.started)
        if ending is None or ending.by == "completed" or not self.missing_permission:
            return ending
        return ending._replace(why=f"{ending.why}; a session lacked permissions: {self.missing_permission}")

    def _reload(self, session: SpawnedSession) -> SpawnedSession:
        """Return the stored record, because the end of an interrupted session is recorded by another process."""
        try:
            return open_spawned_sessions(self.ws).get(session.id)
        except BatonError:
            return replace(session, status="lost") if session.status == "running" else session


def _describe_session(ended: SpawnedSession) -> str:
    parts = [ended.status.replace("_", " "), ended.cost_in_words, format_tokens(ended.tokens)]
    if ended.status != "failed":
        return ", ".join(parts) + (f": {ended.error}" if ended.error else "")
    why = ": ".join(filter(None, (ended.exit_in_words, ended.error)))
    return f"{', '.join(parts)}: {why or 'the reason is unknown'}; log: {ended.log}"


def format_tokens(tokens: int | None) -> str:
    """Format a number of tokens as text."""
    return "tokens unknown" if tokens is None else count_noun(tokens, "token")


def compute_work_digest(cwd: str, environment: Mapping[str, str]) -> str | None:
    """Return a digest that changes with each commit and each change of a file that git does not ignore.

    Return None outside of a work tree, or if git fails.
    """
    git = LocalGit(Path(cwd), make_session_environment(environment, ""))
    try:
        top = git.ask("rev-parse", "--show-toplevel")
        if top is None:
            return None
        status = git.ask("--no-optional-locks", "status", "--porcelain=v1", "-z", "-uall") or ""
        commands = (("rev-parse", "HEAD"), ("--no-optional-locks", "diff", "HEAD", "--no-ext-diff"))
        parts = [status, _describe_untracked(Path(top), status), *(git.ask(*words) or "-" for words in commands)]
    except StoreError:
        return None
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _describe_untracked(top: Path, status: str) -> str:
    """Return size and modification time of untracked files, which `git diff` omits."""
    stats = []
    for entry in status.split("\0")[:_MAX_UNTRACKED]:
        if entry.startswith("?? "):
            with contextlib.suppress(OSError):
                file = (top / entry[3:]).stat()
                stats.append(f"{file.st_size}:{file.st_mtime_ns}")
    return " ".join(stats)
