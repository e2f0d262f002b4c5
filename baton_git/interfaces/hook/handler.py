"""One event of an agent's session, from what is known before to what is known after.

The facts are saved whatever workflows there are; what is given back, and what else is done, workflows say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

from baton_git.agents.extraction import Extraction, Options
from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.hook_events.live_sessions import at_work, lives
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload
from baton_git.agents.hook_events.replies import MAX_BYTES, fits
from baton_git.agents.registry import AGENTS
from baton_git.core.brief import MIN_BUDGET, Section, compose
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.output import one_line
from baton_git.core.times import iso_ms, when
from baton_git.git.files.atomic_files import reading
from baton_git.git.files.ref_locks import flocked
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.systems.gobby.handoffs import gather, keep
from baton_git.systems.gobby.injections import worktree_of
from baton_git.systems.gobby.previous_sessions import of_worktree
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo
from baton_git.verbs import sessions

if TYPE_CHECKING:
    from baton_git.interfaces.hook.workflow_actions import SessionDeeds
    from baton_git.systems.gobby.workflows import Folders
    from baton_git.systems.paif.settings import PaifConfig

CHECK_SECONDS = 2.0
SYNC_SECONDS = 2.0
"""What checks and a remote may take of a start: the person waits for it."""
MAX_BLOCKS = 8
"""How often in a row a workflow may keep an agent from stopping; Claude Code has the same limit of its own."""
LAG = 4.0
"""Seconds that a transcript may be behind."""
LEFT_BEHIND = 3
"""Sessions without an end that a start looks after."""

AT_PROMPT = frozenset({"gemini"})
"""Agents that are told with the first prompt. What Gemini CLI is told at a start is lost after `/clear`, and stands
before the prompt of `-p`: a resume then drops both."""

LASTING = ("initial_goal", "active_task", "todo_state", "files_modified", "git_commits", "key_decisions")
"""Facts of which one must be there: a session in which nothing happened leaves nothing, and hides nothing."""

Given = TypeVar("Given")


@dataclass(frozen=True)
class Setup:
    """How this machine has it.

    Attributes:
        memory: what is remembered of sessions.
        options: what is extracted.
        folders: says where workflows are; asked only at events that some workflow wants.
        home, environment: where the agents' CLIs keep their transcripts.
        pid: the process of the agent.
        paif: PAIF's settings of the work tree.
    """

    memory: HookSessionStore
    options: Options
    folders: Callable[[], Folders]
    home: Path
    environment: Mapping[str, str]
    pid: int = 0
    paif: PaifConfig | None = None


class Answer(NamedTuple):
    """What comes of an event: the context for the model, why the agent must go on, and what went wrong on the way."""

    context: str = ""
    block: str | None = None
    problems: tuple[str, ...] = ()


def turn(memory: HookSessionStore, agent: str, session: str, wait: float) -> AbstractContextManager[bool | None]:
    """Hooks of one session come one after the other: an agent runs those of one event side by side."""
    return flocked(Path(memory.path(agent, session, ".lock")), wait)


def name_of(payload: Payload) -> str:
    """What makes an event this very one."""
    return f"{payload.event} {payload.detail} {crc32((payload.prompt + payload.response).encode('utf-8', 'replace')):x}"


class Course:
    """One event, from what is known before to what is known after."""

    def __init__(self, ws: Workspace, now: datetime, payload: Payload, setup: Setup, seen: HookSession) -> None:
        self.ws, self.now, self.payload, self.setup = ws, now, payload, setup
        self.seen = seen._replace(
            transcript=payload.transcript or seen.transcript,
            cwd=payload.cwd or seen.cwd,
            seen=iso_ms(now),
            event=name_of(payload),
        )
        self._last = seen.seen
        self.problems: list[str] = []
        self.sections: list[Section] = []
        self.block: str | None = None
        self.begun: sessions.Boot | None = None

    def run(self) -> Answer:
        {START: self._start, PROMPT: self._prompt, COMPACT: self._compact, STOP: self._stop, END: self._end}[
            self.payload.moment
        ]()
        context = self._context()
        self.setup.memory.put(self.seen)
        return Answer(context, self.block, tuple(dict.fromkeys(self.problems)))

    # --- the moments

    def _start(self) -> None:
        sources = self._sources()
        if not self.seen.parent:
            self.seen = self.seen._replace(parent=self._predecessor(sources[0]))
        self.seen = self.seen._replace(ended="", pid=self.setup.pid, owed="")
        self._catch_up()
        if self.payload.moment == START and self.payload.agent in AT_PROMPT:
            self.seen = self.seen._replace(owed="+".join(sources), told=False)
            return
        self._begin(sources)
        for source in sources:
            self._workflows("on_session_start", {"source": source})
        owed = "compact" if sources == ["compact"] else ""
        self.seen = self.seen._replace(told=True, owed=owed, wants=self._wants(), knows=self._newest())
        self.setup.memory.forget_old()

    def _sources(self) -> list[str]:
        """What the start is to tell. What a compaction has lost is owed also when the session was left and resumed."""
        if self.payload.moment == PROMPT:  # the start never reached us, or could not tell anything
            return self.seen.owed.split("+") if self.seen.owed else ["startup"]
        source = self.payload.detail or "startup"
        owes = source == "resume" and "compact" in self.seen.owed and not self._arrived()
        return [source, "compact"] if owes else [source]

    def _begin(self, sources: list[str]) -> None:
        if "compact" in sources:
            self._save("pre_compact")
        if sources != ["compact"]:
            self._boot()

    def _prompt(self) -> None:
        if not self.seen.told:
            self._start()
        elif self.seen.owed:
            self._owed()
        self.seen = self.seen._replace(wants=self._wants())
        self._workflows("on_prompt_submit", {"prompt": self.payload.prompt})

    def _owed(self) -> None:
        """What the start after a compaction told is told again, once, unless the transcript shows that it arrived.

        Claude Code writes it there seconds later, so that a prompt that follows at once says nothing about it.
        """
        if self.seen.mark and not self._arrived() and self._since_last() < LAG:
            return
        if not self._arrived():
            self._workflows("on_session_start", {"source": "compact"})
        self.seen = self.seen._replace(owed="")

    def _since_last(self) -> float:
        """Seconds since a hook last had something to do in this session."""
        last = when(self._last)
        return (self.now - last).total_seconds() if last is not None else LAG

    def _compact(self) -> None:
        """Gemini CLI says so before every request; only with a person's command is a compression sure to come."""
        self._save("pre_compact", force=True)
        if self.payload.agent != "gemini" or self.payload.detail == "manual":
            self.seen = self.seen._replace(owed="compact", mark="")
        self._workflows("on_pre_compact", {"trigger": self.payload.detail or "auto"})

    def _stop(self) -> None:
        extraction = self._save("stop")
        if extraction is not None and extraction.compactions > self.seen.compactions:
            # Gemini CLI starts no session after a compression; where one starts, the mark shows that it was told.
            self.seen = self.seen._replace(compactions=extraction.compactions)
            if self.payload.agent == "gemini":
                self.seen = self.seen._replace(owed="compact", mark="")
        self._periodic()
        data = {"response": self.payload.response, "prompt_response": self.payload.response}
        self._workflows("on_after_agent", data)
        self._workflows("on_stop", data)
        self._let_go()

    def _let_go(self) -> None:
        """A workflow that keeps the agent from stopping does so a few times in a row, and no more."""
        blocks = self.seen.blocks + 1 if self.block is not None else 0
        if blocks > MAX_BLOCKS:
            self.problems.append(
                f"blocked {MAX_BLOCKS} times in a row, so not again: {one_line(self.block or '', 200)}"
            )
            self.block, blocks = None, 0
        self.seen = self.seen._replace(blocks=blocks)

    def _end(self) -> None:
        self._save("session_end", force=True)
        reason = self.payload.detail or "other"
        self._workflows("on_session_end", {"reason": reason})
        self._tried(lambda: sessions.wrap(self.ws, self.now))
        config = self.setup.paif
        if config is not None and config.checkpoint_on_exit:
            from baton_git.systems.paif.checkpoints import checkpoint_at_end  # few have such settings

            self._tried(lambda: checkpoint_at_end(self.ws, self.now, config))
        self.seen = self.seen._replace(ended=reason)

    # --- saving

    def _save(self, trigger: str, *, force: bool = False) -> Extraction | None:
        """The facts as they are now, kept in the namespace if they say something new."""
        if not self.setup.options.enabled:
            return None
        path = self._transcript()
        return None if path is None else self._tried(lambda: self._kept(path, trigger, force=force))

    def _kept(self, path: Path, trigger: str, *, force: bool) -> Extraction:
        size = path.stat().st_size
        extraction = self._gathered(path)
        if extraction.unread:
            self.problems.append(f"{extraction.unread} lines of {one_line(str(path), 300)} could not be read")
        if any(extraction.facts.get(name) for name in LASTING):
            keep(self.ws, self.now, extraction, trigger=trigger, worktree=worktree_of(self.ws), force=force)
        self.seen = self.seen._replace(size=size, transcript=str(path))
        return extraction

    def _gathered(self, path: Path) -> Extraction:
        folder = Path(self.seen.cwd) if self.seen.cwd else self.ws.folder
        memory = Path(self.setup.memory.path(self.payload.agent, self.payload.session, ".facts"))
        found = gather(
            self.ws, self.now, path, self.payload.agent, memory=memory, options=self.setup.options, folder=folder,
            session=self.payload.session,
        )  # fmt: skip
        return replace(found, session=self.payload.session)  # a file may tell of two: one that a plan began anew

    def _transcript(self) -> Path | None:
        """The file of the session; where the agent does not say, the one that is called like it."""
        named = self.seen.transcript
        if named and Path(named).is_file():
            return Path(named)
        if self.payload.moment == START:  # it is not there yet
            return None
        every = AGENTS[self.payload.agent].sessions(self.setup.home, self.setup.environment)
        found = next((one.path for one in every if one.session == self.payload.session), None)
        if found is None and named:
            self.problems.append(f"there is no transcript {one_line(named, 300)}")
        return found

    def _catch_up(self) -> None:
        """Saves what sessions left that ended without a word: killed, or with the machine."""
        git_dir = self.seen.git_dir
        left = (one for one in self.setup.memory.all() if one.git_dir == git_dir and self._is_left(one))
        for one in islice(left, LEFT_BEHIND):
            with turn(self.setup.memory, one.cli, one.session, 0) as alone:
                known = self.setup.memory.get(one.cli, one.session) if alone is not False else None
                if known is not None:
                    self._make_up(known)

    def _make_up(self, one: HookSession) -> None:
        other = replace(self.ws, actor=replace(self.ws.actor, session=one.session, agent=one.cli))
        payload = Payload(one.cli, "", STOP, one.session, transcript=one.transcript, cwd=one.cwd)
        course = Course(other, self.now, payload, self.setup, one)
        if course._save("stop" if lives(one) else "catch_up") is not None:
            self.setup.memory.put(course.seen._replace(seen=one.seen, event=one.event))
        self.problems += course.problems

    def _is_left(self, one: HookSession) -> bool:
        """Whether a session that has not ended said something that nobody has saved."""
        if (one.cli, one.session) == (self.payload.agent, self.payload.session) or one.ended:
            return False
        try:
            return Path(one.transcript).stat().st_size != one.size if one.transcript else one.size < 0
        except (OSError, ValueError):
            return False

    def _periodic(self) -> None:
        """PAIF's checkpoint on the way, where its settings name the agent; it is made only when it is due."""
        config = self.setup.paif
        agent = config.agent_id if config is not None else None
        if config is None or agent is None or config.interval_minutes == 0:
            return
        from baton_git.systems.paif.checkpoints import save_checkpoint  # as above

        summary = one_line(self.payload.response, 1000) or "at work"
        body = {"conversation_summary": summary}
        self._tried(
            lambda: save_checkpoint(
                self.ws, self.now, agent, body, periodic=True, interval_minutes=config.interval_minutes
            )
        )

    # --- giving back

    def _boot(self) -> None:
        config, more = self.setup.paif, dict[str, Any]()
        if config is not None:
            from baton_git.systems.paif.checkpoints import agent_at_work, restore_at_start  # as above

            more["persona"] = agent_at_work(self.ws, config)
            more["restored"] = self._tried(lambda: restore_at_start(self.ws, self.now, config)) or ()
        self.begun = sessions.boot(
            self.ws, self.now, check_seconds=CHECK_SECONDS, sync_seconds=SYNC_SECONDS, parent=self.seen.parent or None,
            handoff=False, **more,
        )  # fmt: skip

    def _predecessor(self, detail: str) -> str:
        """The session that this one goes on from: the one whose context was cleared in the same process, else the last
        one of this work tree. Nothing that an agent tells links the two."""
        if detail not in ("startup", "clear", "fork"):
            return ""
        others = [one for one in self.setup.memory.all() if one.session != self.payload.session]
        here = [one for one in others if one.git_dir == self.seen.git_dir and one.cli == self.payload.agent]
        same = [one for one in here if one.pid == self.setup.pid != 0]
        if detail == "clear" and (same or (here and here[0].ended == "clear")):
            return (same or here)[0].session
        every = of_worktree(
            self.ws.branch.read().state, worktree=worktree_of(self.ws), machine=self.ws.actor.machine,
            other_than=self.payload.session,
        )  # fmt: skip
        beside = at_work(self.setup.memory, self.setup.pid)
        ids = (one.id.partition("/")[2] for one in every)
        return next((session for session in ids if session not in beside), "")

    def _arrived(self) -> bool:
        """Whether the transcript shows that the model was told what it is owed."""
        path, mark = self._transcript(), self.seen.mark
        if not mark or path is None:
            return False
        return self._tried(lambda: _holds(path, mark.encode(), max(0, self.seen.size))) is True

    def _workflows(self, name: str, data: Mapping[str, Any]) -> None:
        if name != "on_session_start" and name not in self.seen.wants:
            return
        from baton_git.systems.gobby.workflows import run_event  # most turns have none, and would pay for it

        event = Event(name, {**self.payload.data, **data})
        outcome = self._tried(
            lambda: run_event(self.ws, self.now, event, self.session, self.deeds, self.setup.folders())
        )
        if outcome is not None:
            self.problems += outcome.problems
            self.block = self.block or outcome.block
            self.sections += [section for one in outcome.injected for section in one.sections]

    def _wants(self) -> tuple[str, ...]:
        from baton_git.systems.gobby.workflows import wanted_events  # as above

        return self._tried(lambda: wanted_events(self.ws, self.setup.folders())) or ()

    @property
    def session(self) -> SessionInfo:
        return SessionInfo(self.payload.session, self.payload.agent, self.seen.cwd or None, self.seen.parent or None)

    @cached_property
    def deeds(self) -> SessionDeeds:
        from baton_git.interfaces.hook.workflow_actions import SessionDeeds  # as above

        return SessionDeeds(
            self.ws, self.now, self.session, self._extracted, begun=self.begun, knows=self.seen.knows,
            options=self.setup.options, problems=self.problems, at_work=at_work(self.setup.memory, self.setup.pid),
        )  # fmt: skip

    def _extracted(self) -> Extraction:
        path = self._transcript()
        if path is None:
            raise NotFound(f"{self.payload.agent} transcript of session", self.payload.session)
        return self._gathered(path)

    def _context(self) -> str:
        """The sections in one frame, as long as they may be."""
        if not any(one.lines or one.more for one in self.sections) or self.payload.moment not in (START, PROMPT):
            return ""
        begun, branch = self.begun, self.ws.branch
        mark = fresh_mark()
        heading = begun.heading if begun else f"baton {branch.namespace} · session {self.payload.session}"
        self.seen = self.seen._replace(mark=mark, knows=self._newest())
        for budget in range(MAX_BYTES, MIN_BUDGET, -200):
            text = compose(one_line(heading, 300), self.sections, mark, budget).text
            if fits(self.payload, text):
                return text
        return ""

    def _newest(self) -> str:
        """The commit that the session now knows of."""
        return (self.begun.version if self.begun else self.ws.branch.read()).commit or ""

    def _tried(self, do: Callable[[], Given]) -> Given | None:
        """What it gives; None when it went wrong, which is told."""
        try:
            return do()
        except (BatonError, OSError) as error:
            self.problems.append(f"{self.payload.event or 'catch-up'}: {error}")
            return None


def _holds(path: Path, mark: bytes, start: int) -> bool:
    """Whether the file says `mark` anywhere from `start` on."""
    with reading(path), path.open("rb") as file:
        file.seek(start)
        before = b""
        while part := file.read(1 << 20):
            if mark in before + part:
                return True
            before = part[-len(mark) :]
    return False
