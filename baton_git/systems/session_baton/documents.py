"""Read the whole document of session-baton."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, Self

from pydantic import Field

from baton_git.core.state import Unreadable
from baton_git.core.times import to_utc
from baton_git.core.verb import READS, Input, Option, Result, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import COMMIT, PastRevision, UnreadableFile
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document import EXPORTED, to_document
from baton_git.systems.session_baton.foreign_checks import to_foreign_checks


class DocumentRead(NamedTuple):
    """The document of a namespace, in session-baton's format; `baton` is None if the namespace does not exist."""

    revision: Revision
    baton: dict[str, Any] | None
    unreadable: tuple[Unreadable, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return session-baton's answer to a read, with the revision, the commit, and the unreadable files."""
        revision = self.revision
        data: dict[str, Any] = {
            "baton": self.baton,
            "namespace": str(revision.namespace),
            "updated_at": format_update_time(revision),
            "revision": revision.number if revision.commit else None,
            "commit": revision.commit,
        }
        if self.unreadable:
            data["unreadable"] = [{"path": file.path, "why": file.why} for file in self.unreadable]
        return data


def read_document(ws: Workspace, at: str | None = None, *, foreign: bool = False) -> DocumentRead:
    """Read the document of a namespace.

    Args:
        foreign: whether a client of session-baton reads it; checks that such clients do not support become `manual`.
    """
    revision = ws.branch.read(at)
    if revision.commit is None:
        return DocumentRead(revision, None)
    damaged = tuple(revision.state.unreadable(EXPORTED))
    document = to_document(revision.state, format_update_time(revision))
    return DocumentRead(revision, to_foreign_checks(document) if foreign else document, damaged)


def format_update_time(revision: Revision) -> str | None:
    """Return the time of a revision in session-baton's format, in whole seconds, the precision of commits."""
    return to_utc(revision.time).replace(microsecond=0).isoformat() if revision.time else None


def describe_conflict(namespace: str, expected: int | None, current: DocumentRead) -> dict[str, Any]:
    """Return the body of the answer to a stale write: the current state.

    Its format is that of memory-hall, another program by the author of session-baton.
    """
    return {
        "error": "baton_revision_conflict",
        "namespace": namespace,
        "expected_revision": expected,
        "current_baton": current.baton,
        "current_updated_at": format_update_time(current.revision),
        "current_revision": current.revision.number if current.revision.commit else None,
    }


class ReadRevision(Input):
    """Which revision to read."""

    at: PastRevision = None


class StateDocument(Result):
    """The whole state as session-baton's document; `baton` is null where the namespace does not exist."""

    baton: dict[str, Any] | None = Field(description="The document; null where the namespace does not exist.")
    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])
    updated_at: str | None = Field(description="The time of the revision: ISO 8601 with `+00:00`.")
    revision: int | None = Field(
        description="The number of the revision; null where the namespace does not exist.", examples=[12]
    )
    commit: str | None = Field(
        description="The commit of the revision; null where the namespace does not exist.", examples=[COMMIT]
    )
    unreadable: list[UnreadableFile] = Field([], description="Records that cannot be read, and are left out.")
    provenance: dict[str, dict[str, dict[str, Any]]] = Field(
        {}, description="Who vouches for each record, by kind and id; computed from the history."
    )

    @property
    def about_commit(self) -> str | None:
        return self.commit

    @classmethod
    def of(cls, ws: Workspace, document: DocumentRead) -> Self:
        """Return the result for a document, with who vouches for its records."""
        revision = document.revision
        if revision.commit is None:
            return cls(**document.as_data())
        return cls(**document.as_data(), provenance=ws.shown_judgement(revision).labels_as_data(revision.state))

    def show(self, reader: Reader) -> ResultView:
        lost = (f"baton: {file.path} cannot be read and is not in the output: {file.why}" for file in self.unreadable)
        return ResultView(None, [*lost])


@verb(
    "read",
    "GET /v1/state",
    effect=READS,
    tag="state",
    conditional=True,
    options={"at": Option(metavar="REV|TIME")},
    tool=Tool("The whole state as one document."),
    examples=("baton read | jq .baton.open_loops", "baton read --at 2026-06-17"),
)
def read(ws: Workspace, now: datetime, verb_input: ReadRevision) -> StateDocument:
    """Read the whole state as session-baton's document; `baton` is null for a namespace that does not exist.

    Raises:
        NotFound, Ambiguous: `at` does not name one commit.
    """
    return StateDocument.of(ws, read_document(ws, verb_input.at))
