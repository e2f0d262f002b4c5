"""Collect the facts and the turns of a session from its transcript and its repository, and store them.

Turns are stored on this machine, for recall, and in the namespace if the user shares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from baton_git.agents.events import ANSWERED, ENDED, RUNNING
from baton_git.agents.extraction import Options
from baton_git.agents.extraction.extracting import Extraction, add_final_answer, extract
from baton_git.agents.extraction.repository import add_git_facts
from baton_git.agents.sessions.handoff_index import extraction_time, read_handoff
from baton_git.agents.turn_store import SessionTurns, Turn, TurnStore, bound_turns, turns_folder
from baton_git.core.codecs import toml
from baton_git.core.lifecycle import choose_surplus
from baton_git.core.output import one_line
from baton_git.core.records.base import alike, parse
from baton_git.core.records.handoff import Handoff, SharedTurns
from baton_git.core.records.lineage import Session
from baton_git.core.redaction import redact
from baton_git.core.redaction.changes import Redactions, refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.times import iso, parse_time_or_none
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace

MAX_GOAL = 64 * 1024
MAX_TEXT = 4096
"""Maximum size, in bytes, of the goal or the output of `git status`, and of any other text."""
MAX_FACTS = 160 * 1024
"""Maximum stored size of all facts together, in bytes; the limit of a record is 256 KiB."""
MAX_NOTES = 16 * 1024
MAX_ENTRIES = {
    "todo_state": 200, "files_modified": 500, "git_commits": 100, "recent_activity": 100, "key_decisions": 10,
    "latest_prompts": 5, "files_used": 60,
}  # fmt: skip
"""Maximum number of entries of each list. `todo_state` and `files_used` keep their first entries, the other lists their
newest. `left_out` counts the omitted entries."""
_FIRST_KEPT = ("todo_state", "files_used")
CUT = "… [cut: {} bytes in all]"

TOPIC = 200
"""Maximum length of a turns record's topic, the beginning of the first prompt, in characters."""
_PASSING = ("recent_activity", "git_status", "files_used", "sources", "unknown")
"""Facts that change with every tool call. If only these have changed, nothing is written unless it is forced."""


def gather_facts(
    ws: Workspace, now: datetime, path: Path, agent: str | None = None, *, memory: Path | None = None,
    options: Options | None = None, folder: Path | None = None, session: str | None = None, has_ended: bool = False,
) -> Extraction:  # fmt: skip
    """Return the facts of a session, completed from git and from the session's to-do list.

    Args:
        path: the transcript.
        memory: a file that stores the position up to which the transcript was read.
        folder: the session's working directory; None means the one named in its transcript.
        session: the session's name in the namespace, which selects its to-do list.
        has_ended: whether no agent works on the session any more.

    Raises:
        InvalidDocument, InvalidArgument, NotFound, StoreError, LimitExceeded: the transcript cannot be read.
    """
    extraction = extract(path, agent, memory=memory, options=options, folder=folder, has_ended=has_ended)
    return complete_facts(ws, now, extraction, folder=folder, session=session)


def complete_facts(
    ws: Workspace, now: datetime, extraction: Extraction, *, folder: Path | None = None, session: str | None = None
) -> Extraction:
    """Return facts completed from git and from the session's to-do list; the arguments are those of `gather_facts`."""
    extraction = add_received_answers(ws, replace(extraction, session=session or extraction.session))
    extraction = add_git_facts(extraction, now, ws.environment, folder, ws.branch.store.repository.common_dir)
    name = session or extraction.session
    state = ws.branch.read().state
    extraction = _drop_commits_of_others(extraction, state, name)
    record = state.entry(Key(Session.kind, name)) if name else None
    return _merge_todos(extraction, record) if isinstance(record, Session) else extraction


def _drop_commits_of_others(extraction: Extraction, state: State, session: str | None) -> Extraction:
    """Remove the commits that are known only from git and that another session made, according to its handoff."""
    commits: list[dict[str, Any]] = extraction.facts.get("git_commits", [])
    if not any(commit.get("found") == "git" for commit in commits):
        return extraction
    own = f"{extraction.agent}/{session}"
    others = {
        commit.hash for handoff in state.records(Handoff) if handoff.id != own
        for commit in handoff.facts.git_commits if commit.hash and commit.found != "git"
    }  # fmt: skip
    kept = [
        commit for commit in commits
        if commit.get("found") != "git" or not any(_is_same_commit(commit["hash"], name) for name in others)
    ]  # fmt: skip
    return replace(extraction, facts={**extraction.facts, "git_commits": kept})


