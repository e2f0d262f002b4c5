"""What the actions of workflows do to a session: the world that `workflow` knows nothing of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from baton_git.agents.extraction import Extraction, Options
from baton_git.agents.registry import AGENTS
from baton_git.core.brief import Section
from baton_git.core.diff import in_words
from baton_git.core.errors import InvalidArgument, NotFound
from baton_git.core.output import one_line
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_context import names_of, summary_of
from baton_git.systems.gobby.handoffs import gather, keep
from baton_git.systems.gobby.injections import handoff_sections, left_for, left_undone, worktree_of
from baton_git.systems.gobby.previous_sessions import last, of_session
from baton_git.systems.gobby.record import Handoff
from baton_git.systems.gobby.workflow.effects import Offered, SessionInfo
from baton_git.systems.paif.checkpoints import save_checkpoint
from baton_git.verbs import checks
from baton_git.verbs.history import changes_of
from baton_git.verbs.sessions import Boot, boot

LOOKED_BACK = 500
"""Commits among which the one is looked for that a session was told of last."""
CHANGES = 40
"""Changes that a resumed session is told of."""
VERIFY_SECONDS = 5.0

Extracted = Callable[[], Extraction]


class SessionDeeds:
    """What can be done for one session.

    Args:
        extracted: reads the facts of its transcript.
        begun: begins it, where a start is under way; else the brief is made by looking only.
        knows: the commit of the namespace that it was told of.
        problems: is told what went wrong with a part.
        at_work: sessions beside this one.
    """

    def __init__(
        self,
        ws: Workspace,
        now: datetime,
        session: SessionInfo,
        extracted: Extracted,
        *,
        begun: Boot | None = None,
        knows: str = "",
        options: Options | None = None,
        problems: list[str] | None = None,
        at_work: Collection[str] = (),
    ) -> None:
        self._ws, self._now, self._session, self._extracted = ws, now, session, extracted
        self._begun, self._knows, self._options = begun, knows, options or Options()
        self._at_work = at_work
        self._problems = problems if problems is not None else []
        self._facts: Extraction | None = None

    def _extraction(self) -> Extraction:
        self._facts = self._facts or self._extracted()
        return self._facts

    def extract(self, include: Sequence[str] | None) -> Mapping[str, Any]:
        """The facts, kept in the namespace; only those of `include`, where that names some."""
        if not self._options.enabled:
            return {"skipped": True, "reason": "autonomous_handoff is disabled"}
        extraction = self._extraction()
        keep(self._ws, self._now, extraction, trigger="pre_compact", worktree=worktree_of(self._ws), force=True)
        facts = names_of(self._own()) if self._has_own() else dict(extraction.facts)
        return {name: value for name, value in facts.items() if include is None or name in include}

    def offered(self, source: str) -> Offered | None:
        """Raises InvalidArgument: there is no such source."""
        if source not in _SOURCES:
            raise InvalidArgument(f"there is no source {source!r}", hint=f"one of {', '.join(_SOURCES)}")
        return _SOURCES[source](self)

    def summary(self) -> str:
        if self._has_own():
            return summary_of(names_of(self._own()))
        return summary_of(self._extraction().facts)

    def hand_over(self, notes: str) -> Mapping[str, Any]:
        """The notes stand in the record of the facts, for the session after this one; those that only repeat the facts
        are left out."""
        if not self._options.enabled:
            return {"skipped": True, "reason": "autonomous_handoff is disabled"}
        own = None if notes.strip() == self.summary().strip() else notes
        keep(
            self._ws, self._now, self._extraction(), trigger="session_end", notes=own,
            worktree=worktree_of(self._ws), force=True,
        )  # fmt: skip
        return {"notes": notes}

    def checkpoint(self, summary: str | None) -> Mapping[str, Any]:
        agent = self._ws.actor.agent or self._session.source
        body = {"conversation_summary": summary or self.summary() or "at work"}
        return {"checkpoint": save_checkpoint(self._ws, self._now, agent, body).id}

    def verify(self) -> Mapping[str, Any]:
        found = checks.verify(self._ws, self._now, budget_seconds=VERIFY_SECONDS)
        return {"checks": {id_: check.result for id_, check in found.found.items()}}

    # --- what there is to give back

    def _own(self) -> Handoff:
        found = of_session(self._ws.branch.read().state, self._session.source, self._session.id)
        if found is None:
            raise NotFound("handoff", f"{self._session.source}/{self._session.id}")
        return found

    def _has_own(self) -> bool:
        return of_session(self._ws.branch.read().state, self._session.source, self._session.id) is not None

    def _compact_handoff(self) -> Offered | None:
        if not self._options.enabled or not self._has_own():
            return None
        own, state = self._own(), self._ws.branch.read().state
        sections = handoff_sections(self._ws, self._now, own, self._problems, self._options.injection_format)
        return _offered(own, (*sections, *left_undone(self._ws, state, [own], self._at_work)))

    def _previous(self) -> Offered | None:
        if not self._options.enabled:
            return None
        state = self._ws.branch.read().state
        parent = of_session(state, self._session.source, self._session.parent) if self._session.parent else None
        sections = left_for(
            self._ws, self._now, state, parent, self._problems, self._options.injection_format, self._at_work
        )
        newest = parent or last(
            state, worktree=worktree_of(self._ws), machine=self._ws.actor.machine, other_than=self._session.id
        )
        if newest is None:
            return Offered({"summary": ""}, sections) if sections else None
        return _offered(newest, sections)

    def _brief(self) -> Offered:
        begun = self._begun or boot(
            self._ws, self._now, check_seconds=0, sync_seconds=0, handoff=False, parent=self._session.parent
        )
        return Offered({"brief": begun.brief.text, "summary": begun.brief.text}, begun.sections)

    def _changes(self) -> Offered | None:
        """What others changed since the session was told last; all of it where nobody knows when that was."""
        entries = list(islice(self._ws.branch.history(), LOOKED_BACK))
        since = next((at for at, one in enumerate(entries) if one.commit == self._knows), None)
        if since is None:
            return self._brief()
        others = [one for one in entries[:since] if one.session != self._session.id]
        found = [change for one in others for change in changes_of(self._ws, one) if change.kind != "session"]
        said = [in_words(change) for change in found]
        lines = tuple(f"- {one_line(text, 300)}" for text in dict.fromkeys(said))
        title = "Changed by others since this session was told last, the newest first"
        section = Section(title, lines[:CHANGES], "changes", max(0, len(lines) - CHANGES), "baton log")
        handed = {change.id for change in found if change.kind == Handoff.kind}
        return Offered({"changes": list(lines)}, (section, *self._handed_meanwhile(handed))) if lines else None

    def _handed_meanwhile(self, ids: set[str]) -> tuple[Section, ...]:
        """What the newest of other sessions left in this work tree, if one of them left something."""
        state = self._ws.branch.read().state
        newest = last(
            state, worktree=worktree_of(self._ws), machine=self._ws.actor.machine, other_than=self._session.id
        )
        if newest is None or newest.id not in ids or not self._options.enabled:
            return ()
        return handoff_sections(self._ws, self._now, newest, self._problems, self._options.injection_format)


def _offered(found: Handoff, sections: tuple[Section, ...]) -> Offered:
    names = names_of(found)
    return Offered({**names, "handoff": names, "summary": found.notes or summary_of(names)}, sections)


_SOURCES: dict[str, Callable[[SessionDeeds], Offered | None]] = {
    "compact_handoff": SessionDeeds._compact_handoff,  # noqa: SLF001  the table of this very class
    "previous_session_summary": SessionDeeds._previous,  # noqa: SLF001
    "brief": SessionDeeds._brief,  # noqa: SLF001
    "changes": SessionDeeds._changes,  # noqa: SLF001
}


def deeds_for(ws: Workspace, now: datetime, session: SessionInfo) -> SessionDeeds:
    """The deeds of a session of which only its name is known: its transcript is looked for where its CLI keeps them."""

    def extracted() -> Extraction:
        home = Path(ws.environment.get("HOME") or "/")
        every = AGENTS[session.source].sessions(home, ws.environment)
        path = next((one.path for one in every if one.session == session.id), None)
        if path is None:
            raise NotFound(f"{session.source} transcript of session", session.id)
        return gather(ws, now, path, session.source, session=session.id)

    return SessionDeeds(ws, now, session, extracted)
