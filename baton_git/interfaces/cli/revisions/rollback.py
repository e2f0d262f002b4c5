"""Command-line additions to `rollback`, `undo` and `redo`: ask a person, and print what was done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from baton_git.core.errors import NeedsHuman
from baton_git.core.output import flat
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import find_session
from baton_git.core.verb import Result, VerbFunction
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.previewing import confirm_wide_change
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.undo import RedoResult, RollbackResult, UndoResult, redo, rollback, undo


def run_with_person(verb: VerbFunction[Any, Any]) -> Callable[[App, Workspace, Any, Values], Result]:
    """Return a function that runs a verb and asks a person at a terminal where this is necessary.

    It asks before a change of many records, and for a confirmation that only a person may give.
    """

    def run(app: App, ws: Workspace, verb_input: Any, values: Values) -> Result:
        if "yes" in verb.verb.input_model.model_fields and not verb_input.yes:
            confirm_wide_change(app, ws, verb, verb_input)
            verb_input = verb_input.model_copy(update={"yes": True})
        try:
            return verb(ws, app.now, verb_input)  # type: ignore[no-any-return]  # the verb has the type Any
        except NeedsHuman as error:
            confirmed = replace(ws, confirmed=app.identify_person(error))
        return verb(confirmed, app.now, verb_input)  # type: ignore[no-any-return]

    return run


def _render_rollback(app: App, result: RollbackResult) -> None:
    if result.changes:
        app.say(f"restored: {flat(result.target)}")
    app.answer(result.as_data(), "")
    app.tell_change(result)


def _render_undo(app: App, result: UndoResult) -> None:
    app.answer(result.as_data(), "")
    app.tell_change(result)
    if result.changes:
        app.say(f"undone: {result.undone} (to reapply it: baton redo)")
        _follow_sessions(app, result)
    else:
        app.say(f"nothing to undo in: {result.undone} (to undo another revision: baton log, then baton undo REV)")


def _render_redo(app: App, result: RedoResult) -> None:
    app.answer(result.as_data(), "")
    app.tell_change(result)
    app.say(f"redone: {result.reapplied}")
    _follow_sessions(app, result)


def _follow_sessions(app: App, result: UndoResult | RedoResult) -> None:
    """Make a session that the undo reopened the current one of this work tree; forget one that the redo ended.

    A session of another machine is left alone, and so is the current session if there is one.
    """
    for change in result.written.changes:
        status = change.after("status") if change.kind == Session.kind else None
        session = find_session(result.written.revision.state, change.id) if status is not None else None
        if status == "ended" and app.current.get() == change.id:
            app.current.set(None)
        elif (
            status == "active"
            and session is not None
            and app.settings.places.is_own(session.machine)
            and not _has_session(app)
        ):
            app.current.set(change.id)
            app.say(
                f"commands in this work tree act in session {app.sessions.shorten(change.id)} again, until baton wrap"
            )


def _has_session(app: App) -> bool:
    return bool(app.settings.session or app.settings.hooked_session or app.current.get())


ADDITIONS = {
    "rollback": Addition(run=run_with_person(rollback), render=_render_rollback),
    "undo": Addition(run=run_with_person(undo), render=_render_undo),
    "redo": Addition(run=run_with_person(redo), render=_render_redo),
}
