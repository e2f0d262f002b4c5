"""The verb `write`: write the whole document of session-baton."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr

from baton_git.core.verb import REPLACES, Input, Option, Result, Tool, verb
from baton_git.namespace.results import COMMIT, RedactedValue, ResultPart
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import DocumentResult, write_document


class NewDocument(Input):
    """A document to write."""

    baton: Any = Field(description="The document, in the form that `read` returns; records that it lacks are archived.")
    expected_revision: int | None = Field(
        None,
        ge=0,
        le=1_000_000_000,
        description="Reject the write unless this is still the newest revision.",
        examples=[12],
    )
    source: str = Field("", description="The source of the document, for messages.")


class FilledValue(ResultPart):
    """A field that a record lacked, and its new value."""

    path: str = Field(description="The path of the field.", examples=["open_loops[0].created_at"])
    value: Any = Field(description="The new value.", examples=["2026-06-17"])


class WrittenDocument(Result):
    """The result of a document write. Empty lists are left out."""

    ok: Literal[True] = Field(description="Always true: the document was written.")
    updated_at: str | None = Field(description="The time of the write, ISO 8601 with `+00:00`.")
    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])
    revision: int = Field(description="The number of the new revision.", examples=[12])
    commit: str | None = Field(description="The commit of the new revision.", examples=[COMMIT])
    held: list[dict[str, Any]] = Field(
        [], description="The claims that only a person may make, which were not written."
    )
    filled: list[FilledValue] = Field([], description="The fields that records lacked, with their new values.")
    archived: list[str] = Field([], description="The ids of the records that the document left out; they are archived.")
    conflicts: list[str] = Field(
        [], description="The ids of the records in which a value conflicts with a change by others."
    )
    renamed: dict[str, str] = Field(
        {}, description="The new ids of records whose id others had used meanwhile, by the id in the document."
    )
    redacted: list[RedactedValue] = Field([], description="The redacted secrets.")

    _written: WriteResult = PrivateAttr()

    @property
    def about_commit(self) -> str | None:
        return self.commit

    @property
    def written(self) -> WriteResult:
        """The revision of the write, with the previous one."""
        return self._written

    @classmethod
    def of(cls, outcome: DocumentResult) -> Self:
        """Return the result for a written document."""
        result = cls(**outcome.as_data())
        result._written = outcome.written
        return result


@verb(
    "write",
    usage=(
        "If --expected-revision is no longer the newest, nothing is written; the current state is printed, "
        "and the exit status is 3."
    ),
    effect=REPLACES,
    options={"baton": Option(names=("--file",), hidden=True), "source": Option(hidden=True)},
    tool=Tool(
        "Write the whole document, merged with newer changes.",
        hidden=("source",),
        schemas={"baton": {"type": "object", "description": "As read returns it; omitted records are archived"}},
    ),
    examples=(
        "baton write --file baton.json",
        "baton read | jq .baton | … | baton write --file - --expected-revision 12",
    ),
)
def write(ws: Workspace, now: datetime, verb_input: NewDocument) -> WrittenDocument:
    """Write a whole session-baton document, merged with what others wrote since its session last read.

    Records that the document leaves out are archived. Missing dates and expected outcomes are filled in.

    Raises:
        InvalidDocument: there are faults, each with its path; nothing is written.
        Stale: the newest revision is not the expected one.
        LimitExceeded: the document has too many records, or one is too large.
    """
    outcome = write_document(
        ws, now, verb_input.baton, expected_revision=verb_input.expected_revision, where=verb_input.source
    )
    return WrittenDocument.of(outcome)
