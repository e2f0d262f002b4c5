"""The facts of a session: gathered from its transcript and its repository, and kept as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from baton_git.agents.extraction import Extraction, Options, extract
from baton_git.agents.extraction.repository import with_git
from baton_git.core.codecs import toml
from baton_git.core.records.base import alike, parse
from baton_git.core.records.lineage import Session
from baton_git.core.redaction import redact
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.times import iso, when
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.snapshots import Redactions
from baton_git.systems.gobby.previous_sessions import age_of, found_at
from baton_git.systems.gobby.record import Handoff

MAX_GOAL = 64 * 1024
MAX_TEXT = 4096
"""Bytes of a goal, and of any other text, that are kept."""
MAX_FACTS = 160 * 1024
"""Bytes of all facts together, as they are stored; a record may have 256 KiB."""
MAX_NOTES = 16 * 1024
MOST = {"todo_state": 200, "files_modified": 500, "git_commits": 100, "recent_activity": 100, "key_decisions": 10}
"""How many are kept of each; the newest of what has an order in time, the first of a list of todos. What is beyond that
is told in `left_out`."""
CUT = "… [cut: {} bytes in all]"

_PASSING = ("recent_activity", "git_status", "sources", "unknown")
"""Facts that change with every call of a tool: a record is not written anew for them alone."""


def gather(
    ws: Workspace,
    now: datetime,
    path: Path,
    agent: str | None = None,
    *,
    memory: Path | None = None,
    options: Options | None = None,
    folder: Path | None = None,
    session: str | None = None,
) -> Extraction:
    """The facts of a session, with what git says and the session's own todos.

    Args:
        path: of the transcript.
        memory: a file in which it is remembered how far was read.
        folder: where the session works; None: where its transcript says.
        session: what the namespace calls it; its own todos are listed with the agent's.

    Raises:
        InvalidDocument, InvalidArgument, NotFound, StoreError, LimitExceeded: the transcript cannot be read.
    """
    found = with_git(extract(path, agent, memory=memory, options=options, folder=folder), now, ws.environment, folder)
    name = session or found.session
    entry = ws.branch.read().state.entry(Key(Session.kind, name)) if name else None
    return with_todos(found, entry) if isinstance(entry, Session) else found


def with_todos(extraction: Extraction, session: Session) -> Extraction:
    """The facts with the session's own list: what stands in both is as the session's own list has it."""
    if not extraction.options.extract.todowrite or not session.todos:
        return extraction
    own = {one.content: one.status for one in session.todos}
    facts = dict(extraction.facts)
    listed = [
        {**one, "status": own[one["content"]], "origin": "baton"} if one["content"] in own else one
        for one in facts.get("todo_state", [])
    ]
    known = {one["content"] for one in listed}
    listed += [
        {"content": text, "status": status, "origin": "baton"} for text, status in own.items() if text not in known
    ]
    facts["todo_state"] = [one for one in listed if one["status"] != "cancelled"]
    task = facts.get("active_task")
    if task is None or task["origin"] == "todo":
        facts = {name: value for name, value in facts.items() if name != "active_task"} | _at_work(facts["todo_state"])
    return replace(extraction, facts=facts)


def _at_work(todos: list[dict[str, Any]]) -> dict[str, Any]:
    """The active task that a list of todos names, if any."""
    one = next((one for one in todos if one["status"] == "in_progress"), None)
    if one is None:
        return {}
    where = {"source": one["source"]} if "source" in one else {}
    return {"active_task": {"title": one["content"], "status": one["status"], "origin": "todo", **where}}


# --- keeping


def keep(
    ws: Workspace,
    now: datetime,
    extraction: Extraction,
    *,
    trigger: str,
    notes: str | None = None,
    worktree: str | None = None,
    force: bool = False,
) -> WriteResult | None:
    """Keeps the facts as the session's handoff; None, and nothing written, when nothing that lasts has changed.

    Args:
        trigger: `pre_compact`, `stop`, `session_end`, `catch_up` or `command`.
        notes: what the session's end had written for the next one; None leaves those that there are.
        worktree: the work tree that the session worked in; None: the folder that its transcript names.
        force: also for what changes with every call of a tool.

    Raises:
        InvalidName: an id that cannot be the name of a file.
        InvalidDocument: the id holds a secret.
    """
    key = Key(Handoff.kind, id_of(extraction))
    refuse_secret("id of the session", key.id)
    body, redactions = _body(ws, key, extraction, notes, worktree)

    def change(tip: Revision) -> State | ProposedState:
        before = found_at(tip.state, key.id)
        new = _with_notes(body, before)
        if before is not None and alike(_says(new, force), _says(before.given(), force)):
            return tip.state
        record = parse(Handoff, {**new, "extracted_at": _not_before(now, before), "trigger": trigger})
        state = tip.state.remove(key._replace(archived=True)).put(record)
        return ProposedState(_trimmed(ws, state, now, key.id), redactions=redactions)

    before = found_at(ws.branch.read().state, key.id)
    if before is not None and alike(_says(_with_notes(body, before), force), _says(before.given(), force)):
        return None
    written = ws.update("handoff-extract", now, change)
    return written if written.changes else None


def id_of(extraction: Extraction) -> str:
    return f"{extraction.agent}/{extraction.session or 'unknown'}"


def _body(
    ws: Workspace, key: Key, extraction: Extraction, notes: str | None, worktree: str | None
) -> tuple[dict[str, Any], Redactions]:
    """The record without its times, within the limits and without secrets, so that the same one is known again."""
    optional = {
        "started": _as_iso(extraction.started),
        "machine": ws.actor.machine,
        "worktree": worktree or extraction.home or extraction.cwd,
        "branch": extraction.branch,
        "notes": shortened_to(notes, MAX_NOTES) if notes is not None else None,
    }
    body = {"id": key.id, **{name: value for name, value in optional.items() if value is not None}}
    data, found = redact({**body, "facts": within_limits(extraction.facts)})
    return data, tuple((key, one) for one in found)


def _as_iso(time: str | None) -> str | None:
    point = when(time) if time else None
    return iso(point) if point is not None else None


def _with_notes(body: dict[str, Any], before: Handoff | None) -> dict[str, Any]:
    kept = {"notes": before.notes} if before is not None and before.notes is not None else {}
    return {**kept, **body}


def _says(record: Mapping[str, Any], everything: bool) -> dict[str, Any]:
    """What a record says that counts as a change."""
    facts = record["facts"] if everything else _lasting(record["facts"])
    return {**{name: record.get(name) for name in ("notes", "branch", "worktree")}, "facts": facts}


def _lasting(value: Any) -> Any:
    """Facts without what passes, and without where they stand."""
    if isinstance(value, Mapping):
        return {name: _lasting(one) for name, one in value.items() if name not in (*_PASSING, "source")}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


def _not_before(now: datetime, earlier: Handoff | None) -> str:
    """The time of an extraction: not before that of the one it replaces, also when a clock was set back."""
    before = when(earlier.extracted_at) if earlier is not None else None
    return earlier.extracted_at if earlier is not None and before is not None and before > now else iso(now)


def _trimmed(ws: Workspace, state: State, now: datetime, newest: str) -> State:
    """The state with as many handoffs as sessions are kept; those extracted longest ago go to the archive."""
    beyond = len(state.ids(Handoff.kind)) - ws.policy.sessions_kept
    oldest = sorted(state.records(Handoff), key=age_of) if beyond > 0 else []
    for one in [one for one in oldest if one.id != newest][: max(0, beyond)]:
        state = state.archive(one, at=iso(now), reason="older than the newest handoffs", session=ws.actor.session)
    return state


def within_limits(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts, cut until a record of them is not too large: what few sessions need, is cut again and again."""
    for shrink in (1, 2, 4, 16, 64, 256):
        found = _shrunk(facts, shrink)
        if len(toml.dumps(found)) <= MAX_FACTS:
            break
    return found


def _shrunk(facts: Mapping[str, Any], shrink: int) -> dict[str, Any]:
    long = ("initial_goal", "git_status")
    found = {name: _cut(value, MAX_TEXT // shrink) for name, value in facts.items() if name not in long}
    for name in long:
        if name in facts:
            found[name] = shortened_to(facts[name], MAX_GOAL // shrink)
    sources, left_out = dict(found.get("sources", {})), {}
    for name, most in MOST.items():
        most = max(1, most // shrink)
        beyond = len(found.get(name, ())) - most
        if beyond > 0:
            left_out[name] = beyond
        for table in (found, sources):
            if name in table:
                table[name] = table[name][:most] if name == "todo_state" else table[name][-most:]
    return {**found, "sources": sources, **({"left_out": left_out} if left_out else {})}


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return shortened_to(value, most)
    if isinstance(value, Mapping):
        return {name: _cut(one, most) for name, one in value.items()}
    return [_cut(one, most) for one in value] if isinstance(value, list) else value


def shortened_to(text: str, most: int) -> str:
    """The text, or as much of it as fits into `most` bytes with a word that it was cut."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return text
    mark = CUT.format(len(raw))
    return raw[: most - len(mark.encode())].decode("utf-8", "ignore") + mark
