"""Parse a workflow's YAML file: triggers, conditions and actions. Each fault names the path of its key in the file.

Both forms of Gobby's document are accepted: `triggers` as a table of lists (`on_x: [{action, when, …}]`), and as a
list (`[{event, when, actions: [{action, …}]}]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from baton_git.agents.launcher import CHAIN_LIMITS, check_limit
from baton_git.core.brief import Section
from baton_git.core.codecs import yaml
from baton_git.core.errors import Fault, InvalidArgument, InvalidDocument
from baton_git.systems.gobby.rendering import check_condition, check_template, find_names

EVENTS = (
    "on_session_start", "on_session_end", "on_pre_compact", "on_after_agent", "on_prompt_submit", "on_stop",
)  # fmt: skip
ALIASES = {"on_before_agent": "on_prompt_submit", "on_pre_compress": "on_pre_compact"}
"""Gobby's alternative names of events."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
CAN_BLOCK = ("on_stop", "on_prompt_submit", "on_after_agent")
"""Events at which a hook can block the agent."""


class ActionShape(NamedTuple):
    """The arguments of an action: all keys, the required keys, and the keys whose values are templates."""

    keys: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


_SESSION_TEXTS = ("cli", "prompt", "system_prompt", "working_dir")

ACTION_SHAPES: dict[str, ActionShape] = {
    "extract_handoff_context": ActionShape(("store_as", "include")),
    "inject_context": ActionShape(("source", "template", "require"), ("source",), ("template",)),
    "generate_handoff": ActionShape(("template",), (), ("template",)),
    "set_variable": ActionShape(("name", "variable", "value"), ("value",), ("value",)),
    "increment_variable": ActionShape(("name", "variable", "amount")),
    "mark_loop_complete": ActionShape(),
    "checkpoint": ActionShape(("summary",), (), ("summary",)),
    "verify": ActionShape(),
    "start_new_session": ActionShape((*_SESSION_TEXTS, "detached", "timeout", "window"), (), _SESSION_TEXTS),
    "notify": ActionShape(("title", "message"), ("message",), ("title", "message")),
    "block": ActionShape(("reason", "decision"), ("reason",), ("reason",)),
}
"""All actions, with their arguments."""


NAMES = frozenset({
    "event", "session", "variables", "state", "settings", "handoff", "transcript_summary",
    # results of actions
    "handoff_context_extracted", "stored_as", "context_injected", "source", "reason", "handoff_generated", "notes",
    "skipped", "variable_set", "value", "variable_incremented", "loop_marked_complete", "stop_reason", "checkpoint",
    "checks", "session_spawned", "cli", "pid", "spawned", "notified", "title", "message", "decision", "would",
})  # fmt: skip
"""Names that every condition can use."""


class ActionStep(NamedTuple):
    """One action with its own condition, and its path in the file."""

    action: str
    arguments: Mapping[str, Any]
    when: str
    path: str


class Trigger(NamedTuple):
    """The actions for an event, with their common condition."""

    event: str
    when: str
    steps: tuple[ActionStep, ...]
    path: str


def _list_defined_names(step: ActionStep) -> tuple[str, ...]:
    """Return the names that an action defines for later conditions."""
    if step.action == "extract_handoff_context":
        return (str(step.arguments.get("store_as", "compact_handoff")),)
    return (str(step.arguments.get("name")), str(step.arguments.get("variable")))


