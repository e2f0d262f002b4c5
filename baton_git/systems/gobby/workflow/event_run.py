"""The run of one event: what its workflows share, its outcome, and the variables that are kept until the next event."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.launcher import LaunchRequest
from baton_git.core.brief import Section
from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, LimitExceeded, NotFound
from baton_git.git.files.atomic_files import read_bytes, write_all
from baton_git.systems.gobby.rendering import render
from baton_git.systems.gobby.workflow.definition import Event, SessionInfo, Workflow, WorkflowActions

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


# --- variables, which the repository's baton folder keeps between events


MAX_BYTES = 256 * 1024
MAX_SESSIONS = 200
"""Maximum number of sessions whose variables are stored; those of older sessions are removed."""
_PLAIN = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")


@dataclass(frozen=True)
class KeptVariables:
    """The variables of one session, in the file `<folder>/<session>.json`."""

    folder: Path
    session: str

    @property
    def path(self) -> Path:
        """The path of the file. A name that a file system could reject, or confuse with another one, is hashed."""
        name = self.session
        if not _PLAIN.fullmatch(name):
            name = f"={sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
        return self.folder / f"{name}.json"

    def load(self) -> tuple[dict[str, Any] | None, str]:
        """Return the variables, and a message if the file is damaged (otherwise an empty text).

        The variables are None if none are stored. A damaged file is renamed, and its variables are empty.
        """
        try:
            data = json.loads(read_bytes(self.path), where=str(self.path))
        except NotFound:
            return None, ""
        except BatonError as error:
            return {}, self._set_aside(str(error))
        if not isinstance(data, dict):
            return {}, self._set_aside(f"{self.path}: is not a table of variables")
        return data, ""

    def save(self, variables: dict[str, Any]) -> None:
        """Store the variables, and remove those of sessions beyond the newest `MAX_SESSIONS`.

        Raises:
            LimitExceeded: they are too large.
            InvalidDocument: they are not plain data.
            WriteFailed: writing to disk failed.
        """
        subject = f"the variables of session {self.session}"
        json.check(variables, where=subject)
        content = json.dumps(variables).encode()
        if len(content) > MAX_BYTES:
            raise LimitExceeded(subject, len(content), MAX_BYTES, "bytes")
        write_all({self.path: content})
        with contextlib.suppress(OSError):
            files = sorted(self.folder.glob("*.*"), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in files[MAX_SESSIONS:]:
                old.unlink(missing_ok=True)

    def _set_aside(self, problem: str) -> str:
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".damaged"))
        return f"{problem}; the session's variables are reset"