def _is_same_commit(left: str, right: str) -> bool:
    return left.startswith(right) or right.startswith(left)


def _merge_todos(extraction: Extraction, session: Session) -> Extraction:
    """Return the facts with the session's own to-do list added. If an item is in both lists, its status in the
    session's own list is used."""
    if not extraction.options.extract.todowrite or not session.todos:
        return extraction
    own = {todo.content: {"status": todo.status, "origin": "baton"} for todo in session.todos}
    todos = [{**todo, **own.get(todo["content"], {})} for todo in extraction.facts.get("todo_state", [])]
    known = {todo["content"] for todo in todos}
    todos += [{"content": content, **status} for content, status in own.items() if content not in known]
    todos = [todo for todo in todos if todo["status"] != "cancelled"]
    facts = {**extraction.facts, "todo_state": todos}
    task = facts.get("active_task")
    if task is None or task["origin"] == "todo":
        facts.pop("active_task", None)
        facts |= _find_active_task(todos)
    return replace(extraction, facts=facts)


def _find_active_task(todos: list[dict[str, Any]]) -> dict[str, Any]:
    for todo in todos:
        if todo["status"] == "in_progress":
            source = {"source": todo["source"]} if "source" in todo else {}
            return {"active_task": {"title": todo["content"], "status": "in_progress", "origin": "todo", **source}}
    return {}


# --- storing


def store_handoff(
    ws: Workspace, now: datetime, extraction: Extraction, *, trigger: str, notes: str | None = None,
    worktree: Path | None = None, force: bool = False, worked_until: datetime | None = None,
) -> WriteResult | None:  # fmt: skip
    """Store the facts as the session's handoff; write nothing and return None if nothing that lasts has changed.

    Args:
        trigger: `pre_compact`, `stop`, `session_end`, `catch_up` or `command`.
        notes: notes for the next session; None keeps the stored notes.
        worktree: where the session worked; None means the folder named in its transcript.
        force: write even if only passing facts have changed.
        worked_until: when a session that was killed was last at work; the facts then have this time instead of `now`,
            so that they do not hide those of a session that worked later.

    Raises:
        InvalidName: the session id cannot be used as a file name.
        InvalidDocument: the session id contains a secret.
    """
    key = Key(Handoff.kind, make_handoff_id(extraction))
    refuse_secret("id of the session", key.id)
    body, redactions = build_body(ws, key, extraction, notes, worktree)

    def find_change(state: State) -> tuple[dict[str, Any], Handoff | None] | None:
        """Return the new record and the one it replaces, or None if they do not differ."""
        before = read_handoff(state, key.id)
        new = {"notes": before.notes, **body} if before is not None and before.notes is not None else body
        is_known = before is not None and alike(select_compared(new, force), select_compared(before.as_data(), force))
        return None if is_known else (new, before)

    def change(tip: Revision) -> State | ProposedState:
        changed = find_change(tip.state)
        if changed is None:
            return tip.state
        new, before = changed
        time = _choose_extraction_time(_come_after(tip.state, worked_until) if worked_until else now, before)
        record = parse(Handoff, {**new, "extracted_at": time, "trigger": trigger})
        state = tip.state.remove(key._replace(archived=True)).put(record)
        state = put_turns(ws, archive_oldest(ws, state, now, key.id), extraction.turns, record)
        return ProposedState(state, redactions=redactions)

    if find_change(ws.branch.read().state) is None:
        return None
    ws.remember_work_tree(find_top(ws, extraction, worktree))
    written = ws.update("handoff-extract", now, change)
    return written if written.changes else None


def make_handoff_id(extraction: Extraction) -> str:
    """Return the id of a session's handoff."""
    return f"{extraction.agent}/{extraction.session or 'unknown'}"


