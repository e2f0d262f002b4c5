"""A verb is one thing that baton can do, declared once. Every interface derives its own form of it from here.

    @verb("followup defer", "POST /v1/follow-ups/{id}/defer", effect=ADDS, tool=Tool("Put off once more."))
    def defer_follow_up(ws: Workspace, now: datetime, asked: DeferFollowUp) -> Changed: ...

The input is a frozen model whose fields carry descriptions, bounds and examples; a rule between fields is a validator
of the model. The result is a model with one serialisation, `as_data`. What only one interface needs (which fields are
positional on the command line, a shorter description for a model) is data of the declaration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.natural_times import TIME_TEXT, expand_time
from baton_git.core.records.base import faults_of

Effect = Literal["reads", "adds", "settles", "replaces"]
READS: Final = "reads"
"""Changes nothing in the namespace."""
ADDS: Final = "adds"
"""Only adds; called twice it adds twice."""
SETTLES: Final = "settles"
"""Takes nothing away; called twice it has the same effect as once."""
REPLACES: Final = "replaces"
"""Replaces or archives what was there."""


class Input(BaseModel):
    """The parameters of a verb. A field that it does not know is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class NoInput(Input):
    """The parameters of a verb that has none."""


class Result(BaseModel):
    """What a verb answers."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    verbose: ClassVar[frozenset[str]] = frozenset()
    """Fields that are left out where each word costs: in the answers to a model."""

    @property
    def about_commit(self) -> str | None:
        """The commit that it is about: empty where it is about none, None where the namespace does not exist."""
        return ""

    @property
    def http_status(self) -> int | None:
        """The status of the HTTP answer, where it is not that of the verb."""
        return None

    @property
    def failure(self) -> BatonError | None:
        """What went wrong, where a result tells of a failure and of what was done all the same."""
        return None

    def as_data(self, *, short: bool = False) -> dict[str, Any]:
        """Return the result as plain data, the same for every interface.

        Args:
            short: leave out the `verbose` fields.
        """
        return self.model_dump(exclude_unset=True, exclude=set(self.verbose) if short else None)


I = TypeVar("I", bound=Input)  # noqa: E741
R = TypeVar("R", bound=Result)

NONE: Final[Mapping[Any, Any]] = MappingProxyType({})
"""The mapping of a declaration that has none."""


class Tool(NamedTuple):
    """How a model sees a verb as an MCP tool. All of it is in every request of the model, so words are few.

    Attributes:
        about: what the tool does, in a line.
        hidden: fields of the input that the tool does not take.
        required: fields that a model must give though others need not.
        defaults: values of fields that a model does not give, where they differ from those of the input.
        fields: descriptions of fields that their names do not explain.
        schemas: JSON Schemas of fields, in place of those of their types.
        names: by field, what the tool calls it, where that differs.
        name: what the tool is called; the verb's name with `_` unless given.
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
    """How the command line takes one field, where its name and type do not say it.

    Attributes:
        names: the names of the option, for example `("--verbose", "-v")`.
        flags: for a field with few values: `{"passed": "You saw that it worked."}` makes `--passed` set it.
        metavar: what stands for the value in the help.
        hidden: the command line does not take this field; an addition of the command may fill it.
    """

    names: tuple[str, ...] = ()
    flags: Mapping[str, str] = NONE
    metavar: str = ""
    hidden: bool = False


