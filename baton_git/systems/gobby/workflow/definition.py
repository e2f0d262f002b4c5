"""A workflow as its YAML file says it: triggers, conditions, actions. Read whole, with every fault named by its path.

Both forms of the documents are read: `triggers` as a table of lists (`on_x: [{action, when, …}]`), and as a list
(`[{event, when, actions: [{action, …}]}]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from baton_git.agents.sessions.launch_request import CHAIN_LIMITS, check_limit
from baton_git.core.codecs import yaml
from baton_git.core.errors import Fault, InvalidArgument, InvalidDocument
from baton_git.systems.gobby.rendering import check_condition, check_template, names_in

EVENTS = (
    "on_session_start", "on_session_end", "on_pre_compact", "on_after_agent", "on_prompt_submit", "on_stop",
)  # fmt: skip
ALIASES = {"on_before_agent": "on_prompt_submit", "on_pre_compress": "on_pre_compact"}
"""Gobby's other names of events."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
CAN_BLOCK = ("on_stop", "on_prompt_submit", "on_after_agent")
"""Events whose hooks can say no."""


class Shape(NamedTuple):
    """What an action can be given: its keys, those that it must have, and those that are templates."""

    keys: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


SHAPES: dict[str, Shape] = {
    "extract_handoff_context": Shape(("store_as", "include")),
    "inject_context": Shape(("source", "template", "require"), ("source",), ("template",)),
    "generate_handoff": Shape(("template",), (), ("template",)),
    "set_variable": Shape(("name", "variable", "value"), ("value",), ("value",)),
    "increment_variable": Shape(("name", "variable", "amount")),
    "mark_loop_complete": Shape(),
    "checkpoint": Shape(("summary",), (), ("summary",)),
    "verify": Shape(),
    "start_new_session": Shape(
        ("cli", "prompt", "system_prompt", "working_dir", "detached", "timeout", "window"),
        (),
        ("cli", "prompt", "system_prompt", "working_dir"),
    ),
    "notify": Shape(("title", "message"), ("message",), ("title", "message")),
    "block": Shape(("reason", "decision"), ("reason",), ("reason",)),
}
"""Every action that there is."""


NAMES = frozenset({
    "event", "session", "variables", "state", "settings", "handoff", "transcript_summary",
    # what actions give
    "handoff_context_extracted", "stored_as", "context_injected", "source", "reason", "handoff_generated", "notes",
    "skipped", "variable_set", "value", "variable_incremented", "loop_marked_complete", "stop_reason", "checkpoint",
    "checks", "session_spawned", "cli", "pid", "spawned", "notified", "title", "message", "decision", "would",
})  # fmt: skip
"""What a condition can always name."""


class Step(NamedTuple):
    """One action with its own condition, and where it stands in the file."""

    action: str
    arguments: Mapping[str, Any]
    when: str
    path: str


class Trigger(NamedTuple):
    """What happens at an event, if the condition holds."""

    event: str
    when: str
    steps: tuple[Step, ...]
    path: str


def _defined(step: Step) -> tuple[Any, ...]:
    """The names that later conditions can use when the action was done."""
    if step.action == "extract_handoff_context":
        return (step.arguments.get("store_as", "compact_handoff"),)
    return (step.arguments.get("name"), step.arguments.get("variable"))


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class Workflow(BaseModel):
    """What a file says, apart from where it is."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: str = Field(pattern=NAME, description="What it is called.")
    description: str = Field("", description="What it is for.")
    version: Annotated[str, BeforeValidator(_as_text)] = Field("", description="Its author's own version.")
    type: str = Field("lifecycle", pattern=r"^lifecycle$", description="Runs at the events of sessions.")
    enabled: bool = Field(True, description="Whether it runs where git's configuration says nothing.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Fixed values for conditions and templates.")
    variables: dict[str, Any] = Field(default_factory=dict, description="What the variables of a session begin with.")
    priority: int = Field(100, description="Lower ones run first.")
    triggers: tuple[Trigger, ...] = Field((), description="What happens when.")
    warnings: tuple[str, ...] = Field((), description="What is in the file and means nothing.")

    def at(self, event: str) -> tuple[Trigger, ...]:
        return tuple(one for one in self.triggers if one.event == event)


def read(text: str, *, name: str, where: str = "", is_checked: bool = True) -> Workflow:
    """The workflow that YAML `text` says; `name` is its name when it gives none.

    Args:
        is_checked: whether conditions and templates are parsed. At an event only those are that are needed for it.

    Raises:
        InvalidDocument: it is not YAML, or has faults.
        LimitExceeded: it is too long.
    """
    data = yaml.loads(text, where=where)
    if not isinstance(data, Mapping):
        raise InvalidDocument([Fault("", "is not a table of name, triggers, …")], where=where)
    reader = _Reader(is_checked=is_checked)
    triggers = tuple(reader.triggers(data.get("triggers")))
    if is_checked:
        reader.limits(data.get("settings"))
        reader.names(triggers, data.get("variables"))
    head = {**data, "triggers": triggers, "name": data.get("name", name)}
    head["priority"] = _priority(data)
    unknown = [key for key in data if key not in Workflow.model_fields or key == "warnings"]
    warnings = (*(f"{key}: is not known and means nothing" for key in unknown), *reader.warnings)
    try:
        made = Workflow.model_validate({**head, "warnings": warnings})
    except ValidationError as error:
        found = [Fault(".".join(map(str, one["loc"])), _words(one["msg"])) for one in error.errors()]
        raise InvalidDocument([*found, *reader.faults], where=where) from None
    if reader.faults:
        raise InvalidDocument(reader.faults, where=where)
    return made


def _priority(data: Mapping[str, Any]) -> Any:
    """The document has it at the top, Gobby's engine reads it from the settings."""
    settings = data.get("settings")
    inner = settings.get("priority") if isinstance(settings, Mapping) else None
    return data.get("priority", inner if inner is not None else 100)


