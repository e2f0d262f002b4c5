"""The request to push a ref, and its outcome: git or the server may reject it."""

from __future__ import annotations

import re
from typing import NamedTuple

from baton_git.core.names import Oid
from baton_git.git.remotes.error_messages import list_server_lines, mask_line
from baton_git.git.store import ObjectDraft

_MOVING = re.compile(
    r"stale info|fetch first|needs force|already exists|remote ref updated|failed to (?:lock|update ref)"
    r"|(?:cannot|unable to|could not) lock|incorrect old value|reference does not exist|is at \w+ but expected"
)  # fmt: skip
_IN_THE_WAY = re.compile(r"exists; cannot create|refname conflict")


class Push(NamedTuple):
    """A request to move `ref` of the remote from `expected` (None: it must not exist) to `new` (None: delete it).

    Attributes:
        draft: the objects of `new` that are not stored in the repository.
    """

    ref: str
    new: Oid | None
    expected: Oid | None
    draft: ObjectDraft | None = None


class PushAccepted(NamedTuple):
    """The server moved the ref to the new commit, or deleted it as requested."""


class PushOvertaken(NamedTuple):
    """The ref has an unexpected value or is being moved by another client: fetch, merge, and push again."""

    why: str


class PushRefused(NamedTuple):
    """The server refused the push. `server_lines`: the output of its hooks, line by line."""

    why: str
    server_lines: tuple[str, ...]

    def may_be_rule_for_branches(self, ref: str) -> bool:
        """Whether a rule of the server for branches may be the reason, so that a ref that is no branch may be accepted.

        Baton's own hook on a server checks the content, which another ref does not change.
        """
        return ref.startswith("refs/heads/") and not any(line.startswith("baton: ") for line in self.server_lines)


PushOutcome = PushAccepted | PushOvertaken | PushRefused


def classify_client_rejection(why: str) -> PushOutcome:
    """Return the outcome for `[rejected] (why)`: git pushed nothing, because the ref has an unexpected value."""
    return PushOvertaken(mask_line(why))


def classify_server_rejection(why: str, printed: list[str]) -> PushOutcome:
    """Return the outcome for `[remote rejected] (why)`; `printed` has the output of the server's hooks.

    Servers report a lost race in various words. A conflict with the name of another ref is a refusal, because a retry
    cannot succeed. A bare "non-fast-forward", which comes from receive.denyNonFastForwards, is a refusal too.
    """
    lines = list_server_lines(printed)
    if _MOVING.search(why) and not any(_IN_THE_WAY.search(text) for text in (why, *lines)):
        return PushOvertaken(mask_line(why))
    return PushRefused(mask_line(why), lines)
