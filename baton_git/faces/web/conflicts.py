"""`/n/…/conflicts`: values that two sides changed differently, side by side; whose stands, or another one."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from starlette.responses import Response

from baton_git.errors import InvalidArgument, Unsettled
from baton_git.faces.web.desk import Asked, Page
from baton_git.faces.web.shown import digest
from baton_git.files import KIND as FILE
from baton_git.operations.conflicts import Side, conflicts, resolve
from baton_git.records.conflict import Conflict

SHOWN = 50
SIDES = ("ours", "theirs")


class Contested(NamedTuple):
    """A conflict, and by side what it had; a side that had nothing is not there."""

    conflict: Conflict
    sides: dict[str, Any]
    is_text: bool
    is_file: bool
    digest: str


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        found = conflicts(ws)
        shown = [contested(one) for one in found[:SHOWN]]
        return asked.page("conflicts.html", ws, found=shown, total=len(found))


def contested(one: Conflict) -> Contested:
    sides = {side: getattr(one, side) for side in SIDES if side in one.model_fields_set}
    is_text = bool(sides) and all(isinstance(value, str) for value in sides.values())
    return Contested(one, sides, is_text, one.record_kind == FILE, digest(one.given()))


def settle(asked: Asked) -> Response:
    """The conflict must still be the one that the page showed."""
    id_, choice = unquote(asked.form.get("id", "")), asked.form.get("choice", "")
    with asked.work() as ws:
        one = next((contested(found) for found in conflicts(ws) if found.id == id_), None)
        if one is None or one.digest != asked.form.get("shown"):
            raise Unsettled("this conflict was settled, or has changed, since the page was made", hint="look again")
        if choice not in (*SIDES, "other"):
            raise InvalidArgument("nothing was chosen", hint="choose one side, or give another value")
        side = cast("Side", choice) if choice in SIDES else None
        if side and asked.form.get("value"):
            raise InvalidArgument("a value was typed, and a side was chosen", hint="go back, and choose one of them")
        value = None if side else _value(asked.form.get("value", ""), one.is_text)
        resolve(ws, asked.site.now(), id_, side, value)
        return asked.to("conflicts", done="settled")


def _value(text: str, is_text: bool) -> Any:
    """What was typed: text where both sides are text, else JSON, or text where it is none."""
    if is_text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


PAGES = {"/n/{component}/conflicts": Page(show, settle)}
