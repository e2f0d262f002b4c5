"""Ask the remotes for a namespace when an agent starts in a repository that has none.

A clone may be older than the namespace of its remote. Remotes without a namespace are asked again after ten minutes,
then ever more seldom, and one that does not answer costs `SYNC_SECONDS` once an hour; `baton.autosync` off asks none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from baton_git.agents.hook_events.payloads import START, Payload
from baton_git.core.names import Namespace
from baton_git.interfaces.hook.asked_remotes import may_ask, note_asked
from baton_git.interfaces.hook.session_steps import SYNC_SECONDS
from baton_git.interfaces.hook.unreadable import can_tell
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.meeting import Meeting
from baton_git.verbs.sharing.auto_sync import meet_at_start

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,59}")
_MOST_NAMED = 5


class FirstStart(NamedTuple):
    """What the remotes answered at a start.

    Attributes:
        meeting: the namespace to begin in; None if there is none.
        is_over: whether they were asked and have none to begin in, so that the hook has nothing more to do.
        line: a line for the agent; empty if there is nothing to say.
    """

    meeting: Meeting | None = None
    is_over: bool = False
    line: str = ""


def meet_at_first_start(ws: Workspace, now: datetime, payload: Payload) -> FirstStart:
    """Ask the remotes, unless the namespace is here already, or they were asked before."""
    common_dir = str(ws.branch.store.repository.common_dir)
    if payload.kind != START or ws.branch.has_begun or not may_ask(common_dir):
        return FirstStart()
    meeting = meet_at_start(ws, now, SYNC_SECONDS)
    if meeting.remote is None:
        note_asked(common_dir, why=meeting.unanswered)
        line = _describe(meeting.found, ws.branch.namespace) if can_tell(payload) else ""
        return FirstStart(is_over=True, line=line)
    return FirstStart(meeting)


def _describe(found: Sequence[Namespace], missing: Namespace) -> str:
    """Return a line about the namespaces of the remote. It stands outside of a frame, so it quotes plain names only."""
    if not found:
        return ""
    names = [str(name) for name in found if _PLAIN.fullmatch(str(name))][:_MOST_NAMED]
    more = ", …" if len(names) < len(found) else ""
    shown = f" ({', '.join(names)}{more})" if names else ""
    which = f", none named {missing}" if _PLAIN.fullmatch(str(missing)) else ""
    how = "git config baton.namespace NAME chooses one for this repository"
    return f"baton: the remote has {len(found)} namespaces{shown}{which}; {how}"
