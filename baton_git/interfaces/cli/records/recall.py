"""Command-line additions to `recall`: name its options in the answer, and print it."""

from __future__ import annotations

from typing import Any

from baton_git.interfaces.cli.app import App, flat
from baton_git.interfaces.cli.error_handler import UNKNOWN
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.namespace.workspace import Workspace
from baton_git.recall.answer import OPTIONS
from baton_git.verbs.revisions.recall import RecallQuestion, RecallResult, answer_question


def render_answer(app: App, result: RecallResult) -> int | None:
    """Print the answer; if nothing matches, print a message to stderr."""
    if result.unread_sessions:
        app.say(flat(result.unread_sessions))
    app.answer(result.as_data(), result.text.rstrip("\n"))
    if result.pending:
        found = "" if result.text else "nothing matches the question so far: "
        app.say(f"{found}{flat(result.pending)} (each further question indexes more)")
    elif not result.text:
        named = f"; no text has: {flat(', '.join(result.missing))}" if result.missing else ""
        named += f"; no text is of {flat(result.empty_days)}" if result.empty_days else ""
        app.say(f"nothing matches the question{named}")
    if result.unread:
        app.say(f"older revisions were not searched: {flat(result.unread)} (baton doctor --fix)")
    if result.unstored:
        app.say(
            f"the index of recall is not stored: {flat(result.unstored)} (the next question reads everything again)"
        )
    return UNKNOWN if result.pending and not result.text else None


def _recall(app: App, ws: Workspace, verb_input: RecallQuestion, values: dict[str, Any]) -> RecallResult:
    return answer_question(ws, app.now, verb_input, OPTIONS)


ADDITIONS = {"recall": Addition(run=_recall, render=render_answer)}
