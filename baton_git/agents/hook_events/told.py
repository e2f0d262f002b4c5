"""What a session was told by hooks, so that nothing is told twice: one small local file per session.

Each line is a JSON array, a `ToldText`: the context of a start, or a prompt with the quotes that were added to it. If
the file is lost, something may be told twice.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from baton_git.agents.hook_events.hook_session import HookSessionStore, open_private, replace_file

TOLD_SUFFIX = ".told"
MAX_TOLD = 256 << 10
"""Maximum size of the file; after that, the texts of prompts are not added any more."""


class ToldText(NamedTuple):
    """A text that a session was told.

    Attributes:
        at: when, in seconds since the epoch.
        event: the fingerprint of the prompt, as `planner.identify_event` returns it; empty for the context of a start.
        text: may be empty: a prompt to which nothing was added.
    """

    at: float
    event: str
    text: str


def read_told(memory: HookSessionStore, agent: str, session: str) -> list[ToldText]:
    """Return what a session was told, oldest first; empty without a file."""
    try:
        with open(memory.path(agent, session, TOLD_SUFFIX), encoding="utf-8", errors="replace") as file:
            return [text for line in file if (text := _parse_told(line)) is not None]
    except OSError:
        return []


def note_told(memory: HookSessionStore, agent: str, session: str, told: ToldText) -> None:
    """Add what a session was told; without a disk that can be written, it may be told again."""
    try:
        os.makedirs(memory.folder, mode=0o700, exist_ok=True)
        with open(memory.path(agent, session, TOLD_SUFFIX), "a", encoding="utf-8", opener=open_private) as file:
            kept = told if file.tell() < MAX_TOLD else told._replace(text="")
            file.write(json.dumps(kept) + "\n")
    except OSError:
        return


def begin_again(memory: HookSessionStore, agent: str, session: str) -> None:
    """Forget the texts, because the session's context is lost, but not which prompts there were."""
    told = read_told(memory, agent, session)
    prompts = [one._replace(text="") for one in told if one.event]
    if told:
        replace_file(memory.path(agent, session, TOLD_SUFFIX), "".join(f"{json.dumps(one)}\n" for one in prompts[-1:]))


def _parse_told(line: str) -> ToldText | None:
    """Return the text of a line; None if it is damaged, as the last one of a killed hook."""
    try:
        at, event, text = json.loads(line)
        return ToldText(float(at), str(event), str(text))
    except (ValueError, TypeError):
        return None
