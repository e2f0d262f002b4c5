"""Forms: `/n/…/do/…` for a verb of the table of actions, and `/n/…/edit` for the fields of a live record."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from baton_git.core.diff import title_of
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.kinds import KINDS, name_kind
from baton_git.core.records.base import Part, Record
from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.core.state import Key, State
from baton_git.core.verb import Result
from baton_git.interfaces.http.responses import status_of
from baton_git.interfaces.web.actions.form_fields import SAME_KIND, FormField, build_fields, read_entered
from baton_git.interfaces.web.actions.outcomes import describe_refusal, digest, go_back, vouch
from baton_git.interfaces.web.actions.table import ACTIONS, ANY_KIND, PageAction
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import address, next_page
from baton_git.namespace.remote_selection import list_remote_names
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.editing import EDITABLE, edit_record
from baton_git.verbs.records.stored import read_fields
from baton_git.verbs.sharing.sync import SyncResult
from baton_git.verbs.verification.checks import CheckResults


class VerbForm(NamedTuple):
    """The form of an action.

    Attributes:
        key: the record that the action changes; None if it changes no particular record.
        title: the title of that record.
        next: the address to continue at.
        obstacle: why the form cannot be filled in: there is nothing to choose in a required field. Empty if it can.
    """

    name: str
    action: PageAction
    fields: Sequence[FormField]
    key: Key | None
    title: str
    next: str
    obstacle: str


def show_form(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_form(request, ws, _build_form(request, ws))


def ask_again(request: PageRequest) -> Response:
    """Show the form again with the entered values; sending it requires the token."""
    with request.work() as ws:
        return _render_form(request, ws, _build_form(request, ws), 403, "Enter the token again to confirm.")


def run_verb(request: PageRequest) -> Response:
    """Run the verb with the entered values. If it is refused, show the form again with the reason."""
    with request.work() as ws:
        form = _build_form(request, ws)
        try:
            data = {**read_entered(form.fields, request.form), **form.action.values}
            if form.key is not None:
                data[form.action.subject] = form.action.name_subject(form.key.id)
            if form.action.is_about_namespace:
                data["name"] = str(request.namespace)
            if form.action.kind == ANY_KIND and form.key is not None:
                data["kind"] = form.key.kind
            labels = {field.name: field.label for field in form.fields}
            declaration = form.action.declaration
            verb_input = declaration.parse(data, lambda name: labels.get(name, name), request.site.now())
            result = declaration.run(vouch(request, ws), request.site.now(), verb_input)
        except BatonError as error:
            return _render_form(request, ws, form, status_of(error), describe_refusal(error))
        return _answer(request, ws, form, result)


def _build_form(request: PageRequest, ws: Workspace) -> VerbForm:
    """Return the form that the address names, with the entered values.

    Raises:
        NotFound: there is no such action, or no record with that id.
    """
    name = request.names["action"]
    action = ACTIONS.get(name)
    if action is None:
        raise NotFound("action", name)
    state = ws.branch.read().state
    key = _find_key(request, state, action) if action.kind else None
    without = {*action.hidden, *action.values, *((action.subject, "kind") if key is not None else ())}
    without |= {"name"} if action.is_about_namespace else set()
    entered = request.form or request.query
    fields = [
        _offer_remotes(ws, field._replace(label=action.labels.get(field.name, field.label)))
        for field in build_fields(action.declaration.input_model, without, entered, state, key)
    ]
    title = title_of(key.kind, read_fields(state.entry(key))) if key is not None else ""
    return VerbForm(name, action, fields, key, title, _find_next(request, key), _find_obstacle(fields, key))


def _find_obstacle(fields: Iterable[FormField], key: Key | None) -> str:
    """Return why a form cannot be filled in; empty if it can."""
    names = {field.name for field in fields if field.is_required and not field.choices}
    if key is not None and names.intersection(SAME_KIND):
        return f"There is no other {name_kind(key.kind)}."
    return "This repository has no remote. To add one: git remote add NAME URL" if "remote" in names else ""


def _offer_remotes(ws: Workspace, field: FormField) -> FormField:
    """Return the field; a field that names a remote offers the configured ones."""
    if field.name != "remote":
        return field
    return field._replace(kind="choice", choices=[(name, name) for name in list_remote_names(ws)])


def _find_key(request: PageRequest, state: State, action: PageAction) -> Key:
    """Return the key of the form's record: a live one, or an archived one for actions that reopen it."""
    kind = request.query.get("kind", "") if action.kind == ANY_KIND else action.kind
    key = Key(kind, request.query.get("id", ""), action.takes_archived and bool(request.query.get("archived")))
    if kind not in KINDS or not isinstance(state.entry(key), Part):
        raise NotFound("record", key.id, hint="it may be closed by now")
    return key


def _find_next(request: PageRequest, key: Key | None) -> str:
    """Return the address to continue at: where the form was opened, or else the page of the record or the board."""
    component = request.namespace.component
    query = {"kind": key.kind, "id": key.id} if key is not None else {}
    return next_page(request.query.get("next", ""), address(component, "record" if query else "board", **query))


def _render_form(request: PageRequest, ws: Workspace, form: VerbForm, status: int = 200, problem: str = "") -> Response:
    key = form.key
    about = {"kind": key.kind, "id": key.id, "archived": "1" if key.archived else ""} if key is not None else {}
    target = {**about, "next": form.next}
    return request.render(
        "do.html", ws, status=status, form=form, problem=problem, entered=request.form or request.query,
        target="?" + urlencode({name: value for name, value in target.items() if value}),
    )  # fmt: skip


def _answer(request: PageRequest, ws: Workspace, form: VerbForm, result: Result) -> Response:
    """Redirect to the page where the form was opened, with a notice about the result.

    Results of a sync, and of checks of several loops, get a page of their own, unless the action has a notice and
    succeeded. Actions on a whole namespace redirect to the list of namespaces.
    """
    about = form.key.id if form.key is not None else ""
    if isinstance(result, CheckResults) and about and result.id is None:
        check = result.evidence.get(about)
        return go_back(request, form.next, f"check-{check.result}" if check else "unchanged", about, result)
    has_notice = form.action.done and result.failure is None
    if isinstance(result, (CheckResults, SyncResult)) and not has_notice:
        return request.render("result.html", ws, form=form, lines=_describe(result), failed=result.failure is not None)
    if form.action.is_about_namespace:
        return RedirectResponse(f"/?done={form.name}", 303)
    done = "unchanged" if getattr(result, "changes", None) == [] else form.name
    return go_back(request, form.next, done, getattr(result, "id", None) or about, result)


def _describe(result: CheckResults | SyncResult) -> list[str]:
    if isinstance(result, SyncResult):
        return [*result.summary, *result.errors] or ["Everything was up to date already."]
    lines = [f"{id_}: {check.result}{f', {check.why}' if check.why else ''}" for id_, check in result.evidence.items()]
    return lines or ["No open loop has a check to run."]


# --- `/n/…/edit`: a form with the fields of a live record; only changed fields are written


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
