"""Classify the rejection of a pushed ref by git or by the server."""

from __future__ import annotations

import re

from baton_git.git.remotes.error_messages import list_server_lines, mask_line
from baton_git.git.remotes.remote import PushOutcome, PushOvertaken, PushRefused

_MOVING = re.compile(
    r"stale info|fetch first|needs force|already exists|remote ref updated|failed to (?:lock|update ref)"
    r"|(?:cannot|unable to|could not) lock|incorrect old value|reference does not exist|is at \w+ but expected"
)  # fmt: skip
_IN_THE_WAY = re.compile(r"exists; cannot create|refname conflict")


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
