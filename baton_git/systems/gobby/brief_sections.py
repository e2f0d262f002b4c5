"""The facts of the last session in this work tree, as sections of the brief."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git.core.brief import Section
from baton_git.systems.gobby.injections import make_last_handoff_sections
from baton_git.systems.seed_system import BriefRequest


def make_sections(request: BriefRequest) -> Iterator[Section]:
    """Yield the facts of the last session, if the request includes the facts of earlier sessions."""
    if request.handoff:
        yield from make_last_handoff_sections(request.ws, request.now, request.state, request.problems)
