"""`/n/…/back`: go back to a revision, restore one record, or revert a session or commit, after a preview."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from baton_git.core.errors import Ambiguous, BatonError, InvalidArgument, NeedsHuman, NotAllowed, NotFound, Stale
from baton_git.core.names import parse_oid
from baton_git.core.state import SHAPE
from baton_git.interfaces.http.responses import status_of
from baton_git.interfaces.web.actions.outcomes import digest, vouch
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import resolve_revision
from baton_git.interfaces.web.texts import command, quote_value, sentence
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.history import describe_owner
from baton_git.verbs.revisions.rollback import (
    RollbackPlan,
    apply_plan,
    plan_record_rollback,
    plan_redo,
    plan_rollback,
    plan_session_rollback,
    plan_undo,
    preview,
)

MOST_CHANGES = 300
WAYS = ("revision", "record", "session", "undo", "redo")


def show(request: PageRequest) -> Response:
    with request.work() as ws:
        if request.query.get("way", "") not in WAYS:
            return request.render("back.html", ws, problem="", entered=request.query)
        try:
            return _render_preview(request, ws)
        except (InvalidArgument, NotFound, Ambiguous, NotAllowed) as error:
            return _render_forms(request, ws, error)


def _render_forms(request: PageRequest, ws: Workspace, error: BatonError) -> Response:
    """Render the forms with the entered values and the error."""
    return request.render("back.html", ws, status=status_of(error), problem=sentence(error), entered=request.query)


def _read_target(request: PageRequest, ws: Workspace) -> dict[str, str]:
    """Return the fields of the query. A revision is returned as its commit, since its number may change in a merge."""
    target = {name: request.query.get(name, "").strip() for name in ("way", "revision", "record", "session")}
    if target["revision"] and target["way"] != "session":
        target["revision"] = resolve_revision(ws, target["revision"])
    elif target["way"] == "undo":
        target["revision"] = plan_undo(ws, own_only=False)[1].commit  # the preview says whose it is
    return {name: value for name, value in target.items() if value}


def _plan_rollback(request: PageRequest, ws: Workspace) -> tuple[RollbackPlan, str]:
    """Return the requested rollback and its description.

    Raises:
        InvalidArgument: the query names no revision, record or session.
    """
    target = {"way": "", "revision": "", "record": "", "session": "", **_read_target(request, ws)}
    revision = target["revision"] or None
    shown = f"revision {ws.branch.revision_at(parse_oid(revision)).number} ({revision[:10]})" if revision else ""
    if target["way"] == "record" and target["record"]:
        words = f"at {shown}" if revision else "before its last change"
        return plan_record_rollback(ws, target["record"], revision), f"Restore {target['record']} as it was {words}"
    if target["way"] == "session" and target["session"]:
        return plan_session_rollback(ws, target["session"]), f"Undo the changes of session {target['session']}"
    if target["way"] == "undo":
        plan, entry = plan_undo(ws, revision)
        return plan, f"Undo {shown}, made by {describe_owner(entry)}: {entry.subject}"
    if target["way"] == "redo":
        plan, entry = plan_redo(ws)
        return plan, f"Redo: {entry.subject}"
    if target["way"] == "revision" and revision:
        return plan_rollback(ws, revision), f"Restore everything as it was at {shown}"
    raise InvalidArgument("nothing is chosen to undo or restore", hint="enter a revision, a record or a session")


def _render_preview(request: PageRequest, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    plan, words = _plan_rollback(request, ws)
    outcome = preview(ws, plan)
    changes = [change for change in outcome.changes if change.kind != SHAPE.kind]
    return request.render(
        "preview.html", ws, status=status, problem=problem, words=words, outcome=outcome,
        changes=changes[:MOST_CHANGES], total=len(changes), command=_terminal_command(request, ws),
        again=urlencode(_read_target(request, ws)), plan=digest(_read_target(request, ws)),
    )  # fmt: skip


def _terminal_command(request: PageRequest, ws: Workspace) -> str:
    """Return the terminal command that does the same."""
    target, namespace = _read_target(request, ws), str(request.namespace)
    revision = target.get("revision", "")[:10]
    if target.get("way") == "undo":
        return command("baton", "undo", revision, namespace=namespace)
    if target.get("way") == "redo":
        return command("baton", "redo", namespace=namespace)
    if target.get("way") == "session":
        return command("baton", "rollback", "--of-session", target.get("session", ""), namespace=namespace)
    position = [revision] if revision else []
    record = ["--record", target["record"]] if target.get("way") == "record" else []
    return command("baton", "rollback", *position, *record, namespace=namespace)


def settle(request: PageRequest) -> Response:
    """Roll back as the page showed, if the state has not changed since."""
    tip = parse_oid(request.form.get("tip", ""))
    with request.work() as ws:
        try:
            plan, _ = _plan_rollback(request, ws)
        except (InvalidArgument, NotFound, Ambiguous, NotAllowed) as error:
            return _render_forms(request, ws, error)
        rules = preview(ws, plan).rules
        if rules and request.no_person:
            raise NeedsHuman(
                f"this would make these patterns rules again: {', '.join(rules)}. Only a person can do that, and "
                f"{request.no_person}",
                hint=f"in a terminal: {_terminal_command(request, ws)}",
            )
        missing = [id_ for id_ in rules if request.form.get(f"typed.{quote_value(id_)}", "").strip() != id_]
        if missing:
            ids = " and ".join(missing)
            return _render_preview(
                request, ws, 422, f"This makes these patterns rules again: {ids}. Type each id to confirm."
            )
        if request.form.get("plan") != digest(_read_target(request, ws)):
            return _render_preview(
                request, ws, 409, "The plan has changed since it was shown. This is what would change now."
            )
        try:
            acting, person = vouch(request, ws), request.site.person if rules else None
            made = apply_plan(acting, request.site.now(), plan, person, how="page", tip=tip, may_be_wide=True)
        except Stale:
            return _render_preview(
                request, ws, 409, "The state has changed in the meantime. This is what would change now."
            )
        return request.redirect_to("timeline", "back", made.revision.commit)
