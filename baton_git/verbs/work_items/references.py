"""Look up the records that a new record refers to."""

from __future__ import annotations

from baton_git.core.records.base import Record
from baton_git.namespace.workspace import Workspace


def find_reference(ws: Workspace, model: type[Record], text: str | None) -> str | None:
    """Return the complete id of the live or archived record that `text` names; None if `text` is empty.

    Raises:
        NotFound: `text` matches no record.
        Ambiguous: `text` matches several records.
    """
    if not text:
        return None
    state = ws.branch.read().state
    is_whole = text in state.ids(model.kind) or text in state.ids(model.kind, archived=True)
    return text if is_whole else state.find(model, text).id
