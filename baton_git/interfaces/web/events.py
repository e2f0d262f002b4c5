"""`/events` and `/n/…/events`: server-sent events that notify open pages of changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.errors import BatonError, InvalidName
from baton_git.core.names import Namespace
from baton_git.interfaces.http.events import Change, Current, Stream, StreamLimit, changes
from baton_git.interfaces.http.responses import SafeJSONResponse
from baton_git.interfaces.http.site import Site

HEARTBEAT = 20.0
"""Seconds without an event after which a comment line is sent, so that a proxy does not close the connection."""


def endpoint(site: Site, stream_limit: StreamLimit) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of the streams of one namespace and of all namespaces.

    It answers 204 for an invalid namespace. With the parameter `now`, it returns the tip as JSON, for pages that poll.
    """

    async def events(request: Request) -> Response:
        if "component" not in request.path_params:
            return await _answer_for_all(site, request, stream_limit)
        try:
            namespace = Namespace.from_component(request.path_params["component"])
        except InvalidName:
            return Response(status_code=204)  # tells an EventSource not to reconnect
        if "now" in request.query_params:
            return SafeJSONResponse(await run_in_threadpool(_read_tip, site, namespace))
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        return Stream(_stream_lines(site, namespace, since), stream_limit)

    return events


async def _answer_for_all(site: Site, request: Request, stream_limit: StreamLimit) -> Response:
    """Answer a page about all namespaces, such as the inbox."""
    if "now" in request.query_params:
        return SafeJSONResponse({"commit": await run_in_threadpool(site.digest_tips), "revision": 0})
    since = request.headers.get("last-event-id") or request.query_params.get("since")
    return Stream(_stream_lines(site, None, since), stream_limit)


def _read_tip(site: Site, namespace: Namespace) -> dict[str, object]:
    """Return the tip of the namespace, for a page that polls instead of streaming."""
    with site.work(namespace.text) as ws:
        revision = ws.branch.read()
        return {"commit": revision.commit, "revision": revision.number}


async def _stream_lines(site: Site, namespace: Namespace | None, since: str | None) -> AsyncIterator[str]:
    """Yield the lines of the events of one namespace, or of all namespaces if `namespace` is None.

    The id of an event is a commit; in the stream of all namespaces, it is a digest of all tips.
    """
    yield "retry: 2000\n\n"
    watched = changes(site, namespace.text, since) if namespace is not None else changes(site)
    async with aclosing(watched) as stream:
        next_event = asyncio.ensure_future(anext(stream))
        try:
            while True:
                done, _ = await asyncio.wait({next_event}, timeout=HEARTBEAT)
                if not done:
                    yield ": still here\n\n"
                    continue
                if namespace is not None:
                    yield _format_line(next_event.result())
                elif (state := await run_in_threadpool(site.digest_tips)) != since:
                    since = state
                    yield _format_change(state, 0)
                next_event = asyncio.ensure_future(anext(stream))
        except (BatonError, StopAsyncIteration):
            return
        finally:
            next_event.cancel()
            await asyncio.gather(next_event, return_exceptions=True)  # `stream` must not be running when it is closed


def _format_line(event: Current | Change) -> str:
    """Format one event: a comment for the current tip, or a change that makes the page reload its content."""
    if isinstance(event, Current) and not event.missed:
        return ": current\n\n"
    return _format_change(event.commit or "", event.revision)


def _format_change(id_: str, revision: int | None) -> str:
    return f"event: change\nid: {id_}\ndata: {json.dumps({'revision': revision})}\n\n"
