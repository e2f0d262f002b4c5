"""Records of every kind: listed, and looked at one by one; those that cannot be read are told as that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.records.archive import Archived
from baton_git.core.state import Entry, Key, State, Unreadable, complete_id
from baton_git.interfaces.http.api.acting import After, At, Limit, Named
from baton_git.interfaces.http.api.answering import answer
from baton_git.interfaces.http.api.refusals import refusals
from baton_git.interfaces.http.api.shapes import TIME, Page, Place
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results.documents import provenance
from baton_git.namespace.results import UnreadableFile, full_position

Kind = Annotated[str, Path(description=f"One of {', '.join(KINDS)}.", examples=["open_loop"])]
RecordId = Annotated[str, Path(description="Its id, or a unique beginning of it.", examples=["OL-7k3f9q"])]


class Closed(BaseModel):
    """When, why and by whom a record was archived."""

    at: str = Field(examples=[TIME])
    reason: str = Field(examples=["verified"])
    session: str | None = None


class Provenance(BaseModel):
    """Who vouches for what a record says, computed from the commits that made it."""

    kind: Literal["confirmed", "agent", "received", "hand"] = Field(
        description="`confirmed` by a person, written by an `agent` on this machine, `received` from a remote, or "
        "edited by `hand`.",
        examples=["agent"],
    )
    text: str = Field(description="The same in words.", examples=["written by an agent on this machine"])
    remote: str | None = Field(None, description="The remote that it came from.", examples=["origin"])
    claims: str | None = Field(None, description="What its commit claims, and nobody here vouches for.")


class Stored(BaseModel):
    """A record as it is stored; in place of one that cannot be read, why."""

    kind: str = Field(examples=["open_loop"])
    id: str = Field(examples=["OL-7k3f9q"])
    archived: bool
    record: dict[str, Any] | None = Field(
        description="Its fields (`/v1/schema/{kind}`); null where it cannot be read.",
        examples=[{"id": "OL-7k3f9q", "action": "Deployed X", "expected_outcome": "health is 200", "status": "open"}],
    )
    provenance: Provenance | None = Field(None, description="Who vouches for it; of kinds that have one.")
    closed: Closed | None = Field(None, description="For a record in the archive.")
    unreadable: UnreadableFile | None = Field(None, description="Why it cannot be read; the file is kept as it is.")


class OneRecord(Stored, Place):
    """A record, and the version that has it."""


class Records(Page, Place):
    records: list[Stored]


def router(site: Site) -> APIRouter:
    """Reading records."""
    routes = Routes(tags=["state"], responses=refusals())

    @routes.get("/v1/records", response_model=Records)
    def records(
        namespace: Named = None,
        kind: Annotated[str | None, Query(description="Only this kind.", examples=["open_loop"])] = None,
        status: Annotated[str | None, Query(description="Only with this status.", examples=["open"])] = None,
        archived: Annotated[bool, Query(description="Those in the archive instead of the live ones.")] = False,
        limit: Limit = 100,
        after: After = None,
    ) -> Response:
        """The records of a namespace, by kind and id; those that cannot be read as well."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            keys = _keys(version.state, kind, archived=archived, after=after)
            rows = islice(_matching(version.state, keys, status), limit + 1)
            found = [{**data, **provenance(ws, version, key)} for key, data in rows]
        more = f"{found[limit - 1]['kind']}/{found[limit - 1]['id']}" if len(found) > limit else None
        return answer({**full_position(version), "records": found[:limit], "next": more}, commit=version.commit)

    @routes.get("/v1/records/{kind}/{record_id:path}", response_model=OneRecord)
    def record(kind: Kind, record_id: RecordId, namespace: Named = None, at: At = None) -> Response:
        """One record, live or in the archive; one that cannot be read is told as that, with the reason."""
        with site.work(namespace) as ws:
            version = ws.branch.read(at)
            key, entry = _entry(version.state, _check_kind(kind), record_id)
            data = {**_data(key, entry), **provenance(ws, version, key)}
        return answer({**full_position(version), **data}, commit=version.commit)

    return routes


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise NotFound("kind of record", kind, hint=f"there are {', '.join(KINDS)}")
    return kind


def _keys(state: State, kind: str | None, *, archived: bool, after: str | None) -> Iterator[Key]:
    """In order of kind and id, those after `kind/id`."""
    kinds = list(KINDS) if kind is None else [_check_kind(kind)]
    last, _, last_id = after.partition("/") if after is not None else ("", "", "")
    if after is not None:
        if last not in kinds:
            raise NotFound("item to go on from", after, hint="begin again, without after")
        kinds = kinds[kinds.index(last) :]
    for one in kinds:
        ids = sorted(state.ids(one, archived=archived))
        yield from (Key(one, id_, archived) for id_ in ids if one != last or id_ > last_id)


def _matching(state: State, keys: Iterator[Key], status: str | None) -> Iterator[tuple[Key, dict[str, Any]]]:
    for key in keys:
        entry = state.entry(key)
        if entry is None:
            continue
        data = _data(key, entry)
        if status is None or (data["record"] or {}).get("status") == status:
            yield key, data


def _entry(state: State, kind: str, text: str) -> tuple[Key, Entry]:
    """The record that `text` names.

    Raises:
        NotFound: none does.
        Ambiguous: several begin so.
    """
    for key in (Key(kind, text), Key(kind, text, archived=True)):
        entry = state.entry(key)
        if entry is not None:
            return key, entry
    near = complete_id(state.ids(kind), text, kind.replace("_", " ")) or text
    entry = state.entry(Key(kind, near))
    if entry is None:
        raise NotFound(kind.replace("_", " "), text)
    return Key(kind, near), entry


def _data(key: Key, entry: Entry) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": key.kind, "id": key.id, "archived": key.archived}
    if isinstance(entry, Unreadable):
        return {**data, "record": None, "unreadable": {"path": entry.path, "why": entry.why}}
    if isinstance(entry, Archived):
        closed = {"at": entry.at, "reason": entry.reason, "session": entry.session}
        return {**data, "record": dict(entry.record), "closed": closed}
    return {**data, "record": entry.as_data()}
