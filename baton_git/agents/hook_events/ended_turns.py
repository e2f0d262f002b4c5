"""The turns of sessions that ended, and whose facts are saved a little later: one small local file for each session.

A file has what only the hook of the turn's end was told. It stays, and the session remembers which turn was saved; so
nothing is lost when the process that saves it is killed.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, replace_file
from baton_git.agents.hook_events.payloads import STOP, Payload

SUFFIX = ".turn"


class EndedTurn(NamedTuple):
    """A turn that ended.

    Attributes:
        id: no other turn has it.
        event: as the agent called it.
        response: the model's answer, which the transcript may not have yet.
        size: bytes of the transcript when the hook ran; -1 if there was none.
    """

    id: str
    event: str = ""
    transcript: str = ""
    cwd: str = ""
    response: str = ""
    size: int = -1

    def payload(self, agent: str, session: str) -> Payload:
        """Return the event that ended the turn."""
        return Payload(
            agent, self.event, STOP, session, transcript=self.transcript, cwd=self.cwd, response=self.response
        )


def save_ended_turn(memory: HookSessionStore, payload: Payload) -> bool:
    """Store the turn that an event ended, in place of the one before; False when the disk refuses."""
    try:
        size = os.stat(payload.transcript).st_size
    except (OSError, ValueError):
        size = -1
    turn = EndedTurn(
        os.urandom(8).hex(), payload.event, payload.transcript, payload.cwd, payload.response, size
    )  # fmt: skip
    return replace_file(memory.path(payload.agent, payload.session, SUFFIX), json.dumps(turn._asdict()))


def find_unsaved_turn(memory: HookSessionStore, seen: HookSession) -> EndedTurn | None:
    """Return the last turn of a session if its facts were not saved since it ended."""
    try:
        with open(memory.path(seen.cli, seen.session, SUFFIX), encoding="utf-8") as file:
            turn = _read(json.load(file))
    except (OSError, ValueError):
        return None
    return turn if turn is not None and turn.id != seen.saved_turn else None


def _read(data: Any) -> EndedTurn | None:
    """Return the turn; None for data of another form."""
    if not isinstance(data, dict) or any(type(data.get(name)) is not type_ for name, type_ in _TYPES.items()):
        return None
    return EndedTurn(**{name: data[name] for name in _TYPES})


_TYPES = {name: type(value) for name, value in EndedTurn("")._asdict().items()}
