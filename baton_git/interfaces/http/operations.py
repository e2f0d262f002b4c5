"""The operations of the APIs, each declared once; routes and the OpenAPI document are derived from them.

JSON bodies are parsed in the same way on all paths: large ones in a thread, repeated keys refused.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton_git.core.codecs.json import RepeatedKey, parse
from baton_git.interfaces.http.responses import InvalidRequest, SafeJSONResponse
from baton_git.interfaces.http.site import Site

INLINE_BYTES = 32 << 10
"""A larger body is parsed in a thread, so that other requests are answered meanwhile."""

NO_BODY: Any = object()


class Parameters(BaseModel):
    """The parameters of an operation in the path, or in the query. Unknown ones are ignored."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class Arguments(NamedTuple):
    """A valid request.

    Attributes:
        values: the parameters of the path, and those of the query that were given.
        body: the body, as the type that the operation declares; None if it has none.
    """

    request: Request
    values: dict[str, Any]
    body: Any

    @property
    def site(self) -> Site:
        return cast(Site, self.request.app.state.site)


Handler = Callable[[Arguments], Response | Awaitable[Response]]


@dataclass(frozen=True)
class HttpOperation:
    """One method of one path.

    Attributes:
        name: its id in the OpenAPI document.
        handle: makes the response; a coroutine function runs in the event loop, any other function in a thread.
        about: what it does; the first paragraph is a summary.
        require: raises an error if the caller may not send the request; called before the request is validated.
        in_path: the parameters of the path that have a description or rules.
        in_query: the parameters of the query.
        parameters: further parameters, which `handle` reads from the request, as in the OpenAPI document.
        body: the type of the JSON body; None if a body is ignored.
        result: the type of the response with the status `status`; None if it has no body.
        responses: all other responses, as in the OpenAPI document, with a type under `model`.
    """

    name: str
    method: str
    path: str
    handle: Handler
    about: str
    tag: str
    require: Callable[[Request], None] | None = None
    in_path: type[Parameters] | None = None
    in_query: type[Parameters] | None = None
    parameters: tuple[Mapping[str, Any], ...] = ()
    body: Any = None
    is_body_required: bool = True
    result: Any = None
    status: int = 200
    responses: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def route(self) -> Route:
        route = Route(self.path, self, methods=[self.method], name=self.name)
        route.methods.discard("HEAD")  # type: ignore[union-attr]  # as in session-baton's server, HEAD is not GET
        return route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as an ASGI application: around a function, Starlette would handle exceptions twice."""
        arguments = await self.parse(Request(scope, receive, send))
        answer = self.handle(arguments) if self._is_async else run_in_threadpool(self.handle, arguments)
        response = await cast(Awaitable[Response], answer)
        await response(scope, receive, send)

    @cached_property
    def _is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.handle)

    @cached_property
    def body_adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.body)

    async def parse(self, request: Request) -> Arguments:
        """Parse and validate the parameters and the body of a request.

        Raises:
            InvalidRequest: a parameter is not valid, or the body is missing, not JSON, not declared as JSON, or not
                valid.
            HTTPException: 400, the body is not text, is nested too deep, or has a number with too many digits.
        """
        faults: list[dict[str, Any]] = []
        values: dict[str, Any] = dict(request.path_params)
        body = await _read_body(request) if self.body is not None else NO_BODY
        if self.require is not None:
            await run_in_threadpool(self.require, request)
        if self.in_path is not None:
            _validate(self.in_path.model_validate, values, "path", faults)
        if self.in_query is not None:
            query = _validate(self.in_query.model_validate, _read_query(request, self.in_query), "query", faults)
            values |= query.model_dump(exclude_unset=True) if query is not None else {}
        if self.body is not None and self.is_body_required and body is NO_BODY:
            faults.append(_fault("missing", "Field required", None))
        elif body is not NO_BODY and (body is not None or self.is_body_required):
            body = _validate(self.body_adapter.validate_python, body, "body", faults, from_attributes=True)
        if faults:
            raise InvalidRequest(faults)
        return Arguments(request, values, None if body is NO_BODY else body)


def declare(method: str, path: str, handle: Handler, tag: str, **options: Any) -> HttpOperation:
    """Return an operation whose description is the docstring of its function.

    Args:
        options: further fields of `HttpOperation`.
    """
    name = handle.__name__
    id_ = re.sub(r"\W", "_", f"{name}{path}") + f"_{method.lower()}"
    return HttpOperation(id_, method, path, handle, inspect.getdoc(handle) or "", tag, **options)


def _validate(
    validate: Callable[..., Any], value: Any, place: str, faults: list[dict[str, Any]], **options: bool
) -> Any:
    """Return the validated value; None if it is not valid, after adding its faults to `faults`."""
    try:
        return validate(value, **options)
    except ValidationError as error:
        faults += [{**fault, "loc": (place, *fault["loc"])} for fault in error.errors(include_url=False)]
        return None


def _fault(kind: str, message: str, value: Any, *loc: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "loc": ("body", *loc), "msg": message, "input": value, **more}


def _read_query(request: Request, model: type[Parameters]) -> dict[str, Any]:
    """Return the parameters in the query: all values of a list, otherwise the last value."""
    query = request.query_params
    return {
        name: query.getlist(name) if info.annotation == list[str] else query[name]
        for name, info in model.model_fields.items()
        if name in query
    }


async def _read_body(request: Request) -> Any:
    """Return the JSON in the body; its text if it is not declared as JSON, and `NO_BODY` if there is none."""
    raw = await request.body()
    if not raw:
        return NO_BODY
    if not _is_json(request.headers.get("content-type", "")):
        return raw.decode("utf-8", "replace")
    try:
        return await _in_thread(raw, parse)
    except json.JSONDecodeError as error:
        fault = _fault("json_invalid", "JSON decode error", {}, error.pos, ctx={"error": error.msg})
        raise InvalidRequest([fault]) from None
    except RepeatedKey as error:
        raise InvalidRequest([_fault("value_error", str(error), {})]) from None
    except ValueError:  # not text, a number with too many digits, or nested too deep
        raise HTTPException(400, "There was an error parsing the body") from None


def _is_json(kind: str) -> bool:
    """Return whether a content type is JSON, which a page of another site cannot send without a CORS preflight."""
    media_type = kind.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


async def _in_thread(raw: bytes, work: Callable[[bytes], Any]) -> Any:
    return work(raw) if len(raw) <= INLINE_BYTES else await run_in_threadpool(work, raw)


@dataclass(frozen=True)
class JsonOnly:
    """ASGI middleware for an application that parses bodies itself: refuse POST bodies that are not valid JSON."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            raw = await request.body()
            await _in_thread(raw, parse)
        except ClientDisconnect:
            return
        except ValueError as error:
            await _refuse_message(error)(scope, receive, send)
            return
        await self.app(scope, _replay(raw, receive), send)


def _refuse_message(error: Exception) -> Response:
    """Return JSON-RPC's response to a body that cannot be parsed."""
    return SafeJSONResponse(
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": f"Parse error: {error}"}}, 400
    )


def _replay(raw: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body again and then any later messages."""
    pending: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again
