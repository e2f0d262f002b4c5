"""`baton recall`."""

from __future__ import annotations

from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.revisions.recall import RecallResult


def render_answer(app: App, result: RecallResult) -> None:
    """Print the answer; where nothing fits, one line on standard error."""
    app.answer(result.as_data(), result.text.rstrip("\n"))
    if not result.text:
        app.say("nothing that is known here fits the question")


ADDITIONS = {"recall": Addition(render=render_answer)}
