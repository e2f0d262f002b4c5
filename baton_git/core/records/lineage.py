"""Who worked when, and after whom: one record per session."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from baton_git.core.records.base import Part, Record, Text, Whole
from baton_git.core.records.merge_rules import Earliest, Either, Keyed, Ladder, Latest

OPEN, CLOSED = ("pending", "in_progress"), ("completed", "cancelled")
"""What the status of an item of a list can be: while it is to be done, and after."""


class Todo(Part):
    """One item of a session's own list; its text is its name."""

    content: Text = Field(description="What is to be done.")
    status: Annotated[
        Literal["pending", "in_progress", "completed", "cancelled"],
        Ladder("cancelled", "completed", "in_progress", "pending"),
    ] = Field("pending", description="pending → in_progress → completed or cancelled.")


class Session(Record):
    """One run of an agent on a namespace."""

    kind: ClassVar[str] = "session"
    dated: ClassVar[str] = "started"

    agent: Text | None = Field(None, description="Which agent ran.")
    machine: Text | None = Field(None, description="On which machine.")
    parent: Text | None = Field(None, description="The session it followed.")
    started: Annotated[Text, Earliest()] = Field(description="When it was seen first, ISO 8601 in UTC.")
    ended: Annotated[Text | None, Latest()] = Field(None, description="When it said it was done.")
    status: Annotated[Literal["active", "ended"], Ladder("active", "ended")] = Field(
        "active", description="active → ended."
    )
    summary: Text | None = Field(None, description="What it said it did.")
    wrote_document: Annotated[Whole | None, Either()] = Field(
        None, description="Revision of its last whole-document write: the base of its next one."
    )
    todos: Annotated[tuple[Todo, ...], Keyed("content")] = Field(
        (), description="What it wants to do, in its order (baton todo)."
    )
