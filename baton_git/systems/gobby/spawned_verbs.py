"""The verb that ends a session which a workflow or a loop started."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from baton_git.agents.sessions.records import stop
from baton_git.core.times import iso
from baton_git.core.verb import REPLACES, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflows import open_spawned_sessions


class StopSession(Input):
    """The session to end."""

    id: str = Field(description="The id of a started session, or an unambiguous prefix of it.", examples=["SP-7k3f9q"])


class StoppedSession(Result):
    """A session that a workflow or a loop started, and its current state."""

    id: str = Field(description="The id of the session.", examples=["SP-7k3f9q"])
    status: str = Field(description="The status of the session.", examples=["stopped"])
    was_running: bool = Field(description="Whether this call stopped it; false if it had already ended.")
    session: dict[str, Any] = Field(description="The stored record of the started session.")

    def show(self, reader: Reader) -> ResultView:
        notes = () if self.was_running else [f"{self.id} had already ended: {self.status}"]
        return ResultView(f"{self.id} {self.status}", notes)


@verb(
    "session stop",
    effect=REPLACES,
    positional=("id",),
    options={"id": Option(metavar="ID")},
    examples=("baton session stop SP-7k3f9q",),
)
def stop_session(ws: Workspace, now: datetime, verb_input: StopSession) -> StoppedSession:
    """Stop a session that a workflow or a loop started, with all of its child processes.

    To list the ids of started sessions: baton session list --spawned.

    Raises:
        NotFound: no session with this id was started in this repository.
        Ambiguous: several ids begin with this text.
    """
    records = open_spawned_sessions(ws)
    session = records.find(verb_input.id)
    ended = stop(records, session, iso(now))
    was_running = session.status == "running"
    return StoppedSession(id=ended.id, status=ended.status, was_running=was_running, session=ended.public_data)
