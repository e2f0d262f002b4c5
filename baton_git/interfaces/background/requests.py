"""Requests for background work: a file for each task and namespace, `baton/background/<task>/<component>`.

A request is written before the process is started, and removed after the work is done, so a killed process loses
nothing: the next start of the process continues. The files are empty. While a task works on a request, its file is in
the folder `.taken`, so that the same request can be made again meanwhile. All files may be deleted; then the work is
done when it is requested again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from baton_git.git.files import durable_files
from baton_git.interfaces.background.detached import is_held, start_detached

_WORKER = "baton_git.interfaces.background.worker"
_OF_CALLER = ("BATON_REPO", "BATON_NAMESPACE", "BATON_SESSION", "BATON_AGENT")
"""Variables that say for which repository and session the caller acts; the worker acts for no session."""
_TAKEN = ".taken"
"""No component begins with a dot."""


class Requests:
    """The requests for background work in the repository with this common directory."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = common_dir / "baton" / "background"

    def add(self, task: str, component: str) -> None:
        """Request a task for a namespace. Raises OSError if the file cannot be written."""
        durable_files.make_folder(self.folder / task / _TAKEN)
        file = self.folder / task / component
        if not file.exists():
            file.touch()

    def find_tasks(self) -> list[str]:
        """Return the tasks for which anything is requested."""
        return [task for task in _list_names(self.folder) if self.find(task)]

    def find(self, task: str) -> list[str]:
        """Return the components for which a task is requested, also those that a killed process has taken."""
        return sorted({*self.find_new(task), *_list_names(self.folder / task / _TAKEN)})

    def find_new(self, task: str) -> list[str]:
        """Return the components whose requests were not taken yet."""
        return [name for name in _list_names(self.folder / task) if name != _TAKEN]

    def find_age(self, task: str, now: datetime) -> float:
        """Return the seconds since the oldest request of a task; 0 if there is none."""
        times = []
        for folder in (self.folder / task, self.folder / task / _TAKEN):
            for name in set(_list_names(folder)) - {_TAKEN}:
                with suppress(OSError):
                    times.append((folder / name).stat().st_mtime)
        return now.timestamp() - min(times, default=now.timestamp())

    def take(self, task: str) -> list[str]:
        """Take all requests of a task, and return their components."""
        for name in self.find_new(task):
            with suppress(OSError):
                (self.folder / task / name).replace(self.folder / task / _TAKEN / name)
        return self.find(task)

    def finish(self, task: str, component: str) -> None:
        """Remove a request that was taken."""
        with suppress(OSError):
            (self.folder / task / _TAKEN / component).unlink()


def request_work(common_dir: Path, task: str, component: str, environment: Mapping[str, str]) -> bool:
    """Request a task for a namespace, and start the worker; return whether it runs.

    If the worker cannot be started, the request stays for the next one.
    """
    try:
        Requests(common_dir).add(task, component)
    except OSError:  # a full disk, or a repository that cannot be written to
        return False
    return _start_worker(common_dir, environment)


def resume_work(common_dir: Path, environment: Mapping[str, str]) -> bool:
    """Start the worker if none runs, but one left requests; return whether it was started."""
    is_left = Requests(common_dir).find_tasks() and not is_held(_lock_file(common_dir))
    return bool(is_left) and _start_worker(common_dir, environment)


def _start_worker(common_dir: Path, environment: Mapping[str, str]) -> bool:
    own = {name: text for name, text in environment.items() if name not in _OF_CALLER}
    return start_detached(_lock_file(common_dir), _WORKER, [str(common_dir)], own)


def _lock_file(common_dir: Path) -> str:
    return str(common_dir / "baton" / "background.lock")


def _list_names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
