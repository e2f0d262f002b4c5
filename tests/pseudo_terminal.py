"""Run a command on a pseudo-terminal, and type into it."""

import os
import pty
import select
import subprocess
import sys
import time

from baton_git.interfaces.cli import baton
from baton_git.interfaces.cli.error_handler import run

ADOPT = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)
"""A program that makes its stderr the controlling terminal of its session, and then executes its arguments.

A fork of the tests' own process, which has threads, could hang before it executes anything. The program also restores
the effect of Ctrl-C, which is ignored if the tests run in the background.
"""


def at_terminal(top, argv):
    """Start a program in `top` on a new terminal; return the process and the descriptor of the other end."""
    terminal, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-ISE", "-c", ADOPT, *argv],
        cwd=top, stdin=its, stdout=its, stderr=its, start_new_session=True,
    )  # fmt: skip
    os.close(its)
    return process, terminal


def typing(top, *words, asked="confirm", typed=b"", before=None):
    """Run the command on a pseudo-terminal. Once the screen shows `asked`, call `before`, and type `typed`, repeated
    every second as people do.

    Return its exit status and the screen.
    """
    process, terminal = at_terminal(top, [sys.executable, "-m", "baton_git", *words])
    screen, end, due = b"", time.monotonic() + 40, 0.0
    while time.monotonic() < end:
        if asked.encode() in screen and time.monotonic() >= due:
            before = before() if before and due == 0.0 else None
            os.write(terminal, typed)
            due = time.monotonic() + 1
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            screen += os.read(terminal, 4096)
        except OSError:
            break  # it has exited
    else:
        process.kill()
        process.wait()
        raise AssertionError(f"baton {words} does not end; the screen shows {screen.decode()!r}")
    os.close(terminal)
    return process.wait(), screen.decode()


def typing_here(monkeypatch, top, *words, typed=b"", **variables):
    """Run the command in this process with a pseudo-terminal for input and output; `typed` is typed in advance.

    Return its exit status and the screen.
    """
    terminal, its = pty.openpty()
    os.write(terminal, typed)
    with monkeypatch.context() as here, os.fdopen(its, "r", closefd=False) as given, os.fdopen(its, "w") as screen:
        for name, value in variables.items():
            here.setenv(name, value)
        here.setattr(sys, "argv", ["baton", *words])
        here.setattr(sys, "stdin", given)
        here.setattr(sys, "stdout", screen)
        here.setattr(sys, "stderr", screen)
        here.chdir(top)
        code = run(baton)
    return code, whole_screen(terminal)


def whole_screen(terminal):
    """Return everything that was written to a pseudo-terminal. Its other end must be closed, now or later."""
    screen = b""
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:
            break
        if not read:
            break
        screen += read
    os.close(terminal)
    return screen.decode()
