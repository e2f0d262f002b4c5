"""Limits for fetched and pushed data.

The limits count what a fetch or push brings, not what exists: a namespace of any size receives the next commit. New
files and commits are counted for each machine of the accepted history by itself; all other authors share one allowance,
so nobody gets more by inventing names.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil, log10
from typing import Literal, NamedTuple

from baton_git.core.errors import Rejected


class Limits(NamedTuple):
    """The limits that the owner of a repository can set (git config), for one fetch or push.

    Attributes:
        new_files, new_commits: numbers of each machine.
        new_megabytes: total size of what is transferred.
        live_records: records outside the archive. A fetch that at most doubles them is accepted in any case.
        check_seconds: time for the checks.
    """

    new_files: int = 200_000
    new_commits: int = 100_000
    new_megabytes: int = 256
    live_records: int = 20_000
    check_seconds: int = 30


LIMIT_SETTINGS = {
    "new_files": "maxNewFiles",
    "new_commits": "maxNewCommits",
    "new_megabytes": "maxNewMegabytes",
    "live_records": "maxLiveRecords",
    "check_seconds": "maxCheckSeconds",
}
"""The names of the settings, without their prefix `baton.`, by field of `Limits`."""
Limited = Literal["total_bytes", "entries", "commits", "changed", "live", "seconds"]
_OWNED_BY: dict[Limited, str] = {
    "total_bytes": "new_megabytes", "entries": "new_files", "commits": "new_commits", "changed": "new_files",
    "live": "live_records", "seconds": "check_seconds",
}  # fmt: skip
NOT_ACCEPTED = "nothing was accepted from this branch; ask its author to remove the cause"
MOST_RAISED = 100_000_000
"""Maximum of a limit."""
STANDARD = Limits()


@dataclass(frozen=True)
class Budget:
    """Limits for one fetch or push. A branch that exceeds a limit is rejected as a whole.

    Attributes:
        total_bytes: total size of the packs.
        object_bytes: uncompressed size of one object.
        entries: new files in the tree of one commit; a blob counts once per path.
        depth: levels of nested folders.
        commits: new commits.
        changed: files that differ from ours.
        live: records outside the archive, all of which are read at each start of a session.
        seconds: time for the checks.
        owner: the limits of the owner; a fetch that the user requested has these.
        is_push: whether somebody pushes to this repository.
    """

    total_bytes: int = STANDARD.new_megabytes << 20
    object_bytes: int = 16 << 20
    entries: int = STANDARD.new_files
    depth: int = 64
    commits: int = STANDARD.new_commits
    changed: int = STANDARD.new_files
    live: int = STANDARD.live_records
    seconds: float = float(STANDARD.check_seconds)
    owner: Limits = STANDARD
    is_push: bool = False

    def within(self, owner: Limits) -> Budget:
        """Return this budget with the limits of the owner; those that are lower than the standard stay lower."""

        def limit(own: float, standard: float, set_: float) -> float:
            return set_ if own >= standard else min(own, set_)

        return replace(
            self,
            total_bytes=int(limit(self.total_bytes, SYNC.total_bytes, owner.new_megabytes << 20)),
            entries=int(limit(self.entries, SYNC.entries, owner.new_files)),
            commits=int(limit(self.commits, SYNC.commits, owner.new_commits)),
            changed=int(limit(self.changed, SYNC.changed, owner.new_files)),
            live=int(limit(self.live, SYNC.live, owner.live_records)),
            seconds=limit(self.seconds, SYNC.seconds, float(owner.check_seconds)),
            owner=owner,
        )

    def allows_no_more_than(self, other: Budget) -> bool:
        """Return whether no limit is higher than in `other`."""
        return all(own <= others for own, others in zip(self._numbers, other._numbers, strict=True))

    @property
    def _numbers(self) -> tuple[float, ...]:
        return (self.total_bytes, self.object_bytes, self.entries, self.commits, self.changed, self.live, self.seconds)

    def refuse(self, why: str, limit: Limited, needed: float, sync: Budget | None = None, **data: object) -> Rejected:
        """Return the rejection of something that exceeds a limit, with the command that accepts it.

        Args:
            needed: the number that the limit would have to be, in the unit of this budget.
            sync: the budget of `baton sync`, if it is not the standard one.
        """
        higher = getattr((sync or SYNC).within(self.owner), limit)
        if getattr(self, limit) < higher and needed <= higher:
            return Rejected(why, hint="run baton sync, which has a higher limit", is_for_sync=True, **data)
        number = _round_up(needed / (1 << 20) if limit == "total_bytes" else needed)
        command = f"git config baton.{LIMIT_SETTINGS[_OWNED_BY[limit]]} {number}"
        if number > MOST_RAISED:
            return Rejected(why, hint=NOT_ACCEPTED, **data)
        if self.is_push:
            return Rejected(why, hint=f"on the server, {command} raises the limit", can_be_raised=True, **data)
        hint = f"if you trust its authors, raise the limit and sync again: {command}"
        return Rejected(why, hint=hint, can_be_raised=True, **data)


def _round_up(needed: float) -> int:
    """Return a number with two digits that is at least a tenth larger."""
    more = needed * 1.1
    unit: int = 10 ** max(0, int(log10(max(more, 1))) - 1)
    return ceil(more / unit) * unit


SYNC = Budget()
"""The limits for a sync that the user requested, if the owner sets no others."""
BOOT = Budget(total_bytes=32 << 20, entries=50_000, commits=5_000, changed=5_000, seconds=3.0)
"""The limits for the automatic sync at the start and the end of a session."""
ON_DEMAND = Budget(total_bytes=64 << 20, seconds=20.0)
"""The limits for objects of a partial clone that a command needs; the seconds are those of the whole command."""
PUSHED = Budget(is_push=True)
"""The limits for a push to a server, if its owner sets no others."""
MOST_KNOWN = 20
"""On the first meeting with a trusted remote, a limit is this many times higher: what it already had is accepted."""


def first_meeting(budget: Budget) -> Budget:
    """Return the budget for what a trusted remote already had when this machine first meets it.

    Only the numbers that grow with a team's work are higher. The sizes of objects, the depth and the time stay.
    """
    sync = SYNC.within(budget.owner)
    return replace(
        budget,
        entries=sync.entries * MOST_KNOWN,
        commits=sync.commits * MOST_KNOWN,
        changed=sync.changed * MOST_KNOWN,
        live=sync.live * MOST_KNOWN,
    )


# --- a deadline for the checks of new objects


@dataclass(frozen=True)
class IngestDeadline:
    """A deadline: `end` in monotonic time, and the `seconds` that were allowed in total."""

    end: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> IngestDeadline:
        return cls(time.monotonic() + seconds, seconds)

    def at_most(self, seconds: float) -> IngestDeadline:
        """Return this deadline, or one that ends in `seconds` if that is earlier."""
        own = IngestDeadline.after(seconds)
        return own if own.end < self.end else self

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.end - time.monotonic())

    def check(self, task: str) -> None:
        """Raise Rejected if the deadline has passed; `task` names what takes too long."""
        if time.monotonic() > self.end:
            is_short = self.seconds < SYNC.seconds
            longer = f"try again, or allow more time: git config baton.maxCheckSeconds {2 * self.seconds:.0f}"
            hint = "run baton sync, which has a longer limit" if is_short else longer
            why = f"{task} takes more than {self.seconds:.3g} s"
            raise Rejected(why, hint=hint, for_now=True, is_for_sync=is_short)
