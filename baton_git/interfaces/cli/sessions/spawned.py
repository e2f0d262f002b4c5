"""Print the sessions that workflows and `baton loop-run` started in this repository."""

from __future__ import annotations

from collections.abc import Sequence

from baton_git.agents.sessions.records import SpawnedSession, end_unwatched_sessions
from baton_git.core.output import Styled, flat, one_line
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age, iso
from baton_git.interfaces.cli.app import App
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.workflows import open_spawned_sessions
from baton_git.verbs.records.stored import STATUS_ROLES


def list_spawned(app: App, ws: Workspace, limit: int) -> None:
    """Print the newest sessions that baton started here."""
    records = open_spawned_sessions(ws)
    end_unwatched_sessions(records, iso(app.now))
    sessions, problems = records.all()
    shown = sessions[:limit]
    app.answer([session.public_data for session in shown], _make_table(app, shown))
    app.say(*(flat(problem) for problem in problems))
    if not sessions:
        app.say("no workflow or loop has started a session here")


def _make_table(app: App, sessions: Sequence[SpawnedSession]) -> Styled:
    columns = [
        Column("began", lambda session: describe_age(session.started, app.now), Role.DIM),
        Column("status", lambda session: session.status, lambda session: STATUS_ROLES.get(session.status, Role.PLAIN)),
        Column("exit", lambda session: session.exit_in_words),
        Column("agent", lambda session: session.cli),
        Column("#", lambda session: session.iteration, right=True),
        Column("cost", _describe_cost),
        Column("loop", lambda session: session.loop),
        Column("about", _describe_session),
        Column("id", lambda session: session.id, Role.ID),
    ]
    return app.reader.table(sessions, columns)


def _describe_cost(session: SpawnedSession) -> str:
    return "" if session.status == "running" and session.cost_usd is None else session.cost_in_words


def _describe_session(session: SpawnedSession) -> str:
    """Return the error of a session, the beginning of its prompt, and the path of its log if it failed."""
    log = f"log: {session.log}" if session.status == "failed" and session.log else ""
    parts = (one_line(session.error or "", 100), one_line(session.prompt, 60), log)
    return " · ".join(part for part in parts if part)
