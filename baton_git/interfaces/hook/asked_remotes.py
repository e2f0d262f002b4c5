"""Remember for which repositories without a namespace a hook has asked the remotes, so that it asks once a day.

The memory is a file for each repository in the user's data folder, because nothing is written to a repository that has
nothing to do with baton. The file's modification time is when it counts from; its content is a version. A lost file
only means that the remotes are asked again.
"""

from __future__ import annotations

import os
import time

from baton_git.agents.hook_events.payloads import START, Payload
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, may_hold_state

PAUSE = 24 * 3600.0
"""Seconds for which an answer counts."""
PAUSE_UNANSWERED = 3600.0
"""Seconds until remotes that did not answer are asked again."""
_MOST_REMOVED = 100
_VERSION = "1\n"


def is_first_start(payload: Payload, repository: RepositoryPaths | None) -> bool:
    """Whether a session starts in a repository without a namespace, whose remotes may have one."""
    if payload.kind != START or payload.aside or repository is None or may_hold_state(repository):
        return False
    return may_ask(repository.common_dir)


def may_ask(common_dir: str) -> bool:
    """Whether the repository may have a remote, and no hook has asked it for its namespaces recently."""
    try:
        with open(os.path.join(common_dir, "config"), "rb") as config:
            text = config.read().lower()
            if b"[remote" not in text and b"[include" not in text:  # an included file may have a remote: git knows
                return False
        age = time.time() - os.stat(_find_file(common_dir)).st_mtime
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not 0 <= age < PAUSE  # a time in the future was written before the clock was set back


def note_asked(common_dir: str, *, is_answered: bool) -> None:
    """Remember that the remotes of a repository were asked; forget what no longer counts.

    If that cannot be written, the next start asks again.
    """
    file, now = _find_file(common_dir), time.time()
    since = now if is_answered else now - PAUSE + PAUSE_UNANSWERED
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(_VERSION)
        os.utime(file, (since, since))
        with os.scandir(os.path.dirname(file)) as entries:
            outdated = [entry.path for entry in entries if entry.stat().st_mtime < now - PAUSE]
        for path in outdated[:_MOST_REMOVED]:
            os.unlink(path)
    except OSError:
        return


def _find_file(common_dir: str) -> str:
    home = os.environ.get("XDG_DATA_HOME", "")
    home = home if home.startswith("/") else os.path.join(os.path.expanduser("~"), ".local", "share")
    from hashlib import sha256  # costs 5 of 40 ms, and most hooks have a namespace, or are no start

    name = sha256(os.fsencode(os.path.realpath(common_dir))).hexdigest()[:24]
    return os.path.join(home, "baton", "asked", name)
