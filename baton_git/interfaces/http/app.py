"""Build the ASGI application: all routes, behind the guard that checks hosts and tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from baton_git.interfaces.http.events import StreamLimit, events_operation
from baton_git.interfaces.http.guard import LOOPBACK, Guard
from baton_git.interfaces.http.limits import TimeLimits
from baton_git.interfaces.http.openapi import document_endpoint
from baton_git.interfaces.http.paif import paif_operations
from baton_git.interfaces.http.responses import HANDLERS
from baton_git.interfaces.http.session_baton import SessionBaton
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.verb_operations import verb_operations
from baton_git.interfaces.http.writer_processes import WriterProcesses
from baton_git.interfaces.web import routes as web
from baton_git.interfaces.web.session_cookie import PageAccess


def application(site: Site, *, hosts: frozenset[str] | None = LOOPBACK, writers: int = 0) -> ASGIApp:
    """Return the ASGI application that uvicorn runs.

    Args:
        hosts: the host names that the Host header of a request may contain; None means any.
        writers: the number of processes that write documents when writes overlap.
    """
    processes, stream_limit, access = WriterProcesses(site, writers), StreamLimit(), PageAccess(site)
    operations = (
        *SessionBaton(site, processes).operations,  # first: routes are tried in order, and these are the most frequent
        *paif_operations(),
        *verb_operations(),
        events_operation(stream_limit),
    )
    document = document_endpoint(operations, is_guarded=site.token is not None or site.page_token is not None)
    app = Starlette(
        routes=[
            *(operation.route for operation in operations),
            Route("/openapi.json", document),
            *web.routes(site, access, stream_limit),
        ],
        exception_handlers=HANDLERS,
        lifespan=_close_at_shutdown(site, processes),
    )
    app.state.site = site
    return Guard(TimeLimits(app), site.token, hosts, site.agents, web.LoginGate(access))


def _close_at_shutdown(
    site: Site, processes: WriterProcesses
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await processes.close()
        site.close()

    return lifespan
