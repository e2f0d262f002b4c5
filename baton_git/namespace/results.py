"""What verbs answer, as typed values with one serialisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_serializer

from baton_git.core import diff
from baton_git.core.errors import NotFound
from baton_git.core.natural_times import TIME_TEXT
from baton_git.core.redaction.changes import Redactions
from baton_git.core.verb import Input, Result
from baton_git.git.files.atomic_files import show_path
from baton_git.namespace.revision import Revision, WriteResult

Item = TypeVar("Item")
COMMIT = "4f2a91c07d5e8b13a6c9e0f2d4b57a8c1e3f6092"


PastRevision = Annotated[
    str | None,
    Field(description="As it was: a revision, ~N, a commit id, or a date or time.", examples=["~1", "2026-06-17"]),
    TIME_TEXT,
]
"""The field of an input that reads the newest revision, unless another one is named."""


class ResultPart(BaseModel):
    """A value within a result; its validator is made with the first one."""

    model_config = ConfigDict(defer_build=True)


class ChangedField(ResultPart):
    """One field; a side that did not have it is missing."""

    field: str = Field(description="The field, dotted where it is nested.", examples=["status"])
    before: Any = Field(None, description="Its value before.", examples=["open"])
    after: Any = Field(None, description="Its value after.", examples=["verified"])


class ChangedRecord(ResultPart):
    """What happened to one record."""

    kind: str = Field(description="Its kind.", examples=["open_loop"])
    id: str = Field(description="Its id; empty for the head of the document.", examples=["OL-7k3f9q"])
    action: Literal["added", "changed", "removed", "archived", "restored"] = Field(description="What happened.")
    title: str = Field(description="What it is about.", examples=["Deployed X"])
    reason: str = Field("", description="Why it was archived.")
    fields: list[ChangedField] = Field(description="Which fields changed.")


class RedactedValue(ResultPart):
    """A secret that was taken out before anything was stored."""

    record: str = Field(description="In which record.", examples=["open loop OL-7k3f9q"])
    path: str = Field(description="In which field.", examples=["action"])
    kind: str = Field(description="What kind of secret.", examples=["AWS Access Key"])


class AtRevision(Result):
    """A result about one revision of a namespace."""

    revision: int | None = Field(description="Its number; 0 where the namespace does not exist.", examples=[12])
    commit: str | None = Field(description="Its commit; null where the namespace does not exist.", examples=[COMMIT])

    @property
    def about_commit(self) -> str | None:
        return self.commit


class AtNamespace(AtRevision):
    """A result about one namespace at one revision."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])


class UnreadableFile(ResultPart):
    """A stored file that is no record; it is kept as it is."""

    path: str = Field(description="Its path on the branch.", examples=["open_loops/OL-1.toml"])
    why: str = Field(description="What is wrong with it.", examples=["not TOML: Expected '=' after a key"])


class PageInput(Input):
    """Which part of a list."""

    limit: int = Field(50, ge=1, le=1000, description="At most so many.")
    after: str | None = Field(None, description="What an answer before this one gave as `next`.")


class PageResult(AtNamespace):
    """A part of a list."""

    next: str | None = Field(description="`after` of the request for what follows; null where this is the end.")


class FilesResult(Result):
    """What was written to files of this machine."""

    files: list[Path] = Field(description="The files that were written.")

    @field_serializer("files")
    def _show_files(self, files: list[Path]) -> list[str]:
        return [show_path(path) for path in files]


DRY_RUN = "Write nothing; only show what would change."
"""The description of the field `dry_run` of an input."""


class WrittenResult(AtRevision):
    """What a change did; `changes` is empty where nothing differed."""

    summary: str = Field(description="The change in words.", examples=["OL-7k3f9q verified"])
    changes: list[ChangedRecord] = Field(description="What changed, record by record.")
    redactions: list[RedactedValue] = Field(description="Which secrets were taken out.")
    verbose: ClassVar[frozenset[str]] = frozenset({"changes"})

    _written: WriteResult = PrivateAttr()

    @property
    def written(self) -> WriteResult:
        """The revision that was made, with what it replaced."""
        return self._written

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know beside the change, in sentences."""
        return ()

    @classmethod
    def of(cls, written: WriteResult, **fields: Any) -> Self:
        """Return the result of a write, with the `fields` that this class has beside those of every write."""
        result = cls(
            revision=written.revision.number,
            commit=written.revision.commit,
            summary=summarise(written.changes),
            changes=[change.as_data() for change in written.changes],
            redactions=list_redactions(written.redactions),
            **fields,
        )
        result._written = written
        return result


class Preview(WrittenResult):
    """What a change did, or with `dry_run` what it would do; for verbs that can say so before they write."""

    dry_run: bool = Field(False, description="Whether nothing was written: this is what it would change.")
    files: list[str] = Field([], description="Other files of the branch that change too.", examples=[["notes.txt"]])

    @classmethod
    def of_preview(cls, planned: WriteResult, **fields: Any) -> Self:
        """Return what a change would do, as `Workspace.preview` foresees it."""
        return cls.of(planned, dry_run=True, **({"files": list(planned.files)} if planned.files else {}), **fields)


class Changed(WrittenResult):
    """The record that was made or changed."""

    id: str = Field(description="The id of the record.", examples=["OL-7k3f9q"])


def summarise(changes: Sequence[diff.RecordChange]) -> str:
    """Return changes in words: the subject of their commit."""
    return diff.commit_subject(list(changes)) if changes else "nothing changed"


def list_redactions(redactions: Redactions) -> list[RedactedValue]:
    """Return what was redacted, as a result has it."""
    return [RedactedValue(record=str(key), path=value.path, kind=value.kind) for key, value in redactions]


def position(version: Revision) -> dict[str, Any]:
    """Return the fields of `AtRevision` for a version."""
    return {"revision": version.number, "commit": version.commit}


def full_position(version: Revision) -> dict[str, Any]:
    """Return the fields of `AtNamespace` for a version."""
    return {"namespace": str(version.namespace), **position(version)}


def take_page(items: Sequence[Item], page: PageInput, name: Callable[[Item], str]) -> tuple[Sequence[Item], str | None]:
    """Return the part of a list that a page holds, and the name after which the next one begins; None at the end.

    Raises:
        NotFound: no item has the name after which the page begins.
    """
    begin = 0
    if page.after is not None:
        begin = next((number for number, item in enumerate(items, 1) if name(item) == page.after), 0)
        if not begin:
            raise NotFound("item to go on from", page.after, hint="begin again, without after")
    shown = items[begin : begin + page.limit]
    return shown, name(shown[-1]) if begin + page.limit < len(items) else None
