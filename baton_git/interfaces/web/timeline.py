"""`/n/…/timeline`, `/commit`, `/compare`: what was changed, by whom, record by record, between any two points."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.core.diff import RecordChange
from baton_git.core.errors import Ambiguous, InvalidArgument, NotFound
from baton_git.core.state import SHAPE
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.paging import Paging
from baton_git.interfaces.web.revisions import meant, upto
from baton_git.interfaces.web.texts import sentence
from baton_git.verbs.history import Filter, Shown, compare, full_id, log, show

SHOWN = 25
MOST_CHANGES = 300
"""Changed records that one page shows in full."""


def timeline(asked: Asked) -> Response:
    record, session, agent = (asked.query.get(name, "").strip() or None for name in ("record", "session", "agent"))
    with asked.work() as ws:
        wanted = Filter(full_id(ws, record) if record else None, session, agent)
        first = Paging.of(asked, SHOWN).first
        found, gap = upto(log(ws, wanted, SHOWN + 1, skip=first), SHOWN + 1)
        paging = Paging.of(asked, SHOWN, more=len(found) > SHOWN)
        return asked.page(
            "timeline.html", ws, commits=[told(one) for one in found[:SHOWN]], paging=paging,
            gap=gap, record=record or "", session=session or "", agent=agent or "",
        )  # fmt: skip


def told(shown: Shown) -> Shown:
    """Without what is only bookkeeping."""
    return shown._replace(changes=tuple(one for one in shown.changes if one.kind != SHAPE.kind))


def commit(asked: Asked) -> Response:
    with asked.work() as ws:
        shown = told(show(ws, meant(ws, asked.names["revision"])))
        return asked.page("commit.html", ws, shown=shown, changes=shown.changes[:MOST_CHANGES])


def differences(asked: Asked) -> Response:
    """What leads from one point to the other."""
    a, b = (asked.query.get(name, "").strip() for name in ("a", "b"))
    with asked.work() as ws:
        if not a and not b:
            return asked.page("compare.html", ws, found=None, changes=(), a="", b="", problem="")
        try:
            found = compare(ws, meant(ws, a or "~0"), meant(ws, b or "~0"))
        except (InvalidArgument, NotFound, Ambiguous) as error:
            return asked.page("compare.html", ws, status=status_of(error), found=None, changes=(), a=a, b=b,
                              problem=sentence(error))  # fmt: skip
        changes: list[RecordChange] = [one for one in found.changes if one.kind != SHAPE.kind]
        return asked.page(
            "compare.html", ws, found=found, changes=changes[:MOST_CHANGES], total=len(changes), a=a, b=b, problem=""
        )


PAGES = {
    "/n/{component}/timeline": Page(timeline),
    "/n/{component}/commit/{revision}": Page(commit),
    "/n/{component}/compare": Page(differences),
}
