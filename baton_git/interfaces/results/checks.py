"""What the checks of open loops found."""

from __future__ import annotations

from typing import Any

from baton_git.interfaces.results.changed import place
from baton_git.verbs.checks import Verified


def verified(done: Verified) -> dict[str, Any]:
    """By loop the evidence, and the version that holds it."""
    return {"checks": {id_: found.given() for id_, found in done.found.items()}, **place(done.written.version)}
