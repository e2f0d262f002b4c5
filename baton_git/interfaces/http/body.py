"""Parse JSON bodies of requests the same way on all paths: large ones in a thread, duplicate keys refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton_git.core.codecs.json import RepeatedKey, parse
from baton_git.interfaces.http.json_response import SafeJSONResponse

Model = TypeVar("Model", bound=BaseModel)

INLINE_BYTES = 32 << 10
"""A larger body is parsed in a thread, so that other requests are answered meanwhile."""


async def parse_body(model: type[Model], request: Request) -> Model:
    """Parse and validate the body of a request; reject an invalid one with FastAPI's own responses.

    Raises:
        RequestValidationError: the body is missing, not JSON, not declared as JSON, or does not fit `model`.
        HTTPException: 400, the body is not text, is nested too deep, or has a number with too many digits.
    """
    raw = await request.body()
    if not raw:
        _refuse("missing", "Field required", None)
    data = (
        await _parse_json(raw) if _is_json(request.headers.get("content-type", "")) else raw.decode("utf-8", "replace")
    )
    try:
        return model.model_validate(data, from_attributes=True)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise RequestValidationError([{**fault, "loc": ("body", *fault["loc"])} for fault in faults]) from None


class Routes(APIRouter):
    """Routes whose JSON bodies are parsed as strictly as by `parse_body` before FastAPI validates them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=_JsonRoute, **options)


class _JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_parsed(request: Request) -> Response:
            parsed = _ParsedRequest(request.scope, request.receive)
            await parsed.parse()
            return await handle(parsed)

        return handle_parsed


class _ParsedRequest(Request):
    """A request whose JSON body is parsed before FastAPI reads it."""

    async def parse(self) -> None:
        """Parse the body. Raises RequestValidationError or HTTPException if it is declared as JSON and cannot be
        parsed."""
        raw = await self.body()
        if raw and _is_json(self.headers.get("content-type", "")):
            self._json = await _parse_json(raw)  # `Request.json` returns this attribute if it is set


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


def _is_json(kind: str) -> bool:
    """Return whether a content type is JSON, which a page of another site cannot send without a CORS preflight."""
    media_type = kind.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


async def _parse_json(raw: bytes) -> Any:
    try:
        return await _in_thread(raw, parse)
    except json.JSONDecodeError as error:
        _refuse("json_invalid", "JSON decode error", {}, error.pos, ctx={"error": error.msg})
    except RepeatedKey as error:
        _refuse("value_error", str(error), {})
    except ValueError:  # not text, a number with too many digits, or nested too deep
        raise HTTPException(400, "There was an error parsing the body") from None


async def _in_thread(raw: bytes, work: Callable[[bytes], Any]) -> Any:
    return work(raw) if len(raw) <= INLINE_BYTES else await run_in_threadpool(work, raw)


def _refuse(kind: str, message: str, value: Any, *loc: int, **more: Any) -> NoReturn:
    raise RequestValidationError([{"type": kind, "loc": ("body", *loc), "msg": message, "input": value, **more}])
