"""Read session-baton's whole document, with checks that its clients know."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Self

from pydantic import Field

from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.core.state import Unreadable
from baton_git.core.times import to_utc
from baton_git.core.verb import READS, Input, Option, Result, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import COMMIT, PastRevision, UnreadableFile
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document import EXPORTED, to_document

Table = Mapping[str, Any]

_UNKNOWN_THERE = {method: CHECK_METHODS[method] for method in ("command", "git_commit", "port_open")}


def to_foreign_checks(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document whose checks session-baton's models accept; a missing note becomes the original check."""
    return _change_checks(document, _to_foreign)


def from_foreign_checks(document: Any) -> Any:
    """Return a document with the original checks; the reverse of `to_foreign_checks`.

    Every `manual` check that has the field of exactly one of these methods becomes a check of that method.
    """
    return _change_checks(document, _from_foreign) if isinstance(document, dict) else document


def _change_checks(document: dict[str, Any], change: Callable[[Table], Table]) -> dict[str, Any]:
    loops = document.get("open_loops")
    if not isinstance(loops, list):
        return document
    changed = [
        {**loop, "verify": change(loop["verify"])}
        if isinstance(loop, Mapping) and isinstance(loop.get("verify"), Mapping)
        else loop
        for loop in loops
    ]
    return {**document, "open_loops": changed} if changed != loops else document


def _to_foreign(check: Table) -> Table:
    method = check.get("method")
    if method not in _UNKNOWN_THERE or check.get(_UNKNOWN_THERE[method]) is None:
        return check
    return {**check, "method": "manual", "note": check.get("note") or _describe(method, check)}


def _from_foreign(check: Table) -> Table:
    methods = [method for method, field in _UNKNOWN_THERE.items() if check.get(field) is not None]
    if check.get("method") != "manual" or len(methods) != 1:
        return check
    restored = {**check, "method": methods[0]}
    if restored.get("note") == _describe(methods[0], check):
        del restored["note"]
    return restored


def _describe(method: str, check: Table) -> str:
    value = check[_UNKNOWN_THERE[method]]
    words = value if isinstance(value, list) else [value]
    return f"{method}: {shlex.join(str(word) for word in words)}"


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
