"""The part of `baton session` that is about sessions which were started here: which there are, and ending one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from baton_git.agents.sessions.records import SpawnedSession
from baton_git.agents.sessions.stopping import reap, stop
from baton_git.core.times import iso
from baton_git.interfaces.cli.app import App, command, flat
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflows import open_spawned_sessions


def list_spawned(app: App, ws: Workspace, limit: int) -> None:
    """Answers with the newest sessions that were started here."""
    records = open_spawned_sessions(ws)
    reap(records, iso(app.now))
    found, problems = records.all()
    shown = found[:limit]
    app.answer([one.public_data for one in shown], "\n".join(_line(one) for one in shown))
    app.say(*(flat(one) for one in problems))
    if not found:
        app.say("no session was started here by a workflow or a loop")


def marks_of_spawned(app: App, ws: Workspace) -> dict[str, SpawnedSession]:
    """By the id that its CLI gives it, the record of every session that was started here."""
    records = open_spawned_sessions(ws)
    reap(records, iso(app.now))
    found, problems = records.all()
    app.say(*(flat(one) for one in problems))
    return {one.session: one for one in found if one.session}


def mark_of(marks: Mapping[str, SpawnedSession], target: str) -> dict[str, Any]:
    """What marks the session that `target` (`claude:ID`) names as one that was started here; nothing where it was
    not."""
    found = marks.get(target.partition(":")[2])
    return {} if found is None else {"spawned": found.id, "status": found.status}


def _line(one: SpawnedSession) -> str:
    cost = "" if one.status == "running" and one.cost_usd is None else one.cost_in_words
    parts = [one.started, one.id, f"{one.status:<9}", one.exit_in_words, one.cli, f"#{one.iteration}", cost, one.loop]
    parts += [(one.error or "")[:100], one.prompt[:60], f"log: {one.log}" if one.status == "failed" and one.log else ""]
    return "  ".join(flat(part) for part in parts if part)


@command("stop", short_help="End a session that a workflow or a loop started.")
@click.argument("id_", metavar="ID")
def stop_command(app: App, id_: str) -> None:
    """End a session that a workflow or a loop started, with all that it started itself.

    ID is one that baton session list --spawned shows, or a unique beginning.

    \b
    baton session stop SP-7k3f9q
    """
    with app.workspace() as ws:
        records = open_spawned_sessions(ws)
        found = records.find(id_)
        ended = stop(records, found, iso(app.now))
    app.answer(ended.public_data, f"{ended.id} {ended.status}")
    if found.status != "running":
        app.say(f"{found.id} was over already: {found.status}")
