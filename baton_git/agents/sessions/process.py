"""Run a child process with limits on time and output, and terminate it together with all its descendants."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import psutil

# --- termination
# To end the session also when its supervisor is killed, a watchdog runs in a POSIX session of its own, so that it
# survives when the process group is killed or the terminal is closed. It reads a pipe whose other end only the
# supervisor holds, until that end is closed. A supervisor that finishes normally kills its watchdog before it closes
# the pipe, so the end of the input means that the supervisor was killed.

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_POLL_SECONDS = 0.05
_KILLED = 5.0
"""Maximum seconds to wait for killed processes, which disappear with a delay on a busy machine."""


def terminate(pid: int, grace: float = GRACE, *, is_group: bool = True) -> None:
    """Terminate a process with its group and its descendants; those that still run after `grace` seconds are killed.

    Returns when all of them are gone, or at the latest 5 seconds after the first SIGKILL.

    Args:
        is_group: whether the process leads a process group of its own.
    """
    members = _list_members(pid, is_group)
    if not members:
        return
    _send_signal(members, signal.SIGTERM)
    until = time.monotonic() + grace
    while (members := _filter_living(members) + _list_members(pid, is_group)) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    until = time.monotonic() + _KILLED
    while members and time.monotonic() < until:
        _send_signal(members, signal.SIGKILL)
        time.sleep(0.01)
        members = _filter_living(members) + _list_members(pid, is_group)


def _list_members(pid: int, is_group: bool) -> list[psutil.Process]:
    """Return the process, its descendants and the members of its group, as far as they are running.

    Descendants can be found only while their parents run.
    """
    members: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        members |= {process.pid: process for process in [leader, *leader.children(recursive=True)]}
    for member in psutil.pids() if is_group else ():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(member) == pid:
                members[member] = psutil.Process(member)
    return _filter_living(list(members.values()))


def _filter_living(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Whether a process is running: it is no zombie, and its id does not belong to a later process."""
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _send_signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


_PACKAGE = Path(__file__).parents[2]
_MODULE = "baton_git.agents.sessions.process"
_MAIN = f"import sys; sys.path.insert(0, sys.argv[1]); from {_MODULE} import run_watchdog; run_watchdog()"


