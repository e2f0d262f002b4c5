"""`/n/…/quarantine`: the rows that imports could not convert, each with the reason."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.verbs.upkeep.quarantine import list_quarantine

ROWS_SHOWN = 50


def show_quarantine(request: PageRequest) -> Response:
    with request.work() as ws:
        rows = list_quarantine(ws, request.site.now()).rows
        paging = Paging.of(request, ROWS_SHOWN, len(rows))
        return request.render(
            "quarantine.html", ws, rows=rows[paging.first : paging.first + ROWS_SHOWN], total=len(rows), paging=paging
        )
