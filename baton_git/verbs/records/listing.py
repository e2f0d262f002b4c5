"""The verbs that read records of any kind: list them, and show one; those that cannot be read are listed as such."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Record
from baton_git.core.state import Entry, Key, State, Unreadable, complete_id
from baton_git.core.verb import READS, Input, Option, verb
from baton_git.namespace.provenance.judgement import as_data
from baton_git.namespace.results import AtNamespace, PageResult, PastRevision, ResultPart, UnreadableFile, full_position
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import RecordAging, Workspace

TIME = "2026-06-17T12:30:00Z"


class RecordFilter(Input):
    """Which records to list."""

    kind: str | None = Field(None, description="Only this kind.", examples=["open_loop"])
    status: str | None = Field(None, description="Only with this status.", examples=["open"])
    archived: bool = Field(False, description="Those in the archive instead of the live ones.")
    limit: int = Field(100, ge=1, le=1000, description="At most so many.")
    after: str | None = Field(None, description="What an answer before this one gave as `next`.")


class OneRecord(Input):
    """Which record to show."""

    kind: str = Field(description=f"One of {', '.join(KINDS)}.", examples=["open_loop"])
    id: str = Field(description="Its id, or a unique beginning of it.", examples=["OL-7k3f9q"])
    at: PastRevision = None


class ClosedRecord(ResultPart):
    """When, why and by whom a record was archived."""

    at: str = Field(description="When.", examples=[TIME])
    reason: str = Field(description="Why.", examples=["verified"])
    session: str | None = Field(None, description="The session that archived it.")


class RecordProvenance(ResultPart):
    """Who vouches for what a record says, computed from the commits that made it."""

    kind: Literal["confirmed", "agent", "received", "hand"] = Field(
        description="`confirmed` by a person, written by an `agent` on this machine, `received` from a remote, or "
        "edited by `hand`.",
        examples=["agent"],
    )
    text: str = Field(description="The same in words.", examples=["written by an agent on this machine"])
    remote: str | None = Field(None, description="The remote that it came from.", examples=["origin"])
    claims: str | None = Field(None, description="What its commit claims, and nobody here vouches for.")


class AnchorNow(ResultPart):
    """A file or symbol that a record is about, compared with how it was when the record was written."""

    path: str = Field(description="The file, where it is now.", examples=["src/export.py"])
    symbol: str | None = Field(None, description="A name in it.", examples=["write_row"])
    state: Literal["same", "changed", "gone", "unknown"] = Field(description="How it is now.")
    since: str | None = Field(None, description="The first commit with another content; absent where none has it.")
    by_default: bool = Field(False, description="Whether nobody named it: a file that the session had changed.")


class StoredRecord(ResultPart):
    """A record as it is stored; in place of one that cannot be read, why."""

    kind: str = Field(description="Its kind.", examples=["open_loop"])
    id: str = Field(description="Its id.", examples=["OL-7k3f9q"])
    archived: bool = Field(description="Whether it is in the archive.")
    record: dict[str, Any] | None = Field(
        description="Its fields (`/v1/schema/{kind}`); null where it cannot be read.",
        examples=[{"id": "OL-7k3f9q", "action": "Deployed X", "expected_outcome": "health is 200", "status": "open"}],
    )
    provenance: RecordProvenance | None = Field(None, description="Who vouches for it; of kinds that have one.")
    anchors: list[AnchorNow] | None = Field(None, description="How the code that it is about is now.")
    closed: ClosedRecord | None = Field(None, description="For a record in the archive.")
    unreadable: UnreadableFile | None = Field(None, description="Why it cannot be read; the file is kept as it is.")


class ShownRecord(AtNamespace, StoredRecord):
    """A record, and the revision that has it."""


class ListedRecords(PageResult):
    """Records, by kind and id."""

    records: list[StoredRecord] = Field(description="By kind and id.")


@verb(
    "list",
    "GET /v1/records",
    effect=READS,
    tag="state",
    positional=("kind",),
    examples=("baton list open_loop --status failed", "baton list --archived"),
)
def list_records(ws: Workspace, now: datetime, asked: RecordFilter) -> ListedRecords:
    """List the records of a namespace, by kind and id; those that cannot be read as well.

    Raises:
        NotFound: there is no such kind, or no record to go on from.
    """
    version = ws.branch.read()
    matching = islice(_find_matching(version.state, asked), asked.limit + 1)
    aging = RecordAging(ws, version)
    records = [
        {**data, **describe_provenance(ws, version, key), **describe_anchors(aging, version.state.entry(key))}
        for key, data in matching
    ]
    more = "{kind}/{id}".format_map(records[asked.limit - 1]) if len(records) > asked.limit else None
    return ListedRecords(**full_position(version), records=records[: asked.limit], next=more)


@verb(
    "record",
    "GET /v1/records/{kind}/{id}",
    effect=READS,
    tag="state",
    positional=("kind", "id"),
    options={"at": Option(metavar="REV|TIME")},
    examples=("baton record open_loop OL-7k3f9q", "baton record pattern PAT-9d2k1m --at ~3"),
)
def show_record(ws: Workspace, now: datetime, asked: OneRecord) -> ShownRecord:
    """Show one record, live or in the archive; for one that cannot be read, the reason.

    Raises:
        NotFound: there is no such kind, record or revision.
        Ambiguous: several ids begin so.
    """
    version = ws.branch.read(asked.at)
    key, entry = _find_entry(version.state, check_kind(asked.kind), asked.id)
    beside = {**describe_provenance(ws, version, key), **describe_anchors(RecordAging(ws, version), entry)}
    data = {**_describe_entry(key, entry), **beside}
    return ShownRecord(**full_position(version), **data)


def check_kind(kind: str) -> str:
    """Return a kind of record.

    Raises:
        NotFound: there is no such kind.
    """
    if kind not in KINDS:
        raise NotFound("kind of record", kind, hint=f"there are {', '.join(KINDS)}")
    return kind


def describe_provenance(ws: Workspace, version: Revision, key: Key) -> dict[str, Any]:
    """Return who vouches for one record, as a value beside it; nothing for kinds that have no provenance."""
    return {"provenance": as_data(ws.judgement(version).label(key))} if key.kind in LABELLED else {}


def describe_anchors(aging: RecordAging, entry: Entry | None) -> dict[str, Any]:
    """Return how the code that a record is about is now, as a value beside it; nothing for one without anchors."""
    states = aging.judge(entry) if isinstance(entry, Record) else []
    return {"anchors": [state.as_data() for state in states]} if states else {}


def _find_matching(state: State, asked: RecordFilter) -> Iterator[tuple[Key, dict[str, Any]]]:
    for key in _list_keys(state, asked):
        entry = state.entry(key)
        if entry is None:
            continue
        data = _describe_entry(key, entry)
        if asked.status is None or (data["record"] or {}).get("status") == asked.status:
            yield key, data


def _list_keys(state: State, asked: RecordFilter) -> Iterator[Key]:
    """In order of kind and id, those after `kind/id`."""
    kinds = list(KINDS) if asked.kind is None else [check_kind(asked.kind)]
    last, _, last_id = asked.after.partition("/") if asked.after is not None else ("", "", "")
    if asked.after is not None:
        if last not in kinds:
            raise NotFound("item to go on from", asked.after, hint="begin again, without after")
        kinds = kinds[kinds.index(last) :]
    for kind in kinds:
        ids = sorted(state.ids(kind, archived=asked.archived))
        yield from (Key(kind, id_, asked.archived) for id_ in ids if kind != last or id_ > last_id)


def _find_entry(state: State, kind: str, text: str) -> tuple[Key, Entry]:
    """Find the record that `text` names, live or in the archive."""
    for key in (Key(kind, text), Key(kind, text, archived=True)):
        entry = state.entry(key)
        if entry is not None:
            return key, entry
    near = Key(kind, complete_id(state.ids(kind), text, kind.replace("_", " ")) or text)
    entry = state.entry(near)
    if entry is None:
        raise NotFound(kind.replace("_", " "), text, hint=f"baton list {kind} shows what there is")
    return near, entry


def _describe_entry(key: Key, entry: Entry) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": key.kind, "id": key.id, "archived": key.archived}
    if isinstance(entry, Unreadable):
        return {**data, "record": None, "unreadable": {"path": entry.path, "why": entry.why}}
    if isinstance(entry, Archived):
        closed = {"at": entry.at, "reason": entry.reason, "session": entry.session}
        return {**data, "record": dict(entry.record), "closed": closed}
    return {**data, "record": entry.as_data()}
