"""The verbs that read the history: `log`, `show`, `diff`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr

from baton_git.core.change_lines import INDENT, LINES, format_changes
from baton_git.core.errors import NotFound, find_near_names
from baton_git.core.kinds import KINDS
from baton_git.core.output import flat, one_line
from baton_git.core.records.base import Part, parse
from baton_git.core.records.lineage import Session
from baton_git.core.session_line import describe_when, describe_whose, describe_work
from baton_git.core.state import Key, State
from baton_git.core.styles import Column, Role
from baton_git.core.text_layout import wrap_styled
from baton_git.core.times import TIME_TEXT, TimeField, iso, to_local
from baton_git.core.verb import READS, Input, Option, Result, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import (
    AtRevision,
    ChangedRecord,
    PageInput,
    PageResult,
    full_position,
    position,
    take_page,
)
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.commit_lines import format_content, format_heading
from baton_git.verbs.revisions.history import (
    Compared,
    Filter,
    Shown,
    compare,
    full_id,
    parse_optional_moment,
    read_commit,
    read_log,
)

REVISION = "A revision number, `~N` for N revisions before the newest, a commit id, or a date or time."
RevisionName = Annotated[str, Field(description=REVISION, examples=["12", "~1"]), TIME_TEXT]


class LogFilter(Input):
    """The commits to show."""

    limit: int = Field(50, ge=1, le=1000, description="Maximum number of commits.")
    record: str | None = Field(None, description="Show only changes of this record.", examples=["OL-7k3f9q"])
    by_session: str | None = Field(None, description="Show only commits of this session.")
    by_agent: str | None = Field(None, description="Show only commits of this agent.")
    since: TimeField = Field(None, description="Show only commits from this date or time on.", examples=["yesterday"])
    until: TimeField = Field(None, description="Show only commits up to this date or time.")
    after: str | None = Field(
        None, description="Show the commits after this one: the value of `next` on the previous page."
    )
    ops: bool = Field(False, description="Show only operations (no automatic commits), and whether they were undone.")

    def filter_for(self, ws: Workspace) -> Filter:
        """Return the filter, with the full id of the record.

        Raises:
            Ambiguous: several records have ids that begin with the given text.
            InvalidArgument: a time is invalid.
        """
        record = full_id(ws, self.record) if self.record is not None else None
        since, until = parse_optional_moment(self.since), parse_optional_moment(self.until, end=True)
        return Filter(record, self.by_session, self.by_agent, since, until, self.after, self.ops)


class CommitResult(AtRevision):
    """One commit, who made it, and its changes."""

    parents: list[str] = Field(description="The ids of the parent commits.")
    time: str = Field(description="The time of the commit, ISO 8601 in UTC.", examples=["2026-06-17T12:30:00Z"])
    author: str = Field(description="Name and mail address of the author.", examples=["Ada <ada@example.org>"])
    op: str = Field(description="The verb; empty for a commit made by hand.", examples=["loop-verify"])
    session: str | None = Field(description="The session that made the commit.", examples=["2026-06-17-003"])
    agent: str | None = Field(description="The agent that made the commit.", examples=["claude"])
    machine: str | None = Field(description="The machine on which it was made.", examples=["mac2"])
    subject: str = Field(description="The subject of the commit.", examples=["OL-7k3f9q verified"])
    changes: list[ChangedRecord] = Field(description="The changed records.")
    undone: bool = Field(False, description="Whether a later commit undid it; only set with `ops`.")
    unreadable: str = Field(
        "", description="Why the changes, or the commit's `format.toml`, cannot be read; only set if they cannot."
    )
    rejected: list[str] = Field(
        [], description="If the commit is a review, the ids of the records whose changes were rejected."
    )

    _shown: Shown = PrivateAttr()

    @property
    def shown(self) -> Shown:
        """The log entry and the changes behind the plain data."""
        return self._shown

    @classmethod
    def of(cls, shown: Shown) -> Self:
        """Return the result for one commit."""
        entry = shown.entry
        result = cls(
            revision=entry.revision,
            commit=entry.commit,
            parents=list(entry.parents),
            time=iso(entry.time),
            author=entry.author,
            op=entry.op,
            session=entry.session,
            agent=entry.agent,
            machine=entry.machine,
            subject=entry.subject,
            changes=[change.as_data() for change in shown.changes],
            **({"undone": True} if shown.is_undone else {}),
            **({"unreadable": one_line(shown.unreadable, 300)} if shown.unreadable else {}),
            **({"rejected": rejected} if (rejected := entry.rejected_ids()) else {}),
        )
        result._shown = shown
        return result

    def show(self, reader: Reader) -> ResultView:
        shown, entry = self.shown, self.shown.entry
        who = (("op", entry.op), ("session", entry.session), ("agent", entry.agent), ("machine", entry.machine))
        facts = [
            f"commit   {entry.commit}",
            *(f"parent   {parent}" for parent in entry.parents),
            f"author   {entry.author}",
            f"time     {to_local(entry.time).isoformat()}",
            *(f"{name:<9}{value}" for name, value in who if value),
        ]
        first = wrap_styled(format_heading(reader, shown), reader.width, INDENT)
        return ResultView(LINES.join([first, *facts, "", *format_content(reader, shown, entry.rejected_ids())]))


class LogResult(Result):
    """A page of commits."""

    commits: list[CommitResult] = Field(description="The commits, newest first.")
    next: str | None = Field(description="The value of `after` for the next page; null on the last page.")

    _tip: str | None = PrivateAttr(None)

    @property
    def about_commit(self) -> str | None:
        return self._tip

    def at(self, tip: str | None) -> Self:
        """Set the newest commit of the history; return self."""
        self._tip = tip
        return self


@verb(
    "log",
    "GET /v1/log",
    effect=READS,
    tag="history",
    options={"limit": Option(hidden=True), "after": Option(metavar="COMMIT"), "record": Option(metavar="ID"),
             "by_session": Option(metavar="ID"), "by_agent": Option(metavar="NAME"), "since": Option(metavar="TIME"),
             "until": Option(metavar="TIME")},
    tool=Tool(
        "Changes, newest first.",
        hidden=("by_session", "by_agent", "since", "until", "after", "ops"),
        defaults={"limit": 10},
    ),
    examples=(
        "baton log --limit 5",
        "baton log --record OL-7k3f9q",
        "baton log --by-session 2026-06-17-003 --oneline",
        "baton log --ops",
        "baton log --graph",
    ),
)  # fmt: skip
def log(ws: Workspace, now: datetime, verb_input: LogFilter) -> LogResult:
    """Show the changes of records and who made them, newest first.

    Raises:
        NotFound: the history has no commit `after`, or no record with this id.
        Ambiguous: several records have ids that begin with the given text.
        InvalidArgument: a time is invalid.
    """
    revision = ws.branch.read()
    wanted = verb_input.filter_for(ws)
    results = [CommitResult.of(shown) for shown in read_known_log(ws, wanted, verb_input.limit + 1, revision)]
    more = results[verb_input.limit - 1].commit if len(results) > verb_input.limit else None
    return LogResult(commits=results[: verb_input.limit], next=more).at(revision.commit)


def read_known_log(ws: Workspace, wanted: Filter, limit: int | None, revision: Revision) -> Iterator[Shown]:
    """Yield the commits that pass the filter, as `read_log` does.

    Raises:
        NotFound: the filter names a record, and no commit in the history of this revision has a record with this id.
    """
    is_empty = True
    for shown in read_log(ws, wanted, limit, at=revision):
        is_empty = False
        yield shown
    if is_empty and wanted.record is not None and revision.commit is not None:
        _check_record(ws, wanted.record, revision, is_searched=wanted == Filter(record=wanted.record))


def _check_record(ws: Workspace, id_: str, revision: Revision, *, is_searched: bool) -> None:
    """Raise NotFound if no record with this id exists or existed.

    Args:
        is_searched: whether the history was already searched for the record.
    """
    keys = (Key(kind, id_, archived) for kind in KINDS for archived in (False, True))
    if any(revision.state.entry(key) is not None for key in keys):
        return
    if is_searched or next(read_log(ws, Filter(record=id_), 1, at=revision), None) is None:
        near = find_near_names(id_, (key for kind in KINDS for key in revision.state.ids(kind)))
        raise NotFound("record", id_, hint=f"did you mean {near[0]}?" if near else "to list the records: baton list")


class OneRevision(Input):
    """The revision to show."""

    revision: RevisionName = "~0"


@verb(
    "show",
    "GET /v1/log/{revision}",
    usage=(
        "Given the id of a record (or a unique beginning of it, or KIND/ID), show the record, live or "
        "archived: its fields, who vouches for it, its origin, and its newest changes."
    ),
    effect=READS,
    tag="history",
    positional=("revision",),
    options={"revision": Option(metavar="[REV|ID]")},
    examples=("baton show", "baton show 12", "baton show OL-7k3f9q", "baton show ~3 --json"),
)
def show(ws: Workspace, now: datetime, verb_input: OneRevision) -> CommitResult:
    """Show a revision and its changes. The default is the newest revision.

    Raises:
        NotFound: there is no such revision.
        Ambiguous: several commits have this number.
    """
    return CommitResult.of(read_commit(ws, verb_input.revision))


class TwoRevisions(PageInput):
    """The revisions to compare."""

    a: RevisionName
    b: TimeField = Field(None, description="A revision like `a`. The default is the newest.", examples=["15"])
    limit: int = Field(1000, ge=1, le=1000, description="Maximum number of changes.")


class DiffResult(Result):
    """The differences between two revisions."""

    before: AtRevision
    after: AtRevision
    changes: list[ChangedRecord] = Field(description="The changed records, by kind and id.")
    next: str | None = Field(None, description="The value of `after` for the next page; null on the last page.")

    _compared: Compared = PrivateAttr()

    @property
    def about_commit(self) -> str | None:
        return self.after.commit

    @property
    def compared(self) -> Compared:
        """The revisions and the changes behind the plain data."""
        return self._compared

    @classmethod
    def of(cls, compared: Compared, page: PageInput) -> Self:
        """Return one page of the changes of a comparison."""
        numbered = [(str(number), change) for number, change in enumerate(compared.changes, 1)]
        shown, more = take_page(numbered, page, lambda item: item[0])
        changes = tuple(change for _, change in shown)
        result = cls(
            before=AtRevision(**position(compared.before)),
            after=AtRevision(**position(compared.after)),
            changes=[change.as_data() for change in changes],
            next=more,
        )
        result._compared = compared._replace(changes=changes)
        return result

    def show(self, reader: Reader) -> ResultView:
        compared = self.compared
        same = f"revisions {compared.before.number} and {compared.after.number} have the same records"
        notes = [] if compared.changes else [same]
        if self.next is not None:
            notes.append(f"there are more changes; to list them, add --after {self.next}")
        return ResultView(LINES.join(format_changes(reader, compared.changes)), notes, paged=True)


@verb(
    "diff",
    "GET /v1/diff",
    effect=READS,
    tag="history",
    positional=("a", "b"),
    options={"limit": Option(names=("--limit", "-l"), metavar="N"), "b": Option(metavar="[B]")},
    tool=Tool("Changes from a to b, or since a.", hidden=("limit", "after")),
    examples=("baton diff 12 15", "baton diff 2026-06-17"),
)
def diff(ws: Workspace, now: datetime, verb_input: TwoRevisions) -> DiffResult:
    """Show the changes from revision A to revision B. The default of B is the newest revision.

    A revision is a number, ~N for N revisions before the newest, a commit id, or an ISO date or time.

    Raises:
        NotFound: a revision does not exist.
        Ambiguous: several commits have a given number.
    """
    return DiffResult.of(compare(ws, verb_input.a, verb_input.b), verb_input)


# --- the lineage of a namespace's sessions: when each ran, by which agent, and which session it continued


class Lineage(PageResult):
    """The sessions of a namespace."""

    sessions: list[dict[str, Any]] = Field(
        description="Newest first, with the fields of `/v1/schema/session`.",
        examples=[[{"id": "2026-06-17-003", "started": "2026-06-17T12:30:00Z", "status": "active", "agent": "claude"}]],
    )

    def show(self, reader: Reader) -> ResultView:
        sessions = [parse(Session, session) for session in self.sessions]
        goals = reader.find_goals({session.id for session in sessions})
        columns = [
            Column("when", lambda session: describe_when(session, reader.now), Role.DIM),
            Column("who", lambda session: describe_whose(session, with_machine=False)),
            Column("about", lambda session: describe_work(session, goals)),
            Column("session", lambda session: reader.sessions.shorten(session.id), Role.ID),
        ]
        notes = [] if sessions else ["there is no session yet; to start one: baton boot"]
        if sessions and self.next is not None:
            notes = [f"there are more sessions: baton session lineage --after {flat(self.next)}"]
        return ResultView(reader.table(sessions, columns), notes)


@verb(
    "session lineage",
    "GET /v1/sessions",
    effect=READS,
    tag="sessions",
    examples=("baton session lineage", "baton session lineage --limit 5 --json | jq '.sessions[].id'"),
)
def list_sessions(ws: Workspace, now: datetime, verb_input: PageInput) -> Lineage:
    """List the sessions of a namespace with their agents, times and parents, newest first."""
    revision = ws.branch.read()
    shown, after = take_page(find_sessions(revision.state)[::-1], verb_input, lambda session: session.id)
    return Lineage(sessions=[session.as_data() for session in shown], next=after, **full_position(revision))


def find_sessions(state: State) -> list[Session]:
    """Return all sessions, including archived ones, by start time."""
    closed = [state.entry(Key(Session.kind, id_, archived=True)) for id_ in state.ids(Session.kind, archived=True)]
    archived = [Session.model_validate(entry.as_data()["record"]) for entry in closed if isinstance(entry, Part)]
    return sorted([*state.records(Session), *archived], key=lambda session: (session.started, session.id))
