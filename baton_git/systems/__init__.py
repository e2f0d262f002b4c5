"""The registry of the systems that baton supports: session-baton, KAIROS, PAIF, ECC and Gobby.

Each is a project whose formats and features baton supports, and has a folder with what belongs to it, such as records,
codecs, importers and verbs. The modules in `verbs/` import only this registry, never a single system.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from baton_git.core.kinds import load_from

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
    """One of the systems.

    Attributes:
        name: its folder in `baton_git/systems/`.
        kinds: its kinds of records.
        sections: its module whose `make_sections` adds sections to the brief; None if it adds none. The module is
            imported if the state has a record of its kinds, or something else that the sections tell.
        tells_more: returns whether the state has something else that the sections tell.
        documents: its document formats.
        session_hooks: its module with the functions `start` and `end`, which run at the start and end of every session.
            They report expected errors in their results, and do not raise them.
    """

    name: str
    kinds: tuple[str, ...] = ()
    sections: str | None = "brief_sections"
    tells_more: Callable[[State], bool] | None = None
    documents: tuple[ForeignDocument, ...] = ()
    session_hooks: str | None = None

    def import_module(self, name: str) -> Any:
        return importlib.import_module(f"baton_git.systems.{self.name}.{name}")

    def make_sections(self, request: BriefRequest) -> Iterator[Section]:
        """Return the sections that the system adds to the brief."""
        if self.sections is None:
            return
        tells_more = self.tells_more is not None and self.tells_more(request.state)
        if tells_more or any(request.state.ids(kind) for kind in self.kinds):
            yield from self.import_module(self.sections).make_sections(request)


def _has_todos(state: State) -> bool:
    """Return whether a session has a to-do list, perhaps without a handoff, such as one in a shell."""
    from baton_git.core.records.lineage import Session  # models are imported when they are needed

    return any(session.has_todos for session in state.outlines(Session))


SYSTEMS = (
    SeedSystem(
        "session_baton",
        kinds=("open_loop", "follow_up", "pattern", "active_decision"),
        sections=None,  # the brief's own module makes the sections of these kinds
        documents=(
            ForeignDocument(
                "baton",
                load_from("core.records.work_items", "Baton"),
                load_from("systems.session_baton.document", "parse_document"),
                load_from("systems.session_baton.document", "to_document"),
            ),
        ),
    ),
    SeedSystem("kairos", kinds=("handover",)),
    SeedSystem("paif", kinds=("checkpoint", "identity"), session_hooks="session_hooks"),
    SeedSystem(
        "ecc",
        kinds=("snapshot",),
        documents=(
            ForeignDocument(
                "ecc_session",
                load_from("systems.ecc.record", "CanonicalSession"),
                load_from("systems.ecc.record", "parse_snapshot"),
            ),
        ),
    ),
    SeedSystem("gobby", kinds=("handoff", "turns"), sections="injections", tells_more=_has_todos),
)
"""The systems, in the order in which they add sections to the brief."""


def list_documents() -> list[ForeignDocument]:
    """Return the document formats of all systems."""
    return [document for system in SYSTEMS for document in system.documents]


def find_document(name: str | None) -> ForeignDocument | None:
    """Return the document format with this name; None if no system has it."""
    return next((document for document in list_documents() if document.name == name), None)


# --- sessions


class StartResult(NamedTuple):
    """The result of a system's `start` function, for the brief of the session.

    Attributes:
        agent: the agent whose last checkpoint the brief shows; None means the acting agent.
        restored: lines about this agent's state, from its checkpoint, and about errors while it was restored.
        problems: why settings of the system could not be used.
    """

    agent: str | None = None
    restored: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class EndResult(NamedTuple):
    """The result of a system's `end` function.

    Attributes:
        checkpoint: the id of the checkpoint that was saved; None if none was saved.
        news: messages for the user.
    """

    checkpoint: str | None = None
    news: tuple[str, ...] = ()


def run_start_hooks(ws: Workspace, now: datetime) -> StartResult:
    """Call the `start` function of each system for the session of `ws`, and combine the results."""
    results = [module.start(ws, now) for module in _import_hook_modules()]
    return StartResult(
        next((result.agent for result in results if result.agent is not None), None),
        tuple(line for result in results for line in result.restored),
        tuple(line for result in results for line in result.problems),
    )


def run_end_hooks(ws: Workspace, now: datetime, *, summary: str | None, context: str | None) -> EndResult:
    """Call the `end` function of each system for the session of `ws`, and combine the results."""
    results = [module.end(ws, now, summary=summary, context=context) for module in _import_hook_modules()]
    checkpoint = next((result.checkpoint for result in results if result.checkpoint is not None), None)
    return EndResult(checkpoint, tuple(line for result in results for line in result.news))


def _import_hook_modules() -> list[Any]:
    return [system.import_module(system.session_hooks) for system in SYSTEMS if system.session_hooks is not None]
