"""A deadline for checking fetched objects."""

from __future__ import annotations

import time
from dataclasses import dataclass

from baton_git.core.errors import Rejected


@dataclass(frozen=True)
class IngestDeadline:
    """`end` is in monotonic time; `seconds` is the whole allowance."""

    end: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> IngestDeadline:
        return cls(time.monotonic() + seconds, seconds)

    def at_most(self, seconds: float) -> IngestDeadline:
        """Return this deadline, or one `seconds` from now if that is earlier."""
        own = IngestDeadline.after(seconds)
        return own if own.end < self.end else self

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.end - time.monotonic())

    def check(self, task: str) -> None:
        """Raises Rejected once it has passed; `what` was to be done until then."""
        if time.monotonic() > self.end:
            raise Rejected(
                f"{task} takes more than {self.seconds:.3g} s", hint="baton sync gives it more time", for_now=True
            )
