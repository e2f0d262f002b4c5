"""The lineage of a namespace's sessions: when each ran, by which agent, and which session it continued."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from baton_git.core.output import flat
from baton_git.core.records.base import Part, parse
from baton_git.core.records.lineage import Session
from baton_git.core.session_line import describe_when, describe_whose, describe_work
from baton_git.core.state import Key, State
from baton_git.core.styles import Column, Role
from baton_git.core.verb import READS, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import PageInput, PageResult, full_position, take_page
from baton_git.namespace.workspace import Workspace


class Lineage(PageResult):
    """The sessions of a namespace."""

    sessions: list[dict[str, Any]] = Field(
        description="Newest first, with the fields of `/v1/schema/session`.",
        examples=[[{"id": "2026-06-17-003", "started": "2026-06-17T12:30:00Z", "status": "active", "agent": "claude"}]],
    )

    def show(self, reader: Reader) -> ResultView:
        sessions = [parse(Session, session) for session in self.sessions]
        goals = reader.find_goals({session.id for session in sessions})
        columns = [
            Column("when", lambda session: describe_when(session, reader.now), Role.DIM),
            Column("who", lambda session: describe_whose(session, with_machine=False)),
            Column("about", lambda session: describe_work(session, goals)),
            Column("session", lambda session: reader.sessions.shorten(session.id), Role.ID),
        ]
        notes = [] if sessions else ["there is no session yet; to start one: baton boot"]
        if sessions and self.next is not None:
            notes = [f"there are more sessions: baton session lineage --after {flat(self.next)}"]
        return ResultView(reader.table(sessions, columns), notes)


@verb(
    "session lineage",
    "GET /v1/sessions",
    effect=READS,
    tag="sessions",
    examples=("baton session lineage", "baton session lineage --limit 5 --json | jq '.sessions[].id'"),
)
def list_sessions(ws: Workspace, now: datetime, verb_input: PageInput) -> Lineage:
    """List the sessions of a namespace with their agents, times and parents, newest first."""
    revision = ws.branch.read()
    shown, after = take_page(find_sessions(revision.state)[::-1], verb_input, lambda session: session.id)
    return Lineage(sessions=[session.as_data() for session in shown], next=after, **full_position(revision))


def find_sessions(state: State) -> list[Session]:
    """Return all sessions, including archived ones, by start time."""
    closed = [state.entry(Key(Session.kind, id_, archived=True)) for id_ in state.ids(Session.kind, archived=True)]
    archived = [Session.model_validate(entry.as_data()["record"]) for entry in closed if isinstance(entry, Part)]
    return sorted([*state.records(Session), *archived], key=lambda session: (session.started, session.id))
