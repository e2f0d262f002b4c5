"""A deadline for the checks of new objects."""

from __future__ import annotations

import time
from dataclasses import dataclass

from baton_git.core.errors import Rejected
from baton_git.namespace.ingest.budget import SYNC


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
