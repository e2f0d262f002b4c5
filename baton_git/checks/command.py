"""Check method `command`: does an approved program exit with status 0?"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, cast

from baton_git.checks.outcome import Failed, NotApproved, Outcome, Passed, Unknown, no_answer
from baton_git.checks.specification import CheckSpec, World
from baton_git.core.child_environment import without_secrets
from baton_git.core.output import one_line

_TAIL_BYTES = 4096
_LINE_LIMIT = 200
_POLL_SECONDS = 0.05


def check(spec: CheckSpec, world: World) -> Outcome:
    """Run exactly the approved argv in the work tree, without a shell and with an empty stdin.

    `Failed` if the program exits with a status other than 0, or is ended by a signal. `Unknown` if no command is
    given, the program is not approved on this machine (`NotApproved`), there is no work tree, or the program cannot be
    started.

    If the time limit is reached or the check is abandoned, the program and its child processes are killed, and the
    outcome is `Unknown` too.
    """
    if not spec.argv:
        return Unknown("no command is given")
    refusal = world.refusal(spec.argv)
    if refusal is not None:
        return NotApproved(refusal)
    if world.folder is None or not world.folder.is_dir():
        return Unknown("there is no work tree to run the command in")
    try:
        process = _start(spec, world, world.folder)
    except (OSError, ValueError) as error:
        return Unknown(f"cannot run {spec.argv[0]!r}: {getattr(error, 'strerror', None) or error}")
    try:
        return _judge(process, spec.timeout_seconds, world.abandoned)
    finally:
        _end(process)


def _start(spec: CheckSpec, world: World, folder: Path) -> subprocess.Popen[bytes]:
    # In a hook, git sets GIT_* to its own repository, index and prefix. A git command started by the program would use
    # them instead of its current directory.
    environment = {
        name: value for name, value in without_secrets(world.environment).items() if not name.startswith("GIT_")
    }
    return subprocess.Popen(  # noqa: S603  exactly this argv was approved by the user
        spec.argv,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _judge(process: subprocess.Popen[bytes], seconds: float, abandoned: threading.Event) -> Outcome:
    deadline = time.monotonic() + seconds
    try:
        tail = _output_until_end(process, deadline, abandoned)
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return no_answer(seconds)
    if status == 0:
        return Passed()
    how = f"exit {status}" if status > 0 else f"ended by {signal.Signals(-status).name}"
    line = _last_line(tail)
    return Failed(f"{how}: {line}" if line else how)


def _output_until_end(process: subprocess.Popen[bytes], deadline: float, abandoned: threading.Event) -> bytes:
    """Return the last bytes of the output. Stops when the process ends, even if a child keeps the pipe open."""
    tail = b""
    while (left := deadline - time.monotonic()) > 0 and not abandoned.is_set():
        has_ended = process.poll() is not None  # before reading, so that the read below gets all remaining output
        chunk = _read(cast(IO[bytes], process.stdout), 0 if has_ended else min(left, _POLL_SECONDS))
        if chunk == b"" or (chunk is None and has_ended):
            return tail
        tail = (tail + (chunk or b""))[-_TAIL_BYTES:]
    raise subprocess.TimeoutExpired(process.args, 0)


def _read(pipe: IO[bytes], seconds: float) -> bytes | None:
    """Return the available output, b"" at the end of the pipe, or None if there was no output for `seconds`."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        return os.read(pipe.fileno(), 65536) if selector.select(seconds) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group unless the program has ended, and close the pipe."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    cast(IO[bytes], process.stdout).close()


def _last_line(output: bytes) -> str:
    """Return the last non-empty line without control characters, because it is shown on terminals and stored."""
    lines = output.decode(errors="replace").split("\n")
    shown = (one_line(line, len(line))[:_LINE_LIMIT] for line in reversed(lines))
    return next((line for line in shown if line), "")
