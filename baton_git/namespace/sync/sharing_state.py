"""What this machine remembers about sending to remotes, in `baton/sharing.json`:

- `not_before`: no background process sends before this time, to whatever remote;
- `failures`: how many attempts in a row failed for a reason that may pass;
- `errors`: why the last attempt failed, by remote and namespace;
- `failed`: when that was, and whether the remote could not be reached or read (`away`) or refused what was sent;
- `absent`: when a remote last said that it does not have a namespace that began here, by remote and namespace.

If the file is lost or damaged, it is made again. An older version of baton ignores it, and a file of a newer version
is left alone. What was sent is not in this file, but in the tracking refs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from baton_git.core.output import one_line
from baton_git.core.times import iso_exact, parse_time_or_none
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import hold_flock
from baton_git.namespace.sync.tracking_refs import encode_remote

VERSION: Final = 1
PAUSE: Final = 60.0
"""Seconds from a push until a background process may push, in one repository. Hosts of repositories recommend at most 6
pushes a minute (GitHub, "Repository limits"), and several machines share one."""
JITTER: Final = 0.25
"""Share of a delay that is added at random, so that machines that pushed together do not do so again."""
LONGEST_DELAY: Final = timedelta(hours=2)
"""No delay after failures is longer."""
ASK_AGAIN: Final = timedelta(days=1)
"""How long the answer of a remote counts that it lacks a namespace that was never synced with it."""
_LOCK_SECONDS: Final = 2.0
_MAX_ERROR: Final = 300
"""Characters that are kept of an error."""


@dataclass(frozen=True)
class Sharing:
    """The content of the file. The keys of `errors`, `failed` and `absent` are made by `share_key`."""

    not_before: str = ""
    failures: int = 0
    errors: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def was_absent(self, key: str, address: str, now: datetime) -> bool:
        """Return whether the remote at this address said within the last `ASK_AGAIN` that it lacks a namespace."""
        time, _, digest = self.absent.get(key, "").partition(" ")
        asked = parse_time_or_none(time)
        return digest == _digest(address) and asked is not None and abs(now - asked) < ASK_AGAIN

    def with_absent(self, key: str, address: str, now: datetime) -> Sharing:
        """Return the content in which a remote has just said that it lacks a namespace."""
        return replace(self, absent={**self.absent, key: f"{iso_exact(now)} {_digest(address)}"})

    def count_delay(self, now: datetime) -> float:
        """Return the seconds for which a background process must not send yet."""
        earliest = parse_time_or_none(self.not_before)
        longest = LONGEST_DELAY if self.failures else timedelta(seconds=PAUSE * (1 + JITTER))
        if earliest is None or earliest - now > longest:  # written before the clock was set back
            return 0.0
        return max(0.0, (earliest - now).total_seconds())

    def delayed(self, now: datetime, seconds: float) -> Sharing:
        """Return the content with which nothing is sent for these seconds, and some more at random."""
        seconds *= 1 + random.uniform(0, JITTER)  # noqa: S311  jitter
        return replace(self, not_before=iso_exact(now + timedelta(seconds=seconds)))

    def with_error(self, key: str, text: str, now: datetime, *, is_away: bool) -> Sharing:
        """Return the content with the last error of a key; an empty text removes it.

        Args:
            is_away: whether the remote could not be reached or read, so that a later fetch contradicts the error.
        """
        errors, failed = ({name: why for name, why in old.items() if name != key} for old in (self.errors, self.failed))
        if text:
            errors |= {key: one_line(text, _MAX_ERROR)}
            failed |= {key: f"{iso_exact(now)} {'away' if is_away else 'refused'}"}
        return replace(self, errors=errors, failed=failed)

    def reached(self, key: str) -> Sharing:
        """Return the content after a fetch from a remote, which does not contradict that it refused a push."""
        if not self.failed.get(key, "").endswith(" away"):
            return self
        return replace(self, errors={name: why for name, why in self.errors.items() if name != key})

    def find_error(self, key: str, since: datetime | None) -> str:
        """Return why the last attempt failed to send commits of which the oldest was made at `since`.

        If all are newer than the attempt, what it could not send has gone another way, as with `git push`.
        """
        failed = parse_time_or_none(self.failed.get(key, "").partition(" ")[0])
        is_older = failed is not None and since is not None and failed < since
        return "" if is_older else self.errors.get(key, "")


def share_key(remote: str, component: str) -> str:
    """Return the key of a namespace on a remote."""
    return f"{encode_remote(remote)}/{component}"


class SharingState:
    """The file in a repository with this common directory."""

    def __init__(self, common_dir: Path) -> None:
        self.path = common_dir / "baton" / "sharing.json"
        self._lock = common_dir / "baton" / "locks" / "sharing"

    def read(self) -> Sharing:
        """Return the content; the default if there is none that can be read."""
        data = self._load()
        if data is None or data.get("version") != VERSION:
            return Sharing()
        failures = data.get("failures")
        return Sharing(
            _text(data.get("not_before")),
            failures if type(failures) is int and 0 <= failures < 1_000_000 else 0,
            _texts(data.get("errors")),
            _texts(data.get("absent")),
            _texts(data.get("failed")),
        )

    def update(self, change: Callable[[Sharing], Sharing]) -> Sharing:
        """Replace the content by what `change` makes of it, and return that. Nothing is written if it is the same.

        Raises:
            WriteFailed: writing to disk failed.
        """
        with hold_flock(self._lock, _LOCK_SECONDS):  # a lost race costs a wait or an error's text, so go on without it
            before = self.read()
            after = change(before)
            data = self._load()
            is_newer = data is not None and isinstance(version := data.get("version"), int) and version > VERSION
            if after != before and not is_newer:
                content = {"version": VERSION, **{name: getattr(after, name) for name in _FIELDS}}
                text = json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
                with durable_files.writing(str(self.path)):
                    durable_files.make_folder(self.path.parent)
                    durable_files.replace_file(self.path, text.encode("utf-8", "surrogatepass"), mode=0o644)
            return after

    def _load(self) -> dict[str, Any] | None:
        try:
            data = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return data if isinstance(data, dict) else None


_FIELDS = ("not_before", "failures", "errors", "absent", "failed")


def _digest(address: str) -> str:
    """Return what is stored of an address, which may contain a password."""
    return sha256(address.encode("utf-8", "replace")).hexdigest()[:16]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    items = value.items() if isinstance(value, dict) else ()
    return {str(name): text for name, text in items if isinstance(text, str)}
