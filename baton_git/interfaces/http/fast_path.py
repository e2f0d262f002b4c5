"""Answer the most frequent requests without FastAPI's layers, which take longer than the requests themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from baton_git.core.errors import BatonError
from baton_git.interfaces.http import problems
from baton_git.interfaces.http.json_response import SafeJSONResponse

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class FastPath:
    """ASGI middleware that answers POST requests to some paths itself.

    Attributes:
        posts: by exact path, the handler of a POST. The application has these routes too, for other methods, trailing
            slashes and the OpenAPI document.
    """

    app: ASGIApp
    posts: Mapping[str, Handler]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self.posts.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if handler is None:
            await self.app(scope, receive, send)
            return
        answer = await _answer(handler, Request(scope, receive))
        if answer is not None:
            await answer(scope, receive, send)


async def _answer(handler: Handler, request: Request) -> Response | None:
    """Return the handler's response, or an error response; None if the client has disconnected."""
    path = request.scope["path"]
    try:
        return await handler(request)
    except BatonError as error:
        return problems.of_error(path, error)
    except RequestValidationError as error:
        return problems.of_request(path, error)
    except HTTPException as error:
        return SafeJSONResponse({"detail": error.detail}, error.status_code, error.headers)
    except ClientDisconnect:
        return None
    except Exception as error:  # noqa: BLE001  this path bypasses the framework's handler for bugs
        return problems.of_bug(request.method, path, error)
