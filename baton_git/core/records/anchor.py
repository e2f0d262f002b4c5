"""The file, or the symbol in a file, that a record is about."""

from pydantic import Field

from baton_git.core.records.base import Flag, Part, Text


class Anchor(Part):
    """A file or symbol as it was when the record was written."""

    path: Text = Field(min_length=1, description="The file, relative to the top of the work tree.")
    symbol: Text | None = Field(None, description="A function, class or other name in the file, dotted if nested.")
    digest: Text | None = Field(None, description="The blob id of the file; for a symbol, the SHA-256 of its lines.")
    commit: Text | None = Field(None, description="The commit that HEAD pointed to at that time.")
    session: Text | None = Field(None, description="The session that wrote it; its later commits carry the record out.")
    by_default: Flag = Field(
        False, description="Whether it was added automatically, because the session had changed the file."
    )
