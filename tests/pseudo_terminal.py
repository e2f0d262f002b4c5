"""The command at a terminal of its own, and somebody who types."""

import os
import pty
import select
import signal
import sys
import time


def typing(top, *words, asked="confirm", typed=b"", before=None):
    """Runs the command at a pseudo terminal; once it has asked, calls `before`, and types `typed` (and again every
    second, as people do). Its exit status and what the screen shows."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(top)
        os.execv(sys.executable, [sys.executable, "-m", "baton_git", *words])
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
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), screen.decode()
