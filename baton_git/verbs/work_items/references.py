"""Look up the records that a new or edited record refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.core.errors import InvalidArgument
from baton_git.core.records.base import Record
from baton_git.core.records.work_items import ActiveDecision, Pattern
from baton_git.namespace.workspace import Workspace

REFERENCES: Mapping[str, type[Record]] = {
    "decision_ref": ActiveDecision,
    "superseded_by": ActiveDecision,
    "linked_pattern": Pattern,
}
"""The stored fields that name a record, each with the model of that record."""


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


def find_references(ws: Workspace, record: Record, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values for fields of a record, with the complete ids of the records that they name.

    Raises:
        InvalidArgument: the record would refer to itself.
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
        if REFERENCES[name] is type(record) and id_ == before["id"]:
            raise InvalidArgument(f"{name}: {id_} cannot name itself", hint="name another record")
    return {**fields, **references}
