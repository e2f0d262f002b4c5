"""Carry out the decisions about one hook event, and compose its reply.

Facts are saved with or without workflows. The workflows determine the context for the agent, and further actions.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from baton_git.agents.hook_events.hook_session import (
    GONE,
    HookSession,
    ToldText,
    begin_again,
    find_unsaved_turn,
    list_running,
    note_told,
    read_told,
)
from baton_git.agents.hook_events.payloads import END, MAX_BYTES, PROMPT, START, Payload, fits
from baton_git.agents.hook_events.planner import (
    MAX_BLOCKS,
    TRANSCRIPT_DELAY,
    Circumstances,
    Decision,
    FindParent,
    PlanStep,
    Recall,
    Remember,
    RunWorkflows,
    SaveFacts,
    choose_cleared_session,
    identify_event,
    limit_blocks,
    needs_arrival,
    note_compactions,
    plan_event,
)
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, is_in_repository
from baton_git.agents.sessions.handoff_index import list_continued, session_of
from baton_git.core.brief import MIN_BUDGET, Section, compose, short_session
from baton_git.core.output import one_line
from baton_git.core.times import iso_ms, parse_time_or_none
from baton_git.interfaces.hook.catch_up import catch_up
from baton_git.interfaces.hook.session_facts import HookInputs, Result, SessionFacts, attempt
from baton_git.interfaces.hook.session_steps import save_last_checkpoint, save_periodic_checkpoint, start_session
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.systems.gobby.workflow.definition import Event, SessionInfo
from baton_git.verbs.sessions.session_end import end_session, fold_in_background
from baton_git.verbs.sessions.session_start import BegunSession
from baton_git.verbs.sessions.verb_hints import describe_verbs
from baton_git.verbs.sharing.auto_sync import send_in_background, sync_at_end

if TYPE_CHECKING:
    from baton_git.interfaces.hook.workflow_actions import SessionActions


RESERVED, MIN_PUSH = 0.3, 0.5
"""Seconds that a push at the end of a session leaves to the hook, and those that it needs at least."""
INDEX_SECONDS = 0.5
"""Maximum seconds for indexing received sessions at the start of a session; what is left is indexed at the next one."""
MAX_WORK_TREES = 10
"""Maximum number of work trees that are remembered of a session, the last ones."""


class HookReply(NamedTuple):
    """The reply to a hook event.

    Attributes:
        context: text for the model.
        block: the reason why the agent must continue; None lets it stop.
        problems: what went wrong.
    """

    context: str = ""
    block: str | None = None
    problems: tuple[str, ...] = ()


class EventRunner:
    """Run one hook event. `session` is the stored state of its session, updated by the decisions so far."""

    def __init__(self, ws: Workspace, now: datetime, event: Payload, settings: HookInputs, known: HookSession) -> None:
        self.ws, self.now, self.event, self.settings = ws, now, event, settings
        self._idle_seconds = idle_seconds(known, now)
        self.session = known._replace(
            transcript=event.transcript or known.transcript,
            cwd=event.cwd or known.cwd,
            work_tree=(work_tree := find_work_tree(ws, event, known)),
            work_trees=tuple(dict.fromkeys((*known.work_trees, *filter(None, (work_tree,)))))[-MAX_WORK_TREES:],
            namespace=str(ws.branch.namespace),
            last_seen=iso_ms(now),
            event=identify_event(event),
            recalls=settings.recalls,
            ended="" if known.ended == GONE else known.ended,
            unreadable="",
        )
        self.problems: list[str] = []
        self._sections: list[Section] = []
        self._block: str | None = None
        self._asked: str | None = None
        self._starts: list[str] = []
        self._boot: BegunSession | None = None
        self._late: list[str] = []
        self._facts = SessionFacts(
            ws, now, settings, self.session, self.problems, is_starting=event.kind == START,
            response=event.response, response_size=event.size,
            turn=find_unsaved_turn(settings.memory, known), has_ended=event.kind == END,
        )  # fmt: skip

    def run(self) -> HookReply:
        """Carry out the decisions for the event, store the session, and return the reply.

        Raises:
            StoreError: the newest revision cannot be read, and a session starts.
        """
        circumstances = self._circumstances()
        for decision in plan_event(self.event, self.session, circumstances):
            self._carry_out(decision)
        self._remember(saves_later=circumstances.saves_facts and not circumstances.checkpoints_periodically)
        if self.settings.recalls and self._starts:
            self.attempt(self._index_received)
        context = self._tell(self._compose_context())
        self.settings.memory.save(self.session)
        return HookReply(context, self._block, tuple(dict.fromkeys(self.problems)))

    def _circumstances(self) -> Circumstances:
        paif = self.settings.paif
        return Circumstances(
            pid=self.settings.pid,
            saves_facts=self.settings.options.enabled,
            checkpoints_periodically=paif is not None and paif.agent_id is not None and paif.interval_minutes != 0,
            checkpoints_at_end=paif is not None and paif.checkpoint_on_exit,
            has_arrived=needs_arrival(self.event, self.session) and self._has_arrived(),
            recalls=self.settings.recalls,
            idle_seconds=self._idle_seconds,
        )

    def _has_arrived(self) -> bool:
        """Return whether the transcript contains the context that was injected last."""
        mark, start = self.session.mark, max(0, self.session.size)
        return self.attempt(lambda: self._facts.is_in_transcript(mark.encode(), start)) is True

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case Remember(fields):
                self._remember(**fields)
            case FindParent(source):
                self._remember(parent=self.attempt(lambda: self._find_parent(source)) or "")
            case SaveFacts(trigger, force):
                self._save_facts(trigger, force)
            case RunWorkflows(event, data):
                self._run_workflows(event, data)
            case Recall(prompt):
                self._asked = prompt
            case PlanStep():
                _STEPS[decision](self)

    def attempt(self, action: Callable[[], Result]) -> Result | None:
        """Return what `action` returns; None after an error, which is added to the problems."""
        return attempt(action, self.event.event, self.problems)

    def _remember(self, **fields: Any) -> None:
        self.session = self.session._replace(**fields)

    def _find_parent(self, source: str) -> str:
        """Return the session that this one continues, or an empty text. Agents do not report which one it is.

        If the context was cleared, it is the session that ran in the same process before. Otherwise it is the last
        session of this work tree that is not running any more.
        """
        memory, pid = self.settings.memory, self.settings.pid
        if source == "clear" and (cleared := choose_cleared_session(list(memory.all()), self.session, pid)):
            return cleared
        handoffs = list_continued(self.ws, self.ws.branch.read().state, self.event.session)
        live = list_running(memory, pid)
        return next((id_ for id_ in map(session_of, handoffs) if id_ not in live), "")

    def _save_facts(self, trigger: str, force: bool) -> None:
        saved = self.attempt(lambda: self._facts.save(trigger, force=force))
        self._remember(doubt=self._facts.session.doubt, is_weighed=self._facts.session.is_weighed)
        if saved is not None:
            extraction, session = saved
            self._remember(size=session.size, transcript=session.transcript, saved_turn=session.saved_turn)
            self.session = note_compactions(self.event, self.session, extraction.compactions)

    def catch_up(self) -> None:
        self._late = catch_up(self.ws, self.now, self.settings, self.session, self.problems)

    def begin_session(self) -> None:
        parent = self.session.parent or None
        self.ws.remember_work_tree(self.ws.folder)  # its facts may be saved when it has been removed
        self._boot = start_session(self.ws, self.now, self.settings, parent, self.attempt, self._late)
        if not self._boot.is_readable:
            self.ws.branch.read()  # raises the error again: the agent gets one line instead of a brief without records

    # --- workflows, whose code is imported only at the start of a session and for events that they want

    def _run_workflows(self, name: str, data: Mapping[str, Any]) -> None:
        if name != "on_session_start" and name not in self.session.wanted_events:
            return
        from baton_git.systems.gobby.workflows import run_event

        if name == "on_session_start":
            self._starts.append(str(data["source"]))
        event = Event(name, {**self.event.data, **data})
        outcome = self.attempt(
            lambda: run_event(self.ws, self.now, event, self._session_info(), self._actions, self.settings.folders())
        )
        if outcome is not None:
            self.problems += outcome.problems
            self._block = self._block or outcome.block
            self._sections += [section for injected in outcome.injected for section in injected.sections]

    def _session_info(self) -> SessionInfo:
        event, session = self.event, self.session
        return SessionInfo(event.session, event.agent, session.cwd or None, session.parent or None)

    @cached_property
    def _actions(self) -> SessionActions:
        from baton_git.interfaces.hook.workflow_actions import SessionActions

        return SessionActions(
            self.ws, self.now, self._session_info(), self._facts.extract, boot=self._boot,
            known_commit=self.session.known_commit, options=self.settings.options, problems=self.problems,
            live_sessions=list_running(self.settings.memory, self.settings.pid),
        )  # fmt: skip

    def work_later(self) -> None:
        """Start background work; with the setting for containers, also send now what the time of the hook allows."""
        self.attempt(lambda: (fold_in_background(self.ws), send_in_background(self.ws)))
        seconds = signal.getitimer(signal.ITIMER_REAL)[0] - RESERVED  # 0 of a process without a time limit
        if self.ws.remote_settings.pushes_at_end and seconds >= MIN_PUSH:
            self.attempt(lambda: sync_at_end(self.ws, self.now, seconds))  # the background process reports failures

    def list_wanted_events(self) -> None:
        from baton_git.systems.gobby.workflows import list_wanted_events

        self._remember(wanted_events=self.attempt(lambda: list_wanted_events(self.ws, self.settings.folders())) or ())

    def limit_blocks(self) -> None:
        self.session, is_blocked = limit_blocks(self.session, self._block is not None)
        if self._block is not None and not is_blocked:
            reason = one_line(self._block, 200)
            self.problems.append(f"blocked {MAX_BLOCKS} times in a row, so the agent may now stop: {reason}")
            self._block = None

    # --- the reply

    def _compose_context(self) -> str:
        """Return the sections of all workflows in one text, shortened to fit into a reply; empty if there is
        nothing to say, or the reply to this event has no context."""
        has_content = any(section.lines or section.more for section in self._sections)
        if not has_content or self.event.kind not in (START, PROMPT):
            return ""
        heading = f"baton {self.ws.branch.namespace} · session {short_session(self.event.session)}"
        heading = one_line(self._boot.heading if self._boot else heading, 300)
        mark, footer = fresh_mark(), describe_verbs(as_tools=self.ws.calls_tools)
        self._remember(mark=mark)
        self.remember_tip()
        for budget in range(MAX_BYTES, MIN_BUDGET, -200):
            text = compose(heading, self._sections, mark, budget, footer=footer).text
            if fits(self.event, text):
                return text
        return ""

    def _tell(self, context: str) -> str:
        """Return the context with quotes for the prompt, and remember both, so that no later hook tells them again."""
        memory, agent, session, at = self.settings.memory, self.event.agent, self.event.session, self.now.timestamp()
        if any(source != "resume" for source in self._starts):
            begin_again(memory, agent, session)
        quotes = ""
        if self._asked is not None:
            from baton_git.interfaces.hook.prompt_recall import recall  # many hooks have no prompt

            told, repository = read_told(memory, agent, session), self.ws.branch.store.repository
            paths = RepositoryPaths(str(repository.git_dir), str(repository.common_dir))
            namespace = self.ws.branch.namespace.text
            found = self.attempt(lambda: recall(self.event, paths, namespace, told, fresh_mark(), context))
            quotes = found or ""
        if context:
            note_told(memory, agent, session, ToldText(at, "", context))
        if self._asked is not None:
            note_told(memory, agent, session, ToldText(at, self.session.event, quotes))
        return "\n\n".join(filter(None, (context, quotes)))

    def _index_received(self) -> None:
        """Index what remotes sent that the user trusts: a hook with a prompt has no time to read records."""
        if self.ws.approvals is None or not self.ws.approvals.remotes():
            return
        from baton_git.recall.index import RecallIndex  # few users trust a remote
        from baton_git.recall.sources import update_index

        folder = self.ws.branch.store.repository.common_dir / "baton" / "recall"
        with RecallIndex.open(folder, INDEX_SECONDS) as index:  # a longer wait would cost the brief
            update_index(index, self.ws.branch, INDEX_SECONDS)

    def remember_tip(self) -> None:
        revision = self._boot.revision if self._boot else self.ws.branch.read()
        self._remember(known_commit=revision.commit or "")


_STEPS: dict[PlanStep, Callable[[EventRunner], object]] = {
    PlanStep.CATCH_UP: EventRunner.catch_up,
    PlanStep.BEGIN_SESSION: EventRunner.begin_session,
    PlanStep.LIST_WANTED_EVENTS: EventRunner.list_wanted_events,
    PlanStep.REMEMBER_TIP: EventRunner.remember_tip,
    PlanStep.FORGET_OLD_SESSIONS: lambda run: run.settings.memory.forget_old(),
    PlanStep.SAVE_CHECKPOINT: lambda run: run.attempt(
        lambda: save_periodic_checkpoint(run.ws, run.now, run.settings, run.event)
    ),
    PlanStep.LIMIT_BLOCKS: EventRunner.limit_blocks,
    PlanStep.WRAP_SESSION: lambda run: run.attempt(lambda: end_session(run.ws, run.now)),
    PlanStep.WORK_LATER: EventRunner.work_later,
    PlanStep.CHECKPOINT_AT_END: lambda run: run.attempt(
        lambda: save_last_checkpoint(run.ws, run.now, run.settings, run.event)
    ),
}


def find_work_tree(ws: Workspace, event: Payload, known: HookSession) -> str:
    """Return the top of the work tree of a session, also if it was removed since; empty outside of work trees."""
    common_dir = str(ws.branch.store.repository.common_dir)
    if event.cwd and not os.path.isdir(event.cwd):
        return known.work_tree or event.cwd
    if known.work_tree and not is_in_repository(event.cwd, common_dir):  # another project took the place
        return known.work_tree
    return str(ws.folder) if ws.folder is not None else ""


def idle_seconds(known: HookSession, now: datetime) -> float:
    """Return the seconds since the last hook event of a session; `TRANSCRIPT_DELAY` if that time is unknown."""
    last = parse_time_or_none(known.last_seen)
    return (now - last).total_seconds() if last is not None else TRANSCRIPT_DELAY
