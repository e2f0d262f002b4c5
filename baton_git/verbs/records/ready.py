"""The verb `ready`: list what needs attention now, across kinds, each with the command that resolves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import Field

from baton_git.core.diff import title_of
from baton_git.core.errors import BatonError
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import ALL_KINDS, KINDS, SINGLETONS
from baton_git.core.layout import key_at, path_of
from baton_git.core.lifecycle import PRIORITIES, WAITS, deadline, is_overdue
from baton_git.core.outlines import LoopOutline
from baton_git.core.output import Styled, count_noun, count_times, one_line, shell_line, terminal_line
from baton_git.core.records.base import Record
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Selection, Unreadable, key_of
from baton_git.core.styles import Role, join, paint
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import READS, Input, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.remote_selection import count_waiting_commits
from baton_git.namespace.results import AtNamespace, ResultPart, full_position
from baton_git.namespace.revision import Revision
from baton_git.namespace.silent_reverts import Revert, find_recent_reverts
from baton_git.namespace.workspace import RecordAging, Workspace
from baton_git.verbs.upkeep.quarantine import list_quarantined
from baton_git.verbs.verification.consent import WaitingChecks, has_automatic_check

Need = Literal[
    "failed", "overdue", "unreadable", "reverted", "follow_up", "conflict", "review", "import", "rule", "proposal",
    "unverified",
]  # fmt: skip
NEEDS: tuple[Need, ...] = get_args(Need)
"""The reasons why an item needs attention, most urgent first."""

Model = TypeVar("Model", bound=Record)


class ReadyInput(Input):
    """The maximum length of the list."""

    limit: int = Field(50, ge=1, le=1000, description="Maximum number of items.")


class ReadyItem(ResultPart):
    """An item that needs attention now."""

    need: Need = Field(
        description="`failed`: a check failed. `overdue`: a loop was not verified in time. `unreadable`: a stored file "
        "is not a valid record. `reverted`: a commit made by hand took later changes back. `follow_up`: deferred too "
        "often. `conflict`: two sides changed a value. `review`: commits of a remote wait for review. `import`: rows "
        "of an import were rejected. `rule`: a pattern can become a rule. `proposal`: a decision is proposed to "
        "replace another one. `unverified`: a loop is not verified yet."
    )
    kind: str = Field(
        description="The kind of the record; `remote` for a review, `commit` for a commit made by hand, `import` for "
        "imported rows, `file` for an unreadable file that is not that of a record.",
        examples=["open_loop"],
    )
    id: str = Field(
        description="The id of the record or commit; the name of the remote for a review, of the namespace for "
        "imported rows; the path of a file that is not that of a record.",
        examples=["OL-7k3f9q"],
    )
    title: str = Field(description="The item's title.", examples=["Deployed X"])
    why: str = Field(description="Why it needs attention.", examples=["failed: HTTP status 500"])
    since: str | None = Field(None, description="Since when, if known.", examples=["2026-06-17T12:30:00Z"])
    command: str = Field(description="The command that resolves it.", examples=["baton verify OL-7k3f9q"])

    @property
    def role(self) -> Role:
        """The style of the reason."""
        return _ROLES.get(self.need, Role.HEADING)


class ReadyResult(AtNamespace):
    """The items that need attention now."""

    items: list[ReadyItem] = Field(description="The items, most urgent first.")
    total: int = Field(description="Number of items, including those beyond the limit.", examples=[3])
    counts: dict[str, int] = Field(description="Number of items for each `need`.", examples=[{"failed": 1}])

    def show(self, reader: Reader) -> ResultView:
        notes = [] if self.items else ["nothing needs attention now"]
        if self.total > len(self.items) > 0:
            notes.append(f"and {self.total - len(self.items)} more: baton ready --limit {self.total}")
        text = join([line for item in self.items for line in _show_item(reader, item)], "\n")
        return ResultView(text, notes, paged=True)


_ROLES = {
    **dict.fromkeys(("failed", "overdue", "unreadable", "reverted"), Role.BAD),
    **dict.fromkeys(("follow_up", "conflict", "review", "rule"), Role.WARNING),
}
_INDENT = " " * 12


def _show_item(reader: Reader, item: ReadyItem) -> list[Styled]:
    lines = isolate(lambda: list(_item_lines(reader, item)))
    return [join([f"{item.need}  {item.id}  {lines.describe()}"])] if isinstance(lines, Failure) else lines


def _item_lines(reader: Reader, item: ReadyItem) -> Iterator[Styled]:
    need, id_ = item.need.replace("_", "-"), terminal_line(item.id)
    title = reader.fit(item.title, len(_INDENT) + len(id_) + 2)
    yield join([paint(need, item.role), _INDENT[len(need) :], title, *(("  ", id_) if item.id != item.title else ())])
    since = f" · {describe_age(item.since, reader.now)}" if item.since is not None else ""
    yield join([_INDENT, reader.fit(f"{item.why}{since}", len(_INDENT))])
    yield join([_INDENT, paint(terminal_line(item.command), Role.ID)])


@verb(
    "ready",
    "GET /v1/ready",
    effect=READS,
    tag="state",
    tool=Tool("What needs attention.", hidden=("limit",)),
    examples=("baton ready", "baton ready --limit 5 --json"),
)
def list_ready(ws: Workspace, now: datetime, verb_input: ReadyInput) -> ReadyResult:
    """Show what needs attention now, most urgent first, each with the command that resolves it."""
    revision = ws.branch.read()
    needs = list_needs(ws, now, revision)
    items = [need.make() for need in needs[: verb_input.limit]]
    counts = Counter(item.need for item in items)  # of what cannot be shown, `unreadable`
    counts.update(need.need for need in needs[len(items) :])
    return ReadyResult(
        **full_position(revision), items=sorted(items, key=_by_urgency), total=len(needs), counts=_order(counts)
    )


def count_needs(ws: Workspace, now: datetime, revision: Revision) -> dict[str, int]:
    """Return the number of items that need attention, by need, without making the items."""
    return _order(Counter(need.need for need in list_needs(ws, now, revision)))


def _order(counts: Counter[Need]) -> dict[str, int]:
    return {need: counts[need] for need in NEEDS if counts[need]}


class NeedOfRecord(NamedTuple):
    """Something that needs attention; its record is decoded when the item is made."""

    need: Need
    kind: str
    id: str
    make: Callable[[], ReadyItem]


def _by_urgency(item: ReadyItem | NeedOfRecord) -> int:
    return NEEDS.index(item.need)


def list_needs(ws: Workspace, now: datetime, revision: Revision) -> list[NeedOfRecord]:
    """Return what needs attention, most urgent first. Of 10,000 records, only those of the shown items are decoded.

    Within one need, loops and patterns are sorted by date, follow-ups by priority and number of deferrals.
    """
    state, waiting = revision.state, WaitingChecks(ws, revision)
    loops = state.select(OpenLoop, lambda loop: loop.status != "verified")
    due = state.select(
        FollowUp, lambda item: item.priority != "normal",
        lambda item: (-PRIORITIES.index(item.priority), -item.defer_count),
    )  # fmt: skip
    candidates = state.select(Pattern, lambda pattern: pattern.status == "rule_candidate")
    others = (
        *(_describe_file(file) for file in state.unreadable((*SINGLETONS, *KINDS))),
        *_list_readable(ws, "commit", "an older revision", lambda: _list_reverts(ws, revision)),
        *_list_readable(ws, "remote", "commits of remotes", lambda: _list_reviews(ws)),
        *list_rejected_imports(ws),
    )
    needs = [
        *_need_each(loops, lambda loop: _describe_loop(loop, waiting, now), lambda loop: _find_loop_need(loop, now)),
        *_need_each(due, _describe_follow_up, lambda _: "follow_up"),
        *_need_each(state.select(Conflict, lambda _: True), _describe_conflict, lambda _: "conflict"),
        *(NeedOfRecord(item.need, item.kind, item.id, partial(lambda item: item, item)) for item in others),
        *_need_each(candidates, _describe_candidate, lambda _: "rule"),
        *_list_proposals(ws, revision),
    ]
    return sorted(needs, key=_by_urgency)


def _need_each(
    records: Selection[Model], describe: Callable[[Model], ReadyItem], find_need: Callable[[Any], Need]
) -> Iterator[NeedOfRecord]:
    for number, outline in enumerate(records.outlines):
        make = partial(_describe_one, records, number, describe)
        yield NeedOfRecord(find_need(outline), records.model.kind, outline.id, make)


def _describe_one(records: Selection[Model], number: int, describe: Callable[[Model], ReadyItem]) -> ReadyItem:
    """Return the item for a record; if the record cannot be shown, an item that says so."""
    record = records[number]
    item = isolate(partial(describe, record))
    if not isinstance(item, Failure):
        return item
    command = _command("show", f"{record.kind}/{record.id}")
    return _make_unreadable(record.kind, record.id, path_of(key_of(record)), item.describe(), command)


def _make_settling_command(loop: OpenLoop, waiting: WaitingChecks) -> str:
    """Return the command that settles a loop: it approves the check, runs it, or records a result by hand."""
    if loop in waiting:
        return _command("trust", loop.id)
    if has_automatic_check(loop):
        return _command("verify", loop.id)
    return _command("loop", "verify", loop.id, "--passed")


def _find_loop_need(loop: OpenLoop | LoopOutline, now: datetime) -> Need:
    if loop.status == "failed":
        return "failed"
    return "overdue" if is_overdue(loop, now) else "unverified"


def _describe_loop(loop: OpenLoop, waiting: WaitingChecks, now: datetime) -> ReadyItem:
    end, check, command = deadline(loop), loop.last_check, _make_settling_command(loop, waiting)
    why = f": {one_line(check.why, 120)}" if check is not None and check.why else ""
    need = _find_loop_need(loop, now)
    if need == "failed":
        again = f"; now {WAITS}" if loop in waiting else ""
        return _make("failed", loop, f"failed{why}{again}", command, check.at if check else loop.created_at)
    if need == "overdue":
        since = iso(end) if end is not None else loop.created_at
        reason = f"overdue: {WAITS}" if loop in waiting else f"overdue, nobody could verify it{why}"
        return _make("overdue", loop, reason, command, since)
    return _make("unverified", loop, _why_unverified(loop, waiting, why), command, loop.created_at)


def _why_unverified(loop: OpenLoop, waiting: WaitingChecks, why: str) -> str:
    if loop in waiting:
        return WAITS
    if loop.last_check is not None:
        return f"its check gave no answer{why}"
    if loop.verify is None:
        return "it has no check: look yourself"
    if loop.verify.method == "manual":
        return f"look yourself{': ' + one_line(loop.verify.note, 120) if loop.verify.note else ''}"
    return "its check has not run yet"


def _describe_file(file: Unreadable) -> ReadyItem:
    key, why = key_at(file.path), f"cannot be read: {one_line(file.why, 200)}"
    if key is None:
        return _make_unreadable("file", file.path, file.path, why, "baton validate")
    command = "baton validate"
    if key.id:
        command = _command("rollback", "--record", key.id) if file.raw is not None else "baton sync"
    return _make_unreadable(key.kind, key.id, file.path, why, command)


def _make_unreadable(kind: str, id_: str, title: str, why: str, command: str) -> ReadyItem:
    return ReadyItem(need="unreadable", kind=kind, id=id_, title=title, why=why, command=command)


def _list_readable(
    ws: Workspace, kind: str, title: str, find: Callable[[], Iterable[ReadyItem]]
) -> Sequence[ReadyItem]:
    """Return the items of a source beside the records; if it cannot be read, one item that says so."""
    try:
        return list(find())
    except BatonError as error:
        why = one_line(str(error), 200)
        return [_make_unreadable(kind, str(ws.branch.namespace), title, why, "baton doctor")]


def _describe_follow_up(item: FollowUp) -> ReadyItem:
    count = f", put off {item.defer_count} times" if item.defer_count > 1 else ""
    command = _command("followup", "done", item.id)
    return _make("follow_up", item, f"{item.priority}{count}", command, item.last_deferred or item.first_seen)


def _describe_conflict(conflict: Conflict) -> ReadyItem:
    info = ALL_KINDS.get(conflict.record_kind)
    record = f"{info.title if info is not None else conflict.record_kind} {conflict.record_id}".strip()
    whole = f"{conflict.about_record}, changed on the other"
    field = f"two sides changed {conflict.field}" if conflict.field else whole
    return ReadyItem(
        need="conflict", kind=Conflict.kind, id=conflict.id, title=one_line(record, 72), why=one_line(field, 120),
        command=_command("conflicts"),  # it shows both values; `ours` can be the text of another machine
    )  # fmt: skip


def _list_reverts(ws: Workspace, revision: Revision) -> Iterator[ReadyItem]:
    for revert in find_recent_reverts(ws.branch, revision.commit):
        yield ReadyItem(
            need="reverted", kind="commit", id=revert.commit[:10], title=_name_effect(ws, revert),
            why="made by hand, perhaps in a work tree with outdated files", command=make_return_command(ws, revert),
        )  # fmt: skip


def describe_revert(ws: Workspace, revert: Revert) -> str:
    """Return a clause about a commit that silently took changes back."""
    return f"commit {revert.commit[:10]} was made by hand and {_name_effect(ws, revert)}"


def _name_effect(ws: Workspace, revert: Revert) -> str:
    if not revert.lost:
        return f"restores {ws.branch.name_commit(revert.older.commit)}, without the later changes"
    subjects = one_line("; ".join(entry.subject for entry in revert.lost), 120)
    return f"takes back what was written after {ws.branch.name_commit(revert.older.commit)} ({subjects})"


def make_return_command(ws: Workspace, revert: Revert) -> str:
    """Return the command that brings back what a commit took back: only that, if it is one record."""
    if revert.lost and len(revert.records) == 1:
        return _command("rollback", revert.lost[0].commit[:10], "--record", revert.records[0])
    return _command("undo", revert.commit[:10])


def _list_reviews(ws: Workspace) -> Iterator[ReadyItem]:
    for name, count in count_waiting_commits(ws):
        yield ReadyItem(
            need="review", kind="remote", id=name, title=f"{count_noun(count, 'commit')} of {name}",
            why="received from a remote, and not merged automatically", command=_command("review", "--remote", name),
        )  # fmt: skip


def list_rejected_imports(ws: Workspace) -> Sequence[ReadyItem]:
    """Return one item for all rows that imports rejected; none if there are none."""
    return _list_readable(ws, "import", "imported rows set aside", lambda: _describe_quarantine(ws))


def _describe_quarantine(ws: Workspace) -> Iterator[ReadyItem]:
    rows = list_quarantined(ws)
    if rows:
        yield ReadyItem(
            need="import", kind="import", id=str(ws.branch.namespace),
            title=f"{count_noun(len(rows), 'imported row')} set aside",
            why=f"did not fit: {one_line(rows[0].why, 120)}", since=rows[0].at,
            command=_command("import", "quarantine"),
        )  # fmt: skip


def _describe_candidate(pattern: Pattern) -> ReadyItem:
    rule = f": {one_line(pattern.proposed_rule, 120)}" if pattern.proposed_rule else ""
    why = f"seen {count_times(pattern.count)}; a person decides whether it becomes a rule{rule}"
    return _make("rule", pattern, why, _command("pattern", "graduate", pattern.id), pattern.last_seen)


def _list_proposals(ws: Workspace, revision: Revision) -> Iterator[NeedOfRecord]:
    """Yield the decisions that are proposed to replace others."""
    for id_, target in RecordAging(ws, revision).proposals.targets.items():
        yield NeedOfRecord("proposal", ActiveDecision.kind, id_, partial(_describe_proposal, revision, id_, target))


def _describe_proposal(revision: Revision, id_: str, target: str) -> ReadyItem:
    decision = revision.state.get(ActiveDecision, id_)
    why = f"proposed to replace {one_line(target, 60)}, which holds until a person confirms it"
    return _make("proposal", decision, why, _command("decision", "confirm", id_), decision.created_at)


def _make(need: Need, record: Record, why: str, command: str, since: str) -> ReadyItem:
    title = title_of(record.kind, record.as_data())
    return ReadyItem(need=need, kind=record.kind, id=record.id, title=title, why=why, since=since, command=command)


def _command(*words: str) -> str:
    return shell_line(["baton", *words])
