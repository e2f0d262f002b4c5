"""The record of a session: agent, machine, times and predecessor."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from baton_git.core.records.base import Append, Earliest, Either, Keyed, Ladder, Latest, Part, Record, Text, Whole

OPEN, CLOSED = ("pending", "in_progress"), ("completed", "cancelled")
"""The statuses of open and of closed to-do items."""


class Todo(Part):
    """An item of a session's to-do list, identified by its text."""

    content: Text = Field(description="What is to be done.")
    status: Annotated[
        Literal["pending", "in_progress", "completed", "cancelled"],
        Ladder("cancelled", "completed", "in_progress", "pending"),
    ] = Field("pending", description="pending → in_progress → completed or cancelled.")


class Session(Record):
    """One run of an agent on a namespace."""

    kind: ClassVar[str] = "session"
    dated: ClassVar[str] = "started"

    agent: Text | None = Field(None, description="The agent.")
    machine: Text | None = Field(None, description="The machine that it ran on.")
    person: Annotated[Text | None, Either()] = Field(
        None, description="The name, without an address, of the person for whom it ran, as its commits have it."
    )
    parent: Text | None = Field(None, description="The session that it followed.")
    started: Annotated[Text, Earliest()] = Field(description="The time of its first action, ISO 8601 in UTC.")
    ended: Annotated[Text | None, Latest()] = Field(None, description="The time of its end, ISO 8601 in UTC.")
    status: Annotated[Literal["active", "ended"], Ladder("active", "ended")] = Field(
        "active", description="active → ended."
    )
    summary: Text | None = Field(None, description="Its own summary of its work.")
    wrote_document: Annotated[Whole | None, Either()] = Field(
        None, description="The revision of its last write of a whole document, which is the merge base of its next one."
    )
    todos: Annotated[tuple[Todo, ...], Keyed("content")] = Field(
        (), description="Its to-do list, in order (baton todo)."
    )
    context: Annotated[Text | None, Append()] = Field(
        None, description="What it said about the state of the work; absent if it emptied the context of a document."
    )
    context_at: Annotated[Text | None, Latest()] = Field(
        None, description="When its context was set, ISO 8601 in UTC, as exact as possible; absent if it set none."
    )
    context_replaced: Annotated[Text | None, Latest()] = Field(
        None, description="The `context_at` of the context that another session replaced."
    )

    @property
    def has_current_context(self) -> bool:
        """Whether it set a context that no other session has replaced since."""
        return self.context_at is not None and self.context_replaced != self.context_at
