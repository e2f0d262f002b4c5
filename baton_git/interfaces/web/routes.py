"""The addresses of the pages, and their handlers."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.errors import NotFound
from baton_git.interfaces.http.problems import of_error
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import StreamLimit
from baton_git.interfaces.web import events, login
from baton_git.interfaces.web.actions import (
    conflicts,
    editing,
    graduation,
    review,
    rollback,
    todos,
    trust,
    trust_remote,
    verb_forms,
)
from baton_git.interfaces.web.page_controller import PageController, PageRequest, PageRoute
from baton_git.interfaces.web.pages import (
    board,
    doctor,
    inbox,
    lineage,
    quarantine,
    recall,
    records,
    sessions,
    timeline,
)
from baton_git.interfaces.web.session_cookie import PageAccess
from baton_git.interfaces.web.templating import static_files
from baton_git.interfaces.web.texts import REPOSITORY_PAGES

FOREVER = "public, max-age=31536000, immutable"
"""Browsers may cache a file forever, because its address contains its version."""

PAGES = {
    **inbox.PAGES, **board.PAGES, **timeline.PAGES, **lineage.PAGES, **sessions.PAGES, **quarantine.PAGES,
    **records.PAGES, **recall.PAGES,
    **review.PAGES, **conflicts.PAGES, **graduation.PAGES, **rollback.PAGES,
    **trust.PAGES, **trust_remote.PAGES, **todos.PAGES, **doctor.PAGES, **editing.PAGES, **verb_forms.PAGES,
}  # fmt: skip


def is_page(path: str) -> bool:
    """Return whether a path belongs to the pages, which check the browser's cookie themselves."""
    return path in (*REPOSITORY_PAGES, "/login", "/logout", "/n", "/events") or path.startswith(("/n/", "/static/"))


def router(site: Site, stream_limit: StreamLimit | None = None, page_token: str | None = None) -> APIRouter:
    """Return the routes of all pages, their files, and the events that keep open pages up to date.

    Args:
        stream_limit: the limit on streams; None creates a new one.
        page_token: the token that the login accepts; None: the site's token.
    """
    access = PageAccess(site, page_token)
    controller = PageController(site, access)
    routes = APIRouter()
    stream_limit = stream_limit or StreamLimit()
    routes.add_route("/static/{name}", _serve_static_file, include_in_schema=False)
    routes.add_route("/events", events.endpoint(site, access, stream_limit), include_in_schema=False)
    routes.add_route("/n/{component}/events", events.endpoint(site, access, stream_limit), include_in_schema=False)
    for path, page in {
        **PAGES,
        **login.PAGES,
        "/n": PageRoute(_refuse_unknown_page),
        "/n/{rest:path}": PageRoute(_refuse_unknown_page),
    }.items():
        methods = ["GET", "HEAD", *(["POST"] if page.post is not None or page.get is _refuse_unknown_page else [])]
        routes.add_route(path, controller.endpoint(page), methods=methods, include_in_schema=False)
    return routes


def _refuse_unknown_page(request: PageRequest) -> Response:
    raise NotFound("page", request.path, hint="all pages can be reached from the start page")


async def _serve_static_file(request: Request) -> Response:
    file = static_files().get(request.path_params["name"])
    if file is None:
        hint = "/ is the start page, which names its files"
        return of_error(request.url.path, NotFound("file", request.url.path, hint=hint))
    return Response(file.body, 200, {"Cache-Control": FOREVER}, file.media_type)
