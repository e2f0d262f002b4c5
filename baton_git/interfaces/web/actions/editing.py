"""`/n/…/edit`: a form with the fields of a live record; only changed fields are written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from baton_git.core.diff import title_of
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.records.base import Record
from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.core.state import Key
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.actions.form_digest import digest
from baton_git.interfaces.web.actions.form_fields import FormField, build_fields, read_entered
from baton_git.interfaces.web.actions.outcomes import describe_refusal, go_back, vouch
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import address
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.editing import EDITABLE, edit_record

EDITED = {
    "open_loop": ("action", "expected_outcome", "verify", "ttl_days", "decision_ref"),
    "follow_up": ("item", "reason", "priority", "linked_pattern"),
    "pattern": ("what", "proposed_rule", "threshold"),
    "active_decision": ("what", "why", "evidence", "rejected"),
}
"""By kind, the fields that can be edited on the page. The other fields are changed by separate verbs."""


def show_edit(request: PageRequest) -> Response:
    with request.work() as ws:
        record = _find_record(request, ws)
        return _render_edit(request, ws, record, _list_values(record))


def _find_record(request: PageRequest, ws: Workspace) -> Record:
    kind, id_ = request.query.get("kind", ""), request.query.get("id", "")
    record = ws.branch.read().state.entry(Key(kind, id_)) if kind in EDITABLE else None
    if not isinstance(record, Record):
        raise NotFound("record to edit", id_)
    return record


def _build_edit_fields(ws: Workspace, record: Record, entered: Mapping[str, str]) -> list[FormField]:
    without = set(type(record).model_fields) - set(EDITED[record.kind])
    return build_fields(type(record), without, entered, ws.branch.read().state, Key(record.kind, record.id))


def _render_edit(
    request: PageRequest, ws: Workspace, record: Record, entered: Mapping[str, str], status: int = 200,
    problem: str = "",
) -> Response:  # fmt: skip
    return request.render(
        "edit.html", ws, status=status, problem=problem, record=record, title=title_of(record.kind, record.as_data()),
        fields=_build_edit_fields(ws, record, entered), entered=entered, shown=digest(record.as_data()),
        target=address(request.namespace.component, "edit", kind=record.kind, id=record.id),
        next=_address_of(request, record),
    )  # fmt: skip


def _list_values(record: Record) -> dict[str, str]:
    """Return the current values of the form's fields."""
    values: dict[str, str] = {}
    for name, value in record.as_data().items():
        if name == "verify":
            values |= {"verify.method": value["method"], "verify.target": _show_target(value)}
        else:
            values[name] = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    return values


def _show_target(check: Mapping[str, Any]) -> str:
    value = check.get(CHECK_METHODS[check["method"]])
    if check["method"] == "command":
        return shlex.join(value or ())
    host = f"{check.get('host') or '127.0.0.1'}:" if check["method"] == "port_open" else ""
    return f"{host}{value}" if value is not None else ""


def settle_edit(request: PageRequest) -> Response:
    """Write the changed fields, if the record is still the one that the page showed."""
    with request.work() as ws:
        record = _find_record(request, ws)
        if request.form.get("shown") != digest(record.as_data()):
            problem = "The record has changed since it was shown. Nothing was written; this is the current record."
            return _render_edit(request, ws, record, _list_values(record), 409, problem)
        try:
            fields = _read_changed(ws, record, request.form)
            seen = {name: record.as_data().get(name) for name in fields}
            if not fields:
                return go_back(request, _address_of(request, record), "unchanged")
            result = edit_record(
                vouch(request, ws), request.site.now(), id=record.id, kind=record.kind, fields=fields, seen=seen
            )
        except BatonError as error:
            return _render_edit(request, ws, record, request.form, status_of(error), describe_refusal(error))
        return go_back(request, _address_of(request, record), "edited", record.id, result)


def _address_of(request: PageRequest, record: Record) -> str:
    return address(request.namespace.component, "record", kind=record.kind, id=record.id)


def _read_changed(ws: Workspace, record: Record, form: Mapping[str, str]) -> dict[str, Any]:
    """Return the new values of the changed fields; None removes a value."""
    before = _list_values(record)
    fields = _build_edit_fields(ws, record, form)
    changed = [field for field in fields if _texts(field, before) != _texts(field, form)]
    entered = read_entered(changed, form)
    return {field.name: _as_stored(field, entered.get(field.name)) for field in changed}


def _texts(field: FormField, values: Mapping[str, str]) -> list[str]:
    names = [f"{field.name}.method", f"{field.name}.target"] if field.kind == "check" else [field.name]
    return [values.get(name, "").strip() for name in names]


def _as_stored(field: FormField, value: Any) -> Any:
    return int(value) if field.kind == "number" and isinstance(value, str) and value.isdecimal() else value
