"""Store the turns of a session for recall: on this machine, and in the namespace if the user shares them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from baton_git.agents.events import ANSWERED, ENDED, RUNNING
from baton_git.agents.extraction import Extraction, add_final_answer
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
