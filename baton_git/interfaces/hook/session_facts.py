"""Find the transcript of a session, extract its facts and keep them in the namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from baton_git.agents.hook_events.ended_turns import EndedTurn
from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.output import one_line
from baton_git.git.files.atomic_files import reading
from baton_git.git.files.ref_locks import hold_flock
from baton_git.interfaces.hook.inputs import HookInputs
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from baton_git.agents.extraction import Extraction

LASTING_FACTS = (
    "initial_goal", "active_task", "todo_state", "files_modified", "git_commits", "key_decisions",
)  # fmt: skip
"""Facts of which a session must have one to be kept: without them it would only hide the session before."""

Result = TypeVar("Result")


def lock_session(
    memory: HookSessionStore, agent: str, session: str, seconds: float
) -> AbstractContextManager[bool | None]:
    """Let the hooks of one session run one after the other: an agent runs those of one event at the same time."""
    return hold_flock(Path(memory.path(agent, session, ".lock")), seconds)


def attempt(action: Callable[[], Result], label: str, problems: list[str]) -> Result | None:
    """Return what `action` returns, or None after adding its error to `problems`."""
    try:
        return action()
    except (BatonError, OSError) as error:
        problems.append(f"{label}: {error}")
        return None


class SessionFacts:
    """The facts of one session's transcript.

    Args:
        session: as remembered; `save` brings its size and transcript up to date.
        is_starting: whether its start is under way, when a transcript may not be there yet.
        response: the answer that ends the turn, which the transcript may not have yet.
        turn: one that ended before, and whose facts were left for later.
        problems: gets what went wrong.
    """

    def __init__(
        self, ws: Workspace, now: datetime, settings: HookInputs, session: HookSession, problems: list[str], *,
        is_starting: bool = False, response: str = "", turn: EndedTurn | None = None,
    ) -> None:  # fmt: skip
        self._ws, self._now, self._settings, self._session = ws, now, settings, session
        self._is_starting, self._response, self._turn, self._problems = is_starting, response, turn, problems

    @cached_property
    def transcript(self) -> Path | None:
        """The session's file; where the agent does not say, the one that has the session's id."""
        session = self._session
        if session.transcript and Path(session.transcript).is_file():
            return Path(session.transcript)
        if self._is_starting:
            return None
        path = find_transcript(session.cli, session.session, self._settings.home, self._settings.environment)
        if path is None and session.transcript:
            self._problems.append(f"there is no transcript {one_line(session.transcript, 300)}")
        return path

    def is_in_transcript(self, mark: bytes, start: int) -> bool:
        """Return whether the transcript contains `mark` anywhere from byte `start` on."""
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
        """Extract the facts as they are now.

        Raises:
            NotFound: there is no transcript.
            InvalidDocument, InvalidArgument, StoreError, LimitExceeded: it cannot be read.
        """
        from baton_git.agents.extraction.extracting import add_final_answer  # most starts extract nothing
        from baton_git.systems.gobby.handoffs import gather

        session, path = self._session, self.transcript
        if path is None:
            raise NotFound(f"{session.cli} transcript of session", session.session)
        extraction = gather(
            self._ws, self._now, path, session.cli,
            memory=Path(self._settings.memory.path(session.cli, session.session, ".facts")),
            options=self._settings.options,
            folder=Path(session.cwd) if session.cwd else self._ws.folder,
            session=session.session,
        )  # fmt: skip
        extraction = add_final_answer(extraction, self._find_response(extraction))
        return replace(extraction, session=session.session)  # a file can hold two: a plan may begin a new one

    def _find_response(self, extraction: Extraction) -> str:
        """Return the answer that the transcript may lack; empty if it goes on after the turn that was left."""
        turn = self._turn
        if turn is None or self._response not in ("", turn.response):
            return self._response
        answer_place = extraction.facts.get("last_answer", {}).get("source", {}).get("offset", 0)
        last_place = max([answer_place, *(known.offset for known in extraction.turns[-1:])])
        return turn.response if last_place < turn.size else ""

    def save(self, trigger: str, *, force: bool = False) -> tuple[Extraction, HookSession] | None:
        """Keep the facts if they say something new; None if there is no transcript.

        Returns:
            The facts, and the session as it is to be remembered.
        """
        from baton_git.systems.gobby.handoffs import keep  # as above
        from baton_git.systems.gobby.session_turns import store_turns

        path = self.transcript
        if path is None:
            return None
        size = path.stat().st_size
        extraction = self.extract()
        if extraction.unread:
            self._problems.append(f"{extraction.unread} lines of {one_line(str(path), 300)} could not be read")
        if extraction.misread:
            self._problems.append(f"{one_line(str(path), 300)}: {extraction.misread}")
        if any(extraction.facts.get(name) for name in LASTING_FACTS):
            keep(self._ws, self._now, extraction, trigger=trigger, worktree=self._ws.folder, force=force)
        if extraction.turns:
            folder = str(self._ws.folder) if self._ws.folder is not None else None
            attempt(lambda: store_turns(self._ws, extraction, folder), "turns", self._problems)
        session = self._session._replace(size=size, transcript=str(path))
        return extraction, session._replace(saved_turn=self._turn.id) if self._turn is not None else session


def find_transcript(agent: str, session: str, home: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the transcript of a session where its CLI keeps them; None if there is none."""
    transcripts = AGENTS[agent].transcripts.sessions(home, environment)
    return next((transcript.path for transcript in transcripts if transcript.session == session), None)
