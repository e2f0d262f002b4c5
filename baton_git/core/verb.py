"""Declarations of verbs. A verb is one thing that baton can do. It is declared once, for all interfaces:

    @verb("followup defer", "POST /v1/follow-ups/{id}/defer", effect=ADDS, tool=Tool("Put off once more."))
    def defer_follow_up(ws: Workspace, now: datetime, deferral: DeferFollowUp) -> Changed: ...

The input is a frozen model whose fields have descriptions, bounds and examples; rules between fields are validators of
the model. The result is a model with one serialisation, `as_data`. Details for a single interface (positional fields
on the command line, a shorter description for language models) are attributes of the declaration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.records.base import faults_of_input
from baton_git.core.times import TIME_TEXT, expand_time
from baton_git.core.view import Reader, ResultView

Effect = Literal["reads", "adds", "settles", "replaces"]
READS: Final = "reads"
"""Changes nothing in the namespace."""
ADDS: Final = "adds"
"""Only adds; calling it twice adds twice."""
SETTLES: Final = "settles"
"""Removes nothing; calling it twice has the same effect as once."""
REPLACES: Final = "replaces"
"""Replaces or archives existing records."""


class Input(BaseModel):
    """The parameters of a verb. Unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class NoInput(Input):
    """The input of a verb without parameters."""


class Result(BaseModel):
    """The result of a verb."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    verbose: ClassVar[frozenset[str]] = frozenset()
    """Fields that are left out of results for language models, to save tokens."""

    @property
    def about_commit(self) -> str | None:
        """The commit that the result describes: empty if it describes none, None if the namespace does not exist."""
        return ""

    @property
    def http_status(self) -> int | None:
        """The status of the HTTP response, or None for the status in the verb's declaration."""
        return None

    @property
    def failure(self) -> BatonError | None:
        """The error to report if the verb failed in part; the result describes the part that succeeded."""
        return None

    def as_data(self, *, short: bool = False) -> dict[str, Any]:
        """Return the result as plain data, the same for every interface.

        Args:
            short: leave out the `verbose` fields.
        """
        return self.model_dump(exclude_unset=True, exclude=set(self.verbose) if short else None)

    def show(self, reader: Reader) -> ResultView | None:
        """Return what people read of the result; None for its JSON."""
        return None


I = TypeVar("I", bound=Input)  # noqa: E741
R = TypeVar("R", bound=Result)

NONE: Final[Mapping[Any, Any]] = MappingProxyType({})
"""An empty read-only mapping, the default of mapping attributes."""


class Tool(NamedTuple):
    """The MCP tool of a verb. Every request to the model contains all of it, so keep the texts short.

    Attributes:
        about: one line about what the tool does.
        hidden: input fields that the tool does not take.
        required: fields that the tool requires although the input does not.
        defaults: default values of fields, if they differ from those of the input.
        fields: descriptions of fields whose names are not enough.
        schemas: JSON Schemas of fields that replace those derived from their types.
        names: the tool's names of fields, by field, if they differ.
        name: the name of the tool; by default the verb's name with `_` for spaces.
    """

    about: str
    hidden: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = NONE
    fields: Mapping[str, str] = NONE
    schemas: Mapping[str, Mapping[str, Any]] = NONE
    names: Mapping[str, str] = NONE
    name: str = ""


class Option(NamedTuple):
    """How the command line takes one field, if that cannot be derived from the field's name and type.

    Attributes:
        names: the names of the option, for example `("--verbose", "-v")`.
        flags: for a field with few values, a flag per value: `{"passed": "You saw that it worked."}` adds `--passed`.
        values: the value of each flag, if it is not the flag itself.
        metavar: the placeholder for the value in the help text.
        hidden: the command line has no option for this field; code of the command may set it.
        is_joined: whether a positional text may be given as several words, which are joined by spaces.
        is_path: the texts are paths or PATH:SYMBOL, from the current folder; the verb gets them from the top of the
            work tree.
        is_json: the value is JSON; what is not JSON is a text.
        reads_stdin: the text `-` stands for the standard input.
    """

    names: tuple[str, ...] = ()
    flags: Mapping[str, str] = NONE
    values: Mapping[str, Any] = NONE
    metavar: str = ""
    hidden: bool = False
    is_joined: bool = False
    is_path: bool = False
    is_json: bool = False
    reads_stdin: bool = False


class FileInput(NamedTuple):
    """A file from which the command line takes fields of the input.

    Attributes:
        parse: returns the fields for the text of the file; its second argument is the name of the file, for errors.
        about: the help of the option.
        names: the names of the option.
        metavar: the placeholder for the file in the help.
    """

    parse: Callable[[str, str], Mapping[str, Any]]
    about: str
    names: tuple[str, ...] = ("--file", "-f")
    metavar: str = "FILE"


