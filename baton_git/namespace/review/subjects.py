"""Find the record under which a changed file is reviewed."""

from __future__ import annotations

from collections.abc import Sequence

from baton_git.core import layout
from baton_git.core.records.base import Archived
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import Rule
from baton_git.core.state import HEAD, SHAPE, State
from baton_git.namespace.file_merge import KIND


def find_subject(path: str, states: Sequence[State]) -> tuple[str, str]:
    """Return the kind and the id of the record under which a file is reviewed; for a rule, those of its pattern.

    Args:
        states: the states that may have the file, in the order in which they are searched.
    """
    key = layout.key_at(path)
    if key is None:
        return KIND, path
    if key in (HEAD, SHAPE):
        return HEAD.kind, HEAD.kind
    if key.kind == Session.kind:
        return Session.kind, "sessions"
    entries = (state.entry(key) for state in states)
    entry = next((entry for entry in entries if entry is not None), None)
    if isinstance(entry, Conflict):
        return entry.record_kind, entry.record_id
    id_ = str(entry.record.get("id", key.id)) if isinstance(entry, Archived) else key.id
    return ("pattern" if key.kind == Rule.kind else key.kind), id_
