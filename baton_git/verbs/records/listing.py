"""The verb `list`: list the records of a namespace, filtered and sorted."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Literal, get_args

from pydantic import Field

from baton_git.core.errors import FieldHint, InvalidArgument, NotFound, shorten
from baton_git.core.isolation import isolate
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import WAITS
from baton_git.core.output import Styled
from baton_git.core.records.base import Record, parse, value_at
from baton_git.core.records.lineage import Session
from baton_git.core.session_line import describe_whose, describe_work
from baton_git.core.state import Key, State
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.times import TimeField, describe_age
from baton_git.core.verb import READS, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.provenance.judgement import word_of_kind
from baton_git.namespace.results import PageInput, PageResult, full_position, take_page
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.verbs.records.stored import (
    PROPOSED,
    WITH_STATUS,
    RecordContext,
    StoredRecord,
    check_kind,
    describe_stored,
    read_fields,
    read_status,
    read_time,
    status_field,
)
from baton_git.verbs.revisions.history import Filter, parse_optional_moment, read_log

Sort = Literal["id", "newest", "oldest", "urgent"]
URGENT_FIRST = (
    "failed", "escalated", "elevated", "rule_candidate", "open", "normal", "active", "observing", "monitoring",
)  # fmt: skip


class RecordFilter(Input):
    """The records to list, and their order."""

    kind: str | None = Field(
        None,
        description="Only records of this kind: loops, follow-ups, patterns, decisions, rules, …",
        examples=["open_loop"],
    )
    status: str | None = Field(None, description="Only records with this status or priority.", examples=["open"])
    by_agent: str | None = Field(
        None, description="Only records that this agent created or changed.", examples=["claude"]
    )
    by_session: str | None = Field(
        None, description="Only records that this session created or changed.", examples=["2026-06-17-003"]
    )
    since: TimeField = Field(
        None, description="Only records created or changed since this time.", examples=["yesterday"]
    )
    about: str | None = Field(
        None,
        description="Only records with this text in a field, or about this file, whatever its name was before.",
        examples=["src/export.py"],
    )
    sort: Sort = Field("id", description="Sort order; `id` sorts by kind, then id.")
    archived: bool = Field(False, description="List archived records instead of live ones.")
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of records.")
    after: str | None = Field(None, description="The `next` value of the previous page.")


class ListedRecords(PageResult):
    """A page of a namespace's records."""

    records: list[StoredRecord] = Field(description="The records, in the order of `sort`.")

    def show(self, reader: Reader) -> ResultView:
        notes = [] if self.records else ["no record matches"]
        if self.next is not None:
            notes.append(f"there are more records; to list them, add --after {self.next}, or a higher --limit")
        text = _make_tables(reader, _join_proposals(self.records)) if self.records else ""
        return ResultView(text, notes, paged=True)


@verb(
    "list",
    "GET /v1/records",
    usage=(
        "With --session or --agent, only records that the session or agent created or changed are listed."
    ),
    effect=READS,
    tag="state",
    positional=("kind",),
    options={
        "by_agent": Option(hidden=True), "by_session": Option(hidden=True), "since": Option(metavar="TIME"),
        "about": Option(metavar="TEXT|PATH"),
    },
    examples=(
        "baton list",
        "baton list loops --status failed",
        "baton list --about src/export.py --sort newest",
        "baton list follow-ups --archived --since 2026-06-17",
    ),
)  # fmt: skip
def list_records(ws: Workspace, now: datetime, verb_input: RecordFilter) -> ListedRecords:
    """List the records of a namespace, including unreadable ones.

    Raises:
        InvalidArgument: the kind or the status does not exist, `about` is empty, or a time cannot be parsed.
        NotFound: the record to continue from does not exist.
    """
    revision = ws.branch.read()
    keys, more = _select_page(ws, revision, verb_input)
    context = RecordContext(ws, revision)
    records = [describe_stored(context, key, entry) for key in keys if (entry := revision.state.entry(key)) is not None]
    return ListedRecords(**full_position(revision), records=records, next=more)