def _words(message: str) -> str:
    if NAME in message:
        return "is not made of letters, digits, '.', '_' and '-', at most 64, a letter or digit first"
    return re.sub(r"^String should match pattern.*", "is not one of the possible values", message)


class _Reader:
    """Triggers out of plain data; what is wrong or means nothing is collected, so that all of it can be told."""

    def __init__(self, *, is_checked: bool) -> None:
        self.is_checked = is_checked
        self.faults: list[Fault] = []
        self.warnings: list[str] = []
        self.conditions: dict[str, str] = {}

    def triggers(self, data: Any) -> Iterator[Trigger]:
        if data is None:
            self._fault("triggers", "is missing: without any the workflow never does anything")
        elif isinstance(data, Mapping):
            for event, steps in data.items():
                path = f"triggers.{event}"
                yield from self._trigger(event, "", steps, path, path)
        elif isinstance(data, list):
            for number, one in enumerate(data):
                yield from self._listed(one, f"triggers[{number}]")
        else:
            self._fault("triggers", "is neither a table of events nor a list")

    def limits(self, settings: Any) -> None:
        """Faults for limits that are none."""
        for name in CHAIN_LIMITS:
            if isinstance(settings, Mapping) and name in settings:
                try:
                    check_limit(name, settings[name])
                except InvalidArgument as error:
                    self._fault(f"settings.{name}", str(error).partition(" ")[2])

    def names(self, triggers: tuple[Trigger, ...], variables: Any) -> None:
        """Warnings for names in conditions that neither an event nor anything in the file defines."""
        known = {*NAMES, *(variables if isinstance(variables, Mapping) else ())}
        known |= {str(value) for trigger in triggers for step in trigger.steps for value in _defined(step)}
        for path, when in self.conditions.items():
            self.warnings += [f"{path}: nothing in the file defines {one}" for one in sorted(names_in(when) - known)]

    def _listed(self, data: Any, path: str) -> Iterator[Trigger]:
        if not isinstance(data, Mapping):
            self._fault(path, "is not a table of event, when and actions")
            return
        self._unknown(data, ("event", "when", "actions"), path)
        when = self._condition(data.get("when"), f"{path}.when")
        yield from self._trigger(data.get("event"), when, data.get("actions"), path, f"{path}.actions")

    def _trigger(self, event: Any, when: str, steps: Any, path: str, place: str) -> Iterator[Trigger]:
        name = ALIASES.get(event, event) if isinstance(event, str) else event
        if name not in EVENTS:
            self._fault(path, f"there is no event {event!r}; there are {', '.join(EVENTS)}")
        elif not isinstance(steps, list):
            self._fault(place, "is not a list of actions")
        else:
            made = (self._step(one, name, f"{place}[{number}]") for number, one in enumerate(steps))
            yield Trigger(name, when, tuple(one for one in made if one is not None), path)

    def _step(self, data: Any, event: str, path: str) -> Step | None:
        if not isinstance(data, Mapping):
            self._fault(path, "is not a table with an action")
            return None
        action = data.get("action", "block" if data.get("decision") == "block" else None)
        shape = SHAPES.get(action) if isinstance(action, str) else None
        if shape is None:
            self._fault(path, f"there is no action {action!r}; there are {', '.join(SHAPES)}")
            return None
        if action == "block" and event not in CAN_BLOCK:
            self._fault(path, f"nothing can be blocked at {event}; at {', '.join(CAN_BLOCK)} it can")
        arguments = {key: value for key, value in data.items() if key not in ("action", "when")}
        self._arguments(arguments, shape, path)
        return Step(str(action), arguments, self._condition(data.get("when"), f"{path}.when"), path)

    def _arguments(self, arguments: Mapping[str, Any], shape: Shape, path: str) -> None:
        self._unknown(arguments, shape.keys, path)
        for key in shape.required:
            if key not in arguments:
                self._fault(f"{path}.{key}", "is missing")
        if {"name", "variable"} <= set(shape.keys) and not {"name", "variable"} & set(arguments):
            self._fault(f"{path}.name", "is missing")
        if self.is_checked and "prompt" in shape.keys and arguments.get("prompt") in (None, ""):
            self._fault(f"{path}.prompt", "is missing")
        for key in shape.templates:
            if isinstance(value := arguments.get(key), str):
                self._checked(check_template, value, f"{path}.{key}")

    def _condition(self, value: Any, path: str) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            self._fault(path, "is no text")
            return ""
        if not value.strip():
            self.warnings.append(f"{path}: is empty, and so always holds")
        elif self._checked(check_condition, value, path):
            self.conditions[path] = value
        return value

    def _checked(self, check: Callable[[str], None], text: str, path: str) -> bool:
        """Whether it is looked at, and has no fault."""
        try:
            if self.is_checked:
                check(text)
        except InvalidArgument as error:
            self._fault(path, str(error))
            return False
        return self.is_checked

    def _unknown(self, data: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
        self.warnings += [f"{path}.{key}: is not known and means nothing" for key in data if key not in known]

    def _fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path, message))
