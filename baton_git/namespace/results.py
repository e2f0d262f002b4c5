"""Base classes and common parts of the inputs and results of verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_serializer

from baton_git.core import diff
from baton_git.core.errors import FieldHint, NotFound
from baton_git.core.names import Namespace
from baton_git.core.output import Styled, one_line
from baton_git.core.redaction.changes import Redactions
from baton_git.core.times import TIME_TEXT
from baton_git.core.verb import Input, Result
from baton_git.core.view import Reader, ResultView
from baton_git.git.files.atomic_files import show_path
from baton_git.namespace.revision import Revision, WriteResult

Item = TypeVar("Item")
COMMIT = "4f2a91c07d5e8b13a6c9e0f2d4b57a8c1e3f6092"
"""A commit id for the examples in schemas."""


PastRevision = Annotated[
    str | None,
    Field(
        description="Read this older revision: a revision number, ~N, a commit id, or a date or time.",
        examples=["~1", "2026-06-17"],
    ),
    TIME_TEXT,
]
"""The type of an input's field for the revision to read; None for the newest."""


class ResultPart(BaseModel):
    """A value within a result. Its validator is built on first use."""

    model_config = ConfigDict(defer_build=True)


class ChangedField(ResultPart):
    """A changed field. `before` or `after` is missing if the field did not exist on that side."""

    field: str = Field(description="The name of the field, dotted if it is nested.", examples=["status"])
    before: Any = Field(None, description="The value before.", examples=["open"])
    after: Any = Field(None, description="The value after.", examples=["verified"])


class ChangedRecord(ResultPart):
    """The change of one record."""

    kind: str = Field(description="The kind of the record.", examples=["open_loop"])
    id: str = Field(description="The id of the record; empty for the document itself.", examples=["OL-7k3f9q"])
    action: Literal["added", "changed", "removed", "archived", "restored"] = Field(description="The kind of change.")
    title: str = Field(description="The title of the record.", examples=["Deployed X"])
    reason: str = Field("", description="Why the record was archived.")
    fields: list[ChangedField] = Field(description="The changed fields.")


class RedactedValue(ResultPart):
    """A secret that was redacted before anything was stored."""

    record: str = Field(description="The record that contained the secret.", examples=["open loop OL-7k3f9q"])
    path: str = Field(description="The field that contained the secret.", examples=["action"])
    kind: str = Field(description="The kind of secret.", examples=["AWS Access Key"])


class AtRevision(Result):
    """A result about one revision of a namespace."""

    revision: int | None = Field(
        description="The revision number; 0 if the namespace does not exist, null if several commits share it.",
        examples=[12],
    )
    commit: str | None = Field(description="The commit id; null if the namespace does not exist.", examples=[COMMIT])

    @property
    def about_commit(self) -> str | None:
        return self.commit


class AtNamespace(AtRevision):
    """A result about one namespace at one revision."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])


class UnreadableFile(ResultPart):
    """A stored file that cannot be read as a record. It stays unchanged."""

    path: str = Field(description="The path of the file on the branch.", examples=["open_loops/OL-1.toml"])
    why: str = Field(description="Why it cannot be read.", examples=["not TOML: Expected '=' after a key"])


class PageInput(Input):
    """The page of a list to return."""

    limit: int = Field(50, ge=1, le=1000, description="Maximum number of items.")
    after: str | None = Field(
        None, description="Return the items after this one: the value of `next` on the previous page."
    )


class PageResult(AtNamespace):
    """One page of a list."""

    next: str | None = Field(description="The value of `after` for the next page; null on the last page.")


class FilesResult(Result):
    """The files that were written on this machine."""

    files: list[Path] = Field(description="The files that were written.")

    @field_serializer("files")
    def _show_files(self, files: list[Path]) -> list[str]:
        return [show_path(path) for path in files]


DRY_RUN = "Write nothing; only show what would change."
"""The description of the field `dry_run` of an input."""


class WrittenResult(AtRevision):
    """The result of a write. `changes` is empty if nothing changed."""

    summary: str = Field(description="A summary of the change.", examples=["OL-7k3f9q verified"])
    changes: list[ChangedRecord] = Field(description="The changed records.")
    redactions: list[RedactedValue] = Field(description="The secrets that were redacted.")
    verbose: ClassVar[frozenset[str]] = frozenset({"changes"})

    _written: WriteResult = PrivateAttr()
    _more: tuple[str, ...] = PrivateAttr(())

    @property
    def written(self) -> WriteResult:
        """The result of the write with its revisions and states."""
        return self._written

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a person should read besides the change."""
        return self._more

    def noting(self, *notes: str) -> Self:
        """Add sentences to the notes, and return this result."""
        self._more = notes
        return self

    @property
    def told(self) -> tuple[WriteResult | str, ...]:
        """The commit and the notes, as notes of what is shown."""
        return self.written, *self.notes

    def show(self, reader: Reader) -> ResultView:
        return ResultView(notes=self.told)

    @classmethod
    def of(cls, written: WriteResult, **fields: Any) -> Self:
        """Return the result of a write; `fields` are the additional fields of a subclass."""
        result = cls(
            revision=written.revision.number,
            commit=written.revision.commit,
            summary=summarise_write(written),
            changes=[change.as_data() for change in written.changes],
            redactions=list_redactions(written.redactions),
            **fields,
        )
        result._written = written
        return result


