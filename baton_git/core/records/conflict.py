"""A value that two sides changed differently: both are kept until somebody settles it."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from baton_git.core.records.base import Record, Text


class Conflict(Record):
    """One contested field of one record. The winner stands in the record until it is settled."""

    kind: ClassVar[str] = "conflict"

    record_kind: Text = Field(description="Kind of the contested record.")
    record_id: Text = Field(description="Its id.")
    field: Text = Field(description="The contested field; empty when the whole record is contested.")
    base: Any = Field(None, description="The value that both sides started from.")
    ours: Any = Field(None, description="The value that stands; where a side was preferred, what was on the branch.")
    theirs: Any = Field(None, description="The other value; where a side was preferred, what came in.")
    winner: Literal["ours", "theirs"] = Field(description="Which of the two stands for now.")
