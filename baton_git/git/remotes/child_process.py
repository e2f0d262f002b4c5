"""A program that is given so many seconds, and is killed with all that it started when they are over."""

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
_MOST_BYTES: Final = 8 << 20  # a server may print for ever


Heard = Callable[[bytes], None]


class ChildResult(NamedTuple):
    """How it ended (exit status, or minus the signal) and what it wrote."""

    code: int
    out: str
    err: str


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    heard: Heard | None = None,
    *,
    given: bytes = b"",
    stop: Callable[[], bool] | None = None,
) -> ChildResult | None:
    """Runs `argv` in `folder`; `heard` is given each piece of its stderr at once.

    Args:
        given: a few kilobytes for stdin.
        stop: asked ten times a second; once it says yes, the program is killed.

    Returns:
        How it ended; None when it did not within `seconds`, or was stopped.

    Raises:
        OSError: there is no such program or folder.
    """
    process = subprocess.Popen(  # noqa: S603  git, with arguments of our making
        argv,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # nothing in it can ask at the terminal, and one signal reaches all of it
    )
    try:
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(given)
        return _read_output(process, time.monotonic() + seconds, heard, stop or (lambda: False))
    finally:
        _end(process)


def _read_output(
    process: subprocess.Popen[bytes], deadline: float, heard: Heard | None, stop: Callable[[], bool]
) -> ChildResult | None:
    """Reads both pipes to their end, or that of the process: a child may hold them open (ControlPersist of ssh)."""
    out, err = (cast(IO[bytes], pipe) for pipe in (process.stdout, process.stderr))
    read: dict[IO[bytes], bytearray] = {out: bytearray(), err: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in read:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or stop():
                return None
            has_ended = process.poll() is not None  # asked first: all that it wrote can be read now
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
                if heard is not None and pipe is err and chunk:
                    heard(chunk)
    try:
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    return ChildResult(code, *(bytes(read[pipe]).decode("utf-8", "replace") for pipe in (out, err)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills the group unless the process ended by itself, and closes the pipes."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        cast(IO[bytes], pipe).close()