class Verb(NamedTuple, Generic[I, R]):
    """The declaration of a verb.

    Attributes:
        name: its words on the command line, for example `followup defer`.
        run: the function, called with the workspace, the time and the input.
        input_model: the model of its parameters.
        result_model: the model of its answer.
        effect: what it may change.
        method: of the HTTP route; empty where there is none.
        path: of the HTTP route; `{id}` stands for the field `id`.
        more_paths: further paths of the same method, which lack fields that may be left out.
        body: the field that the whole body of a request is; otherwise the body holds the fields by name.
        refuses: statuses of HTTP answers that refuse, beside those that any request can meet.
        query: fields that a request which writes gives in its query, not in its body.
        status: of the HTTP answer when all went well.
        other_status: further statuses of an answer when all went well, with what they say.
        conditional: whether a GET request with If-None-Match is answered with 304: the result changes only with the
            revision that the field `at` of the input names.
        standalone: it needs no namespace, and is called with None as the workspace.
        anywhere: it works without the namespace of the workspace, which need not exist.
        tag: the group of routes in the OpenAPI document.
        positional: the fields that the command line takes by position.
        tool: the MCP tool; None where models cannot call it.
        examples: lines of the command line.
        options: by field, how the command line takes it.
        is_authored: whether what it writes are the words of its input: those that a person types at a terminal are
            that person's.
        session: whether it acts in a session, as all verbs do that write, begins one or ends one; its result names the
            one that it began or ended.
        on_existing: it acts only on what exists, so a namespace is never created for it; so do all whose `id` is
            required.
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
    tag: str = "records"
    positional: tuple[str, ...] = ()
    tool: Tool | None = None
    examples: tuple[str, ...] = ()
    options: Mapping[str, Option] = NONE
    is_authored: bool = False
    session: Literal["acts", "begins", "ends"] | None = None
    on_existing: bool = False

    @property
    def may_create(self) -> bool:
        """Whether it can be what begins a namespace: it writes, and not only to what exists."""
        named = self.input_model.model_fields.get("id")
        is_on_record = self.on_existing or (named is not None and named.is_required())
        return self.effect != READS and not self.anywhere and not is_on_record

    @property
    def about(self) -> str:
        """What the verb does, as its docstring says it, without the sections about arguments and errors."""
        text = re.split(r"\n\s*(?:Args|Raises|Returns):\n", self.run.__doc__ or "")[0]
        return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))

    @property
    def summary(self) -> str:
        """The first sentence about it, without its full stop."""
        return self.about.partition("\n\n")[0].rstrip(".")

    @property
    def is_in_session(self) -> bool:
        """Whether it matters which session acts."""
        return self.session is not None or self.effect != READS

    @property
    def path_fields(self) -> tuple[str, ...]:
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    def check_namespace(self, ws: Any) -> None:
        """Raise NotFound where the verb needs the namespace of a workspace, and that neither exists nor may begin."""
        if not (self.standalone or self.anywhere):
            ws.branch.check_exists(to_write=self.effect != READS)

    def parse(self, data: Mapping[str, Any], names: Callable[[str], str] = str, now: datetime | None = None) -> I:
        """Return the input that `data` describes.

        Args:
            now: if given, times can also be phrases such as `2 days ago`, as `expand_time` says.
            names: gives the name of a field in the interface that was used, for messages.

        Raises:
            InvalidArgument: a value does not fit its field, or two do not go together.
        """
        try:
            return self.input_model.model_validate(self._expand_times(data, now) if now is not None else data)
        except ValidationError as error:
            lines = [_line_of(fault.path, fault.message, names) for fault in faults_of(error)]
            raise InvalidArgument("; ".join(lines[:5])) from None

    def _expand_times(self, data: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        times = {
            name: expand_time(value, now)
            for name, info in self.input_model.model_fields.items()
            if TIME_TEXT in info.metadata and isinstance(value := data.get(name), str)
        }
        return {**data, **times}


class VerbFunction(Generic[I, R]):
    """A verb as a function: `f(ws, now, input)`, or with the fields of the input: `f(ws, now, "FU-1", reason="…")`."""

    def __init__(self, declaration: Verb[I, R]) -> None:
        self.verb = declaration
        self.__doc__ = declaration.run.__doc__
        self.__name__ = declaration.run.__name__

    def __call__(self, ws: Any, now: datetime, *args: Any, **fields: Any) -> R:
        return self.verb.run(ws, now, self.bind(*args, now=now, **fields))

    def bind(self, *args: Any, now: datetime, **fields: Any) -> I:
        """Return the input that the arguments describe; those by position are its fields in their order.

        Raises:
            InvalidArgument: a value does not fit its field, or two do not go together.
            TypeError: there are more arguments than fields.
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
    """Declare a verb. Its input and result models are those of the function's annotations.

    Args:
        name: its words on the command line.
        route: method and path over HTTP, `POST /v1/follow-ups/{id}/defer`; empty where there is no route.
        options: further fields of `Verb`.
    """
    method, _, path = route.partition(" ")

    def declare(run: Callable[[Any, datetime, I], R]) -> VerbFunction[I, R]:
        takes, gives = _models_of(run)
        return VerbFunction(Verb(name, run, takes, gives, effect, method, path, **options))

    return declare


def _models_of(run: Callable[..., Any]) -> tuple[type[Any], type[Any]]:
    """The models of the third parameter and of the result, by their names in the function's module."""
    hints = run.__annotations__
    scope = run.__globals__
    input_name = list(hints)[2]
    models = [scope[hint] if isinstance(hint, str) else hint for hint in (hints[input_name], hints["return"])]
    return models[0], models[1]


def _line_of(path: str, message: str, names: Callable[[str], str]) -> str:
    """A fault in the words of an interface: a validator writes `{field}` where its name belongs."""
    text = re.sub(r"\{(\w+)\}", lambda match: names(match.group(1)), message)
    if not path:
        return text
    head, rest = re.match(r"(\w*)(.*)", path, re.DOTALL).groups()  # type: ignore[union-attr]  # both may be empty
    return f"{names(head)}{rest} {text}" if text == "is missing" else f"{names(head)}{rest}: {text}"
