"""The MCP tools of verbs, derived from their declarations: their functions, schemas and annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field, WithJsonSchema
from pydantic.fields import FieldInfo

from baton_git.core.lifecycle import Confirmed
from baton_git.core.verb import Confirmation, Tool, Verb
from baton_git.interfaces.mcp.tool_context import Ctx, ToolContext
from baton_git.namespace.caller import ConfirmQuestion, Vouched

# --- annotations, by which a client decides whether a tool may run without the user's permission
# Few hints are sent, because the tool list is part of every request to the model: those that differ from the defaults
# of MCP, and for each tool that writes whether it is destructive. By default, a tool writes, is destructive and is not
# idempotent.

READS = ToolAnnotations(read_only_hint=True)
"""The tool changes nothing."""
ADDS = ToolAnnotations(destructive_hint=False)
"""The tool only adds; calling it twice adds twice."""
SETTLES = ToolAnnotations(destructive_hint=False, idempotent_hint=True)
"""The tool removes nothing; calling it twice has the same result as calling it once."""
REPLACES = ToolAnnotations(destructive_hint=True)
"""The tool replaces or archives existing records."""


# --- argument types and schemas, which are short, because they are part of every request to the model

Session = str | None
"""The session that acts. The server's instructions describe this argument once for all tools."""

Json = dict[str, Any]

_NOISE = ("title", "additionalProperties", "default", "minimum", "maximum")


def shorten_schema(schema: Json) -> Json:
    """Return a schema without the parts that a model does not need: titles, nulls, defaults and bounds.

    The bounds still apply: a call with a value out of bounds is refused with an error message.
    """
    plain = {name: value for name, value in schema.items() if name not in _NOISE}
    if "properties" in plain:
        plain["properties"] = {name: shorten_schema(field) for name, field in plain["properties"].items()}
    if isinstance(plain.get("items"), dict):
        plain["items"] = shorten_schema(plain["items"])
    return _without_null(plain)


def _without_null(schema: Json) -> Json:
    """Return the schema of an optional value without null: a model omits the argument instead of sending null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**shorten_schema(choices[0]), **rest}


def drop_session(schema: Json) -> Json:
    """Return a schema without `session`, which every writing tool takes: the server's instructions describe it once."""
    properties = {name: value for name, value in schema["properties"].items() if name != "session"}
    return {**schema, "properties": properties}


# --- the functions of the tools


ANNOTATIONS = {"reads": READS, "adds": ADDS, "settles": SETTLES, "replaces": REPLACES}


def verb_tools(tool_context: ToolContext, verbs: Iterable[Verb[Any, Any]]) -> dict[Callable[..., Any], ToolAnnotations]:
    """Return the tools of all verbs that models can call, each with its annotations."""
    return {
        _make_function(tool_context, verb, verb.tool): ANNOTATIONS[verb.effect]
        for verb in verbs
        if verb.tool is not None
    }


