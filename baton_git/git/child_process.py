"""Run a program with a time limit, and kill it with all its child processes at the limit."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

_POLL_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 0.2
"""How long a program that is ended may take to clean up."""
MOST_BYTES: Final = 8 << 20  # limit for stored output, because a server may print without end
ALL: Final = 1 << 31
"""The limit for the output of local commands of git."""


OnChunk = Callable[[bytes], object]


class ChildResult(NamedTuple):
    """The exit status (or minus the signal number) and the output of a program."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        """The output as text; bytes that are not UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self) -> str:
        return self.stderr.decode("utf-8", "replace")


def run(
    argv: Sequence[str | bytes],
    environment: Mapping[str, str],
    folder: Path | None,
    seconds: float,
    on_stderr: OnChunk | None = None,
    *,
    on_stdout: OnChunk | None = None,
    stdin: bytes = b"",
    stop: Callable[[], bool] | None = None,
    most_bytes: int = MOST_BYTES,
    is_merged: bool = False,
) -> ChildResult | None:
    """Run `argv` in `folder`, or in the current one.

    Args:
        seconds: time limit.
        on_stderr, on_stdout: called immediately with each chunk.
        stdin: the input of the program.
        stop: called at least ten times a second while output is read; the program is killed when it returns True.
        most_bytes: how much of the output, and of stderr, is returned; the rest is read and dropped.
        is_merged: stdout also gets what is written to stderr.

    Returns:
        The result, or None if the program was killed after `seconds` or by `stop`.

    Raises:
        OSError, ValueError: the program or the folder does not exist, or cannot be used.
    """
    process = subprocess.Popen(  # noqa: S603  the callers name programs of baton and of the user
        argv,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if is_merged else subprocess.PIPE,
        start_new_session=True,  # no prompts on the terminal, and one signal reaches all child processes
    )
    try:
        pipes = _Pipes(process, stdin, most_bytes, {process.stdout: on_stdout, process.stderr: on_stderr})
        return pipes.exchange(time.monotonic() + seconds, stop or (lambda: False))
    finally:
        _end(process)


class _Pipes:
    """The pipes of a process. `left` is the rest of its input; at most `most_bytes` of each output are kept."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        left: bytes,
        most_bytes: int,
        on_chunk: Mapping[IO[bytes] | None, OnChunk | None],
    ) -> None:
        self._process = process
        self._left = memoryview(left)
        self._most_bytes = most_bytes
        self._on_chunk = on_chunk
        self._read = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}

    def exchange(self, deadline: float, stop: Callable[[], bool]) -> ChildResult | None:
        """Write the input and read both outputs until they are closed or the process has ended.

        A child of the process may keep the pipes open for longer (ssh with ControlPersist).
        """
        process = self._process
        with selectors.DefaultSelector() as selector:
            for pipe in self._read:
                selector.register(pipe, selectors.EVENT_READ)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0 or stop():
                    return None
                has_ended = process.poll() is not None  # before reading, so that the read below gets all output
                ready = [key for key, _ in selector.select(0 if has_ended else min(left, _POLL_SECONDS))]
                if has_ended and all(key.fileobj is process.stdin for key in ready):
                    break
                for key in ready:
                    if self._is_done(key):
                        selector.unregister(key.fileobj)
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        out, err = (bytes(self._read[pipe]) if pipe is not None else b"" for pipe in (process.stdout, process.stderr))
        return ChildResult(code, out, err)

    def _is_done(self, key: selectors.SelectorKey) -> bool:
        """Write to or read from a pipe that is ready; return whether nothing more will follow."""
        pipe = cast(IO[bytes], key.fileobj)
        if pipe is self._process.stdin:
            try:
                self._left = self._left[os.write(key.fd, self._left) :]
            except BlockingIOError:
                return False
            except BrokenPipeError:  # the program does not read its input
                self._left = memoryview(b"")
            if not self._left:
                pipe.close()
            return not self._left
        chunk = os.read(key.fd, 1 << 16)
        if len(self._read[pipe]) < self._most_bytes:
            self._read[pipe] += chunk
        on_chunk = self._on_chunk[pipe]
        if on_chunk is not None and chunk:
            on_chunk(chunk)
        return not chunk


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group unless the process has ended, and close the pipes."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # git removes its lock files then
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
