"""Call undo, redo and rollback, as a person or not, and return their results."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from baton_git.namespace.caller import Vouched
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.undo import rollback, undo


def _confirmed(ws: Workspace, person: str | None) -> Workspace:
    return ws if person is None else replace(ws, confirmed=Vouched(person, "terminal"))


def rollback_to(ws: Workspace, now: datetime, revision: str, person: str | None = None) -> WriteResult:
    """Restore all records to a revision."""
    return rollback(_confirmed(ws, person), now, revision=revision, yes=True).written


def rollback_record(
    ws: Workspace, now: datetime, id_: str, revision: str | None = None, person: str | None = None
) -> WriteResult:
    """Restore one record to a revision, or to its state before its last change."""
    return rollback(_confirmed(ws, person), now, record=id_, revision=revision, yes=True).written


def rollback_session(ws: Workspace, now: datetime, session: str, person: str | None = None) -> WriteResult:
    """Revert the changes of one session."""
    return rollback(_confirmed(ws, person), now, of_session=session, yes=True).written


def undo_revision(
    ws: Workspace, now: datetime, revision: str | None = None, person: str | None = None
) -> tuple[WriteResult, str]:
    """Undo one revision; also return what the undo changed."""
    result = undo(_confirmed(ws, person), now, revision, yes=True)
    return result.written, result.undone
