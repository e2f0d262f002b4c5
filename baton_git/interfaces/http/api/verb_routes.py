"""The HTTP routes of verbs, derived from their declarations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query
from pydantic import ConfigDict, create_model
from pydantic.fields import FieldInfo
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.names import Oid
from baton_git.core.verb import Input, Result, Verb
from baton_git.interfaces.http.api.acting import Acting, IfNoneMatch, Reader, Who
from baton_git.interfaces.http.api.answering import answer
from baton_git.interfaces.http.api.refusals import WRITES, Responses, refusals
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.problems import of_error
from baton_git.interfaces.http.reading import is_named, tag
from baton_git.interfaces.http.site import Site
from baton_git.verbs.table import all_verbs

BODY = "request_body"
"""The parameter of a handler that takes the body."""
KNOWN = "if_none_match"
"""The parameter of a handler for the ETags of the client, from If-None-Match."""


class _IdConvertor(PathConvertor):
    """Any text as an id. Starlette's own `path` convertor stops at a line break, so a shorter route would match."""

    regex = "(?s:.*)"


register_url_convertor("id", _IdConvertor())


class _Body(Input):
    """The body of a request. FastAPI needs its validator immediately."""

    model_config = ConfigDict(defer_build=False)


@cache
def verb_router() -> APIRouter:
    """Return the routes of all verbs that have one, for any application whose state has a `site`.

    Built once in a process: FastAPI takes about 0.1 s for the validators of all parameters.
    """
    routes = Routes()
    for verb in all_verbs().values():
        for number, path in enumerate((verb.path, *verb.more_paths) if verb.path else ()):
            form = verb._replace(path=path)
            verb.result_model.model_rebuild()  # FastAPI needs its schema at once
            routes.add_api_route(
                _match_any_id(form), _handler(form), methods=[verb.method], response_model=verb.result_model,
                status_code=verb.status, tags=[verb.tag], summary=verb.summary, description=verb.about,
                responses=_responses(verb),
                operation_id=f"{verb.run.__name__}_{number}" if number else verb.run.__name__,
            )  # fmt: skip
    return routes


def _responses(verb: Verb[Any, Any]) -> Responses:
    """Return the responses of a route, except for that with the usual status."""
    also: Responses = {
        status: {"model": verb.result_model, "description": text} for status, text in verb.other_status.items()
    }
    if verb.conditional:
        also[304] = {"description": "The state has not changed since the ETag in If-None-Match."}
    return also | refusals(*verb.refuses, *(() if verb.method == "GET" else WRITES))


def _match_any_id(verb: Verb[Any, Any]) -> str:
    """Return the path of a verb, changed so that its last id may contain slashes and line breaks."""
    return re.sub(r"\{(\w+)\}([^{]*)$", r"{\1:id}\2", verb.path)


def _handler(verb: Verb[Any, Any]) -> Callable[..., Response]:
    """Return the function that FastAPI calls for a verb; FastAPI reads its parameters from the signature."""

    def handle(http_request: Request, who: Acting | None = None, **values: Any) -> Response:
        site: Site = http_request.app.state.site
        body, client_etags = values.pop(BODY, None), values.pop(KNOWN, None)
        fields = {verb.body: body} if verb.body else body.model_dump(exclude_unset=True) if body is not None else {}
        arguments = {name: value for name, value in values.items() if value is not None} | fields
        verb_input = verb.parse(arguments, now=site.now())
        workspace: AbstractContextManager[Any] = who.on(site) if who is not None else nullcontext()
        with workspace as ws:
            verb.check_namespace(ws)
            commit = ws.branch.read(verb_input.at).commit if client_etags is not None else None
            if client_etags is not None and is_named(client_etags, commit):
                return Response(status_code=304, headers={"ETag": tag(commit)})
            result = verb.run(ws, site.now(), verb_input)
            if verb.session == "begins" and who is not None and who.namespace is None:
                site.use_namespace(result.namespace)
            return respond(verb, result)

    signature = inspect.Signature([_parameter("http_request", Request), *_parameters(verb)])
    handle.__signature__ = signature  # type: ignore[attr-defined]
    handle.__name__ = verb.run.__name__
    return handle


def respond(verb: Verb[Any, Any], result: Result) -> Response:
    """Return a result as JSON, with the ETag of the revision that it is about; a failure with its own status."""
    if result.failure is not None:
        return of_error(verb.path, result.failure, **result.as_data())
    status, commit = result.http_status or verb.status, result.about_commit
    if commit == "":
        return answer(result.as_data(), status)
    return answer(result.as_data(), status, commit=None if commit is None else Oid(commit))


def _parameters(verb: Verb[Any, Any]) -> list[inspect.Parameter]:
    fields = verb.input_model.model_fields
    parameters = [] if verb.standalone else [_parameter("who", Reader if verb.method == "GET" else Who)]
    parameters += [_parameter(name, _annotate(fields[name], Path, str)) for name in verb.path_fields]
    if verb.conditional:
        parameters.append(_parameter(KNOWN, IfNoneMatch, None))
    rest = {name: info for name, info in fields.items() if name not in verb.path_fields}
    query = list(rest) if verb.method == "GET" else verb.query
    parameters += [_parameter(name, _annotate(rest[name], Query), _default(rest.pop(name))) for name in query]
    if verb.body:
        info = rest[verb.body]
        return [*parameters, _parameter(BODY, _annotate(info, Body))]
    if not rest:
        return parameters
    model: Any = verb.input_model  # `cache` needs a hashable argument, and for mypy a `type[I]` is not one
    body = _body_model(model, (*verb.path_fields, *query))
    if any(info.is_required() for info in rest.values()):
        return [*parameters, _parameter(BODY, Annotated[body, Body()])]
    return [*parameters, _parameter(BODY, Annotated[body | None, Body()], None)]


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _annotate(info: FieldInfo, parameter: Callable[..., Any], kind: Any = None) -> Any:
    """Return the annotation of a parameter; `kind` overrides the type of the field."""
    return Annotated[
        kind or info.annotation, *info.metadata, parameter(description=info.description, examples=info.examples)
    ]


def _default(info: FieldInfo) -> Any:
    return inspect.Parameter.empty if info.is_required() else info.get_default(call_default_factory=True)


@cache
def _body_model(model: type[Input], without: tuple[str, ...]) -> Any:
    """Return the model of a body: the input without the fields in the path and the query.

    Rules across fields are checked later, by `Verb.parse`.
    """
    fields: dict[str, Any] = {
        name: (info.annotation, info) for name, info in model.model_fields.items() if name not in without
    }
    return create_model(model.__name__, __base__=_Body, __doc__=model.__doc__, **fields)