class Confirmation(NamedTuple):
    """The confirmation by a person that a verb needs.

    Attributes:
        ask: called with the workspace, the time and the input; returns the `ConfirmQuestion` for the person, or None if
            this call needs none. It may fail as the verb does.
        always: whether each call needs it, so that interfaces that cannot ask a person do not have the verb.
        can_sign: whether a signature of the verb's commit confirms, too.
    """

    ask: Callable[[Any, datetime, Any], Any]
    always: bool = False
    can_sign: bool = True


class Verb(NamedTuple, Generic[I, R]):
    """The declaration of a verb.

    Attributes:
        name: its name on the command line, for example `followup defer`.
        run: the function, called with the workspace, the time and the input.
        input_model: the model of its parameters.
        result_model: the model of its result.
        effect: the kind of change it may make.
        method: the method of the HTTP route; empty if there is no route.
        path: the path of the HTTP route; `{id}` stands for the field `id`.
        more_paths: further paths with the same method, without placeholders for some optional fields.
        body: the field whose value is the whole request body; if empty, the body is an object with the fields.
        refuses: HTTP error statuses, in addition to those that every route may return.
        query: fields that a writing request takes from the query string instead of the body.
        status: the HTTP status on success.
        other_status: further HTTP statuses on success, with their descriptions.
        conditional: whether GET requests with If-None-Match may be answered with 304. Requires that the result depends
            only on the revision that the input field `at` names.
        standalone: it needs no workspace and is called with None instead.
        anywhere: it does not use the workspace's namespace, so that namespace need not exist.
        anywhere_without: the field without whose value it is as `anywhere`, because it then writes nothing.
        tag: its group of routes in the OpenAPI document.
        positional: the fields that are positional arguments on the command line.
        tool: the MCP tool; None if there is no tool.
        examples: example command lines.
        usage: a further paragraph of the command's help, about what only the command line does.
        progress: what the command says that it does while it takes long; empty for nothing.
        shared: by an option that all commands have (`session`, `agent`), the field that it sets.
        file: the file from which the command takes fields.
        options: how the command line takes its fields, by field.
        is_authored: whether it stores text from its input, whose author is then the person at the terminal.
        session: whether it acts in a session, begins one or ends one, or undoes that. Every verb that writes acts in
            a session. The result of a verb that begins or ends a session names that session.
        machine: whether it asks this machine for something besides the repository: transcripts, settings, the copy of
            a run. Every interface supplies the same `Workspace.machine`.
        machine_options: by attribute of `Machine`, the names and the help of an option of the command that names a path
            to use for it.
        confirm: the confirmation by a person that it needs; None if it needs none, or only for records that a person
            confirmed (see `guard`).
        on_existing: whether it acts only on existing records, so that it never creates a namespace. Implied for verbs
            with a required `id`.
    """

    name: str
    run: Callable[[Any, datetime, I], R]
    input_model: type[I]
    result_model: type[R]
    effect: Effect
    method: str = ""
    path: str = ""
    more_paths: tuple[str, ...] = ()
    body: str = ""
    refuses: tuple[int, ...] = ()
    query: tuple[str, ...] = ()
    status: int = 200
    other_status: Mapping[int, str] = NONE
    conditional: bool = False
    standalone: bool = False
    anywhere: bool = False
    anywhere_without: str = ""
    tag: str = "records"
    positional: tuple[str, ...] = ()
    tool: Tool | None = None
    examples: tuple[str, ...] = ()
    usage: str = ""
    progress: str = ""
    shared: Mapping[str, str] = NONE
    file: FileInput | None = None
    options: Mapping[str, Option] = NONE
    is_authored: bool = False
    session: Literal["acts", "begins", "ends", "undoes"] | None = None
    on_existing: bool = False
    machine: bool = False
    machine_options: Mapping[str, tuple[tuple[str, ...], str]] = NONE
    confirm: Confirmation | None = None

    @property
    def is_only_for_people(self) -> bool:
        return self.confirm is not None and self.confirm.always

    @property
    def may_create(self) -> bool:
        """Whether it may create a namespace: it writes, and not only to existing records."""
        named = self.input_model.model_fields.get("id")
        is_on_record = self.on_existing or (named is not None and named.is_required())
        return self.effect != READS and not self.anywhere and not is_on_record

    @property
    def about(self) -> str:
        """The docstring of the function, without the sections about arguments, errors and results."""
        text = re.split(r"\n\s*(?:Args|Raises|Returns):\n", self.run.__doc__ or "")[0]
        return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))

    @property
    def summary(self) -> str:
        """The first paragraph of `about`, without its full stop."""
        return self.about.partition("\n\n")[0].rstrip(".")

    @property
    def is_in_session(self) -> bool:
        """Whether the verb acts in a session, begins one or ends one, so that its caller may name the session."""
        return self.session is not None or self.effect != READS

    @property
    def path_fields(self) -> tuple[str, ...]:
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    def check_namespace(self, ws: Any) -> None:
        """Check that the namespace exists or may be created, if the verb needs it.

        A verb that begins a session asks the remote for the namespace first, and checks it then.

        Raises:
            NotFound: the namespace does not exist and may not be created.
        """
        if not (self.standalone or self.anywhere or self.session == "begins"):
            ws.branch.check_exists(to_write=self.effect != READS)

    def parse(self, data: Mapping[str, Any], names: Callable[[str], str] = str, now: datetime | None = None) -> I:
        """Validate `data` and return it as the verb's input.

        Args:
            names: returns the name of a field in the calling interface, for error messages.
            now: the current time. If given, times may also be phrases such as `2 days ago` (see `expand_time`).

        Raises:
            InvalidArgument: a value is missing or invalid, a field is unknown, or two values exclude each other.
        """
        try:
            return self.input_model.model_validate(self._expand_times(data, now) if now is not None else data)
        except ValidationError as error:
            lines = [_line_of(fault.path, fault.message, names) for fault in faults_of_input(error)]
            raise InvalidArgument("; ".join(lines[:5])) from None

    def _expand_times(self, data: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        times = {
            name: expand_time(value, now)
            for name, info in self.input_model.model_fields.items()
            if TIME_TEXT in info.metadata and isinstance(value := data.get(name), str)
        }
        return {**data, **times}


class VerbFunction(Generic[I, R]):
    """A callable verb: `f(ws, now, input)`, or with the fields of the input, `f(ws, now, "FU-1", reason="…")`."""

    def __init__(self, declaration: Verb[I, R]) -> None:
        self.verb = declaration
        self.__doc__ = declaration.run.__doc__
        self.__name__ = declaration.run.__name__

    def __call__(self, ws: Any, now: datetime, *args: Any, **fields: Any) -> R:
        return self.verb.run(ws, now, self.bind(*args, now=now, **fields))

    def bind(self, *args: Any, now: datetime, **fields: Any) -> I:
        """Return the input for these arguments; positional arguments are the input's fields in order.

        Raises:
            InvalidArgument: a value is missing or invalid, a field is unknown, or two values exclude each other.
            TypeError: there are more positional arguments than fields.
        """
        if len(args) == 1 and isinstance(args[0], self.verb.input_model):
            return args[0]
        names = list(self.verb.input_model.model_fields)
        if len(args) > len(names):
            raise TypeError(f"{self.__name__} takes at most {len(names)} arguments")
        return self.verb.parse({**dict(zip(names, args, strict=False)), **fields}, now=now)


def verb(
    name: str,
    route: str = "",
    *,
    effect: Effect,
    **options: Any,
) -> Callable[[Callable[[Any, datetime, I], R]], VerbFunction[I, R]]:
    """Declare a verb. Its input and result models are taken from the function's annotations.

    Args:
        name: its name on the command line.
        route: the HTTP method and path, such as `POST /v1/follow-ups/{id}/defer`; empty for no route.
        effect: the kind of change it may make.
        options: further fields of `Verb`.
    """
    method, _, path = route.partition(" ")

    def declare(run: Callable[[Any, datetime, I], R]) -> VerbFunction[I, R]:
        input_model, result_model = _models_of(run)
        return VerbFunction(Verb(name, run, input_model, result_model, effect, method, path, **options))

    return declare


def _models_of(run: Callable[..., Any]) -> tuple[type[Any], type[Any]]:
    """Return the models of the third parameter and of the result, looked up in the function's module."""
    hints = run.__annotations__
    scope = run.__globals__
    input_name = list(hints)[2]
    models = [scope[hint] if isinstance(hint, str) else hint for hint in (hints[input_name], hints["return"])]
    return models[0], models[1]


def _line_of(path: str, message: str, names: Callable[[str], str]) -> str:
    """Return a fault as text, with the interface's names of fields; validators write fields as `{field}`."""
    text = re.sub(r"\{(\w+)\}", lambda match: names(match.group(1)), message)
    if not path:
        return text
    head, nested = re.match(r"(\w*)(.*)", path, re.DOTALL).groups()  # type: ignore[union-attr]  # both may be empty
    return f"{names(head)}{nested} {text}" if text in ("is missing", "is empty") else f"{names(head)}{nested}: {text}"
