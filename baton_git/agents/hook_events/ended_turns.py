"""The last ended turn of each session whose facts are saved shortly after the hook: one small local file per session.

The file contains the data that only the hook at the turn's end receives. It is not deleted after the save; instead,
`HookSession.saved_turn` has the id of the saved turn. So nothing is lost if the saving process is killed.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, replace_file
from baton_git.agents.hook_events.payloads import STOP, Payload

TURN_SUFFIX = ".turn"


class EndedTurn(NamedTuple):
    """A turn that ended.

    Attributes:
        id: a unique id.
        event: the agent CLI's name of the event.
        response: the model's answer, which may not be in the transcript yet.
        size: size of the transcript in bytes when the hook ran; -1 if there was none.
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
            agent, self.event, STOP, session, transcript=self.transcript, cwd=self.cwd, response=self.response,
            size=self.size,
        )  # fmt: skip


def save_ended_turn(memory: HookSessionStore, payload: Payload) -> bool:
    """Store the turn that an event ended, replacing the previous one; return False if the file cannot be written."""
    try:
        size = os.stat(payload.transcript).st_size
    except (OSError, ValueError):
        size = -1
    turn = EndedTurn(
        os.urandom(8).hex(), payload.event, payload.transcript, payload.cwd, payload.response, size
    )  # fmt: skip
    return replace_file(memory.path(payload.agent, payload.session, TURN_SUFFIX), json.dumps(turn._asdict()))


def find_unsaved_turn(memory: HookSessionStore, session: HookSession) -> EndedTurn | None:
    """Return a session's last turn if its facts have not been saved; None if they have, or no turn can be read."""
    try:
        with open(memory.path(session.cli, session.session, TURN_SUFFIX), encoding="utf-8") as file:
            turn = _parse_turn(json.load(file))
    except (OSError, ValueError):
        return None
    return turn if turn is not None and turn.id != session.saved_turn else None


def _parse_turn(data: Any) -> EndedTurn | None:
    """Return the turn; None for data of another shape."""
    if not isinstance(data, dict) or any(type(data.get(name)) is not type_ for name, type_ in _TURN_TYPES.items()):
        return None
    return EndedTurn(**{name: data[name] for name in _TURN_TYPES})


_TURN_TYPES = {name: type(value) for name, value in EndedTurn("")._asdict().items()}