@contextlib.contextmanager
def start_watchdog(*, is_group: bool) -> Iterator[Callable[[int], None]]:
    """Start a watchdog for the duration of the block; yield a function that sends it the session's process id.

    Args:
        is_group: whether the session leads a process group of its own.

    Raises:
        OSError: the watchdog cannot be started; no session runs without one.
    """
    watchdog = subprocess.Popen(  # noqa: S603  our own module
        [sys.executable, "-P", "-c", _MAIN, str(_PACKAGE.parent)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        cwd="/", bufsize=0,
    )  # fmt: skip
    pipe = watchdog.stdin
    assert pipe is not None

    def report_pid(pid: int) -> None:
        with contextlib.suppress(psutil.Error, BrokenPipeError):
            pipe.write(f"{pid} {psutil.Process(pid).create_time()} {int(is_group)}".encode())

    try:
        yield report_pid
    finally:
        watchdog.kill()  # before the pipe is closed, which would make the watchdog terminate the session
        watchdog.wait()
        pipe.close()


def run_watchdog() -> None:
    """Wait until the supervisor is gone, then end its session."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    words = Path("/dev/stdin").read_bytes().split()
    if len(words) == 3 and _is_same_process(int(words[0]), float(words[1])):
        terminate(int(words[0]), GRACE, is_group=words[2] == b"1")


def _is_same_process(pid: int, began: float) -> bool:
    """Whether a process id has not been reused: its process started at the same time, or is gone.

    The session's first process may be gone while others of its group still run.
    """
    try:
        return bool(abs(psutil.Process(pid).create_time() - began) < 1)
    except psutil.NoSuchProcess:
        return True


# --- running

HEAD = 64 * 1024
TAIL = 8 * 1024 * 1024
"""Maximum numbers of bytes that are kept from the beginning and from the end of standard output."""
LOG = 1024 * 1024
"""Maximum size of the log in bytes, both outputs together."""
_LINE = 64 * 1024
"""A longer line is logged without waiting for its end."""
_POLL = 0.05


class Command(NamedTuple):
    """A command to run.

    Attributes:
        seconds: the time limit.
        stdin: the text on standard input; None for no input.
        log: the file for standard output and standard error.
        has_terminal: whether the command uses our terminal; then its input and output are not redirected.
    """

    argv: Sequence[str]
    cwd: str | None
    environment: Mapping[str, str]
    seconds: float
    stdin: str | None = None
    log: Path | None = None
    has_terminal: bool = False


class ProcessResult(NamedTuple):
    """How a process ended.

    Attributes:
        how: `ended`, `timed_out` or `stopped`.
        exit: the exit status; for a process that a signal ended, the negative number of the signal.
        output: standard output; if it is too long, without its middle.
        complaint: the last line of standard error.
    """

    how: str
    exit: int
    output: str
    complaint: str


def run(
    command: Command,
    stopped: Callable[[], bool] = lambda: False,
    started: Callable[[int], None] = lambda pid: None,
    grace: float = GRACE,
) -> ProcessResult:
    """Run a command until it ends, reaches its time limit, or `stopped` returns True.

    No descendant is left running, even if this process is killed. Signal handlers should make `stopped` return True
    instead of raising an exception, which could arrive between the process's start and its registration here.

    Args:
        started: called with the process id.

    Raises:
        OSError, ValueError: the command cannot be started.
    """
    with start_watchdog(is_group=not command.has_terminal) as report_to_watchdog:

        def report_pid(pid: int) -> None:
            report_to_watchdog(pid)
            started(pid)

        return _run(command, stopped, report_pid, grace)


def _run(command: Command, stopped: Callable[[], bool], started: Callable[[int], None], grace: float) -> ProcessResult:
    process = subprocess.Popen(  # noqa: S603  the program is an agent's CLI, its arguments are ours
        command.argv,
        cwd=command.cwd,
        env=dict(command.environment),
        stdin=None if command.has_terminal else subprocess.DEVNULL if command.stdin is None else subprocess.PIPE,
        stdout=None if command.has_terminal else subprocess.PIPE,
        stderr=None if command.has_terminal else subprocess.PIPE,
        start_new_session=not command.has_terminal,  # a process group of its own could not read from the terminal
    )
    try:
        started(process.pid)
        return _watch_process(process, command, stopped, grace)
    except BaseException:
        _abandon(process, grace, is_group=not command.has_terminal)
        raise
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _abandon(process: subprocess.Popen[bytes], grace: float, *, is_group: bool) -> None:
    """Terminate an interrupted command with its descendants, even if the user interrupts again."""
    try:
        if process.returncode is None:
            terminate(process.pid, grace, is_group=is_group)
    finally:
        if process.returncode is None:
            terminate(process.pid, 0.0, is_group=is_group)
            process.wait()


def _watch_process(
    process: subprocess.Popen[bytes], command: Command, stopped: Callable[[], bool], grace: float
) -> ProcessResult:
    if command.stdin is not None and process.stdin is not None:
        threading.Thread(target=_write_stdin, args=(process.stdin, command.stdin), daemon=True).start()
    with _Outputs(process, command.log) as outputs:
        how = _wait_for_end(process, outputs, time.monotonic() + command.seconds, stopped)
        is_group = not command.has_terminal
        terminate(process.pid, grace, is_group=is_group)  # before it is reaped, so that its process id is not reused
        outputs.read(0.0)
        code = process.wait()
    return ProcessResult(how, code, outputs.output, outputs.complaint)


def _wait_for_end(
    process: subprocess.Popen[bytes], outputs: _Outputs, deadline: float, stopped: Callable[[], bool]
) -> str:
    while not _has_exited(process.pid):
        if stopped():
            return "stopped"
        if time.monotonic() > deadline:
            return "timed_out"
        outputs.read(_POLL)
    return "ended"


def _has_exited(pid: int) -> bool:
    """Whether a process has exited, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _write_stdin(pipe: IO[bytes], text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the process need not read all of its input
        pipe.write(text.encode("utf-8", "replace"))
        pipe.close()


class _Outputs:
    """Standard output and standard error of a process, read as they arrive, with limits on memory and on the log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path | None) -> None:
        self.head, self.tail, self.error_tail = b"", b"", b""
        self.log = _Log(log)
        self.selector = selectors.DefaultSelector()
        for name, pipe in (("out", process.stdout), ("err", process.stderr)):
            if pipe is not None:
                self.selector.register(pipe, selectors.EVENT_READ, name)

    def __enter__(self) -> _Outputs:
        return self

    def __exit__(self, *failure: object) -> None:
        self.selector.close()
        self.log.close()

    def read(self, seconds: float) -> None:
        """Read what is available, waiting up to `seconds` for the first output."""
        if not self.selector.get_map():
            time.sleep(seconds)
            return
        for wait in (seconds, *[0.0] * 64):  # bounded, so that endless output does not delay the check of the deadline
            for key, _ in self.selector.select(wait):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    self.selector.unregister(key.fileobj)
                self._take(key.data, chunk)
            if not self.selector.get_map():
                return

    def _take(self, name: str, chunk: bytes) -> None:
        self.log.take(name, chunk)
        if name == "err":
            self.error_tail = (self.error_tail + chunk)[-4096:]
            return
        taken = max(0, HEAD - len(self.head))
        self.head += chunk[:taken]
        self.tail = (self.tail + chunk[taken:])[-TAIL:]

    @property
    def output(self) -> str:
        return (self.head + self.tail).decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """The last line of standard error."""
        lines = [line.strip() for line in self.error_tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


class _Log:
    """The log of both outputs, redacted line by line, up to `LOG` bytes. A full disk ends the log, not the session."""

    def __init__(self, path: Path | None) -> None:
        self.file = _open_log(path)
        self.room = LOG
        self.unfinished: dict[str, bytes] = {}

    def take(self, name: str, chunk: bytes) -> None:
        if self.file is None or self.room <= 0:
            return
        waiting = self.unfinished.get(name, b"") + chunk
        whole = waiting.rfind(b"\n") + 1 or (len(waiting) if len(waiting) > _LINE else 0)
        self.unfinished[name] = waiting[whole:]
        self._write(waiting[:whole])

    def close(self) -> None:
        for rest in self.unfinished.values():
            self._write(rest)
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.close()

    def _write(self, lines: bytes) -> None:
        if self.file is None or not lines:
            return
        from baton_git.core.redaction import (
            redact_text,  # the watchdog, which runs beside each session, does not need it
        )

        text = redact_text(lines[: max(0, self.room)].decode("utf-8", "replace"))[0].encode()
        self.room -= len(lines)
        with contextlib.suppress(OSError):
            self.file.write(text)
            self.file.flush()


def _open_log(log: Path | None) -> IO[bytes] | None:
    if log is None:
        return None
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
    except OSError:
        return None
