"""What a workflow needs from its caller: the event, the session, and the effects of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from baton_git.core.brief import Section


class Event(NamedTuple):
    """Something that happened to a session.

    Attributes:
        name: `on_session_start`, `on_session_end`, `on_pre_compact`, `on_after_agent`, `on_prompt_submit`, `on_stop`.
        data: what the agent's CLI said of it: `source`, `reason`, `trigger`, `prompt`, `response`, …
    """

    name: str
    data: Mapping[str, Any]


class SessionInfo(NamedTuple):
    """The session that it happened to; `source` is its CLI (`claude`, `codex`, `gemini`)."""

    id: str
    source: str
    cwd: str | None = None
    parent: str | None = None


class SourceContent(NamedTuple):
    """What a source of context has.

    Attributes:
        names: what a template can use.
        sections: what is injected if the workflow has no template.
    """

    names: Mapping[str, Any]
    sections: tuple[Section, ...] = ()


class WorkflowActions(Protocol):
    """Everything that an action cannot do by itself. Results are plain data that templates and variables can hold."""

    def extract_facts(self, include: Sequence[str] | None) -> Mapping[str, Any]:
        """Extract and keep the facts of the session, and return them, or those of `include`."""

    def read_source(self, source: str) -> SourceContent | None:
        """Return the content of `compact_handoff`, `previous_session_summary`, `brief`, `in_force` (the brief without
        its details) or `changes`, if there is any.

        Raises:
            InvalidArgument: there is no source of that name.
        """

    def summarize(self) -> str:
        """Return the facts of the session as text: `transcript_summary` in the documents' templates."""

    def keep_notes(self, notes: str) -> Mapping[str, Any]:
        """Keep `notes` for the next session."""

    def save_checkpoint(self, summary: str | None) -> Mapping[str, Any]:
        """Save where the agent stands."""

    def run_checks(self) -> Mapping[str, Any]:
        """Run the checks of the open loops."""
