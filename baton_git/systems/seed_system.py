"""The data that each system registers, so that baton's own verbs do not depend on particular systems.

A seed system is one of the five projects whose formats and features baton supports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from baton_git.core.brief import Section
    from baton_git.core.records.base import Part
    from baton_git.core.state import State
    from baton_git.namespace.workspace import Workspace


class BriefRequest(NamedTuple):
    """The reader and the contents of a requested brief.

    Attributes:
        agent: the agent that reads the brief; None if unknown.
        restored: whether the brief already contains the reader's checkpoint.
        handoff: whether to include the facts of earlier sessions. Transcripts are read for this.
        problems: receives one line for each record that cannot be shown.
    """

    ws: Workspace
    state: State
    now: datetime
    agent: str | None
    restored: bool
    handoff: bool
    problems: list[str]


class ForeignDocument(NamedTuple):
    """A document format of a system: its model and the functions of its codec.

    Attributes:
        parse: loads and returns the function that validates plain data. That function raises `InvalidDocument`.
        make: loads and returns the function that makes the document of a state. None if a state cannot be written in
            this format.
    """

    name: str
    model: Callable[[], type[Part]]
    parse: Callable[[], Callable[[Any], Any]]
    make: Callable[[], Callable[[State], Any]] | None = None


class SeedSystem(NamedTuple):
    """One of the systems whose formats and features baton supports.

    Attributes:
        name: its folder in `baton_git/systems/`.
        kinds: its kinds of records.
        has_sections: whether its module `brief_sections` adds sections to the brief. The module is imported if the
            state has a record of its kinds, or something else that the sections tell.
        tells_more: returns whether the state has something else that the sections tell.
        documents: its document formats.
        has_session_hooks: whether its module `session_hooks` has functions `start` and `end`, which run at the start
            and end of every session.
    """

    name: str
    kinds: tuple[str, ...] = ()
    has_sections: bool = True
    tells_more: Callable[[State], bool] | None = None
    documents: tuple[ForeignDocument, ...] = ()
    has_session_hooks: bool = False

    def make_sections(self, request: BriefRequest) -> Iterator[Section]:
        """Return the sections that the system adds to the brief."""
        if not self.has_sections:
            return
        tells_more = self.tells_more is not None and self.tells_more(request.state)
        if tells_more or any(request.state.ids(kind) for kind in self.kinds):
            yield from importlib.import_module(f"baton_git.systems.{self.name}.brief_sections").make_sections(request)
