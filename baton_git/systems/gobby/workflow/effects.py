"""The interface between workflows and their caller: the event, the session, and the effects of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from baton_git.core.brief import Section


class Event(NamedTuple):
    """An event of a session.

    Attributes:
        name: `on_session_start`, `on_session_end`, `on_pre_compact`, `on_after_agent`, `on_prompt_submit`,
            `on_stop`.
        data: the fields that the agent CLI sent: `source`, `reason`, `trigger`, `prompt`, `response`, …
    """

    name: str
    data: Mapping[str, Any]


class SessionInfo(NamedTuple):
    """The session of an event; `source` is its agent CLI (`claude`, `codex`, `gemini`)."""

    id: str
    source: str
    cwd: str | None = None
    parent: str | None = None


class SourceContent(NamedTuple):
    """The content of a source of context.

    Attributes:
        names: the names that a template can use, with their values.
        sections: the text that is injected if the workflow has no template.
    """

    names: Mapping[str, Any]
    sections: tuple[Section, ...] = ()


class WorkflowActions(Protocol):
    """The operations behind the actions of workflows, implemented by the caller. Results are plain data, so that
    templates and variables can use them."""

    def extract_facts(self, include: Sequence[str] | None) -> Mapping[str, Any]:
        """Extract and store the facts of the session; return all of them, or those in `include`."""

    def read_source(self, source: str) -> SourceContent | None:
        """Return the content of a source, or None if it is empty.

        The sources are `compact_handoff`, `previous_session_summary`, `brief`, `in_force` (the brief without
        details) and `changes`.

        Raises:
            InvalidArgument: there is no source with that name.
        """

    def summarize(self) -> str:
        """Return a summary of the session's facts: `transcript_summary` in the templates of Gobby's document."""

    def keep_notes(self, notes: str) -> Mapping[str, Any]:
        """Store `notes` for the next session."""

    def save_checkpoint(self, summary: str | None) -> Mapping[str, Any]:
        """Save a checkpoint of the agent."""

    def run_checks(self) -> Mapping[str, Any]:
        """Run the checks of the open loops."""
