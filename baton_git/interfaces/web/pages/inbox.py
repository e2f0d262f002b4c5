"""The pages of what needs a person: the inbox of all namespaces, the findings of doctor, rejected rows of imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.records.base import Record
from baton_git.core.state import Key, State
from baton_git.interfaces.web.actions.table import PageAction, list_actions
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.pages.records import NEEDS, Sign, list_signs
from baton_git.interfaces.web.texts import address
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.doctor import CHECKS, ORDER, DoctorFinding, doctor
from baton_git.verbs.records.ready import ReadyItem, list_ready
from baton_git.verbs.upkeep.namespace_status import StatusResult, status
from baton_git.verbs.upkeep.quarantine import list_quarantine

# --- `/`: what needs a person in all namespaces, most urgent first, and the namespaces with their health


NAMESPACES_SHOWN = 40
"""Maximum number of namespaces on a page."""
MOST_ITEMS = 100
MOST_UNVERIFIED = 20
LEVELS = ("bad", "warn", "fine")
UNREADABLE = "namespace"
"""The kind of the item that stands for a namespace that cannot be read."""


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
        return NEEDS[self.item.need].link_label

    @property
    def words(self) -> str:
        return "cannot be read" if self.item.kind == UNREADABLE else NEEDS[self.item.need].word

    @property
    def level(self) -> str:
        return NEEDS[self.item.need].level


class Glance(NamedTuple):
    """The summary of one namespace: its status, or why it cannot be read, and what needs a person."""

    namespace: Namespace
    status: StatusResult | None
    rows: Sequence[InboxRow] = ()
    why: str = ""

    @property
    def signs(self) -> list[Sign]:
        return list_signs(self.status) if self.status is not None else []

    @property
    def level(self) -> str:
        """The level of what is most urgent; `fine` if nothing needs attention."""
        levels = ("bad",) if self.status is None else [sign.level for sign in self.signs]
        return min(levels, key=LEVELS.index, default="fine")

    @property
    def problems(self) -> Sequence[str]:
        return self.status.problems if self.status is not None else ()

    @property
    def needs_doctor(self) -> bool:
        """Whether the namespace cannot be read, or one of its files or settings is faulty."""
        return self.status is None or bool(self.status.needs.get("unreadable") or self.problems)


def show_inbox(request: PageRequest) -> Response:
    tips = request.site.digest_tips()  # read first, so that a later change counts as an update
    wanted = request.query.get("q", "").strip().casefold()
    matching = [namespace for namespace in request.site.namespaces() if wanted in str(namespace).casefold()]
    paging = Paging.of(request, NAMESPACES_SHOWN, len(matching))
    glances = [_read_glance(request, name) for name in matching[paging.first : paging.first + NAMESPACES_SHOWN]]
    rows = sorted((row for glance in glances for row in glance.rows), key=lambda row: list(NEEDS).index(row.item.need))
    counts = sum((Counter(glance.status.needs) for glance in glances if glance.status is not None), Counter[str]())
    urgent, unverified = (
        [row for row in rows if (row.item.need == "unverified") is is_late] for is_late in (False, True)
    )
    return request.render(
        "inbox.html", urgent=urgent[:MOST_ITEMS], unverified=unverified[:MOST_UNVERIFIED],
        totals=(sum(counts.values()) - counts["unverified"], counts["unverified"]),
        glances=sorted(glances, key=lambda glance: LEVELS.index(glance.level)), paging=paging,
        total=len(matching), q=request.query.get("q", ""), tips=tips,
        needs_doctor=any(glance.needs_doctor for glance in glances),
        problems=list(dict.fromkeys(problem for glance in glances for problem in glance.problems)),
    )  # fmt: skip


def _read_glance(request: PageRequest, name: Namespace) -> Glance:
    """Read the status of one namespace; a damaged one gives its error instead of failing the page."""
    now = request.site.now()
    try:
        with request.site.work(name.text) as ws:
            state = ws.branch.read().state
            items = list_ready(ws, now, limit=1000).items
            rows = [InboxRow(name, item, _find_link(name, item), _list_quick_actions(state, item)) for item in items]
            return Glance(name, status(ws, now), rows)
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


# --- `/doctor`: the findings about the repository, each namespace, and the server's machine


MOST_NAMESPACES = 40
SKIPPED = frozenset({"agents", "cost", "mcp", "remotes", "privacy"})
"""Checks of the agents' CLIs and of the network, which only the command `baton doctor` runs."""
OF_NAMESPACES = [check.name for check in CHECKS if check.needs == "namespace"]
OF_REPOSITORY = [check.name for check in CHECKS if check.needs != "namespace" and check.name not in SKIPPED]


class FindingGroup(NamedTuple):
    """The findings about the repository (no namespace), or about one namespace; the most urgent first."""

    namespace: str
    findings: Sequence[DoctorFinding]


def show_doctor(request: PageRequest) -> Response:
    site, names = request.site, [str(name) for name in request.site.namespaces()]
    with site.work() as ws:
        machine = replace(ws, find_machine=site.app.find_machine)  # unlike a client of the API, who may be elsewhere
        groups = [FindingGroup("", _run_checks(request, machine, OF_REPOSITORY))]
    for name in names[:MOST_NAMESPACES]:
        with site.work(name) as ws:
            groups.append(FindingGroup(name, _run_checks(request, ws, OF_NAMESPACES)))
    shows_all = bool(request.query.get("all"))
    shown = [
        group._replace(findings=[f for f in group.findings if shows_all or f.severity != "ok"]) for group in groups
    ]
    return request.render(
        "doctor.html", groups=[group for group in shown if group.findings], shows_all=shows_all,
        fine=sum(finding.severity == "ok" for group in groups for finding in group.findings),
        left_out=max(0, len(names) - MOST_NAMESPACES),
    )  # fmt: skip


def _run_checks(request: PageRequest, ws: Workspace, checks: list[str]) -> list[DoctorFinding]:
    findings = doctor(ws, request.site.now(), checks=checks).findings
    return sorted(findings, key=lambda finding: ORDER.index(finding.severity))


# --- `/n/…/quarantine`: the rows that imports could not convert, each with the reason


ROWS_SHOWN = 50


def show_quarantine(request: PageRequest) -> Response:
    with request.work() as ws:
        rows = list_quarantine(ws, request.site.now()).rows
        paging = Paging.of(request, ROWS_SHOWN, len(rows))
        return request.render(
            "quarantine.html", ws, rows=rows[paging.first : paging.first + ROWS_SHOWN], total=len(rows), paging=paging
        )
