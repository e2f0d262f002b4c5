"""Stored records as data: their fields, with title, status and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field
from pydantic.fields import FieldInfo

from baton_git.core.errors import InvalidArgument, shorten
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import KINDS, LABELLED, find_kind, name_kind, name_typed_plural, suggest_kind
from baton_git.core.layout import path_of
from baton_git.core.output import one_line
from baton_git.core.records.base import Archived, Part, Record, value_at
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, OpenLoop, Rule
from baton_git.core.state import Entry, Key, Unreadable
from baton_git.core.styles import Role
from baton_git.core.times import iso, parse_time_or_none
from baton_git.namespace.provenance.judgement import as_data
from baton_git.namespace.provenance.labels import Kind
from baton_git.namespace.results import ResultPart, UnreadableFile
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.verbs.verification.consent import WaitingChecks

TIME = "2026-06-17T12:30:00Z"
STATUSES = ("status", "priority")
"""Names of status fields; a kind has at most one of them."""
WITH_STATUS = (*(kind for kind, info in KINDS.items() if info.in_document), Session.kind)
"""Kinds that have a status field."""
DATES = ("created_at", "first_seen", "last_seen", "last_deferred", "last_check.at", "started", "ended")
TITLE = 200
PROPOSED = "proposed"
"""The status shown of a decision that is proposed to replace another one. It is derived, not stored."""


STATUS_ROLES = {
    **dict.fromkeys(("failed", "escalated", "unreadable"), Role.BAD),
    **dict.fromkeys(("elevated", "rule_candidate"), Role.WARNING),
    **dict.fromkeys(("verified", "graduated"), Role.GOOD),
}
"""The style of each status; others are plain."""


class ClosedRecord(ResultPart):
    """When, why and by whom a record was archived."""

    at: str = Field(description="When it was archived.", examples=[TIME])
    reason: str = Field(description="Why it was archived.", examples=["verified"])
    session: str | None = Field(None, description="The session that archived it.")


class RecordProvenance(ResultPart):
    """Who vouches for a record, computed from the commits that wrote it."""

    kind: Kind = Field(
        description="`confirmed` by a person, written by an `agent` on this machine, `unauthenticated` if a server "
        "without a token wrote it, `received` from a remote, or edited by `hand`.",
        examples=["agent"],
    )
    text: str = Field(description="The provenance in words.", examples=["written by an agent on this machine"])
    remote: str | None = Field(None, description="The remote that it came from.", examples=["origin"])
    claims: str | None = Field(None, description="A claim in its commit that nobody here vouches for.")


class AnchorNow(ResultPart):
    """A file or symbol that a record is about, compared with its state when the record was written."""

    path: str = Field(description="Current path of the file.", examples=["src/export.py"])
    symbol: str | None = Field(None, description="A symbol in the file.", examples=["write_row"])
    state: Literal["same", "changed", "gone", "elsewhere", "unknown"] = Field(
        description="Its current state, compared with when the record was written or with the commits that carried it "
        "out. `elsewhere`: it is so on another branch."
    )
    branch: str | None = Field(None, description="The branch that has it, if the checked-out one does not.")
    since: str | None = Field(
        None, description="The first commit that changed it since then; absent if there is none or it is unknown."
    )
    by_default: bool = Field(False, description="Whether it was chosen because the session had changed it.")
    text: str = Field(
        "", description="The state in a few words; absent if nothing changed.", examples=["gone since d26b5b4"]
    )


class StoredRecord(ResultPart):
    """A stored record, or the reason why it is unreadable."""

    kind: str = Field(description="The kind of the record.", examples=["open_loop"])
    id: str = Field(description="The id of the record.", examples=["OL-7k3f9q"])
    archived: bool = Field(description="Whether it is in the archive.")
    title: str = Field("", description="The record's title, one line.", examples=["Deployed X"])
    status: str | None = Field(None, description="The status or priority, for kinds that have one.", examples=["open"])
    updated: str | None = Field(
        None, description="The newest date in the record; of an archived record, when it was archived.", examples=[TIME]
    )
    proposal: str | None = Field(
        None,
        description="For a decision that is proposed to replace another one, or that another one is proposed to "
        "replace: both, in words. The one to be replaced stays in force.",
        examples=["DEC-051, proposed to replace DEC-042"],
    )
    waits: str | None = Field(
        None, description="For an open loop whose check waits for a person's approval, why it waits."
    )
    counterpart: str | None = Field(
        None,
        description="With `proposal`, the text on its other side, one line: of a proposed decision what is in force, "
        "of the decision in force what is proposed.",
        examples=["Pin the base image by digest"],
    )
    record: dict[str, Any] | None = Field(
        description="The record's fields (`/v1/schema/{kind}`); null if it is unreadable.",
        examples=[{"id": "OL-7k3f9q", "action": "Deployed X", "expected_outcome": "health is 200", "status": "open"}],
    )
    provenance: RecordProvenance | None = Field(None, description="Who vouches for it, for kinds with provenance.")
    anchors: list[AnchorNow] | None = Field(
        None, description="The code that it is about, compared with its current state."
    )
    aging: str = Field(
        "", description="What changed in the code that it is about, as the brief says it; absent if nothing did.",
        examples=["changed since d26b5b4: src/export.py:write_row"],
    )  # fmt: skip
    closed: ClosedRecord | None = Field(
        None, description="When, why and by whom it was archived; absent for a live record."
    )
    unreadable: UnreadableFile | None = Field(None, description="Why it is unreadable; the file is left as it is.")

    @property
    def status_in_words(self) -> str:
        """The status in words; `unreadable` if the record cannot be read."""
        return "unreadable" if self.unreadable is not None else (self.status or "").replace("_", " ")

    @property
    def status_role(self) -> Role:
        """The style of the status."""
        return STATUS_ROLES.get(self.status_in_words.replace(" ", "_"), Role.PLAIN)

    def describe_proposal(self, before: str = "") -> str:
        """Return the proposal that a decision is part of and the text on its other side; empty if there is none."""
        if self.proposal is None:
            return ""
        held = ", which is in force" if self.status == PROPOSED else ""
        return f"{before}{self.proposal}{held}: {self.counterpart}"


def check_kind(name: str) -> str:
    """Return the kind with this name, singular or plural, in any of its spellings.

    Raises:
        InvalidArgument: no kind has this name.
    """
    kind = find_kind(name)
    if kind is None:
        near = suggest_kind(name)
        meant = f"did you mean {name_typed_plural(near)}? " if near else ""
        kinds = ", ".join(map(name_typed_plural, KINDS))
        raise InvalidArgument(f"there is no kind of record {shorten(name)}", hint=f"{meant}the kinds are {kinds}")
    return kind


class RecordContext:
    """What the records of one revision are shown with: their provenance, the code that they are about, proposals, and
    the approvals for their checks."""

    def __init__(self, ws: Workspace, revision: Revision) -> None:
        self.aging = RecordAging(ws, revision)
        self._ws = ws
        self._revision = revision
        self._waiting = WaitingChecks(ws, revision)

    def describe(self, key: Key, entry: Entry) -> dict[str, Any]:
        """Return the fields of `StoredRecord` that are not in the record itself."""
        found = {**describe_provenance(self._ws, self._revision, key), **_describe_anchors(self.aging, entry)}
        waits = self._waiting.find_reason(entry) if isinstance(entry, OpenLoop) and not key.archived else ""
        return {**found, **({"waits": waits} if waits else {}), **_describe_proposal(self.aging, key)}


def describe_stored(context: RecordContext, key: Key, entry: Entry) -> dict[str, Any]:
    """Return the fields of `StoredRecord` for one entry of a revision; of one that cannot be shown, why."""
    shown = isolate(lambda: {**_describe_entry(key, entry), **context.describe(key, entry)})
    if not isinstance(shown, Failure):
        return shown
    unreadable = {"path": path_of(key), "why": shown.describe()}
    return {"kind": key.kind, "id": key.id, "archived": key.archived, "record": None, "unreadable": unreadable}


def _describe_proposal(aging: RecordAging, key: Key) -> dict[str, Any]:
    """Return the `proposal` and `counterpart` of a decision, and the status `proposed` if it is not in force yet."""
    if key.kind != ActiveDecision.kind or key.archived:
        return {}
    proposals = aging.proposals
    target = proposals.targets.get(key.id, key.id)
    if target not in proposals.by_target:
        return {}
    told = {"proposal": proposals.describe(target), "counterpart": one_line(proposals.find_counterpart(key.id), TITLE)}
    return {**told, **({"status": PROPOSED} if target != key.id else {})}


def describe_provenance(ws: Workspace, revision: Revision, key: Key) -> dict[str, Any]:
    """Return the `provenance` field of one record; empty for kinds without provenance."""
    return {"provenance": as_data(ws.shown_judgement(revision).label(key))} if key.kind in LABELLED else {}


def _describe_anchors(aging: RecordAging, entry: Entry) -> dict[str, Any]:
    """Return the fields `anchors` and `aging` of one record; empty for a record without anchors."""
    states = aging.judge(entry) if isinstance(entry, Record) else []
    if not states:
        return {}
    from baton_git.namespace.aging import describe_aging  # few records have anchors

    text = describe_aging(states)
    return {"anchors": [state.as_data() for state in states], **({"aging": text} if text else {})}


def _describe_entry(key: Key, entry: Entry) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": key.kind, "id": key.id, "archived": key.archived}
    if isinstance(entry, Unreadable):
        return {**data, "record": None, "unreadable": {"path": entry.path, "why": entry.why}}
    fields = read_fields(entry)
    data |= {"title": describe_title(key.kind, fields), "status": read_status(key.kind, fields)}
    data["updated"] = read_time(key.kind, entry)
    if isinstance(entry, Archived):
        closed = {"at": entry.at, "reason": entry.reason, "session": entry.session}
        return {**data, "record": fields, "closed": closed}
    return {**data, "record": fields}


def read_fields(entry: Entry | None) -> dict[str, Any]:
    """Return the fields of a record, live or archived; empty for an unreadable one."""
    if isinstance(entry, Archived):
        return dict(entry.record)
    return entry.as_data() if isinstance(entry, Part) else {}


def describe_title(kind: str, fields: Mapping[str, Any]) -> str:
    """Return the title of a record, one line."""
    match kind:
        case Conflict.kind:
            kind_name = name_kind(str(fields.get("record_kind", "")))
            record = f"{kind_name} {fields.get('record_id', '')}".strip()
            field = str(fields.get("field", ""))
            return one_line(f"{record}, {field}" if field else record, TITLE)
        case Rule.kind:
            lines = (line.strip("# ") for line in str(fields.get("text", "")).splitlines())
            return one_line(next(filter(None, lines), ""), TITLE)
        case Session.kind:
            return one_line(str(fields.get("summary") or fields.get("agent") or ""), TITLE)
    return one_line(str(value_at(fields, KINDS[kind].about) or ""), TITLE)


def read_status(kind: str, fields: Mapping[str, Any]) -> str | None:
    """Return the status or priority of a record, stored or default; None if its kind has none."""
    if kind not in WITH_STATUS or not fields:
        return None
    name, field = status_field(kind)
    return str(fields.get(name, field.default))


def status_field(kind: str) -> tuple[str, FieldInfo]:
    """Return the name and definition of a kind's status field."""
    known = KINDS[kind].model.model_fields
    return next((name, known[name]) for name in STATUSES if name in known)


def read_time(kind: str, entry: Entry | None) -> str | None:
    """Return the newest date in a record; for an archived one, when it was closed; None if it has no date."""
    if isinstance(entry, Archived):
        return entry.at
    names = (*DATES, KINDS[kind].dated)
    times = [time for name in names if name and (time := parse_time_or_none(str(value_at(entry, name) or "")))]
    return iso(max(times)) if times else None
