"""Run a child process with limits on time and output, and terminate it together with all its descendants."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from baton_git.agents.sessions.termination import GRACE, start_watchdog, terminate
from baton_git.core.redaction import redact_text

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
