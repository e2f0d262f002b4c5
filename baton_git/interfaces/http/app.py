"""Build the ASGI application: all routes, behind the guard that checks hosts and tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp

from baton_git import __version__
from baton_git.interfaces.http import api, paif, problems, session_baton
from baton_git.interfaces.http.api import document
from baton_git.interfaces.http.fast_path import FastPath
from baton_git.interfaces.http.guard import LOOPBACK, Guard
from baton_git.interfaces.http.session_baton import SessionBaton
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import StreamLimit
from baton_git.interfaces.http.timing import TimeLimits
from baton_git.interfaces.http.writer_processes import WriterProcesses
from baton_git.interfaces.web import routes as web
from baton_git.interfaces.web.session_cookie import PageAccess

DESCRIPTION = """\
The memory between sessions of AI coding agents, kept in git. `/v1/baton` is session-baton's API; `/checkpoint`,
`/restore` and `/sessions` are PAIF's; `/agents` manages tokens for PAIF's agents; the rest of `/v1` is baton-git's
own. Where `namespace` is optional, it defaults to the namespace of the server."""


def application(site: Site, *, hosts: frozenset[str] | None = LOOPBACK, writers: int = 0) -> ASGIApp:
    """Return the ASGI application that uvicorn runs.

    Args:
        hosts: the host names that the Host header of a request may contain; None means any.
        writers: the number of processes that write documents when writes overlap.
    """
    processes = WriterProcesses(site, writers)
    app = FastAPI(
        title="baton-git", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None,
        lifespan=_close_at_shutdown(site, processes),
    )  # fmt: skip
    app.state.site = site
    problems.install(app)
    baton_api = SessionBaton(site, processes)
    app.include_router(session_baton.router(baton_api))
    app.include_router(paif.router(site))
    stream_limit = StreamLimit()
    for routes in api.routers(site, stream_limit):
        app.include_router(routes)
    access = PageAccess(site)
    app.include_router(web.router(site, access, stream_limit))
    document.install(app, is_guarded=site.token is not None or site.page_token is not None)
    gate = web.LoginGate(access)
    return Guard(TimeLimits(FastPath(app, baton_api.posts)), site.token, hosts, site.agents, gate)


def _close_at_shutdown(
    site: Site, processes: WriterProcesses
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await processes.close()
        site.close()

    return lifespan
