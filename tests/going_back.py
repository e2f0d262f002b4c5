"""Go back with the verbs, as a person or as nobody, and give what was written."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Vouched, Workspace
from baton_git.verbs.revisions.undo import rollback, undo


def _confirmed(ws: Workspace, person: str | None) -> Workspace:
    return ws if person is None else replace(ws, confirmed=Vouched(person, "terminal"))


def rollback_to(ws: Workspace, now: datetime, revision: str, person: str | None = None) -> WriteResult:
    """Go back to how everything was at a revision."""
    return rollback(_confirmed(ws, person), now, revision=revision).written


def rollback_record(
    ws: Workspace, now: datetime, id_: str, revision: str | None = None, person: str | None = None
) -> WriteResult:
    """Go back to how one record was at a revision, or before its last change."""
    return rollback(_confirmed(ws, person), now, record=id_, revision=revision).written


def rollback_session(ws: Workspace, now: datetime, session: str, person: str | None = None) -> WriteResult:
    """Take back what one session did."""
    return rollback(_confirmed(ws, person), now, of_session=session).written


def undo_revision(
    ws: Workspace, now: datetime, revision: str | None = None, person: str | None = None
) -> tuple[WriteResult, str]:
    """Take one revision back; gives also what that had done."""
    result = undo(_confirmed(ws, person), now, revision)
    return result.written, result.taken_back
