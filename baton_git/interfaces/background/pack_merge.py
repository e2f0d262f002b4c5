"""Merge packs in a separate process, so that a command that writes does not wait for it.

The process holds the lock `baton/merging.lock`, has a low priority, and ends after `SECONDS`. It may be killed at any
time; the next merge continues its work.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from baton_git.core.errors import StoreError
from baton_git.git.files import durable_files
from baton_git.git.store import Repository, Store
from baton_git.interfaces.background.detached import leave_caller, start_detached

SECONDS = 300
"""Time limit of a merge."""
_NICE = 10


def merge_in_background(common_dir: Path, environment: Mapping[str, str]) -> bool:
    """Start a merge, unless one is running; return False if it cannot be started, so that the caller must merge."""
    folder = Path(os.path.realpath(common_dir))
    try:
        durable_files.make_folder(folder / "baton")
    except OSError:
        return False
    return start_detached(str(folder / "baton" / "merging.lock"), __name__, [str(folder)], environment)


def merge_detached(lock: int, folder: Path) -> None:
    """Merge packs if a merge is due. Errors are ignored, because a later write starts the merge again."""
    signal.alarm(SECONDS)
    leave_caller(lock)
    with suppress(OSError):
        os.nice(_NICE)
    with suppress(StoreError, OSError), Store(Repository.open(folder)) as store:
        store.roll_up()


if __name__ == "__main__":
    merge_detached(int(sys.argv[1]), Path(sys.argv[2]))
