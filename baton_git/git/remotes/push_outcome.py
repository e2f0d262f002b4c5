"""The word of git or of a server about one pushed ref, as an outcome."""

from __future__ import annotations

import re

from baton_git.git.remotes.error_messages import lines_said, mask_line
from baton_git.git.remotes.remote import PushOutcome, PushOvertaken, PushRefused

_MOVING = re.compile(
    r"stale info|fetch first|needs force|already exists|remote ref updated|failed to (?:lock|update ref)"
    r"|(?:cannot|unable to|could not) lock|incorrect old value|reference does not exist|is at \w+ but expected"
)  # fmt: skip
_IN_THE_WAY = re.compile(r"exists; cannot create|refname conflict")


def by_client(why: str) -> PushOutcome:
    """`[rejected] (why)`: git did not even ask, since the ref is not where it was expected."""
    return PushOvertaken(mask_line(why))


def by_server(why: str, printed: list[str]) -> PushOutcome:
    """`[remote rejected] (why)`; `printed` are the lines of the server's hooks.

    A server that loses the race says so in words of its own; another ref in the way of the name stays there however
    often one tries. A bare "non-fast-forward" is a server's rule (receive.denyNonFastForwards), not a race.
    """
    lines = lines_said(printed)
    if _MOVING.search(why) and not any(_IN_THE_WAY.search(text) for text in (why, *lines)):
        return PushOvertaken(mask_line(why))
    return PushRefused(mask_line(why), lines)
