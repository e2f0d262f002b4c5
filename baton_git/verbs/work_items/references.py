"""Look up the records that a new or edited record refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.core.errors import InvalidArgument
from baton_git.core.records.base import Record
from baton_git.core.records.work_items import ActiveDecision, Pattern
from baton_git.core.state import Key, State
from baton_git.namespace.workspace import Workspace

REFERENCES: Mapping[str, type[Record]] = {
    "decision_ref": ActiveDecision,
    "superseded_by": ActiveDecision,
    "linked_pattern": Pattern,
}
"""The stored fields that name a record, each with the model of that record."""


def find_reference(ws: Workspace, model: type[Record], text: str | None) -> str | None:
    """Return the complete id of the record that `text` names; None if `text` is empty.

    An archived record must be named by its complete id.

    Raises:
        NotFound: `text` matches no record.
        Ambiguous: `text` matches several records.
    """
    if not text:
        return None
    state = ws.branch.read().state
    is_whole = text in state.ids(model.kind) or text in state.ids(model.kind, archived=True)
    return text if is_whole else state.find(model, text).id


def find_references(ws: Workspace, record: Record, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values for fields of a record, with the complete ids of the records that they name.

    Raises:
        InvalidArgument: the record would refer to itself, directly or through other records.
        NotFound: a new value matches no record.
        Ambiguous: a new value matches several records.
    """
    before = record.as_data()
    references = {
        name: find_reference(ws, REFERENCES[name], text)
        for name, text in fields.items()
        if name in REFERENCES and isinstance(text, str) and text != before.get(name)
    }
    for name, id_ in references.items():
        if REFERENCES[name] is type(record) and id_ is not None:
            _refuse_circle(ws.branch.read().state, name, before["id"], id_)
    return {**fields, **references}


def _refuse_circle(state: State, name: str, id_: str, target: str) -> None:
    """Raise InvalidArgument if following this field from record to record, beginning at `target`, leads to `id_`."""
    if target == id_:
        raise InvalidArgument(f"{name}: {id_} cannot name itself", hint="name another record")
    seen = set()
    following: str | None = target
    while following is not None and following not in seen:
        seen.add(following)
        following = _read_reference(state, name, following)
        if following == id_:
            raise InvalidArgument(f"{name}: {target} leads back to {id_}", hint=f"change {name} of {target} first")


def _read_reference(state: State, name: str, id_: str) -> str | None:
    """Return the id in a field of a live or archived record; None if it is empty or the record cannot be read."""
    kind = REFERENCES[name].kind
    entries = (state.entry(Key(kind, id_, archived=archived)) for archived in (False, True))
    record = next((entry for entry in entries if isinstance(entry, REFERENCES[name])), None)
    return getattr(record, name) if record is not None else None
