"""`/n/…/handed`, `/records`, `/record`: what sessions handed over, all records of a kind, and one record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from starlette.responses import Response

from baton_git.core.diff import title_of
from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.proposals import NO_PROPOSALS
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Record, parse
from baton_git.core.records.work_items import ActiveDecision, Pattern
from baton_git.core.state import Entry, Key
from baton_git.interfaces.web.actions.editing import EDITED
from baton_git.interfaces.web.actions.table import ACTIONS, PageAction, list_actions
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging
from baton_git.interfaces.web.pages.revisions import take_readable
from baton_git.interfaces.web.pages.timeline import drop_bookkeeping
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.records.stored import RecordContext, StoredRecord, describe_stored
from baton_git.verbs.revisions.history import Filter, read_log

RECORDS_SHOWN = 50
GLANCED = 12
"""Maximum number of records of a kind on the page `/handed`."""
HISTORY = 10


class RecordRow(NamedTuple):
    """One record in a list, as the verb `list` shows it; `record` is None if it is archived or cannot be read."""

    stored: StoredRecord
    record: Any

    @property
    def id(self) -> str:
        return self.stored.id


def list_rows(ws: Workspace, now: datetime, **filters: Any) -> tuple[list[RecordRow], str | None]:
    """Return the records that the verb `list` lists with these filters, and `after` of its next page."""
    listed = list_records(ws, now, **filters)
    return [RecordRow(stored, _read_live(stored)) for stored in listed.records], listed.next


def _read_live(stored: StoredRecord) -> Record | None:
    model = cast("type[Record]", KINDS[stored.kind].model)
    return parse(model, stored.record) if stored.record is not None and not stored.archived else None


class Group(NamedTuple):
    """The newest records of one kind, and the number of all."""

    kind: str
    rows: Sequence[RecordRow]
    total: int


def show_handed_over(request: PageRequest) -> Response:
    """Show the newest records that sessions left for later ones, by kind."""
    with request.work() as ws:
        state = ws.branch.read().state
        kinds = [kind for kind, info in KINDS.items() if info.left_behind and state.ids(kind)]
        listed = {kind: list_rows(ws, request.site.now(), kind=kind, sort="newest", limit=GLANCED)[0] for kind in kinds}
        groups = [
            Group(kind, [row for row in rows if row.record is not None], len(state.ids(kind)))
            for kind, rows in listed.items()
        ]
        return request.render("handovers.html", ws, groups=groups)


def show_records(request: PageRequest) -> Response:
    kind, wanted, after = _read_kind(request), request.query.get("q", "").strip(), request.query.get("after")
    archived = bool(request.query.get("archived"))
    with request.work() as ws:
        proposals = RecordAging(ws).proposals if kind == ActiveDecision.kind and not archived else NO_PROPOSALS
        rows, more = list_rows(
            ws,
            request.site.now(),
            kind=kind,
            archived=archived,
            about=wanted or None,
            limit=RECORDS_SHOWN,
            after=after or None,
        )
        listed = {row.id for row in rows}
        rows = [row for row in rows if proposals.targets.get(row.id) not in listed]  # the row of that one tells both
        number = len(ws.branch.read().state.ids(kind, archived=archived)) - len(proposals.targets)
        return request.render(
            "records.html", ws, kind=kind, archived=archived, rows=rows, q=wanted, proposals=proposals,
            total=number if not wanted else None if more or after else len(rows),
            paging=Paging.by_cursor(request, more),
        )  # fmt: skip


def show_record(request: PageRequest) -> Response:
    """Show one record, live or archived, with all of its fields and its newest changes."""
    kind, id_ = _read_kind(request), request.query.get("id", "")
    key = Key(kind, id_, archived=bool(request.query.get("archived")))
    with request.work() as ws:
        revision = ws.branch.read()
        state = revision.state
        if state.entry(key) is None:
            key = key._replace(archived=True)  # the record may have been closed after the link was made
        entry = state.entry(key)
        if entry is None:
            raise NotFound(KINDS[kind].title, id_, hint="the timeline may still show its changes")
        stored = StoredRecord.model_validate(describe_stored(RecordContext(ws, revision), key, entry))
        data = stored.record or {}
        live_id = str(data.get("id", id_))
        commits = [
            drop_bookkeeping(change) for change in take_readable(read_log(ws, Filter(record=id_), HISTORY), HISTORY)[0]
        ]
        return request.render(
            "record.html", ws, key=key, data=data, title=title_of(kind, data), live_id=live_id,
            commits=commits, stored=stored,
            record=entry if isinstance(entry, Record) else None, actions=_list_actions(key, entry),
            edited=EDITED, vouched=isinstance(entry, Record) and kind in LABELLED,
            can_graduate=isinstance(entry, Pattern) and entry.status == "rule_candidate",
        )  # fmt: skip


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