def _select_page(ws: Workspace, revision: Revision, verb_input: RecordFilter) -> tuple[Sequence[Key], str | None]:
    """Return the keys of one page of matching records, and `after` for the next page (None for the last page)."""
    state = revision.state
    kinds = list(KINDS) if verb_input.kind is None else [check_kind(verb_input.kind)]
    matches = _make_filter(ws, revision, kinds, verb_input)
    keys = [
        Key(kind, id_, verb_input.archived)
        for kind in kinds
        for id_ in sorted(state.ids(kind, archived=verb_input.archived))
    ]
    if verb_input.sort != "id":
        ordered = _sort_keys(state, filter(matches, keys), verb_input.sort)
        return take_page(ordered, PageInput(limit=verb_input.limit, after=verb_input.after), _name)
    page = list(islice(filter(matches, _drop_before(keys, kinds, verb_input.after)), verb_input.limit + 1))
    return page[: verb_input.limit], _name(page[verb_input.limit - 1]) if len(page) > verb_input.limit else None


def _name(key: Key) -> str:
    return f"{key.kind}/{key.id}"


def _drop_before(keys: Sequence[Key], kinds: Sequence[str], after: str | None) -> Sequence[Key]:
    """Return the keys after the key named `after`, whose record may have been removed since."""
    if after is None:
        return keys
    kind, _, id_ = after.partition("/")
    if kind not in kinds:
        raise NotFound("record to continue from", after, hint=FieldHint("begin again, without {after}"))
    last = (kinds.index(kind), id_)
    return [key for key in keys if (kinds.index(key.kind), key.id) > last]


def _sort_keys(state: State, keys: Iterable[Key], sort: Sort) -> list[Key]:
    """Sort the keys by the newest date in each record, or by urgency and then by that date."""

    def urgency(key: Key) -> int:
        status = read_status(key.kind, read_fields(state.entry(key)))
        return URGENT_FIRST.index(status) if status in URGENT_FIRST else len(URGENT_FIRST)

    def date(key: Key) -> str:
        time = isolate(lambda: read_time(key.kind, state.entry(key)))
        return time if isinstance(time, str) else ""

    dated = {key: date(key) for key in keys}
    by_date = sorted(dated, key=lambda key: dated[key], reverse=sort != "oldest")
    return sorted(by_date, key=urgency) if sort == "urgent" else by_date


def _make_filter(
    ws: Workspace, revision: Revision, kinds: Sequence[str], verb_input: RecordFilter
) -> Callable[[Key], bool]:
    if verb_input.status is not None:
        _check_status(kinds, verb_input.status)
    if verb_input.about is not None and not verb_input.about.strip():
        raise InvalidArgument(
            "the text that records are to be about is empty", hint="give a text or path, or no filter"
        )
    touched = _find_touched(ws, revision, verb_input)
    about = verb_input.about.casefold() if verb_input.about is not None else ""
    is_about = _make_text_filter(ws, revision, verb_input.about or "")

    def matches(key: Key) -> bool:
        if touched is not None and (key.kind, key.id) not in touched:
            return False
        if verb_input.status is None and not about:
            return True
        fields = read_fields(revision.state.entry(key))
        is_status = verb_input.status is None or read_status(key.kind, fields) == verb_input.status
        return is_status and (about in key.id.casefold() or is_about(key, fields))

    return matches


def _make_text_filter(ws: Workspace, revision: Revision, about: str) -> Callable[[Key, Any], bool]:
    """Return a function that tells whether a record has the text `about`, or is about the file of this path: `.` is the
    folder of all files. Files that git moved are followed, from anchors whose path HEAD does not have."""
    if about == ".":
        return lambda _, fields: any(_list_paths(fields))
    folded, files = about.casefold(), ws.source_files
    path = about.partition(":")[0]
    is_file = files is not None and os.path.lexists(files.top / path) if "\0" not in path else False
    aging = RecordAging(ws, revision)

    def is_moved(anchor: Any) -> bool:
        name = value_at(anchor, "path")
        return isinstance(name, str) and files is not None and not os.path.lexists(files.top / name)

    def matches(key: Key, fields: Any) -> bool:
        if any(folded in text.casefold() for text in _texts(fields)):
            return True
        named = value_at(fields, "anchors")
        anchors = named if isinstance(named, list | tuple) else ()  # an archived record can contain anything
        if any(f"{value_at(one, 'path')}:{value_at(one, 'symbol')}".casefold() == folded for one in anchors):
            return True
        if not is_file or not any(map(is_moved, anchors)):
            return False
        record = revision.state.entry(key)
        states = aging.judge(record) if isinstance(record, Record) else []
        return any(about in (state.path, state.name) or state.path.startswith(f"{about}/") for state in states)

    return matches


