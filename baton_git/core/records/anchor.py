"""The file, or the symbol in a file, that a record is about."""

from pydantic import Field

from baton_git.core.records.base import Flag, Part, Text


class Anchor(Part):
    """A file or symbol as it was when the record was written."""

    path: Text = Field(min_length=1, description="The file, relative to the top of the work tree.")
    symbol: Text | None = Field(None, description="A function, class or other name in it, dotted where it is nested.")
    digest: Text | None = Field(
        None, description="git's id of the content of the file; of a symbol, the SHA-256 of its lines."
    )
    commit: Text | None = Field(None, description="The commit that HEAD was at.")
    by_default: Flag = Field(False, description="Whether nobody named it: a file that the session had changed.")
