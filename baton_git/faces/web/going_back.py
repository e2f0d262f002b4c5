"""`/n/…/back`: to a revision, for one record, without a session or a commit; what it would change, then the step."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from baton_git.errors import InvalidArgument, NeedsHuman, Stale
from baton_git.faces.web.desk import Asked, Page
from baton_git.names import oid
from baton_git.operations.history import (
    WayBack,
    go_back,
    preview,
    way_to,
    way_to_record,
    way_without,
    way_without_session,
)
from baton_git.operations.workspace import Workspace
from baton_git.state import SHAPE

MOST_CHANGES = 300
WAYS = ("revision", "record", "session", "undo")


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        if asked.query.get("way", "") not in WAYS:
            return asked.page("back.html", ws)
        return _previewed(asked, ws)


def _way(asked: Asked, ws: Workspace) -> tuple[WayBack, str]:
    """The way that is meant, and in words what it is."""
    said = {name: asked.query.get(name, "").strip() for name in ("way", "revision", "record", "session")}
    revision = said["revision"] or None
    if said["way"] == "record" and said["record"]:
        words = f"how it was at {revision}" if revision else "how it was before its last change"
        return way_to_record(ws, said["record"], revision), f"{said['record']}: {words}"
    if said["way"] == "session" and said["session"]:
        return way_without_session(ws, said["session"]), f"without what session {said['session']} did"
    if said["way"] == "undo":
        way, entry = way_without(ws, revision)
        number = entry.commit[:10] if entry.revision is None else f"revision {entry.revision}"
        return way, f"without {number}: {entry.subject}"
    if said["way"] == "revision" and revision:
        return way_to(ws, revision), f"everything as it was at {revision}"
    raise InvalidArgument("it is not said where to", hint="choose a revision, a record or a session")


def _previewed(asked: Asked, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    way, words = _way(asked, ws)
    found = preview(ws, way)
    changes = [one for one in found.changes if one.kind != SHAPE.kind]
    return asked.page(
        "preview.html", ws, status=status, problem=problem, words=words, found=found, changes=changes[:MOST_CHANGES],
        total=len(changes), command=_command(asked), again=urlencode(asked.query),
    )  # fmt: skip


def _command(asked: Asked) -> str:
    """The same at a terminal; a shell gets no text of a record, the person types it."""
    return (
        "baton undo REV" if asked.query.get("way") == "undo" else "baton rollback REV | --record ID | --of-session ID"
    )


def settle(asked: Asked) -> Response:
    """Goes the way that the page showed, if nothing has moved since."""
    tip = oid(asked.form.get("tip", ""))
    with asked.work() as ws:
        way, _ = _way(asked, ws)
        rules = preview(ws, way).rules
        if rules and not asked.is_person:
            raise NeedsHuman(
                f"it would make a rule of pattern {rules[0]} again, and this server asks nobody for a token",
                hint=f"in a terminal: {_command(asked)}",
            )
        if rules and asked.form.get("typed", "").strip() != rules[0]:
            return _previewed(asked, ws, 422, f"It makes a rule of {rules[0]} again: type that id to confirm it.")
        try:
            go_back(ws, asked.site.now(), way, asked.site.person if rules else None, how="page", tip=tip)
        except Stale:
            return _previewed(asked, ws, 409, "Somebody changed the state meanwhile. This is what it would change now.")
        return asked.to("timeline", done="back")


PAGES = {"/n/{component}/back": Page(show, settle)}
