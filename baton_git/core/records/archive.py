"""A closed record, with the time, reason and session of its closing."""

from typing import Any

from pydantic import Field

from baton_git.core.records.base import Part, Text


class Archived(Part):
    """A file below `archive/`: the final content of the record is a table in it."""

    at: Text = Field(description="The time of closing, ISO 8601 in UTC.")
    reason: Text = Field(description="Why it was closed: verified, done, superseded, absent from a document, …")
    session: Text | None = Field(None, description="The session that closed it.")
    was: Text | None = Field(None, description="Its original id, if another archived record has the same id.")
    record: dict[str, Any] = Field(description="The record.")
