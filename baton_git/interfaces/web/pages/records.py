"""The pages of records: the board, the records of a kind, one record, what sessions handed over, and the search."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from starlette.responses import Response

from baton_git.core.brief_sections import describe_writer, list_told_contexts
from baton_git.core.diff import title_of
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.lifecycle import deadline, is_due
from baton_git.core.proposals import NO_PROPOSALS
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Record, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Entry, Key, State
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.actions.table import ACTIONS, PageAction, list_actions
from baton_git.interfaces.web.actions.verb_forms import EDITED
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging, take_readable
from baton_git.interfaces.web.pages.timeline import drop_bookkeeping
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.recall.terms import MAX_QUESTION
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.records.stored import RecordContext, StoredRecord, describe_stored
from baton_git.verbs.revisions.history import Filter, read_log
from baton_git.verbs.revisions.recall import RecallResult, recall
from baton_git.verbs.upkeep.namespace_status import StatusResult, status

# --- how pages show what needs attention, which the verb `ready` answers


class NeedWords(NamedTuple):
    """How a need is shown.

    Attributes:
        level: `bad`, `warn` or `note`.
        word: the label of one item.
        one, many: the label of a number of items.
        page, anchor: the page of the namespace that shows them, and the section on it.
        link_label: the label of the link to the page where an item is resolved; empty if buttons resolve it.
    """

    level: str
    word: str
    one: str
    many: str
    page: str
    anchor: str = ""
    link_label: str = ""


NEEDS: Mapping[str, NeedWords] = {
    "failed": NeedWords("bad", "failed", "loop failed", "loops failed", "board", "loops"),
    "overdue": NeedWords("bad", "overdue", "loop overdue", "loops overdue", "board", "loops"),
    "unreadable": NeedWords(
        "bad", "unreadable", "file cannot be read", "files cannot be read", "board", "damaged"
    ),
    "reverted": NeedWords(
        "bad", "reverted", "change taken back by hand", "changes taken back by hand", "timeline", link_label="Show"
    ),
    "follow_up": NeedWords(
        "warn", "follow-up", "follow-up put off too often", "follow-ups put off too often", "board", "follow-ups"
    ),
    "conflict": NeedWords("bad", "conflict", "conflict", "conflicts", "conflicts", link_label="Resolve"),
    "review": NeedWords(
        "warn", "review", "remote waits for review", "remotes wait for review", "review", link_label="Review"
    ),
    "import": NeedWords("warn", "import", "import to correct", "imports to correct", "quarantine"),
    "rule": NeedWords("warn", "rule", "rule to decide on", "rules to decide on", "board", "patterns", "Decide"),
    "proposal": NeedWords(
        "warn", "proposal", "decision to confirm", "decisions to confirm", "board", "decisions"
    ),
    "unverified": NeedWords("note", "to verify", "loop to verify", "loops to verify", "board", "loops"),
}  # fmt: skip


class Sign(NamedTuple):
    """A number of things, and the page that shows them."""

    level: str
    number: int
    one: str
    many: str
    page: str
    anchor: str = ""


def list_signs(result: StatusResult) -> list[Sign]:
    """Return the signs of what needs attention in a namespace, most urgent first."""
    shown = ((NEEDS[need], number) for need, number in result.needs.items() if need != "unverified")
    return [Sign(words.level, number, words.one, words.many, words.page, words.anchor) for words, number in shown]


def list_notes(result: StatusResult) -> Iterator[Sign]:
    """Yield the signs of what needs nobody."""
    notes = (
        Sign("note", sum(result.pending.values()), "commit not sent yet", "commits not sent yet", "timeline"),
        Sign("note", len(result.active_sessions), "session at work", "sessions at work", "lineage"),
    )
    yield from (note for note in notes if note.number)


# --- `/n/…/handed`, `/records`, `/record`: what sessions handed over, all records of a kind, and one record


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


# --- `/n/…/recall`, `/search`: records that contain a text, and the answer of recall


BUDGET = 12_000
"""Maximum size of an answer on a page, in bytes."""
MOST_RECORDS = 12


def show_answer(request: PageRequest) -> Response:
    question = request.query.get("q", "").strip()[:MAX_QUESTION]
    with request.work() as ws:
        if not question:
            return request.render("recall.html", ws, question="", records=(), result=None, problem="")
        result: RecallResult | None = None
        status, problem = 200, ""
        try:
            result = recall(ws, request.site.now(), question=question, budget=BUDGET)
        except BatonError as error:
            status, problem = status_of(error), sentence(error)
        records = list_records(ws, request.site.now(), about=question, limit=MOST_RECORDS).records
        return request.render(
            "recall.html", ws, status=status, question=question, records=records, result=result, problem=problem
        )


def show_everywhere(request: PageRequest) -> Response:
    """Show the answer of recall from all namespaces."""
    question = request.query.get("q", "").strip()[:MAX_QUESTION]
    names = request.site.namespaces()
    if not question or not names:
        return request.render("search.html", question=question, result=None, problem="")
    try:
        with request.site.work(names[0].text) as ws:
            result = recall(ws, request.site.now(), question=question, budget=BUDGET, all_projects=True)
    except BatonError as error:
        return request.render(
            "search.html", status=status_of(error), question=question, result=None, problem=sentence(error)
        )
    components = {str(name): name.component for name in names}
    return request.render("search.html", question=question, result=result, components=components, problem="")


# --- `/n/…/board`: the records of a namespace, most urgent first


BOARD_SHOWN = 25
"""Maximum number of records of a kind on the board, which links to the page with all of them."""
SHOWN_KINDS = (OpenLoop.kind, FollowUp.kind, Pattern.kind, ActiveDecision.kind, Rule.kind, Conflict.kind)


class RecordList(NamedTuple):
    """The records of a kind that are shown, and the number of all."""

    rows: Sequence[RecordRow]
    total: int


class Due(NamedTuple):
    """When a loop must be verified, in days from now, rounded up; zero or negative if it is overdue."""

    days: int
    is_over: bool


def show_board(request: PageRequest) -> Response:
    now = request.site.now()
    with request.work() as ws:
        summary, state, proposals = status(ws, now), ws.branch.read().state, RecordAging(ws).proposals
        contexts = list_told_contexts(state)
        lists = {kind: _list_kind(ws, now, state, kind, proposals.targets) for kind in SHOWN_KINDS}
        due = {row.id: _find_due(row.record, now) for row in lists[OpenLoop.kind].rows}
        return request.render(
            "board.html", ws, summary=summary, signs=[*list_signs(summary), *list_notes(summary)], lists=lists, due=due,
            proposals=proposals, archive=_count_archived(state), context=contexts[0] if contexts else None,
            others=[(describe_writer(other, now), other.text) for other in contexts[1:]],
        )  # fmt: skip


def _list_kind(ws: Workspace, now: datetime, state: State, kind: str, proposed: Container[str]) -> RecordList:
    """Return the most urgent records of a kind, without those that the row of another one tells."""
    rows, more = list_rows(ws, now, kind=kind, sort="urgent", limit=BOARD_SHOWN)
    shown = [row for row in rows if row.record is not None and row.id not in proposed]
    return RecordList(shown, len(shown) if more is None else sum(id_ not in proposed for id_ in state.ids(kind)))


def _find_due(loop: OpenLoop, now: datetime) -> Due | None:
    end = deadline(loop)
    if end is None or loop.status != "open":
        return None
    return Due(-((now - end) // timedelta(days=1)), is_due(loop, now))


def _count_archived(state: State) -> dict[str, int]:
    """Return the number of archived records by kind, without reading them."""
    counts = {kind: len(state.ids(kind, archived=True)) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}
