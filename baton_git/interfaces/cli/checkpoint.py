"""`baton checkpoint`, `restore` and `sessions`: PAIF's session protocol."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.interfaces.cli.app import App, command, flat, read_text
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.context.paif import agent_of, paif_config
from baton_git.interfaces.results.changed import place
from baton_git.interfaces.results.checkpoints import session_of
from baton_git.namespace.results import Changed
from baton_git.namespace.workspace import fresh_mark
from baton_git.systems.paif import restore_text
from baton_git.systems.paif.checkpoints import (
    INTERVAL_MINUTES,
    SessionOf,
    agent_sessions,
    look,
    restore,
    save_checkpoint,
)
from baton_git.systems.paif.documents import whole

LISTS = {
    "project": "active_project_ids", "pending": "pending_items", "memory_id": "memory_ids", "open_file": "open_files",
    "stack": "context_stack",
}  # fmt: skip
TEXTS = {
    "summary": "conversation_summary", "focus": "current_focus", "last_query": "last_recall_query",
    "scratchpad": "scratchpad", "started_at": "started_at", "duration": "duration_seconds",
}  # fmt: skip
"""By option, the field of PAIF's request body."""


@command("checkpoint")
@click.option("--summary", metavar="TEXT", help="What happened, in short.")
@click.option("--pending", metavar="TEXT", multiple=True, help="What is left unresolved; may be given again.")
@click.option("--focus", metavar="TEXT", help="What the agent is at; else what its identity says.")
@click.option("--project", metavar="ID", multiple=True, help="A project that was worked on; may be given again.")
@click.option("--scratchpad", metavar="TEXT", help="Partial code, draft text, intermediate results.")
@click.option("--open-file", metavar="PATH", multiple=True, help="A file that was being edited; may be given again.")
@click.option("--stack", metavar="TEXT", multiple=True, help="What the agent was doing, the outermost first.")
@click.option("--memory-id", metavar="ID", multiple=True, help="A memory that the session made; may be given again.")
@click.option("--last-query", metavar="TEXT", help="What was searched for last.")
@click.option("--started-at", metavar="TIME", help="When the session began, where baton does not know it.")
@click.option("--duration", type=click.IntRange(0), metavar="SECONDS", help="How long it lasted; else worked out.")
@click.option("--periodic", is_flag=True, help="On the way: only if the newest one is old enough.")
@click.option("--file", "-f", "file", metavar="FILE", help="All of it as JSON, as PAIF has it; - reads standard input.")
def checkpoint_command(app: App, periodic: bool, file: str | None, **given: Any) -> None:
    """Save where an agent stands, for its next session.

    The file is a request body of PAIF's (flat), or a whole checkpoint (nested); the options count more. What is new
    about the agent goes into its identity. Periodic checkpoints are at least 30 minutes apart, or as many as
    checkpoint_interval_minutes says in .claude/CLAUDE.md.

    \b
    baton checkpoint --agent zero --summary "Implemented namespace isolation" --pending "test it"
    baton checkpoint --agent zero --periodic --focus "the parser" --file state.json
    """
    config = paif_config(app) if periodic or app.settings.asked.agent is None else None
    agent = agent_of(app, config)
    minutes = config.interval_minutes if config is not None else INTERVAL_MINUTES
    options: dict[str, Any] = {field: list(given[name]) for name, field in LISTS.items() if given[name]}
    options |= {field: given[name] for name, field in TEXTS.items() if given[name] is not None}
    body = _body(file) if file is not None else {}
    with app.workspace() as ws:
        saved = save_checkpoint(
            ws, app.now, agent, body, options=options, periodic=periodic, interval_minutes=minutes, where=file or ""
        )
    version = saved.written.revision
    if saved.id is not None and not saved.known:
        app.made(Changed.of(saved.written, id=saved.id))
        return
    app.answer({"id": saved.id, **place(version)}, flat(saved.id or ""))
    if saved.known:
        app.say("this checkpoint was there already; nothing was written")
    if saved.younger is not None:
        app.say(f"no checkpoint was due: {flat(saved.younger.id)} is younger than {minutes} min")


def _body(file: str) -> dict[str, Any]:
    data = json.loads(read_text(file), where=file)
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a checkpoint is an object, and this is not one")], where=file)
    return data


@command("restore")
@click.option("--budget", type=click.IntRange(MIN_BUDGET), default=BUDGET, show_default=True, help="Bytes of the text.")
@click.option("--look", "only_look", is_flag=True, help="Only print it: no session begins, nothing is written.")
def restore_command(app: App, budget: int, only_look: bool) -> int | None:
    """Restore an agent: print its identity and its newest checkpoint, and count one more of experience.

    A session of the agent begins: where none acts (--session, or baton boot) it gets a name, which is that of the
    checkpoints that follow. If that cannot be recorded, all is printed nevertheless, and the exit status is 1.

    \b
    baton restore --agent zero
    baton restore --agent zero --look
    baton restore --agent zero --json | jq .checkpoint.context
    """
    agent = agent_of(app)
    with app.workspace() as ws:
        found = look(ws, app.now, agent) if only_look else restore(ws, app.now, agent)
        session = found.identity.mutable.state.session_id
    checkpoint, version = found.checkpoint, found.version
    text = restore_text.brief(found.identity, checkpoint, app.now, fresh_mark(), budget)
    data = {
        "agent": agent,
        "identity": found.identity.model_dump(mode="json", exclude={"id"}),
        "checkpoint": whole(checkpoint) if checkpoint is not None else None,
        "checkpoint_id": checkpoint.id if checkpoint is not None else None,
        "session": session,
        "restored_at": found.identity.mutable.state.last_session_at,
        "commit": version.commit,
        "revision": version.number,
        "recorded": found.unrecorded is None and not only_look,
        "damaged": [{"path": one.path, "why": one.why} for one in found.damaged],
        "left_out": text.left_out,
        "brief": text.text,
    }
    app.answer(data, text.text)
    app.say(*(flat(f"cannot be read: {one.path}: {one.why}") for one in found.damaged))
    if found.unrecorded is not None:
        app.say(f"baton: this restore was not recorded: {flat(str(found.unrecorded))}")
        return FAILED
    return None


@command("sessions")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the newest N.")
def sessions_command(app: App, limit: int | None) -> None:
    """List the sessions of which an agent has a checkpoint, the newest first.

    \b
    baton sessions --agent zero
    baton sessions --agent zero --limit 5 --json
    """
    agent = agent_of(app)
    with app.workspace() as ws:
        found = agent_sessions(ws, agent)[:limit]
    app.answer([session_of(one) for one in found], "\n".join(_line(one) for one in found))
    if not found:
        app.say(f"{agent} has no checkpoint yet")


def _line(one: SessionOf) -> str:
    metadata, context = one.newest.metadata, one.newest.context
    more = f", {len(one.ids)} checkpoints" if len(one.ids) > 1 else ""
    open_ = " (periodic)" if metadata.checkpoint_type == "periodic" else ""
    pending = f"  [{len(context.pending_items)} pending]" if context.pending_items else ""
    said = flat(context.conversation_summary or context.current_focus or "")[:100]
    return f"{flat(metadata.ended_at)}  {flat(metadata.session_id)}{open_}{more}{pending}  {said}".rstrip()


COMMANDS = {"checkpoint": checkpoint_command, "restore": restore_command, "sessions": sessions_command}
