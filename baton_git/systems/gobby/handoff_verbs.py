"""The verbs that show and list the stored handoffs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from baton_git.agents.sessions.handoff_index import (
    extraction_time,
    find_last_handoff,
    follow_rewritten,
    resolve_handoff,
)
from baton_git.core.errors import NotFound
from baton_git.core.output import flat
from baton_git.core.records.handoff import Handoff
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age
from baton_git.core.verb import READS, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import AtNamespace, PageInput, PageResult, PastRevision, full_position, take_page
from baton_git.namespace.workspace import Workspace


class ShowHandoff(Input):
    """The handoff to show."""

    id: str | None = Field(
        None, description="AGENT/SESSION, only SESSION, or an unambiguous prefix of either.", examples=["claude/1f0c"]
    )
    at: PastRevision = None


class ShownHandoff(AtNamespace):
    """The stored facts of a session."""

    handoff: dict[str, Any] = Field(
        description="The handoff with all its facts; see `/v1/schema/handoff` for the fields."
    )
    verbose: ClassVar[frozenset[str]] = frozenset({"namespace", "revision", "commit"})


class HandoffSummary(BaseModel):
    """A summary of a handoff."""

    id: str = Field(description="AGENT/SESSION.", examples=["claude/1f0c"])
    extracted_at: str = Field(description="When the facts were extracted.", examples=["2026-06-17T12:30:00Z"])
    trigger: str | None = Field(
        description="The hook event or command that extracted the facts.", examples=["session_end"]
    )
    machine: str | None = Field(description="The machine on which the session ran.")
    worktree: str | None = Field(
        description="The label of the session's work tree; older records have its path.", examples=["wt-7k3f9q"]
    )
    branch: str | None = Field(description="The checked-out branch.")
    person: str | None = Field(None, description="The name of the person for whom the session ran.")
    goal: str = Field(description="The goal of the session.")


class HandoffList(PageResult):
    """The handoffs of a namespace."""

    handoffs: list[HandoffSummary] = Field(description="The handoffs, newest first.")

    def show(self, reader: Reader) -> ResultView:
        columns = [
            Column("extracted", lambda handoff: describe_age(handoff.extracted_at, reader.now), Role.DIM),
            Column("person", lambda handoff: flat(handoff.person or "")),
            Column("goal", lambda handoff: flat(handoff.goal or "")),
            Column("id", lambda handoff: reader.sessions.shorten(handoff.id), Role.ID),
        ]
        none = "there is no handoff yet; to store one: baton handoff extract --keep"
        return ResultView(reader.table(self.handoffs, columns), () if self.handoffs else [none])


@verb("handoff list", "GET /v1/handoffs", effect=READS, tag="sessions", examples=("baton handoff list",))
def list_kept_handoffs(ws: Workspace, now: datetime, verb_input: PageInput) -> HandoffList:
    """List the stored handoffs with a summary of each, newest first."""
    revision = ws.branch.read()
    handoffs = sorted(revision.state.records(Handoff), key=extraction_time, reverse=True)
    shown, after = take_page(handoffs, verb_input, lambda handoff: handoff.id)
    return HandoffList(handoffs=[_summarise(handoff) for handoff in shown], next=after, **full_position(revision))


@verb(
    "handoff show",
    "GET /v1/handoffs/{id}",
    effect=READS,
    tag="sessions",
    positional=("id", "at"),
    options={"id": Option(metavar="[ID|latest]"), "at": Option(metavar="[REV]")},
    tool=Tool("Facts of a session. Default: the last here.", hidden=("at",)),
    examples=("baton handoff show", "baton handoff show claude/1f0c --json", "baton handoff show 1f0c ~2"),
)
def show_handoff(ws: Workspace, now: datetime, verb_input: ShowHandoff) -> ShownHandoff:
    """Show the stored facts of a session. The default is the last session of this work tree.

    If this work tree has no session, the default is the last one of its branch, or else of a branch that HEAD contains,
    or else of any other.

    Raises:
        NotFound: there is no such handoff.
        Ambiguous: several ids begin with this text.
    """
    revision = ws.branch.read(verb_input.at)
    handoff = (
        resolve_handoff(revision.state, verb_input.id)
        if verb_input.id is not None
        else find_last_handoff(ws, revision.state)
    )
    if handoff is None:
        raise NotFound(
            f"handoff of the namespace {ws.branch.namespace.text}", hint="baton handoff extract latest --keep makes one"
        )
    handoff = follow_rewritten(handoff, ws.branch.store.repository.common_dir)
    return ShownHandoff(handoff=handoff.as_data(), **full_position(revision))


def _summarise(handoff: Handoff) -> HandoffSummary:
    return HandoffSummary(
        id=handoff.id, extracted_at=handoff.extracted_at, trigger=handoff.trigger, machine=handoff.machine,
        worktree=handoff.worktree, branch=handoff.branch, person=handoff.person, goal=handoff.facts.initial_goal or "",
    )  # fmt: skip
