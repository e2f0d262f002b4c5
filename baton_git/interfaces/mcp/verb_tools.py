"""The MCP tools of verbs, derived from their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field, WithJsonSchema
from pydantic.fields import FieldInfo

from baton_git.core.verb import Tool, Verb
from baton_git.interfaces.mcp.annotations import ADDS, READS, REPLACES, SETTLES
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, ToolContext

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

    def call(ctx: Ctx, session: str | None = None, **arguments: Any) -> dict[str, Any]:
        values = {fields.get(name, name): value for name, value in arguments.items() if value is not None}
        values = {**tool.defaults, **values}
        parsed = verb.parse(values, lambda name: tool.names.get(name, name), tool_context.now)
        acting = tool_context.open_workspace(ctx, session, current=verb.session != "begins")
        with acting if verb.is_in_session else tool_context.open_for_reading() as ws:
            verb.check_namespace(ws)
            result: Any = verb.run(ws, tool_context.now, parsed)
        if verb.session == "begins":
            tool_context.remember(ctx, result)
        elif verb.session == "ends":
            tool_context.forget(ctx, result.session)
        data: dict[str, Any] = result.as_data(short=True)
        return data

    fields = {name: field for field, name in tool.names.items()}
    parameters = _parameters(verb, tool)
    call.__name__ = tool.name or verb.name.replace(" ", "_")
    call.__doc__ = tool.about
    call.__signature__ = inspect.Signature(parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    call.__annotations__ = {item.name: item.annotation for item in parameters} | {"return": dict[str, Any]}
    return call


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
