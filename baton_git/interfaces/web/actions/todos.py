"""`/n/…/todos`: the to-do lists of the sessions: add items, start, finish and cancel them."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.records.lineage import OPEN, Session
from baton_git.interfaces.http.responses import status_of
from baton_git.interfaces.web.actions.outcomes import describe_refusal, go_back
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import address, next_page
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.todos import ChangedTodos, add_todo, cancel_todo, finish_todo, start_todo

SHOWN = 20
"""Maximum number of sessions on the page."""
STEPS = {"start": start_todo, "done": finish_todo, "cancel": cancel_todo}


def show(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render(request, ws)


def _render(request: PageRequest, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    sessions = list_sessions_with_todos(ws)
    wanted = request.query.get("session", "")
    if wanted:
        sessions = [session for session in sessions if session.id == wanted]
    return request.render(
        "todos.html", ws, status=status, problem=problem, sessions=sessions[:SHOWN], total=len(sessions),
        entered=request.form, wanted=wanted,
    )  # fmt: skip


def list_sessions_with_todos(ws: Workspace) -> list[Session]:
    """Return the live sessions that are active or have open to-dos, newest first."""
    sessions = sorted(ws.branch.read().state.records(Session), key=lambda session: session.started, reverse=True)
    return [
        session
        for session in sessions
        if session.status == "active" or any(todo.status in OPEN for todo in session.todos)
    ]


def change(request: PageRequest) -> Response:
    """Change one item of a session's list, or add one."""
    session = request.form.get("session", "")
    with request.work() as plain, request.site.work(request.namespace.text, session=session or None) as ws:
        try:
            result = _change_list(request, ws)
        except BatonError as error:
            return _render(request, plain, status_of(error), describe_refusal(error))
    fallback = address(request.namespace.component, "todos")
    return go_back(request, next_page(request.form.get("next", ""), fallback), "todos", "", result)


def _change_list(request: PageRequest, ws: Workspace) -> ChangedTodos:
    now = request.site.now()
    for name, change_status in STEPS.items():
        if name in request.form:
            return change_status(ws, now, which=request.form[name])
    text = request.form.get("text", "").strip()
    if not text:
        raise InvalidArgument("the new item is empty")
    return add_todo(ws, now, text=text)