class Preview(WrittenResult):
    """The result of a write, or of its preview if `dry_run` is set."""

    dry_run: bool = Field(False, description="Whether this is a preview and nothing was written.")
    files: list[str] = Field([], description="Changed files that are not records.", examples=[["notes.txt"]])

    @classmethod
    def of_preview(cls, planned: WriteResult, **fields: Any) -> Self:
        """Return the result of a preview made with `Workspace.preview`."""
        return cls.of(planned, dry_run=True, **({"files": list(planned.files)} if planned.files else {}), **fields)

    def show(self, reader: Reader) -> ResultView:
        """Return the change, or with `dry_run` what it would be: each record, and how many."""
        if not self.dry_run:
            return super().show(reader)
        from baton_git.core.change_lines import LINES, format_changes  # here and below: few changes are previewed
        from baton_git.namespace.extent import describe_extent

        files = [Styled(f"      {one_line(path, 120)}") for path in self.files]
        extent = describe_extent(self.written.changes, self.files)
        notes = [f"{extent}; nothing was written (--dry-run)", *self.notes]
        return ResultView(LINES.join([*format_changes(reader, self.written.changes), *files]), notes)


class Changed(WrittenResult):
    """The result of creating or changing one record."""

    id: str = Field(description="The id of the record.", examples=["OL-7k3f9q"])

    def show(self, reader: Reader) -> ResultView:
        return ResultView(self.id, self.told)


def summarise(changes: Sequence[diff.RecordChange]) -> str:
    """Summarise changes in words, like the subject of their commit."""
    return diff.commit_subject(list(changes)) if changes else "nothing changed"


def summarise_write(written: WriteResult) -> str:
    """Summarise a write in words; one that made a revision is told apart from one that made none."""
    made = written.revision.commit != written.before.commit
    return "no record changed" if made and not written.changes else summarise(written.changes)


CHECKED_OUT = (
    "{} has this branch checked out: git shows baton's new commits there as uncommitted reverts, and a commit there "
    "would revert them. Switch to another branch there, and read the state with baton show or baton diff"
)


def describe_write(written: WriteResult, common_dir: Path) -> list[str]:
    """Return lines about a commit: its summary, a new namespace, redactions, a checked-out branch."""
    before, after = written.before, written.revision
    is_new = before.commit is None and after.commit is not None
    return [
        f"{summarise_write(written)} (revision {after.number})",
        *([describe_new_namespace(after.namespace, common_dir)] if is_new else []),
        *(f"redacted: {value.kind} in {key.display_name}, {value.path}" for key, value in written.redactions),
        *([CHECKED_OUT.format(written.checked_out_at)] if written.checked_out_at is not None else []),
    ]


def describe_new_namespace(namespace: Namespace | str, common_dir: Path) -> str:
    """Return a line about a namespace that a call created, in case its name or folder was mistyped."""
    return f"this created the namespace {namespace} in {common_dir}"


def list_redactions(redactions: Redactions) -> list[RedactedValue]:
    """Return redactions in the form of a result."""
    return [RedactedValue(record=str(key), path=value.path, kind=value.kind) for key, value in redactions]


def position(revision: Revision) -> dict[str, Any]:
    """Return the fields of `AtRevision`."""
    return {"revision": revision.number, "commit": revision.commit}


def full_position(revision: Revision) -> dict[str, Any]:
    """Return the fields of `AtNamespace`."""
    return {"namespace": str(revision.namespace), **position(revision)}


def take_page(items: Sequence[Item], page: PageInput, name: Callable[[Item], str]) -> tuple[Sequence[Item], str | None]:
    """Return the items of a page, and the value of `after` for the next page (None for the last page).

    Args:
        name: returns the name of an item, for `after`.

    Raises:
        NotFound: no item has the name in `page.after`.
    """
    begin = 0
    if page.after is not None:
        begin = next((number for number, item in enumerate(items, 1) if name(item) == page.after), 0)
        if not begin:
            raise NotFound("item", page.after, hint=FieldHint("it may have been removed; start again without {after}"))
    shown = items[begin : begin + page.limit]
    return shown, name(shown[-1]) if begin + page.limit < len(items) else None
