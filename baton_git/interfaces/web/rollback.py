"""`/n/…/back`: to a revision, for one record, without a session or a commit; what it would change, then the step."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from baton_git.core.errors import Ambiguous, BatonError, InvalidArgument, NeedsHuman, NotAllowed, NotFound, Stale
from baton_git.core.names import parse_oid
from baton_git.core.state import SHAPE
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.form_digest import digest
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.revisions import meant
from baton_git.interfaces.web.texts import command, quoted, sentence
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.rollback import WayBack, go_back, preview, way_to, way_to_record, way_without, way_without_session

MOST_CHANGES = 300
WAYS = ("revision", "record", "session", "undo")


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        if asked.query.get("way", "") not in WAYS:
            return asked.page("back.html", ws, problem="", entered=asked.query)
        try:
            return _previewed(asked, ws)
        except (InvalidArgument, NotFound, Ambiguous, NotAllowed) as error:
            return _asked_again(asked, ws, error)


def _asked_again(asked: Asked, ws: Workspace, error: BatonError) -> Response:
    """The forms with what was entered, and why it leads nowhere."""
    return asked.page("back.html", ws, status=status_of(error), problem=sentence(error), entered=asked.query)


def _said(asked: Asked, ws: Workspace) -> dict[str, str]:
    """What is asked for; of a revision its commit, since a number may mean another one tomorrow."""
    said = {name: asked.query.get(name, "").strip() for name in ("way", "revision", "record", "session")}
    if said["revision"] and said["way"] != "session":
        said["revision"] = meant(ws, said["revision"])
    elif said["way"] == "undo":
        said["revision"] = str(ws.branch.read().commit or "")
    return {name: value for name, value in said.items() if value}


def _way(asked: Asked, ws: Workspace) -> tuple[WayBack, str]:
    """The way that is meant, and in words what it is."""
    said = {"way": "", "revision": "", "record": "", "session": "", **_said(asked, ws)}
    revision = said["revision"] or None
    shown = f"revision {ws.branch.revision_at(parse_oid(revision)).number} ({revision[:10]})" if revision else ""
    if said["way"] == "record" and said["record"]:
        words = f"how it was at {shown}" if revision else "how it was before its last change"
        return way_to_record(ws, said["record"], revision), f"{said['record']}: {words}"
    if said["way"] == "session" and said["session"]:
        return way_without_session(ws, said["session"]), f"without what session {said['session']} did"
    if said["way"] == "undo":
        way, entry = way_without(ws, revision)
        return way, f"without {shown}: {entry.subject}"
    if said["way"] == "revision" and revision:
        return way_to(ws, revision), f"everything as it was at {shown}"
    raise InvalidArgument("it is not said where to", hint="choose a revision, a record or a session")


def _previewed(asked: Asked, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    way, words = _way(asked, ws)
    found = preview(ws, way)
    changes = [one for one in found.changes if one.kind != SHAPE.kind]
    return asked.page(
        "preview.html", ws, status=status, problem=problem, words=words, found=found, changes=changes[:MOST_CHANGES],
        total=len(changes), command=_command(asked, ws),
        again=urlencode(_said(asked, ws)), plan=digest(_said(asked, ws)),
    )  # fmt: skip


def _command(asked: Asked, ws: Workspace) -> str:
    """The same at a terminal."""
    said, namespace = _said(asked, ws), str(asked.namespace)
    revision = said.get("revision", "")[:10]
    if said.get("way") == "undo":
        return command("baton", "undo", revision, namespace=namespace)
    if said.get("way") == "session":
        return command("baton", "rollback", "--of-session", said.get("session", ""), namespace=namespace)
    place = [revision] if revision else []
    record = ["--record", said["record"]] if said.get("way") == "record" else []
    return command("baton", "rollback", *place, *record, namespace=namespace)


def settle(asked: Asked) -> Response:
    """Goes the way that the page showed, if nothing has moved since."""
    tip = parse_oid(asked.form.get("tip", ""))
    with asked.work() as ws:
        try:
            way, _ = _way(asked, ws)
        except (InvalidArgument, NotFound, Ambiguous, NotAllowed) as error:
            return _asked_again(asked, ws, error)
        rules = preview(ws, way).rules
        if rules and asked.no_person:
            raise NeedsHuman(
                f"it would make a rule of pattern {' and '.join(rules)} again: {asked.no_person}",
                hint=f"in a terminal: {_command(asked, ws)}",
            )
        missing = [one for one in rules if asked.form.get(f"typed.{quoted(one)}", "").strip() != one]
        if missing:
            ids = " and ".join(missing)
            return _previewed(asked, ws, 422, f"It makes a rule of {ids} again: type each id to confirm it.")
        if asked.form.get("plan") != digest(_said(asked, ws)):
            return _previewed(asked, ws, 409, "This is not what the page had shown. This is what it would change.")
        try:
            go_back(ws, asked.site.now(), way, asked.site.person if rules else None, how="page", tip=tip)
        except Stale:
            return _previewed(asked, ws, 409, "Somebody changed the state meanwhile. This is what it would change now.")
        return asked.to("timeline", done="back")


PAGES = {"/n/{component}/back": Page(show, settle)}
