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
from baton_git.core.lifecycle import deadline
from baton_git.core.proposals import NO_PROPOSALS
from baton_git.core.records.base import Archived, Record, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern, Rule
from baton_git.core.state import Entry, Key, State
from baton_git.interfaces.http.responses import status_of
from baton_git.interfaces.web.actions.table import ACTIONS, PageAction, list_actions
from baton_git.interfaces.web.actions.verb_forms import EDITED
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging, take_readable
from baton_git.interfaces.web.pages.timeline import drop_bookkeeping
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.recall.terms import MAX_QUESTION
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.records.ready import list_ready
from baton_git.verbs.records.stored import RecordContext, StoredRecord, describe_stored
from baton_git.verbs.revisions.history import Filter, read_log
from baton_git.verbs.revisions.recall import recall
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
        "warn", "proposal", "decision to confirm", "decisions to confirm", "board", "decisions", "Decide"
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


class RecordList(NamedTuple):
    """The shown records of one kind, and the number of all."""

    kind: str
    rows: Sequence[RecordRow]
    total: int


def _list_kind(
    ws: Workspace, now: datetime, kind: str, sort: str, limit: int, proposed: Container[str] = ()
) -> RecordList:
    """Return the first records of a kind that can be read, without those that the row of another one tells."""
    rows, _ = list_rows(ws, now, kind=kind, sort=sort, limit=limit)
    shown = [row for row in rows if row.record is not None and row.id not in proposed]
    return RecordList(kind, shown, sum(id_ not in proposed for id_ in ws.branch.read().state.ids(kind)))


def show_handed_over(request: PageRequest) -> Response:
    """Show the newest records that sessions left for later ones, by kind."""
    with request.work() as ws:
        kinds = [kind for kind, info in KINDS.items() if info.left_behind]
        groups = [_list_kind(ws, request.site.now(), kind, "newest", GLANCED) for kind in kinds]
        return request.render("handovers.html", ws, groups=[group for group in groups if group.total])


def show_records(request: PageRequest) -> Response:
    kind, wanted, after = _read_kind(request), request.query.get("q", "").strip(), request.query.get("after")
    archived = bool(request.query.get("archived"))
    with request.work() as ws:
        proposals = RecordAging(ws).proposals if kind == ActiveDecision.kind and not archived else NO_PROPOSALS
        filters = {"kind": kind, "archived": archived, "about": wanted or None, "after": after or None}
        rows, more = list_rows(ws, request.site.now(), limit=RECORDS_SHOWN, **filters)
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
        answer = _ask(request, ws, question)
        records = list_records(ws, request.site.now(), about=question, limit=MOST_RECORDS).records
        return request.render("recall.html", ws, question=question, records=records, **answer)


def show_everywhere(request: PageRequest) -> Response:
    """Show the answer of recall from all namespaces."""
    question = request.query.get("q", "").strip()[:MAX_QUESTION]
    names = request.site.namespaces()
    if not question or not names:
        return request.render("search.html", question=question, result=None, problem="")
    components = {str(name): name.component for name in names}
    with request.site.work(names[0].text) as ws:
        answer = _ask(request, ws, question, all_projects=True)
    return request.render("search.html", question=question, components=components, **answer)


def _ask(request: PageRequest, ws: Workspace, question: str, *, all_projects: bool = False) -> dict[str, Any]:
    """Return the answer of recall, or why there is none, for a template."""
    try:
        found = recall(ws, request.site.now(), question=question, budget=BUDGET, all_projects=all_projects)
    except BatonError as error:
        return {"result": None, "problem": sentence(error), "status": status_of(error)}
    return {"result": found, "problem": ""}


# --- `/n/…/board`: the records of a namespace, most urgent first


BOARD_SHOWN = 25
"""Maximum number of records of a kind on the board, which links to the page with all of them."""
MOST_NEEDS = 100
SHOWN_KINDS = (OpenLoop.kind, FollowUp.kind, Pattern.kind, ActiveDecision.kind, Rule.kind, Conflict.kind)


def show_board(request: PageRequest) -> Response:
    now = request.site.now()
    with request.work() as ws:
        summary, state, proposals = status(ws, now), ws.branch.read().state, RecordAging(ws).proposals
        contexts, needs = list_told_contexts(state), list_ready(ws, now, limit=MOST_NEEDS).items
        lists = {kind: _list_kind(ws, now, kind, "urgent", BOARD_SHOWN, proposals.targets) for kind in SHOWN_KINDS}
        due = {row.id: _find_due(row.record, now) for row in lists[OpenLoop.kind].rows}
        return request.render(
            "board.html", ws, summary=summary, signs=[*list_signs(summary), *list_notes(summary)], lists=lists, due=due,
            proposals=proposals, damaged=[item for item in needs if item.need == "unreadable"],
            archive=_count_archived(state), context=contexts[0] if contexts else None,
            others=[(describe_writer(other, now), other.text) for other in contexts[1:]],
        )  # fmt: skip


def _find_due(loop: OpenLoop, now: datetime) -> int | None:
    """Return in how many days a loop must be verified, rounded up: zero or less if it is overdue; None at no time."""
    end = deadline(loop) if loop.status == "open" else None
    return -((now - end) // timedelta(days=1)) if end is not None else None


def _count_archived(state: State) -> dict[str, int]:
    """Return the number of archived records by kind, without reading them."""
    counts = {kind: len(state.ids(kind, archived=True)) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}
