"""One event's walk through a session's workflows: what its conditions and templates can name, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from baton_git.agents.sessions.launch_request import LaunchRequest
from baton_git.core.brief import Section
from baton_git.systems.gobby.rendering import LIMIT, render
from baton_git.systems.gobby.workflow.definition import Workflow
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo, WorkflowActions

SUMMARY = "transcript_summary"
"""A name that costs the reading of the transcript, so that it is made only where it stands in a text."""


class Starter(Protocol):
    """Starts a session of an agent; the result is that of the document's `start_new_session`."""

    def __call__(self, wish: LaunchRequest, variables: Mapping[str, Any]) -> Mapping[str, Any]: ...


class Injected(NamedTuple):
    """What the session's agent is to be told: sections, and where a template made them its whole text."""

    source: str
    text: str | None = None
    sections: tuple[Section, ...] = ()


class Ran(NamedTuple):
    """An action that was done (or, in a dry run, would be), and what it gave."""

    workflow: str
    path: str
    action: str
    result: Mapping[str, Any]


class Outcome(NamedTuple):
    """What came of an event.

    Attributes:
        block: why the agent must not go on, where a workflow says so.
        variables: those of the session, to be kept.
        skipped: triggers and actions whose condition does not hold.
    """

    injected: tuple[Injected, ...] = ()
    block: str | None = None
    ran: tuple[Ran, ...] = ()
    problems: tuple[str, ...] = ()
    variables: Mapping[str, Any] = {}
    skipped: tuple[str, ...] = ()


@dataclass
class Run:
    """What the workflows of one event share, and grows while they run.

    Attributes:
        variables: the session's own, which are kept.
        results: what actions gave; later actions see it among the variables, and it is forgotten.
    """

    event: Event
    session: SessionInfo
    effects: WorkflowActions
    starter: Starter
    is_dry: bool
    variables: dict[str, Any]
    workflow: Workflow = field(default_factory=lambda: Workflow(name="none"))
    results: dict[str, Any] = field(default_factory=dict)
    injected: list[Injected] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    block: str | None = None
    notes: str | None = None
    summary: str | None = None

    def variable(self, name: str, default: Any = None) -> Any:
        return self.variables.get(name, self.workflow.variables.get(name, default))

    def names(self, text: str, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What `text` can name. What the event is made of wins over variables, which others may have called alike."""
        variables = {**self.results, **self.workflow.variables, **self.variables}
        found = {
            **variables,
            **(extra or {}),
            "event": {"name": self.event.name, "data": dict(self.event.data)},
            "session": {**self.session._asdict(), "cli": self.session.source},
            "variables": variables,
            "state": {"variables": variables},
            "settings": self.workflow.settings,
            "handoff": {"notes": self.notes or ""},
        }
        if SUMMARY in text:
            found[SUMMARY] = self.summed_up()
        return found

    def summed_up(self) -> str:
        if self.summary is None:
            self.summary = "(what the transcript says)" if self.is_dry else self.effects.summarize()
        return self.summary

    def rendered(self, value: Any, extra: Mapping[str, Any] | None = None, limit: int = LIMIT) -> Any:
        """A text with its templates filled in; anything else as it is."""
        if isinstance(value, str) and ("{{" in value or "{%" in value or "{#" in value):
            return render(value, self.names(value, extra), limit)
        return value
