"""Command-line additions to `recall`: print the answer."""

from __future__ import annotations

from baton_git.interfaces.cli.app import App, flat
from baton_git.interfaces.cli.error_handler import UNKNOWN
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.revisions.recall import RecallResult


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
        app.say(f"nothing matches the question{named}")
    if result.unread:
        app.say(f"older revisions were not searched: {flat(result.unread)} (baton doctor --fix)")
    if result.unstored:
        app.say(
            f"the index of recall is not stored: {flat(result.unstored)} (the next question reads everything again)"
        )
    return UNKNOWN if result.pending and not result.text else None


ADDITIONS = {"recall": Addition(render=render_answer)}
