"""What a seed system registers, so that verbs and interfaces need not know which systems there are."""

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
    """For whom a brief is made, and of what.

    Attributes:
        agent: who reads; None where nobody says so.
        restored: whether the reader's checkpoint is in the brief already.
        handoff: whether transcripts are read, so that the facts of earlier sessions are wanted.
        problems: takes one line about each record that cannot be shown.
    """

    ws: Workspace
    state: State
    now: datetime
    agent: str | None
    restored: bool
    handoff: bool
    problems: list[str]


class ForeignDocument(NamedTuple):
    """A whole document of a system's wire: which model it has, and the functions of its codec.

    Attributes:
        parse: gives the function that checks plain data; it raises `InvalidDocument`.
        make: gives the function that makes the document of a state; None where a state is none.
    """

    name: str
    model: Callable[[], type[Part]]
    parse: Callable[[], Callable[[Any], Any]]
    make: Callable[[], Callable[[State], Any]] | None = None


class SeedSystem(NamedTuple):
    """One of the systems whose formats and habits baton takes over.

    Attributes:
        name: its folder in `baton_git/systems/`.
        kinds: the kinds of records that it brings.
        has_sections: whether its module `brief_sections` tells of them, and is loaded where there is such a record.
        documents: its whole documents.
        has_session_hooks: whether it does something at the start and at the end of every session: the functions `start`
            and `end` of its module `session_hooks`.
    """

    name: str
    kinds: tuple[str, ...] = ()
    has_sections: bool = True
    documents: tuple[ForeignDocument, ...] = ()
    has_session_hooks: bool = False

    def make_sections(self, request: BriefRequest) -> Iterator[Section]:
        """What the system has to say at the start of a session."""
        if self.has_sections and any(request.state.ids(kind) for kind in self.kinds):
            yield from importlib.import_module(f"baton_git.systems.{self.name}.brief_sections").make_sections(request)
