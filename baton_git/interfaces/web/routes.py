"""The addresses of the pages, and what answers there."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.errors import NotFound
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import Places
from baton_git.interfaces.web import (
    board,
    conflicts,
    events,
    graduation,
    lineage,
    login,
    namespaces,
    records,
    review,
    rollback,
    timeline,
)
from baton_git.interfaces.web.page_controller import Asked, Desk, Page
from baton_git.interfaces.web.session_cookie import Door
from baton_git.interfaces.web.templating import static_files

FOREVER = "public, max-age=31536000, immutable"
"""A file's address has its version in it."""

PAGES = {
    **namespaces.PAGES, **board.PAGES, **timeline.PAGES, **lineage.PAGES, **records.PAGES, **review.PAGES,
    **conflicts.PAGES, **graduation.PAGES, **rollback.PAGES,
}  # fmt: skip


def is_page(path: str) -> bool:
    """Whether the pages answer there, and look at the browser's cookie themselves."""
    return path in ("/", "/login", "/logout", "/n") or path.startswith(("/n/", "/static/"))


def router(site: Site, places: Places | None = None, page_token: str | None = None) -> APIRouter:
    """All pages, what they load, and the events that keep them up to date.

    Args:
        places: for their streams; None: places of their own.
        page_token: what the login takes; None: the site's token.
    """
    door = Door(site, page_token)
    desk = Desk(site, door)
    routes = APIRouter()
    routes.add_route("/static/{name}", _static, include_in_schema=False)
    routes.add_route("/n/{component}/events", events.endpoint(site, door, places or Places()), include_in_schema=False)
    for path, page in {**PAGES, **login.PAGES, "/n": Page(_nothing), "/n/{rest:path}": Page(_nothing)}.items():
        methods = ["GET", "HEAD", *(["POST"] if page.post is not None or page.get is _nothing else [])]
        routes.add_route(path, desk.endpoint(page), methods=methods, include_in_schema=False)
    return routes


def _nothing(asked: Asked) -> Response:
    raise NotFound("page", asked.path, hint="the start page lists what there is")


async def _static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None:
        return Response("there is no such file", 404, media_type="text/plain")
    return Response(found.body, 200, {"Cache-Control": FOREVER}, found.media_type)
