"""What the actions of a workflow can have done. Whoever runs workflows gives it; the engine knows nothing else."""

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
    """What a source of context has to give.

    Attributes:
        names: what a template can use.
        sections: what is injected where the workflow gives no template.
    """

    names: Mapping[str, Any]
    sections: tuple[Section, ...] = ()


class WorkflowActions(Protocol):
    """Everything that an action cannot do by itself. A result is plain data that templates and variables can hold."""

    def extract_facts(self, include: Sequence[str] | None) -> Mapping[str, Any]:
        """Extracts the facts of the session from its transcript, keeps them, and gives them (those of `include`)."""

    def read_source(self, source: str) -> SourceContent | None:
        """What `inject_context` finds under the name `compact_handoff`, `previous_session_summary`, `brief` or
        `changes`; None where there is nothing.

        Raises:
            InvalidArgument: there is no source of that name.
        """

    def summarize(self) -> str:
        """The facts of the session as text: `transcript_summary` in the documents' templates."""

    def keep_notes(self, notes: str) -> Mapping[str, Any]:
        """Keeps `notes` for the session after this one."""

    def save_checkpoint(self, summary: str | None) -> Mapping[str, Any]:
        """Saves where the agent stands."""

    def run_checks(self) -> Mapping[str, Any]:
        """Runs the checks of the open loops."""
