"""The verbs that look back: `log`, `show`, `diff`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, PrivateAttr

from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.natural_times import TIME_TEXT, TimeField
from baton_git.core.state import Key
from baton_git.core.suggestions import find_near_names
from baton_git.core.times import iso
from baton_git.core.verb import READS, Input, Option, Result, Tool, verb
from baton_git.namespace.results import AtRevision, ChangedRecord, PageInput, position, take_page
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.history import Compared, Filter, Shown, compare, full_id, moment, read_commit, read_log

REVISION = "A number, `~N` back from the newest, a commit id, or a date or time."
RevisionName = Annotated[str, Field(description=REVISION, examples=["12", "~1"]), TIME_TEXT]


class LogFilter(Input):
    """Which commits the log shows."""

    limit: int = Field(50, ge=1, le=1000, description="At most so many.")
    record: str | None = Field(None, description="Only the changes of this record.", examples=["OL-7k3f9q"])
    by_session: str | None = Field(None, description="Only what this session did.")
    by_agent: str | None = Field(None, description="Only what this agent did.")
    since: TimeField = Field(None, description="Not older than this date or time.", examples=["yesterday"])
    until: TimeField = Field(None, description="Not newer.")
    after: str | None = Field(None, description="What an answer before this one gave as `next`.")
    ops: bool = Field(False, description="Only operations: what somebody did, and whether it was undone.")

    def filter_for(self, ws: Workspace) -> Filter:
        """Return the filter, with the whole id of its record.

        Raises:
            Ambiguous: several records begin so.
            InvalidArgument: a time is none.
        """
        record = full_id(ws, self.record) if self.record is not None else None
        since, until = moment(self.since), moment(self.until, end=True)
        return Filter(record, self.by_session, self.by_agent, since, until, self.after, self.ops)


class CommitResult(AtRevision):
    """One commit, who made it, and what it changed."""

    parents: list[str] = Field(description="The commits that it stands on.")
    time: str = Field(description="When, ISO 8601 in UTC.", examples=["2026-06-17T12:30:00Z"])
    author: str = Field(description="Name and mail.", examples=["Ada <ada@example.org>"])
    op: str = Field(description="The verb; empty for a commit made by hand.", examples=["loop-verify"])
    session: str | None = Field(description="The session that acted.", examples=["2026-06-17-003"])
    agent: str | None = Field(description="The agent that acted.", examples=["claude"])
    machine: str | None = Field(description="The machine.", examples=["mac2"])
    subject: str = Field(description="What it did, in words.", examples=["OL-7k3f9q verified"])
    changes: list[ChangedRecord] = Field(description="What changed, record by record.")
    undone: bool = Field(False, description="Of an operation, whether a later one took it back.")

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
        )
        result._shown = shown
        return result


class LogResult(Result):
    """Commits, and how to go on."""

    commits: list[CommitResult] = Field(description="The newest first.")
    next: str | None = Field(description="`after` of the request for what follows; null where this is the end.")

    _tip: str | None = PrivateAttr(None)

    @property
    def about_commit(self) -> str | None:
        return self._tip

    def at(self, tip: str | None) -> Self:
        """Keep the commit whose history it is."""
        self._tip = tip
        return self


@verb(
    "log",
    "GET /v1/log",
    effect=READS,
    tag="history",
    options={"limit": Option(hidden=True), "after": Option(hidden=True), "record": Option(metavar="ID"),
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
def log(ws: Workspace, now: datetime, asked: LogFilter) -> LogResult:
    """Show what was changed, by whom, newest first, record by record.

    Raises:
        NotFound: there is no commit to go on from, or no commit ever had the record.
        InvalidArgument: a time is none.
    """
    version = ws.branch.read()
    wanted = asked.filter_for(ws)
    check_record(ws, wanted.record, version)
    results = [CommitResult.of(shown) for shown in read_log(ws, wanted, asked.limit + 1, at=version)]
    more = results[asked.limit - 1].commit if len(results) > asked.limit else None
    return LogResult(commits=results[: asked.limit], next=more).at(version.commit)


def check_record(ws: Workspace, id_: str | None, version: Revision) -> None:
    """Refuse an id that no record has or had; None and an empty namespace pass.

    Raises:
        NotFound: no commit in the history of this version changed a record with this id.
    """
    if id_ is None or version.commit is None:
        return
    keys = (Key(kind, id_, archived) for kind in KINDS for archived in (False, True))
    if any(version.state.entry(key) is not None for key in keys):
        return
    if next(read_log(ws, Filter(record=id_), 1, at=version), None) is None:
        near = find_near_names(id_, (key for kind in KINDS for key in version.state.ids(kind)))
        raise NotFound("record", id_, hint=f"did you mean {near[0]}?" if near else "to list the records: baton list")


class OneRevision(Input):
    """Which revision to show."""

    revision: RevisionName = "~0"


@verb(
    "show",
    "GET /v1/log/{revision}",
    effect=READS,
    tag="history",
    positional=("revision",),
    options={"revision": Option(metavar="[REV|ID]")},
    examples=("baton show", "baton show 12", "baton show OL-7k3f9q", "baton show ~3 --json"),
)
def show(ws: Workspace, now: datetime, asked: OneRevision) -> CommitResult:
    """Show one revision and what it changed; the newest unless one is named.

    Raises:
        NotFound, Ambiguous: it does not name one commit.
    """
    return CommitResult.of(read_commit(ws, asked.revision))


class TwoRevisions(PageInput):
    """Which revisions to compare."""

    a: RevisionName
    b: TimeField = Field(None, description="The newest unless given.", examples=["15"])
    limit: int = Field(1000, ge=1, le=1000, description="At most so many.")


class DiffResult(Result):
    """What leads from one revision to another."""

    before: AtRevision
    after: AtRevision
    changes: list[ChangedRecord] = Field(description="By kind and id.")
    next: str | None = Field(None, description="`after` of the request for what follows; null where this is the end.")

    _compared: Compared = PrivateAttr()

    @property
    def about_commit(self) -> str | None:
        return self.after.commit

    @property
    def compared(self) -> Compared:
        """The revisions and the changes behind the plain data."""
        return self._compared

    @classmethod
    def of(cls, compared: Compared, page: PageInput | None = None) -> Self:
        """Return the result for a comparison: all of it, or one page."""
        numbered = [(str(number), change.as_data()) for number, change in enumerate(compared.changes, 1)]
        shown, more = take_page(numbered, page, lambda item: item[0]) if page is not None else (numbered, None)
        result = cls(
            before=AtRevision(**position(compared.before)),
            after=AtRevision(**position(compared.after)),
            changes=[change for _, change in shown],
            **({"next": more} if page is not None else {}),
        )
        result._compared = compared
        return result


@verb(
    "diff",
    "GET /v1/diff",
    effect=READS,
    tag="history",
    positional=("a", "b"),
    options={"limit": Option(hidden=True), "after": Option(hidden=True), "b": Option(metavar="[B]")},
    tool=Tool("What changed from a to b, or since.", hidden=("limit", "after")),
    examples=("baton diff 12 15", "baton diff 2026-06-17"),
)
def diff(ws: Workspace, now: datetime, asked: TwoRevisions) -> DiffResult:
    """Show what changed from revision A to revision B, the newest unless B is named.

    Revisions are numbers, ~N back from the newest, commit ids, or ISO dates and times.

    Raises:
        NotFound, Ambiguous: one of them does not name one commit.
    """
    return DiffResult.of(compare(ws, asked.a, asked.b), asked)
