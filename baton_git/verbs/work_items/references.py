"""Look up the records that a new record refers to."""

from __future__ import annotations

from baton_git.core.records.base import Record
from baton_git.namespace.workspace import Workspace


def find_reference(ws: Workspace, model: type[Record], text: str | None) -> str | None:
    """Return the whole id of the record, live or archived, that `text` names; None where nothing is named.

    Raises:
        NotFound, Ambiguous: it names none, or several.
    """
    if not text:
        return None
    state = ws.branch.read().state
    is_whole = text in state.ids(model.kind) or text in state.ids(model.kind, archived=True)
    return text if is_whole else state.find(model, text).id
