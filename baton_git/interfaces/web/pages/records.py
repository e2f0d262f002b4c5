"""`/n/…/handed`, `/records`, `/record`: what sessions handed over, all records of a kind, and one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from baton_git.core.diff import title_of
from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS, LABELLED, KindInfo
from baton_git.core.proposals import NO_PROPOSALS, Proposals
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part, Record, value_at
from baton_git.core.records.work_items import ActiveDecision, OpenLoop, Pattern
from baton_git.core.state import Entry, Key, State, Unreadable
from baton_git.interfaces.web.actions.editing import EDITED
from baton_git.interfaces.web.actions.table import ACTIONS, PageAction, list_actions
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.interfaces.web.pages.board import contains_text
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.pages.revisions import take_readable
from baton_git.interfaces.web.pages.timeline import drop_bookkeeping
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.verbs.revisions.history import Filter, read_log
from baton_git.verbs.verification.consent import list_waiting_checks

SHOWN = 50
GLANCED = 12
"""Maximum number of records of a kind on the page `/handed`."""
HISTORY = 10


class RecordRow(NamedTuple):
    """One record in a list: its key, its title, and the record, or the error that reading it raised."""

    key: Key
    title: str
    entry: Entry

    @property
    def problem(self) -> str:
        """Why the record cannot be read; empty if it can."""
        return self.entry.why if isinstance(self.entry, Unreadable) else ""


class Group(NamedTuple):
    """The newest records of one kind, and the number of all."""

    kind: str
    records: Sequence[Any]
    total: int


def show_handed_over(request: PageRequest) -> Response:
    """Show the newest records that sessions left for later ones, by kind."""
    with request.work() as ws:
        state = ws.branch.read().state
        groups = [_build_group(state, info) for info in KINDS.values() if info.left_behind]
        return request.render("handovers.html", ws, groups=[group for group in groups if group.total])


def _build_group(state: State, info: KindInfo) -> Group:
    ids = state.ids(info.kind)
    records = [entry for id_ in ids if isinstance(entry := state.entry(Key(info.kind, id_)), Part)]
    newest = sorted(records, key=lambda record: str(value_at(record, info.dated) or ""), reverse=True)
    return Group(info.kind, newest[:GLANCED], len(ids))


def show_records(request: PageRequest) -> Response:
    kind, wanted = _read_kind(request), request.query.get("q", "").strip()
    archived = bool(request.query.get("archived"))
    with request.work() as ws:
        state = ws.branch.read().state
        proposals = RecordAging(ws).proposals if kind == ActiveDecision.kind and not archived else NO_PROPOSALS
        told = proposals.targets  # the rows of the decisions in force tell them
        keys = sorted(Key(kind, id_, archived) for id_ in state.ids(kind, archived=archived) if id_ not in told)
        if wanted:
            keys = [key for key in keys if _mentions_pair(state, proposals, key, wanted)]
        paging = Paging.of(request, SHOWN, len(keys))
        rows = [_build_row(state, key) for key in keys[paging.first : paging.first + SHOWN]]
        return request.render(
            "records.html",
            ws,
            kind=kind,
            archived=archived,
            rows=rows,
            total=len(keys),
            paging=paging,
            q=wanted,
            proposals=proposals,
        )


def _mentions_pair(state: State, proposals: Proposals, key: Key, wanted: str) -> bool:
    """Return whether the text is in a record, or in a decision that is proposed to replace it."""
    both = (key, *(key._replace(id=id_) for id_ in proposals.by_target.get(key.id, ())))
    return any(_mentions(one, state.entry(one), wanted) for one in both)


def _mentions(key: Key, entry: Entry | None, wanted: str) -> bool:
    return wanted.casefold() in key.id.casefold() or (isinstance(entry, Part) and contains_text(entry, wanted))


def _build_row(state: State, key: Key) -> RecordRow:
    entry = state.entry(key)
    if entry is None or isinstance(entry, Unreadable):
        return RecordRow(key, "", entry or Unreadable(key.display_name, "is gone"))
    return RecordRow(key, title_of(key.kind, _read_fields(entry)), entry)


def _read_fields(entry: Part) -> dict[str, Any]:
    return dict(entry.record) if isinstance(entry, Archived) else entry.as_data()


def show_record(request: PageRequest) -> Response:
    """Show one record, live or archived, with all of its fields and its newest changes."""
    kind, id_ = _read_kind(request), request.query.get("id", "")
    key = Key(kind, id_, archived=bool(request.query.get("archived")))
    with request.work() as ws:
        state = ws.branch.read().state
        if state.entry(key) is None:
            key = key._replace(archived=True)  # the record may have been closed after the link was made
        entry = state.entry(key)
        if entry is None:
            raise NotFound(KINDS[kind].title, id_, hint="the timeline may still show its changes")
        data = _read_fields(entry) if isinstance(entry, Part) else {}
        live_id = str(data.get("id", id_))
        commits = [
            drop_bookkeeping(change) for change in take_readable(read_log(ws, Filter(record=id_), HISTORY), HISTORY)[0]
        ]
        return request.render(
            "record.html", ws, key=key, entry=entry, data=data, title=title_of(kind, data), live_id=live_id,
            commits=commits, damaged=isinstance(entry, Unreadable), closed=isinstance(entry, Archived),
            record=entry if isinstance(entry, Record) else None, actions=_list_actions(key, entry),
            edited=EDITED, vouched=isinstance(entry, Record) and kind in LABELLED,
            waits=isinstance(entry, OpenLoop) and entry.verify is not None and entry.id in list_waiting_checks(ws),
            proposal=_describe_proposal(ws, entry),
            can_graduate=isinstance(entry, Pattern) and entry.status == "rule_candidate",
        )  # fmt: skip


def _describe_proposal(ws: Workspace, entry: Entry) -> str:
    """Return the proposal that a decision is part of; empty if there is none."""
    if not isinstance(entry, ActiveDecision):
        return ""
    proposals = RecordAging(ws).proposals
    target = proposals.targets.get(entry.id, entry.id)
    if target not in proposals.by_target:
        return ""
    held = "; in force" if target != entry.id else ""
    return f"{proposals.describe(target)}{held}: {proposals.find_counterpart(entry.id)}"


def _list_actions(key: Key, entry: Entry) -> list[tuple[str, PageAction]]:
    """Return the actions of a record; an archived one can at most be reopened."""
    if isinstance(entry, Record):
        return list(list_actions(entry))
    return [("reopen", ACTIONS["reopen"])] if isinstance(entry, Archived) and key.kind in EDITED else []


def _read_kind(request: PageRequest) -> str:
    kind = request.query.get("kind", "")
    if kind not in KINDS:
        raise NotFound("kind of record", kind)
    return kind


PAGES = {"/n/{component}/handed": PageRoute(show_handed_over), "/n/{component}/records": PageRoute(show_records),
         "/n/{component}/record": PageRoute(show_record)}  # fmt: skip
