"""`/n/…/conflicts`: values that two sides changed differently, side by side; whose stands, or another one."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from starlette.responses import Response

from baton_git.core.errors import Ambiguous, InvalidArgument, InvalidDocument, NotFound, Unsettled
from baton_git.core.records.base import alike
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import State
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.form_digest import digest
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.file_merge import KIND as FILE
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.conflict_blame import writers
from baton_git.verbs.conflict_resolution import Side, conflicts, resolve, standing

SHOWN = 50
SIDES = ("ours", "theirs")
EMPTY = "empty"
"""The box that says that another value is meant to be an empty text."""


class Contested(NamedTuple):
    """A conflict, and by side what it had; a side that had nothing is not there.

    Attributes:
        stands: what stands there now; nothing where there is none, None where nobody can say.
        side: whose value that is; None: neither side's, since it was changed after the conflict arose.
    """

    conflict: Conflict
    sides: dict[str, Any]
    stands: tuple[Any, ...] | None
    side: str | None
    is_text: bool
    is_file: bool
    digest: str


class Refused(NamedTuple):
    """Why nothing was settled, of which conflict, and what was entered."""

    id: str
    choice: str
    value: str
    is_empty: bool
    problem: str


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        return _shown(asked, ws)


def _shown(asked: Asked, ws: Workspace, status: int = 200, refused: Refused | None = None) -> Response:
    found, state = conflicts(ws), ws.branch.read().state
    told = writers(ws, found[:SHOWN])
    shown = [contested(state, one) for one in found[:SHOWN]]
    is_gone = refused is not None and all(one.conflict.id != refused.id for one in shown)
    return asked.page(
        "conflicts.html",
        ws,
        status=status,
        found=shown,
        total=len(found),
        writers=told,
        refused=refused,
        is_gone=is_gone,
    )


def contested(state: State, one: Conflict) -> Contested:
    sides = {side: getattr(one, side) for side in SIDES if side in one.model_fields_set}
    is_text = bool(sides) and all(isinstance(value, str) for value in sides.values())
    stands = standing(state, one)
    side = _side(one, sides, stands)
    return Contested(one, sides, stands, side, is_text, one.record_kind == FILE, digest(one.as_data(), stands))


def _side(one: Conflict, sides: dict[str, Any], stands: tuple[Any, ...] | None) -> str | None:
    """Whose value stands: the winner's, unless it was changed since."""
    if stands is None:
        return one.winner
    order = sorted(SIDES, key=lambda side: side != one.winner)
    return next((side for side in order if alike((sides[side],) if side in sides else (), stands)), None)


def settle(asked: Asked) -> Response:
    """The conflict must still be the one that the page showed, and so must what stands there."""
    id_, choice = unquote(asked.form.get("id", "")), asked.form.get("choice", "")
    value, is_empty = asked.form.get("value", ""), bool(asked.form.get(EMPTY))
    if not choice and (value or is_empty):
        choice = "other"  # without scripts, typing does not choose
    with asked.work() as ws:
        try:
            _settle(asked, ws, id_, choice, value, is_empty=is_empty)
        except (Unsettled, InvalidArgument, InvalidDocument, NotFound, Ambiguous) as error:
            status = 409 if isinstance(error, NotFound) else status_of(error)
            return _shown(
                asked, ws, status, Refused(id_, choice, value, is_empty, f"{sentence(error)} Nothing was settled.")
            )
        return asked.to("conflicts", done="settled")


def _settle(asked: Asked, ws: Workspace, id_: str, choice: str, value: str, *, is_empty: bool) -> None:
    state, now = ws.branch.read().state, asked.site.now()
    one = next((contested(state, found) for found in conflicts(ws) if found.id == id_), None)
    if one is None:
        raise Unsettled("this conflict was settled since the page was made")
    if one.digest != asked.form.get("shown"):
        raise Unsettled("this conflict, or what stands there, has changed since the page was made; below it is as now")
    if choice not in (*SIDES, "now", "other"):
        raise InvalidArgument("nothing was chosen; choose one side, or give another value")
    if choice != "other":
        if value or is_empty:
            raise InvalidArgument("a value was typed, and another one was chosen; choose one of them")
        side = cast("Side", one.conflict.winner if choice == "now" else choice)
        resolve(ws, now, id_, side, shown=one.conflict, stood=None if choice == "now" else one.stands)
        return
    if not value and not is_empty:
        raise InvalidArgument("no other value was typed; to leave the field empty, say so with the box below it")
    if value and is_empty:
        raise InvalidArgument("a value was typed, and it was said to leave the field empty; choose one of them")
    resolve(ws, now, id_, None, _value(value, one.is_text), shown=one.conflict, stood=one.stands)


def _value(text: str, is_text: bool) -> Any:
    """What was typed: text where both sides are text, else JSON, or text where it is none."""
    if is_text or not text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


PAGES = {"/n/{component}/conflicts": Page(show, settle)}
