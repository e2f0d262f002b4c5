"""The operations of verbs, derived from their declarations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic.fields import FieldInfo
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response

from baton_git.core.names import Oid
from baton_git.core.verb import Input, Result, Verb
from baton_git.interfaces.http.acting import READER, WRITER, Acting, describe_parameter
from baton_git.interfaces.http.openapi import WRITES, refusals
from baton_git.interfaces.http.operations import Arguments, HttpOperation, Parameters
from baton_git.interfaces.http.responses import answer, is_named, of_error, tag
from baton_git.verbs.table import all_verbs

IF_NONE_MATCH = describe_parameter(
    "if-none-match", "header", "ETags that the client has; the answer is 304 if one of them is still current."
)


class _IdConvertor(PathConvertor):
    """Any text as an id. Starlette's own `path` convertor stops at a line break, so a shorter route would match."""

    regex = "(?s:.*)"


register_url_convertor("id", _IdConvertor())


@cache
def verb_operations() -> tuple[HttpOperation, ...]:
    """Return the operations of all verbs that have a path."""
    return tuple(
        _make_operation(verb._replace(path=path), number)
        for verb in all_verbs().values()
        for number, path in enumerate((verb.path, *verb.more_paths) if verb.path else ())
    )


def _make_operation(verb: Verb[Any, Any], number: int) -> HttpOperation:
    """Return the operation of one path of a verb."""
    fields = verb.input_model.model_fields
    name = f"{verb.run.__name__}_{number}" if number else verb.run.__name__
    in_query = [field for field in fields if field not in verb.path_fields] if verb.method == "GET" else verb.query
    in_body = {field: fields[field] for field in fields if field not in (*verb.path_fields, *in_query)}
    model: Any = verb.input_model  # `cache` needs a hashable argument, and for mypy a `type[I]` is not one
    body: Any = None
    if verb.body:
        body = _annotate(in_body[verb.body])
    elif in_body:
        body = _make_body(model, f"{model.__name__}{number + 1 if number else ''}", tuple(in_body))
    parameters = () if verb.standalone else READER if verb.method == "GET" else WRITER
    return HttpOperation(
        name, verb.method, _match_any_id(verb), partial(_handle, verb), verb.about, verb.tag,
        in_path=_make_parameters({field: (_annotate(fields[field], str), ...) for field in verb.path_fields}),
        in_query=_make_parameters({field: (fields[field].annotation, fields[field]) for field in in_query}),
        parameters=(*parameters, *((IF_NONE_MATCH,) if verb.conditional else ())),
        body=body, is_body_required=any(info.is_required() for info in in_body.values()),
        result=verb.result_model, status=verb.status, responses=_list_responses(verb),
    )  # fmt: skip


def _match_any_id(verb: Verb[Any, Any]) -> str:
    """Return the path of a verb, changed so that its last id may contain slashes and line breaks."""
    return re.sub(r"\{(\w+)\}([^{]*)$", r"{\1:id}\2", verb.path)


def _annotate(info: FieldInfo, kind: Any = None) -> Any:
    """Return the type of a field with its rules; `kind` overrides the type itself."""
    described = Field(description=info.description, examples=info.examples)
    return Annotated[kind or info.annotation, *info.metadata, described]


def _make_parameters(fields: Mapping[str, Any]) -> type[Parameters] | None:
    return create_model("Parameters", __base__=Parameters, **fields) if fields else None


@cache
def _make_body(model: type[Input], name: str, fields: tuple[str, ...]) -> Any:
    """Return the model of a body: some fields of the input. Rules across fields are checked later, by `Verb.parse`."""
    named: dict[str, Any] = {
        field: (model.model_fields[field].annotation, model.model_fields[field]) for field in fields
    }
    return create_model(name, __base__=Input, __doc__=model.__doc__, **named)


def _list_responses(verb: Verb[Any, Any]) -> dict[int, Mapping[str, Any]]:
    """Return the responses of a verb, except for that with the usual status."""
    also: dict[int, Mapping[str, Any]] = {
        status: {"model": verb.result_model, "description": text} for status, text in verb.other_status.items()
    }
    if verb.conditional:
        also[304] = {"description": "The state has not changed since the ETag in If-None-Match."}
    return also | refusals(*verb.refuses, *(() if verb.method == "GET" else WRITES))


def _handle(verb: Verb[Any, Any], arguments: Arguments) -> Response:
    """Call a verb, and return its response."""
    site, request, body = arguments.site, arguments.request, arguments.body
    fields = {verb.body: body} if verb.body else body.model_dump(exclude_unset=True) if body is not None else {}
    verb_input = verb.parse(arguments.values | fields, now=site.now())
    acting = Acting.of(request)
    if verb.method == "GET":
        acting = acting._replace(if_match=None)
    workspace: AbstractContextManager[Any] = nullcontext() if verb.standalone else acting.on(site)
    with workspace as ws:
        verb.check_namespace(ws)
        client_etags = request.headers.get("if-none-match") if verb.conditional else None
        if client_etags is not None:
            commit = ws.branch.read(verb_input.at).commit
            if is_named(client_etags, commit):
                return Response(status_code=304, headers={"ETag": tag(commit)})
        result = verb.run(ws, site.now(), verb_input)
        if verb.session == "begins" and acting.namespace is None:
            site.use_namespace(result.namespace)
        return respond(verb, result)


def respond(verb: Verb[Any, Any], result: Result) -> Response:
    """Return a result as JSON, with the ETag of the revision that it is about; a failure with its own status."""
    if result.failure is not None:
        return of_error(verb.path, result.failure, **result.as_data())
    status, commit = result.http_status or verb.status, result.about_commit
    if commit == "":
        return answer(result.as_data(), status)
    return answer(result.as_data(), status, commit=None if commit is None else Oid(commit))