def _list_paths(value: Any) -> Iterator[str]:
    """Yield the paths of files that a record names in a field for them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name == "path" and isinstance(item, str):
                yield item
            elif name == "files_modified" and isinstance(item, list | tuple):
                yield from map(str, item)
            else:
                yield from _list_paths(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_paths(item)


def _check_status(kinds: Sequence[str], status: str) -> None:
    """Refuse a status that no record of these kinds can have."""
    known = dict.fromkeys(name for kind in kinds for name in list_statuses(kind))
    if status not in known:
        of = KINDS[kinds[0]].name(2) if len(kinds) == 1 else "records"
        hint = f"the statuses are {', '.join(known)}" if known else "they have no status"
        raise InvalidArgument(f"{of} have no status {shorten(status)}", hint=hint)


def list_statuses(kind: str) -> tuple[str, ...]:
    """Return the statuses, or priorities, that records of a kind can have."""
    return get_args(status_field(kind)[1].annotation) if kind in WITH_STATUS else ()


def _find_touched(ws: Workspace, revision: Revision, verb_input: RecordFilter) -> Collection[tuple[str, str]] | None:
    """Return kind and id of the records that the filter's session and agent changed since the filter's time.

    Returns:
        None if the filter names no session, no agent and no time.
    """
    since = parse_optional_moment(verb_input.since)
    if (verb_input.by_session, verb_input.by_agent, since) == (None, None, None):
        return None
    commits = read_log(ws, Filter(session=verb_input.by_session, agent=verb_input.by_agent, since=since), at=revision)
    changes = (change for shown in commits for change in shown.changes)
    return {(change.kind.removeprefix("archived_"), change.id) for change in changes}


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings in a value, without its field names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))


# --- what people read


def _describe_source(record: StoredRecord) -> str:
    """Return who vouches for a record, in one or two words; empty for an agent on this machine or if it is unknown."""
    source = record.provenance
    if source is None or source.kind == "agent":
        return ""
    return word_of_kind(source.kind, source.remote or "")


def _describe_about(record: StoredRecord, goals: Mapping[str, str]) -> str:
    if record.unreadable is not None:
        return record.unreadable.why
    closed = f" ({record.closed.reason})" if record.closed is not None else ""
    changed = f" · {record.aging}" if record.aging else ""
    waits = f" · {WAITS}" if record.waits else ""
    return f"{_describe_work(record, goals)}{closed}{waits}{changed}{record.describe_proposal(' · ')}"


def _describe_work(record: StoredRecord, goals: Mapping[str, str]) -> str:
    """Return the title of a record; of a session also who ran it."""
    if record.kind != Session.kind or record.record is None:
        return record.title
    session = parse(Session, record.record)
    return " · ".join(filter(None, (describe_work(session, goals), describe_whose(session, with_machine=False))))


def _columns(reader: Reader, goals: Mapping[str, str], *, with_kind: bool) -> list[Column]:
    kind = [Column("kind", lambda record: KINDS[record.kind].title)] if with_kind else []
    return [
        *kind,
        Column("status", lambda record: record.status_in_words, lambda record: record.status_role),
        Column("changed", lambda record: describe_age(record.updated, reader.now), Role.DIM),
        Column("source", _describe_source),
        Column("about", lambda record: _describe_about(record, goals)),
        Column("id", lambda record: reader.sessions.shorten(record.id), Role.ID),
    ]


def _join_proposals(records: list[StoredRecord]) -> list[StoredRecord]:
    """Return the records without those that are proposed to replace a listed one: the row of that one tells both."""
    told = {record.proposal for record in records if record.status != PROPOSED}
    return [record for record in records if record.status != PROPOSED or record.proposal not in told]


def _make_tables(reader: Reader, records: list[StoredRecord]) -> Styled:
    """Return a table for each kind; a single table if the records are not sorted by kind."""
    goals = reader.find_goals({record.id for record in records if record.kind == Session.kind})
    groups = [(kind, list(items)) for kind, items in groupby(records, key=lambda record: record.kind)]
    if len({kind for kind, _ in groups}) < len(groups):
        return reader.table(records, _columns(reader, goals, with_kind=True))
    if len(groups) == 1:
        return reader.table(records, _columns(reader, goals, with_kind=False))
    parts: list[str] = []
    for kind, items in groups:
        title = f"{KINDS[kind].name(2).capitalize()} ({len(items)})"
        heading = paint(title, Role.HEADING)
        parts.append(
            join([heading, reader.table(items, _columns(reader, goals, with_kind=False), headings=False)], "\n")
        )
    return join(parts, "\n\n")