def _to_version(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class Workflow(BaseModel):
    """The content of a workflow file."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: str = Field(pattern=NAME, description="The name of the workflow.")
    description: str = Field("", description="The purpose of the workflow.")
    version: Annotated[str, BeforeValidator(_to_version)] = Field(
        "", description="A version number for the author's own use."
    )
    type: str = Field(
        "lifecycle", pattern=r"^lifecycle$", description="`lifecycle`: the workflow runs at the events of sessions."
    )
    enabled: bool = Field(
        True, description="Whether the workflow runs by default; git's configuration can enable or disable it."
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="Constant values for conditions and templates.")
    variables: dict[str, Any] = Field(default_factory=dict, description="The initial values of a session's variables.")
    priority: int = Field(100, description="Workflows with a lower number run first.")
    triggers: tuple[Trigger, ...] = Field((), description="The actions for each event.")
    warnings: tuple[str, ...] = Field((), description="Warnings about parts of the file that have no effect.")

    def triggers_of(self, event: str) -> tuple[Trigger, ...]:
        """Return the triggers of one event."""
        return tuple(trigger for trigger in self.triggers if trigger.event == event)


@lru_cache(20)
def parse_workflow(text: str, *, name: str, where: str = "", is_checked: bool = True) -> Workflow:
    """Parse a workflow's YAML; `name` is used if the file does not set a name.

    Args:
        is_checked: whether to parse all conditions and templates, so that their faults are reported. Running an
            event does not need this: it parses only the ones that it uses.

    Raises:
        InvalidDocument: the text is not YAML, or has faults.
        LimitExceeded: the text is too long.
    """
    data = yaml.loads(text, where=where)
    if not isinstance(data, Mapping):
        raise InvalidDocument([Fault("", "is not a table of name, triggers, …")], where=where)
    parser = _Parser(is_checked=is_checked)
    triggers = tuple(parser.parse_triggers(data.get("triggers")))
    settings, variables = data.get("settings"), data.get("variables")
    if is_checked:
        parser.check_limits(settings)
        parser.check_names(triggers, variables)
    unknown = [key for key in data if key not in Workflow.model_fields or key == "warnings"]
    warnings = (*(f"{key}: is unknown and has no effect" for key in unknown), *parser.warnings)
    # In Gobby's document the priority is a top-level key; Gobby's engine reads it from `settings`.
    inner = settings.get("priority") if isinstance(settings, Mapping) else None
    priority = data.get("priority", inner if inner is not None else 100)
    fields = {"name": name, **data, "triggers": triggers, "priority": priority, "warnings": warnings}
    try:
        workflow = Workflow.model_validate(fields)
    except ValidationError as error:
        faults = [
            Fault(".".join(map(str, fault["loc"])), _describe_fault(fault["msg"])) for fault in error.errors()
        ]  # fmt: skip
        raise InvalidDocument([*faults, *parser.faults], where=where) from None
    if parser.faults:
        raise InvalidDocument(parser.faults, where=where)
    return workflow


def _describe_fault(message: str) -> str:
    if NAME in message:
        return "must be at most 64 letters, digits, '.', '_' and '-', beginning with a letter or digit"
    return re.sub(r"^String should match pattern.*", "is not an allowed value", message)


class _Parser:
    """Build triggers from plain data, and collect all faults and warnings so that one call reports all of them."""

    def __init__(self, *, is_checked: bool) -> None:
        self.is_checked = is_checked
        self.faults: list[Fault] = []
        self.warnings: list[str] = []
        self.conditions: dict[str, str] = {}

    def parse_triggers(self, data: Any) -> Iterator[Trigger]:
        if data is None:
            self._fault("triggers", "is missing: a workflow without triggers does nothing")
        elif isinstance(data, Mapping):
            for event, steps in data.items():
                path = f"triggers.{event}"
                yield from self._parse_trigger(event, "", steps, path, path)
        elif isinstance(data, list):
            for number, item in enumerate(data):
                yield from self._parse_listed_trigger(item, f"triggers[{number}]")
        else:
            self._fault("triggers", "is neither a table of events nor a list")

    def check_limits(self, settings: Any) -> None:
        """Add a fault for each invalid limit of a chain of sessions."""
        for name in CHAIN_LIMITS:
            if isinstance(settings, Mapping) and name in settings:
                try:
                    check_limit(name, settings[name])
                except InvalidArgument as error:
                    self._fault(f"settings.{name}", str(error).partition(" ")[2])

    def check_names(self, triggers: tuple[Trigger, ...], variables: Any) -> None:
        """Add a warning for each name in a condition that neither an event nor the file defines."""
        known = {*NAMES, *(variables if isinstance(variables, Mapping) else ())}
        known |= {name for trigger in triggers for step in trigger.steps for name in _list_defined_names(step)}
        for path, when in self.conditions.items():
            self.warnings += [
                f"{path}: nothing in the file defines {name}" for name in sorted(find_names(when) - known)
            ]

    def _parse_listed_trigger(self, data: Any, path: str) -> Iterator[Trigger]:
        if not isinstance(data, Mapping):
            self._fault(path, "is not a table of event, when and actions")
            return
        self._warn_unknown(data, ("event", "when", "actions"), path)
        when = self._parse_condition(data.get("when"), f"{path}.when")
        yield from self._parse_trigger(data.get("event"), when, data.get("actions"), path, f"{path}.actions")

    def _parse_trigger(self, event: Any, when: str, steps: Any, path: str, steps_path: str) -> Iterator[Trigger]:
        name = ALIASES.get(event, event) if isinstance(event, str) else event
        if name not in EVENTS:
            self._fault(path, f"there is no event {event!r}; the events are {', '.join(EVENTS)}")
        elif not isinstance(steps, list):
            self._fault(steps_path, "is not a list of actions")
        else:
            parsed = [self._parse_step(step, name, f"{steps_path}[{number}]") for number, step in enumerate(steps)]
            yield Trigger(name, when, tuple(step for step in parsed if step is not None), path)

    def _parse_step(self, data: Any, event: str, path: str) -> ActionStep | None:
        if not isinstance(data, Mapping):
            self._fault(path, "is not a table with an action")
            return None
        action = data.get("action", "block" if data.get("decision") == "block" else None)
        if not isinstance(action, str) or action not in ACTION_SHAPES:
            self._fault(path, f"there is no action {action!r}; the actions are {', '.join(ACTION_SHAPES)}")
            return None
        if action == "block" and event not in CAN_BLOCK:
            self._fault(path, f"{event} cannot be blocked; only {', '.join(CAN_BLOCK)} can")
        arguments = {key: value for key, value in data.items() if key not in ("action", "when")}
        self._check_arguments(arguments, ACTION_SHAPES[action], path)
        return ActionStep(action, arguments, self._parse_condition(data.get("when"), f"{path}.when"), path)

    def _check_arguments(self, arguments: Mapping[str, Any], shape: ActionShape, path: str) -> None:
        self._warn_unknown(arguments, shape.keys, path)
        missing = [key for key in shape.required if key not in arguments]
        if {"name", "variable"} <= set(shape.keys) and not {"name", "variable"} & set(arguments):
            missing.append("name")
        if self.is_checked and "prompt" in shape.keys and arguments.get("prompt") in (None, ""):
            missing.append("prompt")
        for key in missing:
            self._fault(f"{path}.{key}", "is missing")
        for key in shape.templates:
            if isinstance(value := arguments.get(key), str):
                self._check_text(check_template, value, f"{path}.{key}")

    def _parse_condition(self, value: Any, path: str) -> str:
        if value is None or isinstance(value, bool):
            return "" if value is None else str(value)
        if not isinstance(value, str):
            self._fault(path, "is not text")
            return ""
        if not value.strip():
            self.warnings.append(f"{path}: is empty, so it is always true")
        elif self._check_text(check_condition, value, path):
            self.conditions[path] = value
        return value

    def _check_text(self, check: Callable[[str], None], text: str, path: str) -> bool:
        """Check a condition or template; return whether it was checked and has no fault."""
        try:
            if self.is_checked:
                check(text)
        except InvalidArgument as error:
            self._fault(path, str(error))
            return False
        return self.is_checked

    def _warn_unknown(self, data: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
        self.warnings += [f"{path}.{key}: is unknown and has no effect" for key in data if key not in known]

    def _fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path, message))


# --- what a workflow gets, and what it asks for


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
