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
_MOST_BYTES: Final = 8 << 20  # limit for stored output, because a server may print without end


OnStderr = Callable[[bytes], None]


class ChildResult(NamedTuple):
    """The exit status (or minus the signal number) and the output of a program."""

    code: int
    out: str
    err: str


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    on_stderr: OnStderr | None = None,
    *,
    stdin: bytes = b"",
    stop: Callable[[], bool] | None = None,
) -> ChildResult | None:
    """Run `argv` in `folder`.

    Args:
        seconds: time limit.
        on_stderr: called immediately with each chunk of stderr.
        stdin: the input of the program, at most a few kilobytes.
        stop: called at least ten times a second while output is read; the program is killed when it returns True.

    Returns:
        The result, or None if the program was killed after `seconds` or by `stop`.

    Raises:
        OSError: the program or the folder does not exist, or cannot be used.
    """
    process = subprocess.Popen(  # noqa: S603  git, with baton's arguments
        argv,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # no prompts on the terminal, and one signal reaches all child processes
    )
    try:
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(stdin)
        return _read_output(process, time.monotonic() + seconds, on_stderr, stop or (lambda: False))
    finally:
        _end(process)


def _read_output(
    process: subprocess.Popen[bytes], deadline: float, on_stderr: OnStderr | None, stop: Callable[[], bool]
) -> ChildResult | None:
    """Read both pipes until they are closed or the process has ended.

    A child of the process may keep the pipes open for longer (ssh with ControlPersist).
    """
    out, err = (cast(IO[bytes], pipe) for pipe in (process.stdout, process.stderr))
    read: dict[IO[bytes], bytearray] = {out: bytearray(), err: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in read:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or stop():
                return None
            has_ended = process.poll() is not None  # before reading, so that the read below gets all output
            ready = selector.select(0 if has_ended else min(left, _POLL_SECONDS))
            if not ready and has_ended:
                break
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                pipe = cast(IO[bytes], key.fileobj)
                if not chunk:
                    selector.unregister(pipe)
                if len(read[pipe]) < _MOST_BYTES:
                    read[pipe] += chunk
                if on_stderr is not None and pipe is err and chunk:
                    on_stderr(chunk)
    try:
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    return ChildResult(code, *(bytes(read[pipe]).decode("utf-8", "replace") for pipe in (out, err)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group unless the process has ended, and close the pipes."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        cast(IO[bytes], pipe).close()
