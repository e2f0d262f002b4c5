"""Everything that can go wrong on purpose, as types that carry their data and the next step.

    BatonError
    ├── InvalidName            a name that cannot be one
    ├── InvalidDocument        a document with faults, each with its path
    ├── InvalidArgument        two values that do not go together, or one out of range
    ├── LimitExceeded          something is larger than it may be
    ├── NotFound               no such record, revision or namespace
    ├── Ambiguous              a prefix that several ids share
    ├── NotAllowed             a rule forbids this change
    │   ├── NeedsHuman         only a person may do this (Anti-Ouroboros gate)
    │   └── Rejected           what a remote sent is over a budget, or malformed; nothing of it was taken in
    ├── Unsettled              two histories of one branch disagree, and only a person can say which counts
    ├── Stale                  written against a revision that is no longer the newest
    ├── Overtaken              a protocol run is not at the step that one wanted to go on from
    ├── Ended                  what was meant is over, and in the archive
    ├── Busy                   other writers, or a held lock, until the deadline
    ├── RemoteError            another repository: it said no, or something that nobody understands
    │   ├── Unreachable        it did not answer, or not in time
    │   └── AccessDenied       it does not know us, or does not let us do this
    └── StoreError             the repository itself
        ├── NotARepository     no repository here, or of a kind that cannot be used
        ├── Corrupt            something stored does not read back
        ├── SearchUnavailable  this Python's sqlite cannot search texts
        └── WriteFailed        the disk said no; nothing was changed

The message is one line that says what is wrong and where; `hint` is the next step, or empty.
`code` is the stable name that faces put on the wire; `data` is what a program may want to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple


class Fault(NamedTuple):
    """One defect of a document: where (`open_loops[2].verify.method`) and what."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class BatonError(Exception):
    """Base of all errors of this package; `str()` gives the one line for people."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", **data: Any) -> None:
        super().__init__(message)
        self.hint = hint
        self.data: Mapping[str, Any] = data


class InvalidName(BatonError):
    code = "invalid_name"

    def __init__(self, what: str, name: str, why: str, *, hint: str = "") -> None:
        super().__init__(f"{what} {shorten(name)}: {why}", hint=hint, what=what, name=name, why=why)


class InvalidDocument(BatonError):
    """Refused as a whole; nothing of it was written."""

    code = "invalid_document"

    def __init__(self, faults: Sequence[Fault], *, where: str = "", hint: str = "") -> None:
        self.faults = tuple(faults)
        text = "; ".join(str(fault) for fault in self.faults[:5])
        if len(self.faults) > 5:
            text += f"; and {len(self.faults) - 5} more"
        prefix = f"{where}: " if where else ""
        super().__init__(prefix + text, hint=hint, where=where, faults=[fault._asdict() for fault in self.faults])


class InvalidArgument(BatonError):
    code = "invalid_argument"


class LimitExceeded(BatonError):
    code = "limit_exceeded"

    def __init__(self, what: str, actual: int, limit: int, unit: str = "", *, hint: str = "") -> None:
        units = f" {unit}" if unit else ""
        super().__init__(
            f"{what}: {actual:,}{units}, the limit is {limit:,}{units}",
            hint=hint, what=what, actual=actual, limit=limit, unit=unit,
        )  # fmt: skip


class NotFound(BatonError):
    code = "not_found"

    def __init__(self, what: str, name: str = "", *, hint: str = "") -> None:
        """`name`: of what is missing; none where nothing was named."""
        named = f" {shorten(name)}" if name else ""
        super().__init__(f"there is no {what}{named}", hint=hint, what=what, name=name)


class Ambiguous(BatonError):
    code = "ambiguous"

    def __init__(self, what: str, name: str, candidates: Sequence[str], hint: str = "give more of the id") -> None:
        shown = ", ".join(candidates[:6]) + (", …" if len(candidates) > 6 else "")
        super().__init__(
            f"{what} {shorten(name)} could be {shown}",
            hint=hint, what=what, name=name, candidates=list(candidates),
        )  # fmt: skip


class NotAllowed(BatonError):
    code = "not_allowed"


class NeedsHuman(NotAllowed):
    code = "needs_human"


class Rejected(NotAllowed):
    code = "rejected"


class Unsettled(BatonError):
    code = "unsettled"


class Stale(BatonError):
    """`expected` and `actual` are revision numbers; the caller reads, merges and tries again."""

    code = "revision_conflict"

    def __init__(self, namespace: str, expected: int, actual: int, *, hint: str = "") -> None:
        self.namespace, self.expected, self.actual = namespace, expected, actual
        super().__init__(
            f"{namespace}: expected revision {expected}, but it is at {actual}",
            hint=hint or "read the current state, apply the change to it, and write again",
            namespace=namespace, expected_revision=expected, current_revision=actual,
        )  # fmt: skip


class StepConflict(BatonError):
    """`current` is where the run stands now, as data; None when there is none."""

    code = "step_conflict"

    def __init__(self, message: str, *, current: Mapping[str, Any] | None, hint: str = "", **data: Any) -> None:
        super().__init__(message, hint=hint, current=current, **data)
        self.current = current


class EndedError(BatonError):
    code = "ended"


class Busy(BatonError):
    code = "busy"


class RemoteError(BatonError):
    code = "remote_error"


class Unreachable(RemoteError):
    code = "unreachable"


class AccessDenied(RemoteError):
    code = "access_denied"


class StoreError(BatonError):
    code = "store_error"


class NotARepository(StoreError):
    code = "not_a_repository"


class Corrupt(StoreError):
    code = "corrupt"

    def __init__(self, what: str, why: str, *, hint: str = "") -> None:
        super().__init__(f"{what}: {why}", hint=hint, what=what, why=why)


class SearchUnavailable(StoreError):
    """This Python's sqlite cannot search texts, so nobody knows what would be found."""

    code = "search_unavailable"


class WriteFailed(StoreError):
    code = "write_failed"


def shorten(text: str, limit: int = 60) -> str:
    """`text` quoted for a message: control characters escaped, cut after `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
