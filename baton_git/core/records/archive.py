"""A closed record, with when, why and by whom it was closed."""

from typing import Any

from pydantic import Field

from baton_git.core.records.base import Part, Text


class Archived(Part):
    """A file below `archive/`: the record as it was last, in a table of its own."""

    at: Text = Field(description="When it was closed, ISO 8601 in UTC.")
    reason: Text = Field(description="Why: verified, done, superseded, absent from a document, …")
    session: Text | None = Field(None, description="The session that closed it.")
    was: Text | None = Field(None, description="The id it had, when another closed record had the same.")
    record: dict[str, Any] = Field(description="The record.")
