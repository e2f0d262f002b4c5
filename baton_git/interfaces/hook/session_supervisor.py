"""The process that supervises one session of an agent: it enforces the time limit and records how the session ended.

Started by `agents.sessions.starting`, never by hand:
`python -P -m baton_git.interfaces.hook.session_supervisor [PIPE] < JOB`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path

from baton_git.agents.sessions.starting import Job, receive_job, supervise
from baton_git.core.times import iso


def main() -> None:
    """Read the job from the named pipe or from standard input, and supervise the session."""
    stop_requested = threading.Event()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: stop_requested.set())
    job = receive_job(Path(sys.argv[1])) if len(sys.argv) > 1 else Job.loads(sys.stdin.read())
    if not job.has_terminal and os.fork():
        os._exit(0)  # the process that started us does not wait for the session
    supervise(job, lambda: iso(datetime.now().astimezone()), stop_requested.is_set)


if __name__ == "__main__":
    main()