def build_body(
    ws: Workspace, key: Key, extraction: Extraction, notes: str | None, worktree: Path | None
) -> tuple[dict[str, Any], Redactions]:
    """Return the data of the record, within the size limits, redacted and with shortened paths, and the redactions.

    The data has no `extracted_at` and no `trigger`: the caller adds them if the record is stored.
    """
    started = parse_time_or_none(extraction.started) if extraction.started else None
    top = find_top(ws, extraction, worktree)
    optional = {
        "started": iso(started) if started is not None else None,
        "machine": ws.actor.machine,
        "person": ws.actor.person,
        "worktree": ws.label_work_tree(top) if top else None,
        "branch": extraction.branch,
        "notes": cut_text(notes, MAX_NOTES) if notes is not None else None,
    }
    body = {"id": key.id, **{name: value for name, value in optional.items() if value is not None}}
    names = ws.names_for(top, _find_other_place(extraction, top))
    facts = limit_facts(names.shorten(extraction.facts, from_transcript=True))
    data, redactions = redact({**names.shorten(body, from_transcript=True), "facts": facts})
    return data, tuple((key, redaction) for redaction in redactions)


def find_top(ws: Workspace, extraction: Extraction, worktree: Path | None) -> str | None:
    """Return the work tree of a session: the given one, otherwise that of the folder named in its transcript."""
    folder = str(worktree) if worktree else extraction.home or extraction.cwd
    return ws.find_top(folder) if folder else None


def _find_other_place(extraction: Extraction, top: str | None) -> str | None:
    """Return the folder in which the session began, if it is the work tree elsewhere, as in a container.

    It is recognised by its name: the session may as well have begun in a folder below, or above, the work tree.
    """
    home = extraction.home
    if not home or not top or home == top:
        return None
    return home if re.split(r"[\\/]", home)[-1] == Path(top).name else None


def select_compared(record: Mapping[str, Any], everything: bool) -> dict[str, Any]:
    """Return the part of a record that is compared with the stored record; a record is written if this part differs.

    Args:
        everything: include the passing facts.
    """
    facts = record["facts"] if everything else _remove_passing(record["facts"])
    return {**{name: record.get(name) for name in ("notes", "branch", "worktree")}, "facts": facts}


def _remove_passing(value: Any) -> Any:
    """Return the facts without passing facts and sources."""
    if isinstance(value, Mapping):
        return {name: _remove_passing(item) for name, item in value.items() if name not in (*_PASSING, "source")}
    return [_remove_passing(item) for item in value] if isinstance(value, list) else value


def _come_after(state: State, worked_until: datetime) -> datetime:
    """Return the time, or the next second if another session ended within the same second: records have times in
    seconds, and the session that was killed is the one that a start shall tell first."""
    saved = {handoff.extracted_at for handoff in state.records(Handoff) if handoff.trigger != "catch_up"}
    return worked_until + timedelta(seconds=1) if iso(worked_until) in saved else worked_until


def _choose_extraction_time(now: datetime, earlier: Handoff | None) -> str:
    """Return `now`, or the time of the replaced record if that is later because the clock was set back."""
    before = parse_time_or_none(earlier.extracted_at) if earlier is not None else None
    return earlier.extracted_at if earlier is not None and before is not None and before > now else iso(now)


def archive_oldest(ws: Workspace, state: State, now: datetime, newest: str | None = None) -> State:
    """Return the state with fewer live handoffs: of those beyond `sessions_kept`, the least recently extracted ones
    are archived.

    Args:
        newest: the id of a handoff that stays live in any case; then only some of the others are archived (see
            `choose_surplus`).
    """
    surplus = len(state.ids(Handoff.kind)) - ws.policy.sessions_kept
    oldest = sorted(state.records(Handoff), key=extraction_time) if surplus > 0 else []
    others = [handoff for handoff in oldest if handoff.id != newest][: max(0, surplus)]
    for handoff in others if newest is None else choose_surplus(others, newest):
        state = state.archive(handoff, at=iso(now), reason="older than the newest handoffs", session=ws.actor.session)
    return state


