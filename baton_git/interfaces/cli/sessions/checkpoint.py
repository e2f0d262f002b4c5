"""Command-line additions to the verbs of checkpoints (PAIF): the agent of the settings, a file, and the output."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.natural_times import describe_age
from baton_git.interfaces.cli.app import INPUT_FILE, App, flat, read_text
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.rendering.styles import Role
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.systems.paif.checkpoint_verbs import AgentSessions, RestoredAgent, SavedCheckpoint

FILE = click.option(
    "--file",
    "-f",
    type=INPUT_FILE,
    metavar="FILE",
    help="A file with the checkpoint as JSON, as PAIF writes it; - reads standard input.",
)


def _fill_checkpoint(app: App, values: Values) -> Values:
    """Add the fields of the file, if one is given."""
    file = values.get("file")
    return values if file is None else {**values, "more": _body(file), "source": file}


def _body(file: str) -> dict[str, Any]:
    data = json.loads(read_text(file), where=file)
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a checkpoint must be an object")], where=file)
    return data


def _render_saved(app: App, result: SavedCheckpoint) -> None:
    app.answer(result.as_data(), flat(result.id or ""))
    if result.saved:
        app.tell_change(result)
    elif result.id is not None:
        app.say("this checkpoint already exists; nothing was written")
    else:
        app.say(f"no checkpoint is due: {flat(result.younger)} is younger than {result.interval_minutes} min")


def _render_restored(app: App, result: RestoredAgent) -> int | None:
    """Print the text; return exit status 1 if the restore could not be recorded."""
    app.answer(result.as_data(), result.brief)
    app.say(*(flat(f"cannot be read: {file.path}: {file.why}") for file in result.damaged))
    if result.unrecorded:
        app.say(f"baton: this restore was not recorded: {flat(result.unrecorded)}")
        return FAILED
    return None


def _render_sessions(app: App, result: AgentSessions) -> None:
    columns = [
        Column("ended", lambda session: describe_age(session["ended_at"] or session["started_at"], app.now), Role.DIM),
        Column("checkpoints", lambda session: len(session["checkpoints"]), right=True),
        Column("pending", lambda session: len(session["pending_items"]) or "", right=True),
        Column("about", _describe_session),
        Column("session", lambda session: app.sessions.shorten_in(session["session_id"]), Role.ID),
    ]
    app.answer(result.as_data(), render_table(result.sessions, columns))
    if not result.sessions:
        app.say(f"{flat(result.agent)} has no session yet")
    if result.next is not None:
        app.say(f"there are more sessions: --after {flat(result.next)}")


def _describe_session(session: dict[str, Any]) -> str:
    if not session["checkpoints"]:
        return "restored, never saved"
    periodic = "periodic: " if session["checkpoint_type"] == "periodic" else ""
    return f"{periodic}{flat(session['conversation_summary'] or session['current_focus'] or '')}"


ADDITIONS = {
    "checkpoint": Addition(
        [FILE], fill=_fill_checkpoint, render=_render_saved,
        about="The file is the body of a request to PAIF, or a checkpoint in PAIF's format. Options override its "
        "fields.",
    ),
    "restore": Addition(
        render=_render_restored,
        about="If the restore cannot be recorded, the text is printed nevertheless, and the exit status is 1.",
    ),
    "sessions": Addition(render=_render_sessions),
}  # fmt: skip
