"""A conflict: two sides of a merge changed a value differently, and both values are kept until it is resolved."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from baton_git.core.records.base import Record, Text


class Conflict(Record):
    """A conflict about one field of one record. The record has the winner's value until the conflict is resolved."""

    kind: ClassVar[str] = "conflict"

    record_kind: Text = Field(description="The kind of the record.")
    record_id: Text = Field(description="The id of the record.")
    field: Text = Field(description="The field in conflict; empty for the whole record.")
    base: Any = Field(None, description="The value in the merge base.")
    ours: Any = Field(None, description="The winning value; if the merge preferred a side, the value on our branch.")
    theirs: Any = Field(None, description="The other value; if the merge preferred a side, the value that came in.")
    winner: Literal["ours", "theirs"] = Field(description="The side whose value the record has.")

    @property
    def about_record(self) -> str:
        """What happened to the whole record on one side, if that is what the conflict is about."""
        is_damaged = any(isinstance(side, dict) and "unreadable" in side for side in (self.ours, self.theirs))
        return "made unreadable on one side" if is_damaged else "removed on one side"
