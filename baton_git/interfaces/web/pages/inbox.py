"""`/`: what needs a person in all namespaces, most urgent first, and the namespaces with their health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.records.base import Record
from baton_git.core.state import Key, State
from baton_git.interfaces.web.actions.table import PageAction, list_actions
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.interfaces.web.pages.health import Health, summarize_health
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.texts import address
from baton_git.verbs.records.ready import NEEDS, ReadyItem, find_ready

SHOWN = 40
"""Maximum number of namespaces on a page."""
MOST_ITEMS = 100
MOST_UNVERIFIED = 20
WORDS = {
    "failed": "failed", "overdue": "overdue", "unreadable": "unreadable", "follow_up": "follow-up",
    "conflict": "conflict", "review": "review", "import": "import", "rule": "rule", "proposal": "proposal",
    "unverified": "to verify", "reverted": "reverted",
}  # fmt: skip
UNREADABLE = "namespace"
"""The kind of the item that stands for a namespace that cannot be read."""
BAD = ("failed", "overdue", "unreadable", "reverted", "conflict")


class InboxRow(NamedTuple):
    """Something that needs a person: its namespace, the page where it is resolved, and the actions without a form."""

    namespace: Namespace
    item: ReadyItem
    link: str
    actions: Sequence[tuple[str, PageAction]]

    @property
    def link_label(self) -> str:
        """The label of the link to the page where it is resolved; empty if the row shows its `actions` instead."""
        if _takes_approval(self.item):
            return "Approve"
        if self.item.kind == UNREADABLE:
            return "Repair"
        return {"conflict": "Resolve", "review": "Review", "rule": "Decide", "reverted": "Show"}.get(self.item.need, "")

    @property
    def words(self) -> str:
        return "cannot be read" if self.item.kind == UNREADABLE else WORDS[self.item.need]

    @property
    def level(self) -> str:
        return "bad" if self.item.need in BAD else "note" if self.item.need == "unverified" else "warn"


class Glance(NamedTuple):
    """The summary of one namespace: its health, or why it cannot be read, and what needs a person."""

    namespace: Namespace
    health: Health | None
    rows: Sequence[InboxRow] = ()
    why: str = ""
    problems: Sequence[str] = ()


def show(request: PageRequest) -> Response:
    tips = request.site.digest_tips()  # read first, so that a later change counts as an update
    wanted = request.query.get("q", "").strip().casefold()
    matching = [namespace for namespace in request.site.namespaces() if wanted in str(namespace).casefold()]
    paging = Paging.of(request, SHOWN, len(matching))
    glances = [_read_glance(request, name) for name in matching[paging.first : paging.first + SHOWN]]
    rows = sorted((row for glance in glances for row in glance.rows), key=lambda row: NEEDS.index(row.item.need))
    urgent, unverified = (
        [row for row in rows if (row.item.need == "unverified") is is_late] for is_late in (False, True)
    )
    return request.render(
        "inbox.html", urgent=urgent[:MOST_ITEMS], unverified=unverified[:MOST_UNVERIFIED],
        totals=(len(urgent), len(unverified)), glances=sorted(glances, key=_rank_urgency), paging=paging,
        total=len(matching), q=request.query.get("q", ""), tips=tips, needs_doctor=any(map(_needs_doctor, glances)),
        problems=list(dict.fromkeys(problem for glance in glances for problem in glance.problems)),
    )  # fmt: skip


def _needs_doctor(glance: Glance) -> bool:
    """Return whether a namespace cannot be read, or one of its files or settings is faulty."""
    return glance.health is None or bool(glance.health.status.damaged) or bool(glance.problems)


def _rank_urgency(glance: Glance) -> int:
    return ("bad", "warn", "fine").index(glance.health.level if glance.health is not None else "bad")


def _read_glance(request: PageRequest, name: Namespace) -> Glance:
    """Read the health of one namespace; a damaged one gives its error instead of failing the page."""
    now = request.site.now()
    try:
        with request.site.work(name.text) as ws:
            revision = ws.branch.read()
            rows = [
                InboxRow(name, item, _find_link(name, item), _list_quick_actions(revision.state, item))
                for item in find_ready(ws, now, revision)
            ]
            return Glance(name, summarize_health(ws, now), rows, problems=ws.problems)
    except BatonError as error:
        return Glance(name, None, [_describe_unreadable(name, error)], str(error))


def _describe_unreadable(name: Namespace, error: BatonError) -> InboxRow:
    title = str(name)
    item = ReadyItem(need="unreadable", kind=UNREADABLE, id=title, title=title, why=str(error), command="baton doctor")
    return InboxRow(name, item, "/doctor", ())


def _list_quick_actions(state: State, item: ReadyItem) -> Sequence[tuple[str, PageAction]]:
    entry = state.entry(Key(item.kind, item.id)) if item.kind in KINDS else None
    return list(list_actions(entry, is_quick=True)) if isinstance(entry, Record) else ()


def _takes_approval(item: ReadyItem) -> bool:
    """Return whether a check runs only after a person approved it."""
    return item.command.startswith("baton trust ")


def _find_link(name: Namespace, item: ReadyItem) -> str:
    """Return the address of the page where an item is resolved."""
    if item.kind == "commit":
        return address(name.component, f"commit/{item.id}")
    if item.kind == "import":
        return address(name.component, "quarantine")
    if item.need in ("conflict", "review"):
        return address(name.component, {"conflict": "conflicts", "review": "review"}[item.need])
    if item.need == "unreadable":
        return address(name.component, "back", way="record", record=item.id)
    if _takes_approval(item):
        return address(name.component, "trust", id=item.id)
    if item.need == "rule":
        return address(name.component, "graduate", id=item.id)
    return address(name.component, "record", kind=item.kind, id=item.id)


def to_board(request: PageRequest) -> Response:
    return RedirectResponse(address(request.namespace.component, "board"), 303)


PAGES = {"/": PageRoute(show), "/n/{component}": PageRoute(to_board), "/n/{component}/": PageRoute(to_board)}
