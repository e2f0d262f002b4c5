"""Command-line additions to `recall`: name its options in the answer, and print it."""

from __future__ import annotations

from typing import Any

from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.namespace.workspace import Workspace
from baton_git.recall.answer import OPTIONS
from baton_git.verbs.revisions.recall import RecallQuestion, RecallResult, answer_question


def _recall(app: App, ws: Workspace, verb_input: RecallQuestion, values: dict[str, Any]) -> RecallResult:
    return answer_question(ws, app.now, verb_input, OPTIONS)


ADDITIONS = {"recall": Addition(run=_recall)}
