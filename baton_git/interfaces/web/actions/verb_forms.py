"""`/n/…/do/…`: a form for a verb of the table of actions, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from baton_git.core.diff import title_of
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.kinds import KINDS, name_kind
from baton_git.core.records.base import Part
from baton_git.core.state import Key, State
from baton_git.core.verb import Result
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.actions.form_fields import SAME_KIND, FormField, build_fields, read_entered
from baton_git.interfaces.web.actions.outcomes import describe_refusal, go_back, vouch
from baton_git.interfaces.web.actions.table import ACTIONS, ANY_KIND, PageAction
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import address, next_page
from baton_git.namespace.remote_selection import list_remote_names
from baton_git.namespace.workspace import Workspace
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
