"""`/n/…/handed`, `/records`, `/record`: what sessions handed over; all records of a kind, live or closed; one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from baton_git.core.diff import title_of
from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS, KindInfo, value_at
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import Entry, Key, State, Unreadable
from baton_git.interfaces.web.board import holds
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.paging import Paging
from baton_git.interfaces.web.revisions import upto
from baton_git.interfaces.web.timeline import told
from baton_git.verbs.history import Filter, log

SHOWN = 50
GLANCED = 12
"""Records of a kind on the page of what was handed over."""
HISTORY = 10


class Listed(NamedTuple):
    """One record in a list: where it stands, in a few words what it is, and the record, or why it cannot be read."""

    key: Key
    title: str
    entry: Entry


class Group(NamedTuple):
    kind: str
    records: Sequence[Any]
    total: int


def handed(asked: Asked) -> Response:
    with asked.work() as ws:
        state = ws.branch.read().state
        groups = [_group(state, info) for info in KINDS.values() if info.left_behind]
        return asked.page("handed.html", ws, groups=[one for one in groups if one.total])


def _group(state: State, info: KindInfo) -> Group:
    ids = state.ids(info.kind)
    records = [entry for id_ in ids if isinstance(entry := state.entry(Key(info.kind, id_)), Part)]
    newest = sorted(records, key=lambda record: str(value_at(record, info.dated) or ""), reverse=True)
    return Group(info.kind, newest[:GLANCED], len(ids))


def records(asked: Asked) -> Response:
    kind, wanted = _kind(asked), asked.query.get("q", "").strip()
    archived = bool(asked.query.get("archived"))
    with asked.work() as ws:
        state = ws.branch.read().state
        keys = sorted(Key(kind, id_, archived) for id_ in state.ids(kind, archived=archived))
        if wanted:
            keys = [key for key in keys if _mentions(key, state.entry(key), wanted)]
        paging = Paging.of(asked, SHOWN, len(keys))
        found = [_listed(state, key) for key in keys[paging.first : paging.first + SHOWN]]
        return asked.page(
            "records.html", ws, kind=kind, archived=archived, found=found, total=len(keys), paging=paging, q=wanted
        )


def _mentions(key: Key, entry: Entry | None, wanted: str) -> bool:
    return wanted.casefold() in key.id.casefold() or (isinstance(entry, Part) and holds(entry, wanted))


def _listed(state: State, key: Key) -> Listed:
    entry = state.entry(key)
    if entry is None or isinstance(entry, Unreadable):
        return Listed(key, "", entry or Unreadable(str(key), "is gone"))
    return Listed(key, title_of(key.kind, _data(entry)), entry)


def _data(entry: Part) -> dict[str, Any]:
    return dict(entry.record) if isinstance(entry, Archived) else entry.as_data()


def record(asked: Asked) -> Response:
    """One record, live or closed, with all of its fields and its newest changes."""
    kind, id_ = _kind(asked), asked.query.get("id", "")
    key = Key(kind, id_, archived=bool(asked.query.get("archived")))
    with asked.work() as ws:
        entry = ws.branch.read().state.entry(key)
        if entry is None:
            raise NotFound(str(key).removesuffix(id_).strip(), id_, hint="the timeline may still know it")
        data = _data(entry) if isinstance(entry, Part) else {}
        live_id = str(data.get("id", id_))
        commits = [told(one) for one in upto(log(ws, Filter(record=id_), HISTORY), HISTORY)[0]]
        return asked.page(
            "record.html", ws, key=key, entry=entry, data=data, title=title_of(kind, data), live_id=live_id,
            commits=commits, damaged=isinstance(entry, Unreadable), closed=isinstance(entry, Archived),
            can_graduate=isinstance(entry, Pattern) and entry.status == "rule_candidate",
        )  # fmt: skip


def _kind(asked: Asked) -> str:
    kind = asked.query.get("kind", "")
    if kind not in KINDS:
        raise NotFound("kind of record", kind)
    return kind


PAGES = {"/n/{component}/handed": Page(handed), "/n/{component}/records": Page(records),
         "/n/{component}/record": Page(record)}  # fmt: skip
