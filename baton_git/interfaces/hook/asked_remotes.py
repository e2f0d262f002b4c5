"""Remember for which repositories without a namespace a hook has asked the remotes, so that not every start asks.

The memory is a file for each repository in the user's data folder, because nothing is written to a repository that has
nothing to do with baton. The file's modification time is when the remotes were asked; it contains a version, the
seconds for which the answer counts, and why there was none. A lost file, or one of another version, only means that the
remotes are asked again.
"""

from __future__ import annotations

import os
import time

from baton_git.agents.hook_events.payloads import START, Payload
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, may_hold_state

FIRST_PAUSE, PAUSE = 600.0, 24 * 3600.0
"""Seconds for which the first answer counts, and maximum. Each further answer counts twice as long as the last one: a
namespace that a teammate shares on the day of a clone is found soon, and a remote that never gets one is left alone."""
PAUSE_UNANSWERED = 3600.0
"""Seconds until remotes that did not answer are asked again."""
KEPT = 30 * 86400.0
"""Seconds after which a file is removed."""
_MOST_REMOVED = 100
_VERSION = "2"


def is_first_start(payload: Payload, repository: RepositoryPaths | None) -> bool:
    """Whether a session starts in a repository without a namespace, whose remotes may have one."""
    if payload.kind != START or payload.aside or repository is None or may_hold_state(repository):
        return False
    return may_ask(repository.common_dir)


def may_ask(common_dir: str) -> bool:
    """Whether the repository may have a remote, and no hook has asked it for its namespaces recently, that is: neither
    the configuration, which names the remotes, nor what git has fetched has changed since."""
    try:
        config = os.path.join(common_dir, "config")
        with open(config, "rb") as stream:
            text = stream.read().lower()
            if b"[remote" not in text and b"[include" not in text:  # an included file may have a remote: git knows
                return False
        changed = max(map(_changed_at, (config, *_list_fetch_heads(common_dir))))
        asked, pause, _ = _load(common_dir)
    except OSError:
        return False
    age = time.time() - asked
    return not (asked > changed and 0 <= age < pause)  # a time in the future was written before the clock was set back


def describe_unanswered(common_dir: str) -> str:
    """Return why the remotes did not answer the last hook that asked them; empty if they did, or none has asked."""
    return _load(common_dir)[2]


def note_asked(common_dir: str, *, why: str) -> None:
    """Remember that the remotes of a repository were asked; forget what no longer counts.

    If that cannot be written, the next start asks again.

    Args:
        why: why they did not answer; empty if they did.
    """
    file, now = _find_file(common_dir), time.time()
    before = _load(common_dir)
    pause = PAUSE_UNANSWERED if why else min(2 * before[1], PAUSE) if before[1] and not before[2] else FIRST_PAUSE
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(f"{_VERSION} {pause:.0f}\n{' '.join(why.split())}\n")
        os.utime(file, (now, now))
        with os.scandir(os.path.dirname(file)) as entries:
            outdated = [entry.path for entry in entries if entry.stat().st_mtime < now - KEPT]
        for path in outdated[:_MOST_REMOVED]:
            os.unlink(path)
    except OSError:
        return


def _load(common_dir: str) -> tuple[float, float, str]:
    """Return when the remotes were asked, for how many seconds that counts, and why they did not answer; zeros if no
    hook has asked them."""
    try:
        with open(_find_file(common_dir), encoding="utf-8", errors="replace") as stream:
            first, why = stream.readline(100), stream.readline(1000).strip()
            asked = os.fstat(stream.fileno()).st_mtime
    except OSError:
        return 0.0, 0.0, ""
    version, _, pause = first.strip().partition(" ")
    return (asked, min(float(pause), PAUSE), why) if version == _VERSION and pause.isdecimal() else (0.0, 0.0, "")


def _list_fetch_heads(common_dir: str) -> list[str]:
    """Return the files that `git fetch` writes: each work tree has its own."""
    folder = os.path.join(common_dir, "worktrees")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(top, "FETCH_HEAD") for top in (common_dir, *(os.path.join(folder, name) for name in names))]


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return 0.0


def _find_file(common_dir: str) -> str:
    home = os.environ.get("XDG_DATA_HOME", "")
    home = home if home.startswith("/") else os.path.join(os.path.expanduser("~"), ".local", "share")
    from hashlib import sha256  # costs 5 of 40 ms, and most hooks have a namespace, or are no start

    name = sha256(os.fsencode(os.path.realpath(common_dir))).hexdigest()[:24]
    return os.path.join(home, "baton", "asked", name)
