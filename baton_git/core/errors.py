"""The errors that this package raises.

    BatonError
    ├── InvalidName            a text is not a valid name
    ├── InvalidDocument        a document has faults; each has a path
    ├── InvalidArgument        a value is not allowed, or two values exclude each other
    ├── LimitExceeded          a size or count exceeds its limit
    ├── NotFound               no such record, revision, namespace, file …
    ├── Ambiguous              several ids start with the given prefix
    ├── NotAllowed             a rule forbids this change
    │   ├── NeedsHuman         only a person may do this (Anti-Ouroboros gate)
    │   │   └── Protected      it would remove, replace or weaken what a person confirmed
    │   ├── Unconfirmed        a wide change that its caller did not confirm; nothing was changed
    │   └── Rejected           fetched or pushed data exceeds a limit or is malformed; none of it was stored
    ├── Unsettled              a person must decide: histories disagree, or the data changed since it was shown
    │   └── BranchMoved        another program deleted the branch of a namespace, moved it back or replaced it
    ├── Stale                  the write is based on a revision that is no longer the newest
    ├── StepConflict           a protocol run is not at the expected step
    ├── EndedError             the record has ended and is in the archive
    ├── Busy                   other writers or a held lock blocked the command
    ├── RemoteError            a remote refused the request, or its response is not understood
    │   ├── Unreachable        the remote cannot be reached, or did not answer in time
    │   └── AccessDenied       the remote denied access
    └── StoreError             a problem with the repository or a file
        ├── NotARepository     there is no repository here, or its type is not supported
        ├── Corrupt            stored data cannot be read
        ├── SearchUnavailable  Python's sqlite was built without full-text search
        └── WriteFailed        writing to the disk failed; nothing was changed unless the message says otherwise

The message is one line that says what is wrong and where; `hint` is the next step, or empty.
`code` is the stable name that all interfaces report; `data` holds the details for programs.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

_FIELD = re.compile(r"\{(\w+)\}")


class FieldHint(str):
    """A hint that names fields of a verb's input, made from a template such as `leave out {id}`.

    As a string, it contains the fields' own names (`leave out id`). Interfaces with other names call `with_names`.
    """

    def __new__(cls, template: str) -> Self:
        hint = super().__new__(cls, _FIELD.sub(r"\1", template))
        hint._template = template
        return hint

    _template: str

    def with_names(self, names: Mapping[str, str]) -> str:
        """Return the hint with the fields named as in `names`; a field that is not in `names` keeps its name."""
        return _FIELD.sub(lambda match: names.get(match[1], match[1]), self._template)


class Fault(NamedTuple):
    """One fault of a document: its path (`open_loops[2].verify.method`) and a message."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class BatonError(Exception):
    """Base of all errors of this package; `str()` returns the message, one line."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", **data: Any) -> None:
        super().__init__(message)
        self.hint = hint
        self.data: Mapping[str, Any] = data


class InvalidName(BatonError):
    """A text is not a valid name: `what` is the kind of name, `name` the text, and `why` the rule that it breaks."""

    code = "invalid_name"

    def __init__(self, what: str, name: str, why: str, *, hint: str = "") -> None:
        super().__init__(f"{what} {shorten(name)} {why}", hint=hint, what=what, name=name, why=why)


class InvalidDocument(BatonError):
    """A document is invalid; none of it was written."""

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
        """Create the error; `name` may be empty if the missing thing has no name."""
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


class Protected(NeedsHuman):
    """A change would remove, replace or weaken records that a person confirmed; `records` are their ids."""

    def __init__(self, message: str, records: Sequence[str], *, hint: str = "") -> None:
        super().__init__(message, hint=hint, records=list(records))


class Unconfirmed(NotAllowed):
    """A wide change that its caller did not confirm; `effect` says what it would do."""

    code = "unconfirmed"

    def __init__(self, effect: str, *, hint: str = "") -> None:
        super().__init__(f"{effect}, which must be confirmed", hint=hint)
        self.effect = effect


class Rejected(NotAllowed):
    code = "rejected"


class Unsettled(BatonError):
    code = "unsettled"


class BranchMoved(Unsettled):
    code = "branch_moved"


class Stale(BatonError):
    """The namespace is at revision `actual`, not `expected`; read it again, merge, and retry."""

    code = "revision_conflict"

    def __init__(self, namespace: str, expected: int, actual: int, *, hint: str = "") -> None:
        self.namespace, self.expected, self.actual = namespace, expected, actual
        super().__init__(
            f"{namespace}: expected revision {expected}, but it is at {actual}",
            hint=hint or "read the current state, apply the change to it, and write again",
            namespace=namespace, expected_revision=expected, current_revision=actual,
        )  # fmt: skip


class StepConflict(BatonError):
    """A protocol run is not at the expected step; `current` is the run as data, None if it does not exist."""

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


class NewerLayout(Corrupt):
    """Nothing is damaged: another program wrote a layout that this one does not know."""


class BrokenFormat(Corrupt):
    """All objects are there, but a commit's `format.toml` cannot be read, as after an edit by hand."""


class BrokenSettings(Corrupt):
    """Nothing of baton is damaged: a settings file of git has a line that git cannot read either."""


class SearchUnavailable(StoreError):
    """The recall index cannot be searched, as if Python's sqlite was built without full-text search."""

    code = "search_unavailable"


class WriteFailed(StoreError):
    code = "write_failed"

    @property
    def is_refused(self) -> bool:
        """Whether the file system is read-only, or the writer has no permission."""
        return self.data.get("errno") in (errno.EROFS, errno.EACCES, errno.EPERM)


def explain_sandbox(error: Exception, hint: str) -> str:
    """Return `hint`, which says what works in a sandbox, if it made the write fail; otherwise an empty text."""
    return hint if isinstance(error, WriteFailed) and error.is_refused else ""


def shorten(text: str, limit: int = 60) -> str:
    """Return `text` cut to `limit` characters and quoted for a message, with control characters escaped."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


MIN_RATIO = 0.65
"""The least similarity (0 to 1, see `difflib`) of a suggestion; with 0.6, `nope` would suggest `reopen`."""


def find_near_names(name: str, names: Iterable[str], limit: int = 1) -> list[str]:
    """Return at most `limit` of `names` that resemble the mistyped `name`, the closest first."""
    from difflib import get_close_matches  # imported here because most processes never need it

    return get_close_matches(name, list(names), limit, MIN_RATIO)
