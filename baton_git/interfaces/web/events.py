"""`/n/…/events`: a line for each change, as it happens, for a page that is open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.errors import BatonError, InvalidName
from baton_git.core.names import Namespace
from baton_git.interfaces.http.changes import Change, Current, changes
from baton_git.interfaces.http.json_response import SafeJSONResponse
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import Places, Stream
from baton_git.interfaces.web.session_cookie import Door

BREATH = 20.0
"""Seconds of silence after which a line is sent that says nothing, so that a proxy does not hang up."""


def endpoint(site: Site, door: Door, places: Places) -> Callable[[Request], Awaitable[Response]]:
    async def events(request: Request) -> Response:
        visitor = door.visitor(request.cookies.get(door.cookie))
        if visitor is None or not door.lets_in(visitor):
            return Response(status_code=204)  # tells an EventSource not to come back
        try:
            namespace = Namespace.from_component(request.path_params["component"])
        except InvalidName:
            return Response(status_code=204)
        if "now" in request.query_params:
            return SafeJSONResponse(await run_in_threadpool(_standing, site, namespace))
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        return Stream(_lines(site, namespace, since), places)

    return events


def _standing(site: Site, namespace: Namespace) -> dict[str, object]:
    """Where the namespace stands: for a page that has no stream of its own, and asks now and then."""
    with site.work(namespace.text) as ws:
        version = ws.branch.read()
        return {"commit": version.commit, "revision": version.number}


async def _lines(site: Site, namespace: Namespace, since: str | None) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    async with aclosing(changes(site, namespace.text, since)) as found:
        waiting = asyncio.ensure_future(anext(found))
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=BREATH)
                if not done:
                    yield ": still here\n\n"
                    continue
                yield _line(waiting.result())
                waiting = asyncio.ensure_future(anext(found))
        except (BatonError, StopAsyncIteration):
            return
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)  # before `found` closes, which must not run then


def _line(one: Current | Change) -> str:
    """Only a commit of the namespace counts, or that some were missed; what they say, the page asks for itself."""
    if isinstance(one, Current) and not one.missed:
        return ": where it stands\n\n"
    return f"event: change\nid: {one.commit or ''}\ndata: {json.dumps({'revision': one.revision})}\n\n"
