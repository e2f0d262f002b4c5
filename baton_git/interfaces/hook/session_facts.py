"""Find the transcript of a session, extract its facts, and save them in the namespace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from baton_git.agents.events import ANSWERED, Event, ModelReply, Position, Prompt, SessionContext, TurnEnd
from baton_git.agents.extraction import Options
from baton_git.agents.hook_events.hook_session import HEARD_SUFFIX, EndedTurn, HookSession, HookSessionStore, read_heard
from baton_git.agents.hook_events.payloads import PROMPT
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.isolation import describe_bug
from baton_git.core.output import one_line
from baton_git.core.times import from_seconds, parse_time_or_none, to_local
from baton_git.git.files.atomic_files import reading
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.source_commits import head_branch
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from baton_git.agents.extraction.extracting import Extraction
    from baton_git.systems.gobby.workflow.files import WorkflowFolders
    from baton_git.systems.paif.settings import PaifConfig
    from baton_git.verbs.sessions.meeting import Meeting


class HookInputs(NamedTuple):
    """The inputs for one hook event.

    Attributes:
        memory: the stored states of sessions.
        options: which facts are extracted.
        folders: returns the folders of workflows; called only at the start of a session and for events that a workflow
            handles.
        home, environment: determine where agent CLIs keep their transcripts.
        pid: the process id of the agent.
        paif: PAIF's settings of the work tree.
        meeting: what the remotes answered that were asked for a namespace, which is not here; None if they were not.
        recalls: whether earlier sessions are searched for each prompt.
    """

    memory: HookSessionStore
    options: Options
    folders: Callable[[], WorkflowFolders]
    home: Path
    environment: Mapping[str, str]
    pid: int = 0
    paif: PaifConfig | None = None
    recalls: bool = False
    meeting: Meeting | None = None


LASTING_FACTS = (
    "initial_goal", "active_task", "todo_state", "files_modified", "git_commits", "key_decisions",
)  # fmt: skip
"""A session's facts are saved only if one of these is among them. The others alone would only hide the facts of the
previous session."""

Result = TypeVar("Result")


def lock_session(
    memory: HookSessionStore, agent: str, session: str, seconds: float
) -> AbstractContextManager[bool | None]:
    """Lock a session, so that its hooks run one after the other; an agent runs the hooks of one event in parallel."""
    return hold_flock(Path(memory.path(agent, session, ".lock")), seconds)


def attempt(action: Callable[[], Result], label: str, problems: list[str]) -> Result | None:
    """Return what `action` returns, or None after adding its error to `problems`."""
    try:
        return action()
    except (BatonError, OSError) as error:
        problems.append(f"{label}: {error}")
    except Exception as error:  # noqa: BLE001  logged, and the other steps of the hook still run
        problems.append(f"{label}: {describe_bug(error)}")
    return None


class SessionFacts:
    """The facts of one session's transcript.

    Args:
        session: the stored state; `save` returns it with the current size and transcript.
        problems: errors are added to this list.
        is_starting: whether the session is just starting, so that a transcript may not exist yet.
        response: the final answer of the turn, which the transcript may not contain yet.
        response_size: the size of the transcript in bytes when that answer came; -1 if it comes now.
        turn: a turn that ended earlier and whose facts are not saved yet.
        has_ended: whether the session has ended.
    """

    def __init__(
        self, ws: Workspace, now: datetime, settings: HookInputs, session: HookSession, problems: list[str], *,
        is_starting: bool = False, response: str = "", response_size: int = -1, turn: EndedTurn | None = None,
        has_ended: bool = False,
    ) -> None:  # fmt: skip
        self._ws, self._now, self._settings, self._session = ws, now, settings, session
        self._is_starting, self._response, self._turn, self._problems = is_starting, response, turn, problems
        self._response_size, self._has_ended = response_size, has_ended

    @property
    def session(self) -> HookSession:
        """The session with what was found out about it."""
        return self._session

    @cached_property
    def transcript(self) -> Path | None:
        """The session's transcript: the one that the agent named, else the one with the session's id."""
        session = self._session
        if session.transcript and os.path.isfile(session.transcript):
            return Path(session.transcript)
        if self._is_starting:
            return None
        path = find_transcript(session.cli, session.session, self._settings.home, self._settings.environment)
        if path is None and session.transcript and not self._heard.exists():
            self._problems.append(f"there is no transcript {one_line(session.transcript, 300)}")
        return path

    def is_in_transcript(self, mark: bytes, start: int) -> bool:
        """Return whether the transcript contains `mark` at or after byte `start`."""
        path = self.transcript
        if path is None or not mark:
            return False
        with reading(path), path.open("rb") as file:
            file.seek(start)
            before = b""
            while part := file.read(1 << 20):
                if mark in before + part:
                    return True
                before = part[-len(mark) :]
        return False

    def extract(self) -> Extraction:
        """Extract the current facts.

        Raises:
            NotFound: there is no transcript.
            InvalidDocument, InvalidArgument, StoreError, LimitExceeded: the transcript cannot be read.
        """
        from baton_git.agents.extraction.extracting import add_final_answer  # slow to import, and often not needed
        from baton_git.agents.sessions.handoff_store import gather_facts

        session, path = self._session, self.transcript
        if path is None:
            return self._extract_heard()
        extraction = gather_facts(
            self._ws, self._now, path, session.cli,
            memory=Path(self._settings.memory.path(session.cli, session.session, ".facts")),
            options=self._settings.options,
            folder=Path(session.cwd) if session.cwd else self._ws.folder,
            session=session.session,
            has_ended=self._has_ended,
        )  # fmt: skip
        if not extraction.turns and extraction.misread is None and self._is_killed_before_its_prompt():
            return replace(self._extract_heard(), unread=extraction.unread)
        # A saver's event is of the turn that it waited for; `turn` may be a later one, which ended in the meantime.
        answers = [(self._response, self._response_size)]
        answers += [(self._turn.response, self._turn.size)] if self._turn is not None and self._turn.size >= 0 else []
        for text, size in sorted(answers, key=lambda answer: (answer[1] < 0, answer[1])):
            extraction = add_final_answer(extraction, text, size if size >= 0 else None)
        return replace(
            extraction, session=session.session
        )  # the file can contain another session, too: accepting a plan may begin one

    def save(self, trigger: str, *, force: bool = False) -> tuple[Extraction, HookSession] | None:
        """Save the facts if there are new ones.

        Returns:
            The facts, and the state of the session to store; None without a transcript, or if the session is doubtful.
        """
        from baton_git.agents.sessions.handoff_store import (
            store_handoff,  # slow to import, and often not needed
            store_turns,
        )

        path = self.transcript or self._heard
        if not path.exists():
            return None
        size = path.stat().st_size
        is_new = not self._session.is_weighed and self._session.size < 0
        if is_new and self.transcript is not None:  # once, before the first save
            self._session = self._weigh(path)
        if self._session.doubt:
            self._problems.append(
                f"{self._session.cli}/{self._session.session}: its facts are not saved, because the session probably"
                f" worked in another project: it {self._session.doubt}"
                f" (if it belongs here: baton mine --take {self._session.cli}/{self._session.session})"
            )
            return None
        extraction = self.extract()
        if extraction.unread:
            self._problems.append(f"{extraction.unread} lines of {one_line(str(path), 300)} could not be read")
        if extraction.misread:
            self._problems.append(f"{one_line(str(path), 300)}: {extraction.misread}")
        if any(extraction.facts.get(name) for name in LASTING_FACTS):
            worked_until = self._find_last_work(path) if trigger == "catch_up" else None
            store_handoff(
                self._ws, self._now, extraction, trigger=trigger, worktree=self._work_tree, force=force,
                worked_until=worked_until,
            )  # fmt: skip
        if extraction.turns:
            folder = str(self._work_tree) if self._work_tree is not None else None
            branch = head_branch(self._ws.branch.store) if trigger != "catch_up" else None  # HEAD may have moved since
            attempt(lambda: store_turns(self._ws, extraction, folder, branch), "turns", self._problems)
        session = self._session._replace(size=size, transcript=str(self.transcript or ""))
        return extraction, session._replace(saved_turn=self._turn.id) if self._turn is not None else session

    def _find_last_work(self, path: Path) -> datetime:
        """Return when the session was last at work: its last event, or the last change of the file that was read."""
        changed = to_local(from_seconds(path.stat().st_mtime))
        return min(self._now, max(changed, parse_time_or_none(self._session.last_seen) or changed))

    @property
    def _heard(self) -> Path:
        return Path(self._settings.memory.path(self._session.cli, self._session.session, HEARD_SUFFIX))

    def _is_killed_before_its_prompt(self) -> bool:
        """Return whether the transcript does not have what hooks heard, not even as a prompt that was taken back."""
        heard = read_heard(self._settings.memory, self._session.cli, self._session.session)
        marks = (json.dumps(text, ensure_ascii=False).encode(errors="replace") for _, _, text in heard)
        return bool(heard) and not any(self.is_in_transcript(mark, 0) for mark in marks)

    def _extract_heard(self) -> Extraction:
        """Extract the facts from the prompts and answers of hook events, because no transcript has them.

        Raises:
            NotFound: no event had any.
        """
        from baton_git.agents.extraction.extracting import extract_events  # few sessions have no transcript
        from baton_git.agents.sessions.handoff_store import complete_facts

        session, folder = self._session, Path(self._session.cwd) if self._session.cwd else self._ws.folder
        heard = read_heard(self._settings.memory, session.cli, session.session)
        if not heard:
            raise NotFound(f"{session.cli} transcript of session", session.session)
        events: list[Event] = [SessionContext(
            Position(), heard[0][1], session.session, str(folder) if folder else None,
            head_branch(self._ws.branch.store),
        )]  # fmt: skip
        for number, (kind, time, text) in enumerate(heard, 1):
            place = Position(number, number)
            is_prompt = kind == PROMPT
            events.append(Prompt(place, time, text) if is_prompt else ModelReply(place, time, text, final=True))
            events += [] if is_prompt else [TurnEnd(place, time, ANSWERED)]
        extraction = extract_events(
            session.cli, events, options=self._settings.options, folder=folder, has_ended=self._has_ended
        )
        return complete_facts(self._ws, self._now, extraction, folder=folder, session=session.session)

    @property
    def _work_tree(self) -> Path | None:
        """The work tree of the session, which may be another one than that of the hook, and may have been removed."""
        return Path(self._session.work_tree) if self._session.work_tree else self._ws.folder

    def _weigh(self, path: Path) -> HookSession:
        """Return the session with the decision whether its transcript contradicts this repository.

        A session that began here is not in doubt: only the hooks of a resumed session, or hooks that were installed
        later, find a transcript with a past.
        """
        from baton_git.agents.mining.mined_sessions import find_session_doubt, is_stored  # needed once in a session

        session = self._session
        if session.doubt:  # only a person settles that, with `baton mine --take`
            is_taken = is_stored(self._ws, session.cli, session.session)
            return session._replace(doubt="", is_weighed=True) if is_taken else session
        doubt = find_session_doubt(self._ws, session.cli, session.session, path, session.cwd or None)
        return session._replace(doubt=str(doubt or ""), is_weighed=doubt is None)


def find_transcript(agent: str, session: str, home: Path, environment: Mapping[str, str]) -> Path | None:
    """Search the folders of a CLI for the transcript of a session; None if there is none."""
    transcripts = AGENTS[agent].find_sessions(home, environment)
    return next((transcript.path for transcript in transcripts if transcript.session == session), None)
