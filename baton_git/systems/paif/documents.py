"""Convert PAIF's checkpoint document to a record, and back.

A request body is flat (`{"conversation_summary": …, "open_files": […]}`), and PAIF's server moves its fields into
sections. A stored file has these sections (`{"metadata": {…}, "context": {…}, …}`), and may be wrapped in a
`session_checkpoint`. All three forms can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.core.errors import Fault, InvalidDocument, InvalidName
from baton_git.core.names import SessionId
from baton_git.core.records.base import Part, parse
from baton_git.core.times import iso_ms, parse_time
from baton_git.systems.paif.record import Checkpoint, Context, IdentityUpdates, Metadata, RecentMemories, WorkingMemory

Table = Mapping[str, Any]

WRAPPER = "session_checkpoint"
SECTIONS: Mapping[str, type[Part]] = {
    "metadata": Metadata,
    "context": Context,
    "recent_memories": RecentMemories,
    "identity_updates": IdentityUpdates,
    "working_memory": WorkingMemory,
}
_SECTION_OF = {field: name for name, model in SECTIONS.items() for field in model.model_fields}
_OURS = ("id", "foreign")
"""The fields that baton adds to the record; they are not part of the document."""


def nest_sections(body: Table, *, where: str = "") -> dict[str, Any]:
    """Return a document, given in any of the three forms, with its fields in their sections. Unknown fields stay where
    they are.

    Raises:
        InvalidDocument: a section is not a table.
    """
    if set(body) == {WRAPPER}:
        body = _check_table(WRAPPER, body[WRAPPER], where)
    sections = {name: dict(_check_table(name, body[name], where)) for name in SECTIONS if name in body}
    for name, value in body.items():
        if name in _SECTION_OF and value is not None:
            sections.setdefault(_SECTION_OF[name], {})[name] = value
    others = {name: value for name, value in body.items() if name not in SECTIONS and name not in _SECTION_OF}
    return sections | others


def _check_table(name: str, value: Any, where: str) -> Table:
    if not isinstance(value, Mapping):
        raise InvalidDocument([Fault(name, "must be a table")], where=where)
    return value


def overlay_document(document: Table, changes: Table) -> dict[str, Any]:
    """Return a document with the values of `changes` in place of its own, field by field within the sections."""
    overlaid = {**document, **changes}
    return overlaid | {
        name: {**document[name], **changes[name]} for name in SECTIONS if name in document and name in changes
    }


def has_content(document: Table) -> bool:
    """Return whether a document has any content besides its metadata."""
    return any(_has_value(value) for name, value in document.items() if name != "metadata")


def _has_value(value: Any) -> bool:
    return any(map(_has_value, value.values())) if isinstance(value, Mapping) else bool(value)


def carry_over(checkpoint: Checkpoint, now: datetime) -> dict[str, Any]:
    """Return the fields that the session's next checkpoint takes over.

    `identity_updates` is left out, because each update is applied to the identity only once. Of the metadata, only the
    start is taken over, unless it is later than `now`.
    """
    metadata = checkpoint.metadata
    began = {"started_at": metadata.started_at} if parse_time(metadata.started_at) <= now else {}
    kept = {name: getattr(checkpoint, name).as_data() for name in ("context", "recent_memories", "working_memory")}
    return {"metadata": began, **kept}


class CheckpointOrigin(NamedTuple):
    """Who makes a new checkpoint, and when.

    Attributes:
        session: the acting session; if None, the session that the document names is used.
        fallback_session: the session that is used if the document names none either.
        focus: the agent's current focus, used if the document has none.
        where: the source of the document, for messages.
    """

    agent: str
    session: str | None
    fallback_session: str
    now: datetime
    focus: str | None = None
    where: str = ""


def complete_checkpoint(
    document: Table, origin: CheckpointOrigin, find_start: Callable[[str], str | None]
) -> Checkpoint:
    """Return the record of a new checkpoint, without its final id, with every documented field filled in.

    Args:
        find_start: returns when a session began, or None if that is unknown. A start in the document takes precedence.

    Raises:
        InvalidDocument: a field is not valid, `agent_id` names another agent, or the session begins after its end.
    """
    agent, where = origin.agent, origin.where
    given_metadata = dict(document.get("metadata", {}))
    named = given_metadata.get("agent_id")
    if named not in (None, agent):
        fault = Fault("metadata.agent_id", f"is {named!r}, but this is a checkpoint of {agent!r}")
        raise InvalidDocument([fault], where=where)
    ended = given_metadata.get("ended_at") or iso_ms(origin.now)
    id_ = origin.session or _parse_session(given_metadata, where) or origin.fallback_session
    metadata = given_metadata | {
        "agent_id": agent,
        "session_id": id_,
        "started_at": given_metadata.get("started_at") or ended,
        "ended_at": ended,
    }
    context = dict(document.get("context", {}))
    if context.get("current_focus") is None:
        context["current_focus"] = origin.focus
    draft = parse_checkpoint({**document, "metadata": metadata, "context": context}, agent, where=where)
    metadata["started_at"] = _choose_start(draft.metadata, bool(given_metadata.get("started_at")), find_start, where)
    draft = draft.replace(metadata=metadata)
    if "duration_seconds" not in given_metadata:
        draft = draft.replace(metadata={**metadata, "duration_seconds": _measure_duration(draft.metadata)})
    return parse(Checkpoint, draft.model_dump(mode="json", exclude=set() if draft.foreign else {"foreign"}))


def _parse_session(metadata: Table, where: str) -> Any:
    """Return the session that a document names, checked by the rules of `--session`. A value that is not a text is
    returned unchanged."""
    named = metadata.get("session_id")
    try:
        return SessionId(named).text if named and isinstance(named, str) else named
    except InvalidName as error:
        raise InvalidDocument([Fault("metadata.session_id", str(error))], where=where) from None


def _choose_start(metadata: Metadata, is_given: bool, find_start: Callable[[str], str | None], where: str) -> str:
    start, end = metadata.started_at, parse_time(metadata.ended_at)
    if is_given:
        if parse_time(start) > end:
            fault = Fault("metadata.started_at", f"{start} is after the end, {metadata.ended_at}")
            raise InvalidDocument([fault], where=where)
        return start
    known = find_start(metadata.session_id)
    return known if known is not None and parse_time(known) <= end else start


def _measure_duration(metadata: Metadata) -> int:
    seconds = (parse_time(metadata.ended_at) - parse_time(metadata.started_at)).total_seconds()
    return max(0, int(seconds))


def parse_checkpoint(document: Table, agent: str, *, file: str | None = None, where: str = "") -> Checkpoint:
    """Parse a whole document into a record, without its final id.

    Args:
        file: the name of the file that is imported; None if the document is not from a file.

    Raises:
        InvalidDocument: a field is not valid, or the document belongs to another agent.
    """
    wrapped = set(document) == {WRAPPER}
    if wrapped:
        document = _check_table(WRAPPER, document[WRAPPER], where)
    also = {name: document[name] for name in _OURS if name in document}
    foreign: dict[str, Any] = {"file": file} if file is not None else {}
    foreign |= {"wrapped": True} if wrapped else {}
    foreign |= {"also": also} if also else {}
    own = {name: value for name, value in document.items() if name not in _OURS}
    return parse(Checkpoint, {"id": f"{agent}/-", **own, **({"foreign": foreign} if foreign else {})}, where=where)


def to_paif_document(record: Checkpoint) -> dict[str, Any]:
    """Return PAIF's document of a record, equal to the document that the record was made from."""
    foreign = record.foreign
    document = {name: value for name, value in record.as_data().items() if name not in _OURS}
    if foreign is not None:
        document |= foreign.also
    return {WRAPPER: document} if foreign is not None and foreign.wrapped else document


def to_whole_document(record: Checkpoint) -> dict[str, Any]:
    """Return PAIF's document of a record with every documented field; unset fields have their defaults."""
    also = record.foreign.also if record.foreign is not None else {}
    return record.model_dump(mode="json", exclude=set(_OURS)) | also
