"""`/n/…/do/…`: a verb of the table of actions as a form, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from baton_git.core.diff import title_of
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.records.base import Record
from baton_git.core.state import Key
from baton_git.core.verb import Result
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.actions.form_fields import FormField, build_fields, read_entered
from baton_git.interfaces.web.actions.table import ACTIONS, Action
from baton_git.interfaces.web.notices import NOTICE_FIELDS
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.interfaces.web.texts import address, next_page, sentence
from baton_git.namespace.workspace import Vouched, Workspace
from baton_git.verbs.sharing.sync import SyncResult
from baton_git.verbs.verification.checks import CheckResults


class VerbForm(NamedTuple):
    """The form of an action: its fields, and the record that it is about."""

    name: str
    action: Action
    fields: Sequence[FormField]
    record: Record | None
    title: str
    next: str


def show(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_form(request, ws, _build_form(request, ws))


def ask_again(request: PageRequest) -> Response:
    """Show the form with what was entered: it must bring the token."""
    with request.work() as ws:
        return _render_form(request, ws, _build_form(request, ws), 403, "Confirm it with the token.")


def act(request: PageRequest) -> Response:
    """Run the verb with what was entered; show the form again, with the reason, where that is refused."""
    with request.work() as ws:
        form = _build_form(request, ws)
        try:
            data = {**read_entered(form.fields, request.form), **form.action.values}
            if form.record is not None:
                data[form.action.subject] = form.record.id
            labels = {field.name: field.label for field in form.fields}
            declaration = form.action.declaration
            asked = declaration.parse(data, lambda name: labels.get(name, name))
            result = declaration.run(vouch(request, ws), request.site.now(), asked)
        except BatonError as error:
            return _render_form(request, ws, form, status_of(error), _describe_refusal(error))
        return _answer(request, ws, form, result)


def vouch(request: PageRequest, ws: Workspace) -> Workspace:
    """Return the workspace in which a click counts as the person's word, behind a token that no agent has."""
    return ws if request.no_person else replace(ws, confirmed=Vouched(request.site.person, "page"))


def _describe_refusal(error: BatonError) -> str:
    hint = "" if "baton " in error.hint else error.hint
    return sentence(error) + (f" {sentence(hint)}" if hint else "")


def _build_form(request: PageRequest, ws: Workspace) -> VerbForm:
    """Return the form that the address names, with what was entered.

    Raises:
        NotFound: there is no such action, or no live record of that id.
    """
    name = request.names["action"]
    action = ACTIONS.get(name)
    if action is None:
        raise NotFound("action", name)
    record = _find_record(request, ws, action.kind) if action.kind else None
    without = {*action.hidden, *action.values, *((action.subject,) if record is not None else ())}
    entered = request.form or request.query
    fields = build_fields(action.declaration.input_model, without, entered, ws.branch.read().state, action.kind)
    fallback = address(request.namespace.component, "board")
    title = title_of(record.kind, record.as_data()) if record is not None else ""
    return VerbForm(name, action, fields, record, title, next_page(request.query.get("next", ""), fallback))


def _find_record(request: PageRequest, ws: Workspace, kind: str) -> Record:
    id_ = request.query.get("id", "")
    record = ws.branch.read().state.entry(Key(kind, id_))
    if not isinstance(record, Record):
        raise NotFound(kind.replace("_", " "), id_, hint="it may be closed by now")
    return record


def _render_form(request: PageRequest, ws: Workspace, form: VerbForm, status: int = 200, problem: str = "") -> Response:
    target = {"id": form.record.id if form.record is not None else "", "next": form.next}
    return request.render(
        "do.html", ws, status=status, form=form, problem=problem, entered=request.form or request.query,
        target="?" + urlencode({name: value for name, value in target.items() if value}),
    )  # fmt: skip


def _answer(request: PageRequest, ws: Workspace, form: VerbForm, result: Result) -> Response:
    """Go back to where the form was opened and say what was done; show what a result says that is more than that."""
    if isinstance(result, CheckResults) and form.record is not None and result.id is None:
        check = result.evidence.get(form.record.id)
        return _go_back(request, form, result, f"check-{check.result}" if check is not None else "unchanged")
    if isinstance(result, (CheckResults, SyncResult)) and not form.action.done:
        return request.render("result.html", ws, form=form, lines=_describe(result), failed=result.failure is not None)
    is_same = getattr(result, "changes", None) == []
    return _go_back(request, form, result, "unchanged" if is_same else form.name)


def _describe(result: CheckResults | SyncResult) -> list[str]:
    if isinstance(result, SyncResult):
        return [*result.said, *result.errors] or ["Nothing was to be done."]
    lines = [f"{id_}: {check.result}{f', {check.why}' if check.why else ''}" for id_, check in result.evidence.items()]
    return lines or ["No open loop has a check that can run."]


def _go_back(request: PageRequest, form: VerbForm, result: Any, done: str) -> Response:
    notice = {
        "done": done, "about": getattr(result, "id", None) or (form.record.id if form.record is not None else ""),
        "commit": result.commit or "" if getattr(result, "changes", None) else "", "in": request.namespace.component,
    }  # fmt: skip
    path, _, query = form.next.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] not in NOTICE_FIELDS]
    sent = urlencode({name: value for name, value in notice.items() if value}, errors="surrogatepass")
    return RedirectResponse(f"{path}?{'&'.join([*kept, sent])}", 303)


PAGES = {"/n/{component}/do/{action}": PageRoute(show, act, ask_again=ask_again)}
