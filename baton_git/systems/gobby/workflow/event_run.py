"""The context of one event's workflows: the names that conditions and templates can use, and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from baton_git.agents.launcher import LaunchRequest
from baton_git.core.brief import Section
from baton_git.systems.gobby.rendering import render
from baton_git.systems.gobby.workflow.definition import Workflow
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo, WorkflowActions

SUMMARY = "transcript_summary"
"""A name whose value requires reading the transcript; it is computed only for texts that contain it."""


SessionStarter = Callable[[LaunchRequest, Mapping[str, Any]], Mapping[str, Any]]
"""Starts a session of an agent; returns the result of `start_new_session` in Gobby's document."""


class Injection(NamedTuple):
    """Context for the session's agent: sections, and the whole text if a template made them."""

    source: str
    text: str | None = None
    sections: tuple[Section, ...] = ()


class ActionRun(NamedTuple):
    """An executed action (in a dry run, a planned one) and its result."""

    workflow: str
    path: str
    action: str
    result: Mapping[str, Any]


@dataclass
class EventOutcome:
    """The outcome of an event.

    Attributes:
        block: the reason why the agent must not continue, if a workflow gives one.
        variables: the variables of the session, to be stored.
        skipped: the triggers and actions that did not run, because their condition is false or the event is blocked.
    """

    injected: list[Injection] = field(default_factory=list)
    block: str | None = None
    ran: list[ActionRun] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


@dataclass
class EventRun:
    """The data that all workflows of one event share.

    Attributes:
        workflow: the workflow that runs now.
        results: the results of actions. Later actions can use them like variables, but they are not stored.
        notes: the notes for the next session, if an action made them.
        summary: the summary of the session's facts, once it is computed.
    """

    event: Event
    session: SessionInfo
    effects: WorkflowActions
    start_session: SessionStarter
    is_dry: bool
    outcome: EventOutcome
    workflow: Workflow = field(default_factory=lambda: Workflow(name="none"))
    results: dict[str, Any] = field(default_factory=dict)
    notes: str | None = None
    summary: str | None = None

    def get_variable(self, name: str, default: Any = None) -> Any:
        """Return a variable of the session, else its initial value in the workflow, else `default`."""
        return self.outcome.variables.get(name, self.workflow.variables.get(name, default))

    def collect_names(self, text: str, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the names that `text` can use. The event's own names take precedence over variables of the same
        name."""
        variables = {**self.results, **self.workflow.variables, **self.outcome.variables}
        names = {
            **variables,
            **(extra or {}),
            "event": {"name": self.event.name, "data": dict(self.event.data)},
            "session": {**self.session._asdict(), "cli": self.session.source},
            "variables": variables,
            "state": {"variables": variables},
            "settings": self.workflow.settings,
            "handoff": {"notes": self.notes or ""},
        }
        return {**names, SUMMARY: self.summarize()} if SUMMARY in text else names

    def summarize(self) -> str:
        """Return a summary of the session's facts; it is computed once."""
        if self.summary is None:
            self.summary = "(a summary of the transcript)" if self.is_dry else self.effects.summarize()
        return self.summary

    def render(self, value: Any, extra: Mapping[str, Any] | None = None) -> Any:
        """Return a text with its templates rendered; return any other value unchanged."""
        if isinstance(value, str) and ("{{" in value or "{%" in value or "{#" in value):
            return render(value, self.collect_names(value, extra))
        return value
