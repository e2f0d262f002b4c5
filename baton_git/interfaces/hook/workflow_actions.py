"""Implement the actions of workflows for one session; `systems.gobby.workflow` defines their protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton_git.agents.extraction import Options
from baton_git.agents.sessions.handoff_index import (
    extraction_time,
    find_last_handoff,
    find_nearest,
    has_substance,
    read_handoff,
    session_of,
)
from baton_git.core.brief import Rank, Section
from baton_git.core.brief_sections import record_line
from baton_git.core.diff import RecordChange, describe_change
from baton_git.core.errors import InvalidArgument, NotFound
from baton_git.core.output import one_line
from baton_git.core.records.handoff import Handoff
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.interfaces.hook.session_facts import find_transcript
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_context import collect_template_names, summarize_facts
from baton_git.systems.gobby.injections import (
    make_handoff_sections,
    make_previous_session_sections,
    make_unfinished_section,
    render_handoff,
)
from baton_git.systems.gobby.workflow.definition import SessionInfo, SourceContent
from baton_git.verbs.revisions.history import read_changes
from baton_git.verbs.sessions.session_start import BegunSession, StartOptions, begin_session, list_sections
from baton_git.verbs.verification.consent import WaitingChecks

if TYPE_CHECKING:
    from baton_git.agents.extraction.extracting import Extraction

MAX_COMMITS = 500
"""Maximum number of newest commits that are searched for the one that the session was last told about."""
MAX_CHANGES = 40
"""Maximum number of changes in the context of a resumed session."""
VERIFY_SECONDS = 5.0
"""Time limit for all checks together."""

SWITCHED_OFF = {"skipped": True, "reason": "autonomous_handoff is disabled"}


class SessionActions:
    """The actions of workflows for one session.

    Args:
        extract: extracts the facts from its transcript.
        boot: the session start, if the session is just starting.
        known_commit: the commit of the namespace that the session was last told about.
        problems: errors of single steps are added to this list.
        live_sessions: ids of other sessions that are running.
    """

    def __init__(
        self, ws: Workspace, now: datetime, session: SessionInfo, extract: Callable[[], Extraction], *,
        boot: BegunSession | None = None, known_commit: str = "", options: Options | None = None,
        problems: list[str] | None = None, live_sessions: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._ws, self._now, self._session, self._extract = ws, now, session, extract
        self._boot, self._known_commit, self._options = boot, known_commit, options or Options()
        self._problems = problems if problems is not None else []
        self._live_sessions = live_sessions

    @cached_property
    def _extraction(self) -> Extraction:
        return self._extract()

    def extract_facts(self, include: Sequence[str] | None) -> Mapping[str, Any]:
        """Save the facts in the namespace, unless that is disabled; return them, or only those in `include`."""
        if not self._options.enabled:
            return SWITCHED_OFF
        self._save_handoff("pre_compact")
        own = self._own_handoff()
        facts = collect_template_names(own) if own is not None else dict(self._extraction.facts)
        return {name: value for name, value in facts.items() if include is None or name in include}

    def read_source(self, source: str) -> SourceContent | None:
        """Return the content of a source of context; None if it is empty.

        Raises:
            InvalidArgument: there is no such source.
        """
        if source not in _SOURCES:
            raise InvalidArgument(f"there is no source {source!r}", hint=f"one of {', '.join(_SOURCES)}")
        return _SOURCES[source](self)

    def summarize(self) -> str:
        """Return the facts of the session as text."""
        own = self._own_handoff()
        return summarize_facts(collect_template_names(own) if own is not None else self._extraction.facts)

    def keep_notes(self, notes: str) -> Mapping[str, Any]:
        """Save notes for the next session in the handoff, unless they only repeat the facts."""
        if not self._options.enabled:
            return SWITCHED_OFF
        self._save_handoff("session_end", None if notes.strip() == self.summarize().strip() else notes)
        return {"notes": notes}

    def save_checkpoint(self, summary: str | None) -> Mapping[str, Any]:
        """Save a checkpoint of PAIF for the agent; return its id."""
        from baton_git.systems.paif.checkpoints import save_checkpoint  # few workflows need it

        agent = self._ws.actor.agent or self._session.source
        body = {"conversation_summary": summary or self.summarize() or "at work"}
        return {"checkpoint": save_checkpoint(self._ws, self._now, agent, self._ws.names.shorten(body)).id}

    def run_checks(self) -> Mapping[str, Any]:
        """Run the checks of the open loops and return their results by loop."""
        from baton_git.verbs.verification.checks import check_loops  # few workflows need it

        results = check_loops(self._ws, self._now, budget_seconds=VERIFY_SECONDS)
        return {"checks": {id_: check.result for id_, check in results.evidence.items()}}

    def _save_handoff(self, trigger: str, notes: str | None = None) -> None:
        from baton_git.agents.sessions.handoff_store import store_handoff  # not needed at a session's start

        store_handoff(
            self._ws, self._now, self._extraction, trigger=trigger, notes=notes, worktree=self._ws.folder,
            force=True,
        )  # fmt: skip

    # --- sources of context

    def _own_handoff(self) -> Handoff | None:
        return self._read_handoff(self._session.id)

    def _read_handoff(self, session: str) -> Handoff | None:
        return read_handoff(self._ws.branch.read().state, f"{self._session.source}/{session}")

    def _last_handoff(self) -> Handoff | None:
        """Return the newest handoff of another session in this work tree."""
        return find_last_handoff(self._ws, self._ws.branch.read().state, self._session.id)

    def _sections(self, handoff: Handoff) -> tuple[Section, ...]:
        return render_handoff(self._ws, self._now, handoff, self._problems, self._options.injection_format)

    def _compact_handoff(self) -> SourceContent | None:
        own = self._own_handoff()
        if not self._options.enabled or own is None:
            return None
        state = self._ws.branch.read().state
        nearest = find_nearest(self._ws, state, self._ws.actor.session, self._live_sessions)
        unfinished = make_unfinished_section(self._ws, state, nearest, [own], self._live_sessions)
        return _handoff_content(own, (*self._sections(own), *unfinished))

    def _previous_session_summary(self) -> SourceContent | None:
        if not self._options.enabled:
            return None
        state = self._ws.branch.read().state
        parent = self._read_handoff(self._session.parent) if self._session.parent else None
        sections = make_previous_session_sections(
            self._ws, self._now, state, parent, self._problems, self._options.injection_format, self._live_sessions
        )
        newest = parent or self._last_handoff()
        if newest is None:
            return SourceContent({"summary": ""}, sections) if sections else None
        return _handoff_content(newest, sections)

    def _brief(self) -> SourceContent:
        options = StartOptions(check_seconds=0, sync_seconds=0, handoff=False, parent=self._session.parent)
        booted = self._boot or begin_session(self._ws, self._now, options)
        return SourceContent({"brief": booted.brief.text, "summary": booted.brief.text}, booted.sections)

    def _in_force(self) -> SourceContent:
        """Return the brief without details and without starting a session, for a context that was compacted."""
        sections = list_sections(self._ws, self._now)
        return SourceContent({}, tuple(section for section in sections if section.rank != Rank.DETAILS))

    def _changes(self) -> SourceContent | None:
        """Return the changes since `known_commit`, by others or by the checks at the session's start.

        If that commit is unknown or too old, return the brief.
        """
        commits = list(islice(self._ws.branch.history(), MAX_COMMITS))
        since = next((index for index, commit in enumerate(commits) if commit.commit == self._known_commit), None)
        if since is None:
            return self._brief()
        news = [commit for commit in commits[:since] if commit.session != self._session.id or commit.op == "boot"]
        made = (change for commit in news for change in read_changes(self._ws, commit)[0])
        changes = [change for change in made if change.kind != "session"]
        if not changes:
            return None
        handoffs = {change.id for change in changes if change.kind == Handoff.kind}
        lines = self._describe_changes([change for change in changes if change.kind != Handoff.kind])
        title, more = "Changed since this session's last update, newest first", max(0, len(lines) - MAX_CHANGES)
        section = Section(
            title, lines[:MAX_CHANGES], "changes", more, "baton log", Rank.STANDING, told_at=iso(self._now)
        )
        return SourceContent({"changes": list(lines)}, (section, *self._describe_changed_handoffs(handoffs)))

    def _describe_changes(self, changes: Sequence[RecordChange]) -> tuple[str, ...]:
        """Return a line for each changed record: its line in the brief, if any; else a description of the change."""
        revision = self._ws.branch.read()
        judge = self._ws.shown_judgement(revision, waits=WaitingChecks(self._ws, revision).__contains__)
        lines = dict[Key, str]()
        for change in changes:
            key = Key(change.kind, change.id)
            line = record_line(revision.state.entry(key), self._now, judge)
            lines.setdefault(key, line or f"- {one_line(describe_change(change), 300)}")
        return tuple(line for line in dict.fromkeys(lines.values()) if line != "- ")

    def _describe_changed_handoffs(self, changed: Collection[str]) -> tuple[Section, ...]:
        """Return sections with the facts of those changed handoffs that belong to other sessions."""
        state, own = self._ws.branch.read().state, self._session.id
        handoffs = [handoff for handoff in map(partial(read_handoff, state), sorted(changed)) if handoff is not None]
        others = [handoff for handoff in handoffs if has_substance(handoff) and session_of(handoff) != own]
        if not others or not self._options.enabled:
            return ()
        others.sort(key=extraction_time, reverse=True)
        return make_handoff_sections(
            self._ws, self._now, others, self._problems, self._options.injection_format, self._live_sessions
        )


def _handoff_content(handoff: Handoff, sections: tuple[Section, ...]) -> SourceContent:
    names = collect_template_names(handoff)
    return SourceContent({**names, "handoff": names, "summary": handoff.notes or summarize_facts(names)}, sections)


_SOURCES: dict[str, Callable[[SessionActions], SourceContent | None]] = {
    "compact_handoff": SessionActions._compact_handoff,  # noqa: SLF001  the table of this class
    "previous_session_summary": SessionActions._previous_session_summary,  # noqa: SLF001
    "brief": SessionActions._brief,  # noqa: SLF001
    "in_force": SessionActions._in_force,  # noqa: SLF001
    "changes": SessionActions._changes,  # noqa: SLF001
}


def actions_for_session(ws: Workspace, now: datetime, session: SessionInfo) -> SessionActions:
    """Return the actions for a session of which only the id is known; its transcript is searched for."""

    def extract() -> Extraction:
        from baton_git.agents.sessions.handoff_store import gather_facts  # not needed at a session's start

        home = Path(ws.environment.get("HOME") or "/")
        path = find_transcript(session.source, session.id, home, ws.environment)
        if path is None:
            raise NotFound(f"{session.source} transcript of session", session.id)
        return gather_facts(ws, now, path, session.source, session=session.id)

    return SessionActions(ws, now, session, extract)
