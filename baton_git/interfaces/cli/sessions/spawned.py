"""The sessions that workflows and loops started here, in words: which there are, and how one ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.agents.sessions.records import SpawnedSession
from baton_git.agents.sessions.stopping import reap
from baton_git.core.times import iso
from baton_git.interfaces.cli.app import App, flat
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.spawned_verbs import StoppedSession
from baton_git.systems.gobby.workflows import open_spawned_sessions


def list_spawned(app: App, ws: Workspace, limit: int) -> None:
    """Answers with the newest sessions that were started here."""
    records = open_spawned_sessions(ws)
    reap(records, iso(app.now))
    sessions, problems = records.all()
    shown = sessions[:limit]
    app.answer([session.public_data for session in shown], "\n".join(_line(session) for session in shown))
    app.say(*(flat(problem) for problem in problems))
    if not sessions:
        app.say("no session was started here by a workflow or a loop")


def marks_of_spawned(app: App, ws: Workspace) -> dict[str, SpawnedSession]:
    """By the id that its CLI gives it, the record of every session that was started here."""
    records = open_spawned_sessions(ws)
    reap(records, iso(app.now))
    sessions, problems = records.all()
    app.say(*(flat(problem) for problem in problems))
    return {session.session: session for session in sessions if session.session}


def mark_of(marks: Mapping[str, SpawnedSession], target: str) -> dict[str, Any]:
    """What marks the session that `target` (`claude:ID`) names as one that was started here; nothing where it was
    not."""
    mark = marks.get(target.partition(":")[2])
    return {} if mark is None else {"spawned": mark.id, "status": mark.status}


def _line(session: SpawnedSession) -> str:
    cost = "" if session.status == "running" and session.cost_usd is None else session.cost_in_words
    parts = [
        session.started,
        session.id,
        f"{session.status:<9}",
        session.exit_in_words,
        session.cli,
        f"#{session.iteration}",
        cost,
        session.loop,
    ]
    parts += [
        (session.error or "")[:100],
        session.prompt[:60],
        f"log: {session.log}" if session.status == "failed" and session.log else "",
    ]
    return "  ".join(flat(part) for part in parts if part)


def render_stopped(app: App, result: StoppedSession) -> None:
    """Print how a session ended."""
    app.answer(result.session, f"{result.id} {result.status}")
    if not result.was_running:
        app.say(f"{result.id} was over already: {result.status}")
