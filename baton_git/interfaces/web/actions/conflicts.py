"""`/n/…/conflicts`: values that two sides changed differently, side by side; choose one of
them, or enter another value."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from starlette.responses import Response

from baton_git.core.errors import Ambiguous, InvalidArgument, InvalidDocument, NotFound, Unsettled
from baton_git.core.isolation import show_each
from baton_git.core.records.base import alike
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import State
from baton_git.interfaces.http.responses import status_of
from baton_git.interfaces.web.actions.outcomes import digest, vouch
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.file_merge import KIND as FILE
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.conflict_resolution import Side, find_current_value, resolve
from baton_git.verbs.sharing.conflicts import find_writers
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts

SHOWN = 50
SIDES = ("ours", "theirs")
EMPTY = "empty"
"""The checkbox that sets another value to the empty text."""


class ConflictView(NamedTuple):
    """A conflict, with the value of each side; a side without a value is absent.

    Attributes:
        current: the current value; empty if there is none, None if it cannot be determined.
        side: the side that has the current value; None if it was changed after the conflict arose.
    """

    conflict: Conflict
    sides: dict[str, Any]
    current: tuple[Any, ...] | None
    side: str | None
    is_text: bool
    is_file: bool
    digest: str


class UnsettledForm(NamedTuple):
    """A form that was refused: its conflict, the entered values, and the reason."""

    id: str
    choice: str
    value: str
    is_empty: bool
    problem: str


def show(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_conflicts(request, ws)


def _render_conflicts(
    request: PageRequest, ws: Workspace, status: int = 200, refused: UnsettledForm | None = None
) -> Response:
    all_conflicts, state = list_open_conflicts(ws), ws.branch.read().state
    changed_by = find_writers(ws, all_conflicts[:SHOWN])
    shown, failed = show_each(all_conflicts[:SHOWN], partial(view_conflict, state))
    is_gone = refused is not None and all(view.conflict.id != refused.id for view in shown)
    return request.render(
        "conflicts.html",
        ws,
        status=status,
        conflicts=shown,
        failed=failed,
        more=len(all_conflicts[SHOWN:]),
        writers=changed_by,
        refused=refused,
        is_gone=is_gone,
    )


def view_conflict(state: State, conflict: Conflict) -> ConflictView:
    """Return what the page shows of a conflict, including the value in use."""
    sides = {side: getattr(conflict, side) for side in SIDES if side in conflict.model_fields_set}
    is_text = bool(sides) and all(isinstance(value, str) for value in sides.values())
    current = find_current_value(state, conflict)
    side = _find_side(conflict, sides, current)
    return ConflictView(
        conflict, sides, current, side, is_text, conflict.record_kind == FILE, digest(conflict.as_data(), current)
    )


def _find_side(conflict: Conflict, sides: dict[str, Any], current: tuple[Any, ...] | None) -> str | None:
    """Return the side that has the record's current value; None if it was changed since the merge.

    If the current value cannot be determined, return the winner.
    """
    if current is None:
        return conflict.winner
    order = sorted(SIDES, key=lambda side: side != conflict.winner)
    return next((side for side in order if alike((sides[side],) if side in sides else (), current)), None)


def settle(request: PageRequest) -> Response:
    """Resolve a conflict, if the conflict and the current value are still those that the page showed."""
    id_, choice = unquote(request.form.get("id", "")), request.form.get("choice", "")
    value, is_empty = request.form.get("value", ""), bool(request.form.get(EMPTY))
    if not choice and (value or is_empty):
        choice = "other"  # without scripts, typing a value does not select its radio button
    with request.work() as ws:
        try:
            resolved = _resolve_conflict(request, vouch(request, ws), id_, choice, value, is_empty=is_empty)
        except (Unsettled, InvalidArgument, InvalidDocument, NotFound, Ambiguous) as error:
            status = 409 if isinstance(error, NotFound) else status_of(error)
            return _render_conflicts(
                request,
                ws,
                status,
                UnsettledForm(id_, choice, value, is_empty, f"{sentence(error)} Nothing was changed."),
            )
        return request.redirect_to("conflicts", "resolved", resolved.revision.commit)


def _resolve_conflict(
    request: PageRequest, ws: Workspace, id_: str, choice: str, value: str, *, is_empty: bool
) -> WriteResult:
    state, now = ws.branch.read().state, request.site.now()
    view = next((view_conflict(state, conflict) for conflict in list_open_conflicts(ws) if conflict.id == id_), None)
    if view is None:
        raise Unsettled("this conflict was resolved in the meantime")
    if view.digest != request.form.get("shown"):
        raise Unsettled(
            "this conflict or the value in use has changed in the meantime; the current values are shown below"
        )
    if choice not in (*SIDES, "now", "other"):
        raise InvalidArgument("choose one side, or enter another value")
    if choice != "other":
        if value or is_empty:
            raise InvalidArgument("you entered a value, but chose the value of a side; use only one of them")
        side = cast("Side", view.conflict.winner if choice == "now" else choice)
        shown_value = None if choice == "now" else view.current
        return resolve(ws, now, id_, side, shown=view.conflict, shown_value=shown_value)[1]
    if not value and not is_empty:
        raise InvalidArgument("enter the other value, or check the box to leave the field empty")
    if value and is_empty:
        raise InvalidArgument("you entered a value, and also checked the box for an empty one; use only one of them")
    parsed = _parse_value(value, view.is_text)
    return resolve(ws, now, id_, None, parsed, shown=view.conflict, shown_value=view.current)[1]


def _parse_value(text: str, is_text: bool) -> Any:
    """Return the entered value: as text if both sides are text, else parsed as JSON, or as text if it is not JSON."""
    if is_text or not text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
