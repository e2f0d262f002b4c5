"""Store the turns of a session for recall: on this machine, and in the namespace if the user shares them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from baton_git.agents.extraction import Extraction
from baton_git.agents.turn_store import SessionTurns, Turn, TurnStore, bound_turns, turns_folder
from baton_git.core.output import one_line
from baton_git.core.records.base import parse
from baton_git.core.redaction import redact
from baton_git.core.state import Key, State
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.record import Handoff
from baton_git.systems.gobby.turns_record import SharedTurns

TOPIC = 200
"""Maximum length of a turns record's topic, the beginning of the first prompt, in characters."""


def open_turn_store(ws: Workspace) -> TurnStore:
    """Return the store of the session turns of the workspace's repository."""
    return TurnStore(turns_folder(ws.branch.store.repository.common_dir))


def store_turns(ws: Workspace, extraction: Extraction, work_tree: str | None) -> None:
    """Store the turns of a session, within the size limit and redacted. They replace the session's stored turns.

    Args:
        work_tree: the top level of the session's work tree; None means the folder named in its transcript.

    Raises:
        InvalidName: the session id cannot be used as a file name.
        StoreError, LimitExceeded: the stored turns cannot be read.
        WriteFailed: the file cannot be written.
    """
    folder = work_tree or extraction.home or extraction.cwd
    session, namespace = extraction.session or "unknown", str(ws.branch.namespace)
    store = open_turn_store(ws)
    turns = _keep_received_answer(extraction.turns, store.load(extraction.agent, session))
    store.save(SessionTurns(extraction.agent, session, extraction.started, folder, extraction.branch, namespace, turns))


def _keep_received_answer(turns: tuple[Turn, ...], stored: SessionTurns | None) -> tuple[Turn, ...]:
    """Return the turns. If the last one has no answer yet, it gets the stored answer of the same turn."""
    if not turns or turns[-1].answer or stored is None or not stored.turns:
        return turns
    last = stored.turns[-1]
    return (*turns[:-1], turns[-1]._replace(answer=last.answer)) if last.number == turns[-1].number else turns


def put_turns(ws: Workspace, state: State, all_turns: Sequence[Turn], handoff: Handoff) -> State:
    """Return the state with a turns record for the handoff's session, and without turns records of archived handoffs.

    The state is returned unchanged if there are no turns, or if the user does not share turns
    (`git config baton.shareTurns true`).
    """
    if not ws.shares_turns or not all_turns:
        return state
    names = ws.names_for(ws.names.find_work_tree(handoff.worktree or ""))
    shorten = partial(names.shorten_text, from_transcript=True)
    turns = bound_turns([turn._replace(prompt=shorten(turn.prompt), answer=shorten(turn.answer)) for turn in all_turns])
    optional = {name: getattr(handoff, name) for name in ("started", "machine", "worktree", "branch")}
    record = {
        "id": handoff.id, "recorded_at": handoff.extracted_at,
        **{name: value for name, value in optional.items() if value is not None},
        "topic": one_line(turns[0].prompt, TOPIC),
        "conversation": {"count": turns[-1].number, "turns": [_drop_nulls(turn._asdict()) for turn in turns]},
    }  # fmt: skip
    state = state.put(parse(SharedTurns, redact(record)[0]))
    for id_ in state.ids(SharedTurns.kind) - state.ids(Handoff.kind):
        state = state.remove(Key(SharedTurns.kind, id_))
    return state


def _drop_nulls(turn: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in turn.items() if value is not None}
