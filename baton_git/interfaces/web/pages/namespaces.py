"""`/`: the namespaces of the repository, with their health at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response

from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.interfaces.web.pages.health import Health, summarize_health
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.texts import address

SHOWN = 40


class Glance(NamedTuple):
    """One namespace: its health, or why it cannot be read."""

    namespace: Namespace
    health: Health | None
    why: str = ""


def show(request: PageRequest) -> Response:
    wanted = request.query.get("q", "").strip().casefold()
    every = [namespace for namespace in request.site.namespaces() if wanted in str(namespace).casefold()]
    paging = Paging.of(request, SHOWN, len(every))
    glances = sorted(_read_glances(request, every[paging.first : paging.first + SHOWN]), key=_rank_urgency)
    return request.render(
        "namespaces.html", glances=glances, paging=paging, total=len(every), q=request.query.get("q", "")
    )


def _rank_urgency(glance: Glance) -> int:
    return ("bad", "warn", "fine").index(glance.health.level if glance.health is not None else "bad")


def _read_glances(request: PageRequest, names: Sequence[Namespace]) -> list[Glance]:
    return [_read_glance(request, name) for name in names]


def _read_glance(request: PageRequest, name: Namespace) -> Glance:
    """Read the health of one namespace; a damaged one gives its error instead of failing the page."""
    try:
        with request.site.work(name.text) as ws:
            return Glance(name, summarize_health(ws, request.site.now()))
    except BatonError as error:
        return Glance(name, None, str(error))


def to_board(request: PageRequest) -> Response:
    return RedirectResponse(address(request.namespace.component, "board"), 303)


PAGES = {"/": PageRoute(show), "/n/{component}": PageRoute(to_board), "/n/{component}/": PageRoute(to_board)}
