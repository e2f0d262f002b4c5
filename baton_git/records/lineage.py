"""Who worked when, and after whom: one record per session."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from baton_git.records.base import Record, Text, Whole
from baton_git.records.rules import Earliest, Either, Ladder, Latest


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