def limit_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts, shortened step by step until their record fits the size limit; few sessions need this."""
    for divisor in (1, 2, 4, 16, 64, 256):
        limited = _cut_facts(facts, divisor)
        if len(toml.dumps(limited)) <= MAX_FACTS:
            break
    return limited


def _cut_facts(facts: Mapping[str, Any], divisor: int) -> dict[str, Any]:
    long = ("initial_goal", "git_status")
    limited = {name: _cut(value, MAX_TEXT // divisor) for name, value in facts.items() if name not in long}
    limited |= {name: cut_text(facts[name], MAX_GOAL // divisor) for name in long if name in facts}
    sources, left_out = dict(limited.get("sources", {})), {}
    for name, most in MAX_ENTRIES.items():
        most = max(1, most // divisor)
        if len(limited.get(name, ())) > most:
            left_out[name] = len(limited[name]) - most
        for table in (limited, sources):
            if name in table:
                table[name] = table[name][:most] if name in _FIRST_KEPT else table[name][-most:]
    return {**limited, "sources": sources, **({"left_out": left_out} if left_out else {})}


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, most)
    if isinstance(value, Mapping):
        return {name: _cut(item, most) for name, item in value.items()}
    return [_cut(item, most) for item in value] if isinstance(value, list) else value


def cut_text(text: str, most: int) -> str:
    """Return the text; if it is longer than `most` bytes, its beginning and a mark. Only the mark may exceed `most`."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return text
    mark = CUT.format(len(raw))
    return raw[: max(0, most - len(mark.encode()))].decode("utf-8", "ignore") + mark


# --- turns


def open_turn_store(ws: Workspace) -> TurnStore:
    """Return the store of the session turns of the workspace's repository."""
    return TurnStore(turns_folder(ws.branch.store.repository.common_dir))


def store_turns(ws: Workspace, extraction: Extraction, work_tree: str | None, branch: str | None = None) -> None:
    """Store the turns of a session, within the size limit and redacted. They replace the session's stored turns.

    Args:
        work_tree: the top level of the session's work tree; None means the folder named in its transcript.
        branch: the branch that is checked out there, for a transcript that names none, as those of Gemini CLI.

    Raises:
        InvalidName: the session id cannot be used as a file name.
        WriteFailed: the file cannot be written.
    """
    folder = work_tree or extraction.home or extraction.cwd
    session, namespace = extraction.session or "unknown", str(ws.branch.namespace)
    store = open_turn_store(ws)
    branch = extraction.branch or branch
    store.save(SessionTurns(extraction.agent, session, extraction.started, folder, branch, namespace, extraction.turns))


def add_received_answers(ws: Workspace, extraction: Extraction) -> Extraction:
    """Return the extraction with the answers that hooks received before and the transcript does not contain.

    Claude Code writes the final message of a turn after its Stop hook, and not at all if it is killed at that moment.

    Raises:
        InvalidName: the session id cannot be used as a file name.
        StoreError, LimitExceeded: the stored turns cannot be read.
    """
    stored = open_turn_store(ws).load(extraction.agent, extraction.session or "unknown")
    known = {turn.offset: turn for turn in stored.turns if turn.status == ANSWERED} if stored is not None else {}
    for turn in extraction.turns:
        received = known.get(turn.offset)
        if received is not None and turn.status in (RUNNING, ENDED) and turn.prompt == received.prompt:
            extraction = add_final_answer(extraction, received.answer, turn.offset + 1)
    return extraction


def put_turns(ws: Workspace, state: State, all_turns: Sequence[Turn], handoff: Handoff) -> State:
    """Return the state with a turns record for the handoff's session, and without turns records of archived handoffs.

    The state is returned unchanged if there are no turns, or if the user does not share turns
    (`git config baton.shareTurns true`).
    """
    if not ws.shares_turns or not all_turns:
        return state
    names = ws.names_for(ws.names.find_work_tree(handoff.worktree or ""))
    shorten = partial(names.shorten_text, from_transcript=True)
    turns = bound_turns(
        turn._replace(prompt=shorten(turn.prompt), answer=shorten(turn.answer), reason=shorten(turn.reason), said="")
        for turn in all_turns
    )
    optional = {name: getattr(handoff, name) for name in ("started", "machine", "worktree", "branch")}
    record = {
        "id": handoff.id, "recorded_at": handoff.extracted_at,
        **{name: value for name, value in optional.items() if value is not None},
        "topic": one_line(turns[0].prompt, TOPIC),
        "conversation": {"count": turns[-1].number, "turns": [_drop_empty(turn._asdict()) for turn in turns]},
    }  # fmt: skip
    state = state.put(parse(SharedTurns, redact(record)[0]))
    for id_ in state.ids(SharedTurns.kind) - state.ids(Handoff.kind):
        state = state.remove(Key(SharedTurns.kind, id_))
    return state


def _drop_empty(turn: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in turn.items() if value not in (None, "") or name == "prompt"}
