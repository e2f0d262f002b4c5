"""Start and end a session, with PAIF's checkpoints if the work tree has PAIF's settings.

Few work trees have them, so PAIF's modules are imported only if needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from baton_git.agents.hook_events.payloads import START, Payload
from baton_git.agents.sessions.handoff_index import read_handoff
from baton_git.core.names import Namespace
from baton_git.core.output import one_line
from baton_git.core.records.lineage import CLOSED, OPEN
from baton_git.interfaces.hook.asked_remotes import may_ask, note_asked
from baton_git.interfaces.hook.session_facts import HookInputs
from baton_git.interfaces.hook.unreadable import can_tell
from baton_git.namespace.workspace import Workspace
from baton_git.systems import StartResult
from baton_git.systems.gobby.handoff_context import collect_template_names
from baton_git.verbs.sessions.meeting import Meeting
from baton_git.verbs.sessions.session_start import BegunSession, StartOptions, begin_session
from baton_git.verbs.sharing.auto_sync import meet_at_start

if TYPE_CHECKING:
    from baton_git.systems.paif.checkpoints import SessionWork

MAX_SUMMARY = 1000
"""Maximum length of a checkpoint's summary in characters."""
MAX_FILES = 20
"""Maximum number of files in a checkpoint."""
CHECK_SECONDS = 2.0
SYNC_SECONDS = 2.0
"""Time limits for checks and for syncing at a session's start, for which a person waits."""

Attempt = Callable[[Callable[[], Any]], Any]
"""Returns the result of a function, or None after recording its error."""


def start_session(
    ws: Workspace, now: datetime, settings: HookInputs, parent: str | None, attempt: Attempt, problems: Sequence[str]
) -> BegunSession:
    """Start the session, and restore the checkpoint of PAIF's agent.

    Args:
        problems: lines for the brief about what the caller could not do.
    """
    paif = settings.paif
    options = StartOptions(check_seconds=CHECK_SECONDS, sync_seconds=SYNC_SECONDS, parent=parent, handoff=False)
    options = options._replace(meeting=settings.meeting, problems=problems)
    if paif is not None:
        from baton_git.systems.paif.checkpoints import choose_agent, restore_at_start

        options = options._replace(
            run_hooks=lambda begun: StartResult(
                choose_agent(begun, paif), attempt(lambda: restore_at_start(begun, now, paif)) or ()
            )
        )
    return begin_session(ws, now, options)


def save_periodic_checkpoint(ws: Workspace, now: datetime, settings: HookInputs, event: Payload) -> None:
    """Save a checkpoint of the session so far, if PAIF's settings name an agent and a checkpoint is due."""
    paif = settings.paif
    if paif is None or paif.agent_id is None:
        return
    from baton_git.systems.paif.checkpoints import SessionWork, save_due_checkpoint

    work = _find_work(ws, event) or SessionWork(one_line(event.response, MAX_SUMMARY))
    save_due_checkpoint(ws, now, paif.agent_id, work, paif.interval_minutes)


def save_last_checkpoint(ws: Workspace, now: datetime, settings: HookInputs, event: Payload) -> None:
    """Save a checkpoint at the end of a session, if the work tree has PAIF's settings."""
    if settings.paif is not None:
        from baton_git.systems.paif.checkpoints import save_final_checkpoint

        save_final_checkpoint(ws, now, settings.paif, work=_find_work(ws, event))


def _find_work(ws: Workspace, event: Payload) -> SessionWork | None:
    """Return the work recorded in the session's handoff; None if it has none."""
    from baton_git.systems.paif.checkpoints import GENERATED_PREFIX, SessionWork

    handoff = read_handoff(ws.branch.read().state, f"{event.agent}/{event.session}")
    if handoff is None:
        return None
    facts, names = handoff.facts.told, collect_template_names(handoff)
    request = (
        f"{GENERATED_PREFIX}{one_line(' · '.join(names['asked'][:1]), MAX_SUMMARY // 3)}" if names["asked"] else ""
    )
    is_open = facts.unanswered is not None  # the last answer is then to another prompt
    answer = f"Answered: {names['answered']}" if names["answered"] and not is_open else ""
    open_todos = [todo.content for todo in facts.todo_state if todo.status in OPEN]
    return SessionWork(
        one_line(" ".join(filter(None, (request, answer))), MAX_SUMMARY),
        tuple(dict.fromkeys((*open_todos, *facts.next_steps))),
        frozenset(todo.content for todo in facts.todo_state if todo.status in CLOSED),
        tuple(names["files_changed"][:MAX_FILES]),
    )


# --- the first start of an agent in a repository without a namespace: the remotes are asked for one
# A clone may be older than the namespace of its remote. Remotes without a namespace are asked again after ten minutes,
# then ever more seldom, and one that does not answer costs `SYNC_SECONDS` once an hour; `baton.autosync` off asks none.


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
