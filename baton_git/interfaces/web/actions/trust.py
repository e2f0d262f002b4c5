"""`/n/…/trust`: show what the check of an open loop would do on this machine, and approve it."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.core.errors import InvalidArgument, NeedsHuman
from baton_git.interfaces.web.actions.form_digest import digest
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import command, sentence
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.verification.consent import approve_check, find_loop_with_check, list_waiting_checks


def show_check(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_check(request, ws)


def _render_check(request: PageRequest, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    loop, verify = find_loop_with_check(ws, request.query.get("id", ""))
    waiting = list_waiting_checks(ws).get(loop.id)
    return request.render(
        "trust.html", ws, status=status, problem=problem, loop=loop, check=verify.as_data(),
        why=waiting[1].partition("; run: ")[0] if waiting is not None else "", shown=digest(verify.as_data()),
    )  # fmt: skip


def approve_shown_check(request: PageRequest) -> Response:
    """Approve the check, if it is still the one that the page showed."""
    id_ = request.query.get("id", "")
    if request.no_person:
        line = command("baton", "trust", id_, namespace=str(request.namespace))
        raise NeedsHuman(request.no_person, hint=f"in a terminal: {line}")
    with request.work() as ws:
        loop, verify = find_loop_with_check(ws, id_)
        if request.form.get("shown") != digest(verify.as_data()):
            return _render_check(request, ws, 409, "The check has changed since it was shown. Nothing was approved.")
        try:
            approve_check(ws, request.site.now(), loop.id, verify)
        except InvalidArgument as error:
            return _render_check(request, ws, 422, sentence(error))
        return request.redirect_to("record", "trusted", kind=loop.kind, id=loop.id, about=loop.id)
