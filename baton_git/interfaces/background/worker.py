"""The process that does the background work of a repository: all that is requested, one task after the other.

`python -P -m baton_git.interfaces.background.worker LOCK COMMON_DIR`

It holds `baton/background.lock`, which contains its process id, and ends when nothing is requested or due soon.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from baton_git.core.errors import InvalidName
from baton_git.core.names import Namespace
from baton_git.core.output import one_line
from baton_git.core.times import to_local
from baton_git.interfaces.background.detached import leave_caller
from baton_git.interfaces.background.requests import Requests, resume_work
from baton_git.interfaces.background.tasks import TASKS, BackgroundTask

if TYPE_CHECKING:
    from baton_git.namespace.workspace import Workspace

SECONDS = 240.0
"""The worker waits for no task that is due later than this after its start."""
TASK_SECONDS = 120
"""Time limit of a task that began before. The worker ends after both limits, also if a task hangs."""
MAX_RUNS = 20
"""Maximum number of tasks of one worker, so that a task that is always due cannot keep it busy."""
_POLL = 2.0
"""Seconds after which a waiting worker looks for new requests."""
_NICE = 5

LOG = "background.log"
MAX_LOG_BYTES, MAX_LINE = 64 * 1024, 2000


def work(
    common_dir: Path,
    tasks: Mapping[str, BackgroundTask],
    now: Callable[[], datetime],
    seconds: float = SECONDS,
) -> Mapping[str, Sequence[str]]:
    """Do what is requested, and wait for what is due within `seconds`; return the requests that were left, by task.

    Args:
        seconds: see `SECONDS`.
    """
    requests, end, tasks = Requests(common_dir), time.monotonic() + seconds, dict(tasks)
    for _ in range(MAX_RUNS):
        task = _wait_for_task(common_dir, tasks, now, end)
        if task is None:
            break
        taken = requests.take(task)
        components = list(filter(_is_component, taken))
        try:
            left = tasks[task].run(lambda component: open_workspace(common_dir, component), components, now())
        except Exception as error:  # noqa: BLE001  logged, and the other tasks still run
            _log(common_dir, f"{now().isoformat(timespec='seconds')} {task}: {_describe_error(error)}")
            del tasks[task]
            continue
        for component in taken:
            if component not in left:
                requests.finish(task, component)
    return {task: requests.find_new(task) for task in requests.find_tasks()}


def _is_component(name: str) -> bool:
    """Return whether the name of a file in the folder of requests is that of a namespace."""
    try:
        Namespace.from_component(name)
    except InvalidName:
        return False
    return True


def _wait_for_task(
    common_dir: Path, tasks: Mapping[str, BackgroundTask], now: Callable[[], datetime], end: float
) -> str | None:
    """Return the task that is due first, when it is due; None if none is due before `end`."""
    requests = Requests(common_dir)
    while True:
        waits = {
            task: known.count_seconds(common_dir, requests.find_age(task, now()), now())
            for task, known in tasks.items()
            if requests.find(task)
        }
        first = min(waits, key=lambda task: waits[task], default=None)
        if first is None or waits[first] <= 0:
            return first
        if time.monotonic() + waits[first] > end:
            return None
        time.sleep(min(waits[first], _POLL))


@contextmanager
def open_workspace(common_dir: Path, component: str) -> Iterator[Workspace]:
    """Open a namespace, in which nobody acts."""
    from baton_git.interfaces.context.invocation import Call  # left until a task runs: most workers wait
    from baton_git.interfaces.context.settings import CommonOptions, Settings

    options = CommonOptions(str(common_dir), Namespace.from_component(component).text)
    with Call(Settings(options, is_lenient=True)).workspace(may_fetch=False) as ws:
        yield replace(ws, actor=replace(ws.actor, session=None, agent=None))


def main(lock: int, common_dir: Path) -> None:
    """Do the background work of a repository. What is left is done by the next worker."""
    leave_caller(lock)
    signal.alarm(int(SECONDS) + TASK_SECONDS)
    with suppress(OSError):
        os.nice(_NICE)
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
    from baton_git.interfaces.context.process import hide_tokens, skip_plugin_search

    hide_tokens()
    skip_plugin_search()
    left = work(common_dir, TASKS, lambda: to_local(datetime.now(UTC)))
    os.close(lock)
    requests = Requests(common_dir)
    if any(set(requests.find_new(task)) - set(left.get(task, ())) for task in TASKS):  # made while the lock was held
        resume_work(common_dir, os.environ)


def _describe_error(error: Exception) -> str:
    frames = extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _log(common_dir: Path, line: str) -> None:
    """Add a line to the log, which `baton doctor` reads; a log that is too long is started again."""
    path = common_dir / "baton" / LOG
    with suppress(OSError), path.open("a" if _size(path) < MAX_LOG_BYTES else "w", encoding="utf-8") as file:
        file.write(one_line(line, MAX_LINE) + "\n")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