def _make_function(tool_context: ToolContext, verb: Verb[Any, Any], tool: Tool) -> Callable[..., dict[str, Any]]:
    """Return the function of a tool; its signature lists the tool's arguments."""

    def parse(arguments: Mapping[str, Any]) -> Any:
        values = {fields.get(name, name): value for name, value in arguments.items() if value is not None}
        return verb.parse({**tool.defaults, **values}, lambda name: tool.names.get(name, name), tool_context.now)

    def call(
        ctx: Ctx,
        session: str | None = None,
        asked: ConfirmQuestion | None = None,
        answered: Any = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        parsed = parse(arguments)
        acting = tool_context.open_workspace(ctx, session, current=verb.session != "begins")
        with acting if verb.is_in_session else tool_context.open_for_reading() as ws:
            verb.check_namespace(ws)
            if asked is not None:
                ws = replace(ws, confirmed=_read_confirmation(asked, answered, tool_context.app.person))
            result: Any = verb.run(ws, tool_context.now, parsed)
        if verb.session == "begins":
            tool_context.remember(ctx, result)
        elif verb.session == "ends":
            tool_context.forget(ctx, result.session)
        data: dict[str, Any] = result.as_data(short=True)
        return data

    fields = {name: field for field, name in tool.names.items()}
    parameters = _parameters(verb, tool)
    if verb.confirm is not None:
        parameters = [*parameters, *_make_question_parameters(tool_context, verb.confirm, parameters, parse)]
    call.__name__ = tool.name or verb.name.replace(" ", "_")
    call.__doc__ = tool.about
    declared: Callable[..., dict[str, Any]] = _declare(call, parameters, dict[str, Any])
    return declared


def _declare(function: Callable[..., Any], parameters: Sequence[inspect.Parameter], returned: Any) -> Any:
    """Give a function the signature that the SDK reads."""
    function.__signature__ = inspect.Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
    function.__annotations__ = {item.name: item.annotation for item in parameters} | {"return": returned}
    return function


# --- what a person confirms


class Typed(BaseModel):
    """The person's input."""

    text: str = Field(description="What the question asks you to type, to confirm")


def _make_question_parameters(
    tool_context: ToolContext,
    confirmation: Confirmation,
    parameters: Sequence[inspect.Parameter],
    parse: Callable[[Mapping[str, Any]], Any],
) -> list[inspect.Parameter]:
    """Return the parameters of a tool that the SDK fills: the question for the person at the client, and the answer.

    The client shows the question and sends the answer without the model, so the model cannot confirm.
    """

    def find_question(ctx: Ctx, **arguments: Any) -> ConfirmQuestion | None:
        """Return the question; None if the client cannot show forms, or the call needs no confirmation."""
        if not _can_ask(ctx):
            return None
        parsed = parse(arguments)
        with tool_context.open_for_reading() as ws:
            question: ConfirmQuestion | None = confirmation.ask(ws, tool_context.now, parsed)
        return question

    known = [item for item in parameters if item.name != "session"]
    find = _declare(find_question, known, ConfirmQuestion | None)
    shown: Any = Annotated[ConfirmQuestion | None, Resolve(find)]

    def ask_person(question: Any) -> Elicit[Typed] | None:
        if question is None:
            return None
        return Elicit("\n".join((*question.lines, "", f"{question.prompt}.")), Typed)

    ask = _declare(ask_person, [_parameter("question", shown)], Elicit[Typed] | None)
    answer: Any = Annotated[ElicitationResult[Typed], Resolve(ask)]
    return [_parameter("asked", shown), _parameter("answered", answer)]


def is_asking(function: Callable[..., Any]) -> bool:
    """Return whether a tool asks a person."""
    return "asked" in inspect.signature(function).parameters


def _can_ask(ctx: Ctx) -> bool:
    """Return whether the client declares that it can show a form to a person."""
    capabilities = ctx.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def _read_confirmation(question: ConfirmQuestion, answer: Any, person: str) -> Confirmed | Vouched | None:
    """Return the person's confirmation; None if the person did not type what confirms."""
    if not isinstance(answer, AcceptedElicitation) or not question.is_confirmed_by(answer.data.text):
        return None
    return question.confirm(person, "client")


# --- the arguments


def _parameters(verb: Verb[Any, Any], tool: Tool) -> list[inspect.Parameter]:
    parameters = [_parameter("ctx", Ctx)]
    for name, info in verb.input_model.model_fields.items():
        if name not in tool.hidden:
            is_required = info.is_required() or name in tool.required
            default = inspect.Parameter.empty if is_required else None
            type_ = _type_of(info, name, tool, is_required=is_required)
            parameters.append(_parameter(tool.names.get(name, name), type_, default))
    return [*parameters, _parameter("session", Session, None)] if verb.is_in_session else parameters


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _type_of(info: FieldInfo, name: str, tool: Tool, *, is_required: bool) -> Any:
    """Return the type of an argument, with a description only if the tool has one for it."""
    plain: Any = info.annotation
    kind = plain if is_required else plain | None
    if name in tool.schemas:
        return Annotated[kind, WithJsonSchema(dict(tool.schemas[name]))]
    return Annotated[kind, *info.metadata, Field(description=tool.fields[name])] if name in tool.fields else kind
