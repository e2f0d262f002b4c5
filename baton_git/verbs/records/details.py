"""The verb `record`: show one record of any kind, live or archived, with its recent history and its origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from textwrap import indent
from typing import Any

from pydantic import Field

from baton_git.core import diff
from baton_git.core.errors import Ambiguous, Corrupt, NotFound
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import KINDS, find_kind
from baton_git.core.layout import path_of
from baton_git.core.output import Styled, terminal_line
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Key, State, list_beginning
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.times import describe_age, iso, parse_time_or_none
from baton_git.core.verb import READS, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.results import AtNamespace, PastRevision, ResultPart, full_position
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.ready import ReadyItem, list_needs
from baton_git.verbs.records.stored import PROPOSED, TIME, RecordContext, StoredRecord, check_kind, describe_stored
from baton_git.verbs.revisions.commit_lines import describe_author
from baton_git.verbs.revisions.history import files_at, read_changes

SHOWN = 10
"""Maximum number of changes shown for a record, newest first."""
COMPANIONS = {Rule.kind: Pattern.kind, "turns": "handoff"}
"""The kinds whose records have the id of a record of another kind, which that id then names."""


class NamedRecord(Input):
    """A record named by its id."""

    id: str = Field(
        min_length=1, description="The record's id or a unique prefix of it; KIND/ID names the kind too.",
        examples=["OL-7k3f9q"],
    )  # fmt: skip
    kind: str | None = Field(
        None, description="The record's kind; needed if records of several kinds have the id.", examples=["open_loop"]
    )


class OneRecord(NamedRecord):
    """The record to show."""

    at: PastRevision = None


class RecordEvent(ResultPart):
    """A commit that created or changed a record."""

    revision: int | None = Field(description="The revision number of the commit.", examples=[12])
    commit: str = Field(description="The id of the commit.")
    time: str = Field(description="The time of the commit.", examples=[TIME])
    op: str = Field(description="The verb; empty for a commit made by hand.", examples=["loop-verify"])
    session: str | None = Field(description="The session that made the commit.", examples=["2026-06-17-003"])
    agent: str | None = Field(description="The agent that made the commit.", examples=["claude"])
    machine: str | None = Field(description="The machine that made the commit.", examples=["mac2"])
    author: str = Field(description="Name and email address of the author.", examples=["Ada <ada@example.org>"])
    text: str = Field(description="The change of the record, in words.", examples=["OL-7k3f9q verified"])


class ShownRecord(AtNamespace, StoredRecord):
    """A record, the revision it was read from, and its origin."""

    began: RecordEvent | None = Field(None, description="The commit that created it.")
    history: list[RecordEvent] = Field([], description=f"The newest {SHOWN} commits that changed it, newest first.")
    earlier: int = Field(0, description="Number of earlier commits that changed it and are not shown.")
    unread: str = Field("", description="Why older commits could not be read, and so are not shown; empty if all were.")
    ready: ReadyItem | None = Field(None, description="What the record needs now, as `ready` lists it.")
    conflicts: list[str] = Field([], description="Ids of unresolved conflicts of this record.", examples=[["C-1"]])

    def show(self, reader: Reader) -> ResultView:
        """Return the record: its fields, its origin, and its newest changes."""
        return ResultView(join(list(_record_lines(reader, self)), "\n"), paged=True)


@verb(
    "record",
    "GET /v1/records/{kind}/{id}",
    effect=READS,
    tag="state",
    more_paths=("/v1/records/{id}",),
    positional=("kind", "id"),
    options={"at": Option(metavar="REV|TIME")},
    examples=("baton record open_loop OL-7k3f9q", "baton record pattern PAT-9d2k1m --at ~3"),
)
def show_record(ws: Workspace, now: datetime, verb_input: OneRecord) -> ShownRecord:
    """Show one record, live or archived, and its recent history; for an unreadable record, show the reason.

    Raises:
        InvalidArgument: the kind does not exist.
        NotFound: the record or the revision does not exist.
        Ambiguous: several ids have this prefix, or records of several kinds have the id.
    """
    revision = ws.branch.read(verb_input.at)
    key = find_record(
        revision.state, verb_input.id, check_kind(verb_input.kind) if verb_input.kind is not None else None
    )
    entry = revision.state.entry(key)
    assert entry is not None
    commits, unread = _list_readable_commits(ws, revision, key)
    events = [_describe_event(ws, entry, key) for entry in commits[:SHOWN]]
    about = revision.state.select(Conflict, lambda other: (other.record_kind, other.record_id) == (key.kind, key.id))
    conflicts = [outline.id for outline in about.outlines]
    return ShownRecord(
        **full_position(revision), **describe_stored(RecordContext(ws, revision), key, entry),
        began=_describe_event(ws, commits[-1], key) if commits and not unread else None, history=events,
        earlier=len(commits) - len(events), unread=unread,
        conflicts=conflicts, ready=_find_need(ws, now, revision, key) if verb_input.at is None else None,
    )  # fmt: skip


def _find_need(ws: Workspace, now: datetime, revision: Revision, key: Key) -> ReadyItem | None:
    """Return the action that a record needs from somebody; None if it needs none."""
    if key.archived:
        return None
    needs = list_needs(ws, now, revision)
    return next((need.make() for need in needs if (need.kind, need.id) == (key.kind, key.id)), None)


def find_record(state: State, text: str, kind: str | None = None) -> Key:
    """Return the key of the record that `text` names: an id, a kind and id (`loop/OL-1`), or a unique prefix of an id.

    Complete ids take precedence over prefixes, live records over archived ones, and a pattern over its rule.

    Raises:
        NotFound: no record of these kinds has the name.
        Ambiguous: several records have it.
    """
    kinds = tuple(KINDS) if kind is None else (kind,)
    candidates = find_exact(state, text, kinds) or _find_beginning(state, text, kinds)
    head, _, rest = text.partition("/")
    if not candidates and kind is None and rest and (named := find_kind(head)) is not None:
        return find_record(state, rest, named)
    if not candidates:
        if kind is None:
            raise NotFound("record", text, hint="to list the records: baton list")
        raise NotFound(KINDS[kind].title, text, hint=f"to list the {KINDS[kind].name(2)}: baton list {kind}")
    if len(candidates) > 1:
        raise _ambiguous(text, candidates, kind)
    return candidates[0]


def find_exact(state: State, id_: str, kinds: tuple[str, ...] = tuple(KINDS)) -> list[Key]:
    """Return the keys of the live records with exactly this id, or of the archived ones if there are no live ones.

    Of a pattern and its rule, only the key of the pattern is returned, and of a session's handoff and turns only that
    of the handoff.
    """
    for archived in (False, True):
        keys = [key for kind in kinds if state.entry(key := Key(kind, id_, archived)) is not None]
        if keys:
            return _drop_companions(keys)
    return []


def _find_beginning(state: State, text: str, kinds: tuple[str, ...]) -> list[Key]:
    for archived in (False, True):
        ids = [(kind, id_) for kind in kinds for id_ in sorted(state.ids(kind, archived=archived))]
        named = list_beginning({id_ for _, id_ in ids}, text)
        keys = [Key(kind, id_, archived) for kind, id_ in ids if id_ in named]
        if keys:
            return _drop_companions(keys)
    return []


def _drop_companions(keys: list[Key]) -> list[Key]:
    """Return the keys without those of rules whose patterns, and of turns whose handoffs, are also in the list."""
    held = set(keys)
    return [key for key in keys if key._replace(kind=COMPANIONS.get(key.kind, "")) not in held]


def _ambiguous(text: str, candidates: list[Key], kind: str | None) -> Ambiguous:
    if kind is not None:
        return Ambiguous(KINDS[kind].title, text, [key.id for key in candidates])
    is_same_id = len({key.id for key in candidates}) == 1
    hint = "name the kind, too: KIND/ID" if is_same_id else "give more of the id"
    return Ambiguous("record", text, [f"{key.kind}/{key.id}" for key in candidates], hint=hint)


def _list_readable_commits(ws: Workspace, revision: Revision, key: Key) -> tuple[list[LogEntry], str]:
    """Return the commits that created or changed a record, newest first, and why there are no older ones, if there
    should be: the record itself can be shown although an older revision cannot be read."""
    commits: list[LogEntry] = []
    try:
        for entry in _list_commits(ws, revision, key):
            if ws.branch.store.is_cut(entry.commit):
                return commits, f"those until {iso(entry.time)[:10]} are not here ({ws.branch.find_completion()})"
            commits.append(entry)
    except Corrupt as error:
        return commits, f"{error} (baton doctor --fix)"
    return commits, ""


def _list_commits(ws: Workspace, revision: Revision, key: Key) -> Iterator[LogEntry]:
    """Yield the commits that created or changed a record, newest first."""
    if revision.commit is None:
        return
    paths = [path_of(Key(key.kind, key.id, archived)) for archived in (False, True)]
    for entry in ws.branch.log(revision.commit):
        before = files_at(ws, ws.branch.store.commit(entry.parents[0]).tree, paths) if entry.parents else {}
        if files_at(ws, entry.tree, paths) != before:
            yield entry


def _describe_event(ws: Workspace, entry: LogEntry, key: Key) -> RecordEvent:
    made, _ = read_changes(ws, entry)
    changes = [change for change in made if change.id == key.id and change.kind.endswith(key.kind)]
    fields: dict[str, Any] = {
        name: getattr(entry, name) for name in RecordEvent.model_fields if name not in ("time", "text")
    }
    text = "; ".join(filter(None, map(diff.describe_change, changes))) or entry.subject
    return RecordEvent(**fields, time=iso(entry.time), text=text)


# --- what people read

LABEL = 20
"""Width of the column of field names, in characters."""
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())
"""Values that are not shown."""


def _record_lines(reader: Reader, result: ShownRecord) -> Iterator[str]:
    yield _heading(reader, result)
    if result.title:
        yield reader.wrap("", result.title)
    yield ""
    yield from _field_lines(reader, result)
    yield from _source_lines(reader, result)
    if result.history:
        *columns, what = make_event_columns(reader)
        yield ""
        yield reader.table(result.history, [*columns, what._replace(wraps=True)], headings=False)
    if result.earlier:
        yield f"and {result.earlier} earlier: baton log --record {terminal_line(result.id)}"
    if result.unread:
        yield f"older changes cannot be read: {terminal_line(result.unread)}"
    if result.ready is not None:
        yield ""
        yield join([f"{result.ready.why}; next: ", paint(result.ready.command, Role.ID)])


def _heading(reader: Reader, result: ShownRecord) -> Styled:
    parts = [paint(reader.sessions.shorten(result.id), Role.HEADING), KINDS[result.kind].title]
    if result.status_in_words:
        parts.append(paint(result.status_in_words, result.status_role))
    if result.closed is not None:
        parts.append(f"archived {describe_age(result.closed.at, reader.now)}: {result.closed.reason}")
    return join(parts, "  ")


def _field_lines(reader: Reader, result: ShownRecord) -> Iterator[str]:
    if result.unreadable is not None:
        yield _field(reader, "cannot be read", f"{result.unreadable.path}: {result.unreadable.why}")
        return
    if reader.sessions.shorten(result.id) != result.id:
        yield _field(reader, "id", result.id)
    hidden = {"id", KINDS[result.kind].about, "status", "priority", "anchors", "replaces"}
    for name, value in (result.record or {}).items():
        if name not in hidden and value not in EMPTY:
            text = isolate(lambda value=value: _show_value(reader, value))  # type: ignore[misc]
            yield _field(reader, name.replace("_", " "), str(value) if isinstance(text, Failure) else text)


def _show_value(reader: Reader, value: Any) -> str:
    """Return a value as text: the filled fields of a table, a line for each item of a list, a time with its age.

    A table is on one line, unless one of its fields is itself a table or a list.
    """
    if isinstance(value, Mapping):
        fields = {name.replace("_", " "): item for name, item in value.items() if item not in EMPTY}
        if _is_nested(value):
            return "\n".join(_show_field(reader, name, item) for name, item in fields.items())
        return ", ".join(f"{name} {_show_value(reader, item)}" for name, item in fields.items())
    if isinstance(value, list | tuple):
        return "\n".join(indent(f"- {_show_value(reader, item)}", "  ").strip() for item in value)
    text = str(value)
    return f"{text} ({describe_age(text, reader.now)})" if parse_time_or_none(text) is not None else text


def _show_field(reader: Reader, name: str, value: Any) -> str:
    """Return `name: text`; if the text has several lines, return the name on a line above the text."""
    text = _show_value(reader, value)
    return f"{name}:\n{indent(text, '  ')}" if _is_nested(value) or "\n" in text else f"{name}: {text}"


def _is_nested(value: Any) -> bool:
    """Return whether a value needs a line for each of its parts: a list, or a table with a table or list in it."""
    if isinstance(value, Mapping):
        return any(isinstance(item, Mapping | list | tuple) for item in value.values() if item not in EMPTY)
    return isinstance(value, list | tuple)


def _source_lines(reader: Reader, result: ShownRecord) -> Iterator[str]:
    for anchor in result.anchors or ():
        state = f", {anchor.text}" if anchor.text else ""
        yield _field(reader, "about", f"{anchor.path}{f':{anchor.symbol}' if anchor.symbol else ''}{state}")
    if result.proposal is not None:
        yield _field(
            reader,
            "proposal",
            f"{result.describe_proposal()}; to settle it: baton decision confirm {_proposed_in(result)}",
        )
    if result.provenance is not None:
        yield _field(reader, "vouched for", result.provenance.text)
    if result.began is not None:
        yield _field(reader, "made by", _describe_maker(reader, result.began))
    for id_ in result.conflicts:
        yield _field(reader, "conflict", f"{id_} (baton resolve {id_} --ours or --theirs)")


def _proposed_in(result: ShownRecord) -> str:
    """Return the id of the proposed decision: the shown one, or the first that is proposed to replace it."""
    return result.id if result.status == PROPOSED else (result.proposal or "").partition(",")[0].split(" and ")[0]


def _describe_maker(reader: Reader, event: RecordEvent) -> str:
    age = describe_age(event.time, reader.now)
    if event.session is None:
        return f"{event.author}, {age}"
    by = " ".join(filter(None, (event.agent, f"on {event.machine}" if event.machine else "")))
    who = event.author.partition(" <")[0] + (f" ({by})" if by else "")
    return f"{who}, {age}, session {reader.sessions.shorten(event.session)}"


def make_event_columns(reader: Reader, text: Callable[[Any], str] = lambda event: event.text) -> list[Column]:
    """Return the columns of a table of commits: revision, time, person and agent, and the text that `text` returns."""

    def number(event: Any) -> object:
        return event.revision if event.revision is not None else event.commit[:10]

    def what(event: Any) -> str:
        changes = [change.id for change in getattr(event, "changes", ())]
        return reader.sessions.shorten_in(text(event), filter(None, (event.session, *changes)))

    return [
        Column("revision", number, Role.WARNING, right=True),
        Column("when", lambda event: describe_age(event.time, reader.now), Role.DIM),
        Column(
            "who",
            lambda event: describe_author(reader, event.author, event.agent) if event.op != "merge" else "",
            Role.ID,
        ),
        Column("what", what),
    ]


def _field(reader: Reader, name: str, text: str) -> Styled:
    label = terminal_line(name)
    return reader.wrap(join([paint(label, Role.DIM), " " * max(LABEL - len(label), 1)]), text)
