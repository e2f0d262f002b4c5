"""`/`: the namespaces of the repository, with their health at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response

from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace
from baton_git.interfaces.web.health import Health, health_of
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.paging import Paging
from baton_git.interfaces.web.texts import address

SHOWN = 40


class Glance(NamedTuple):
    """One namespace: its health, or why it cannot be read."""

    namespace: Namespace
    health: Health | None
    why: str = ""


def show(asked: Asked) -> Response:
    wanted = asked.query.get("q", "").strip().casefold()
    every = [one for one in asked.site.namespaces() if wanted in str(one).casefold()]
    paging = Paging.of(asked, SHOWN, len(every))
    glances = sorted(_glances(asked, every[paging.first : paging.first + SHOWN]), key=_urgency)
    return asked.page("namespaces.html", glances=glances, paging=paging, total=len(every), q=asked.query.get("q", ""))


def _urgency(glance: Glance) -> int:
    return ("bad", "warn", "fine").index(glance.health.level if glance.health is not None else "bad")


def _glances(asked: Asked, names: Sequence[Namespace]) -> list[Glance]:
    return [_glance(asked, one) for one in names]


def _glance(asked: Asked, name: Namespace) -> Glance:
    """One that is damaged takes no other with it."""
    try:
        with asked.site.work(name.text) as ws:
            return Glance(name, health_of(ws, asked.site.now()))
    except BatonError as error:
        return Glance(name, None, str(error))


def to_board(asked: Asked) -> Response:
    return RedirectResponse(address(asked.namespace.component, "board"), 303)


PAGES = {"/": Page(show), "/n/{component}": Page(to_board), "/n/{component}/": Page(to_board)}
