"""`/n/…/lineage`: the sessions as a graph and as a table: when each session worked, which session it continued, and
which sessions worked at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.records.lineage import Session
from baton_git.core.times import parse_time_or_none
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.pages.paging import Paging, take_readable
from baton_git.namespace.commit_log import LogEntry, describe_merge
from baton_git.systems.gobby.handoff_context import list_goals
from baton_git.verbs.revisions.log import find_sessions

LANES = 7
"""Maximum number of lanes; further sessions share the last one."""
ROW, LANE, EDGE = 32, 18, 14
"""In SVG units: the height of a row, the width of a lane, and the margin at each side."""
STRAIGHT, BEND = 9, 23
"""In SVG units: how far a curve's control points are below its upper end, and above its lower end."""
COLOURS = 6
SESSION_OPS = frozenset({"boot", "wrap"})


@dataclass
class Stretch:
    """Consecutive commits of one session, oldest first; or a single commit without a session."""

    row: int
    commits: list[LogEntry]
    before: list[int]
    """The rows of the preceding stretches; -1 for a stretch that is not drawn."""
    lane: int = field(default=0)
    y: int = field(default=0)

    @property
    def session(self) -> str | None:
        return self.commits[-1].session

    @property
    def first(self) -> LogEntry:
        return self.commits[0]

    @property
    def last(self) -> LogEntry:
        return self.commits[-1]

    @property
    def main_commit(self) -> LogEntry:
        """The newest commit that is not a boot or a wrap; if all commits are, the newest one."""
        return next((entry for entry in reversed(self.commits) if entry.op not in SESSION_OPS), self.last)

    @property
    def is_merge(self) -> bool:
        return len(self.first.parents) > 1

    @property
    def colour(self) -> int:
        return self.lane % COLOURS

    @property
    def x(self) -> int:
        return EDGE + self.lane * LANE


class Line(NamedTuple):
    """A line between two stretches. `sort` is `next`, `join` (a merge), or `earlier` (from below the drawing)."""

    path: str
    sort: str
    colour: int


class Drawing(NamedTuple):
    """The stretches, newest first, the lines between them, and the size."""

    stretches: list[Stretch]
    lines: list[Line]
    width: int
    height: int


def draw_commits(newest_first: Sequence[LogEntry]) -> Drawing:
    """Lay out commits, given newest first, as lanes of sessions and lines between them."""
    stretches = _find_stretches(list(reversed(newest_first)))
    _assign_lanes(stretches)
    for stretch in stretches:
        stretch.y = (len(stretches) - 1 - stretch.row) * ROW + ROW // 2
    lines = [line for stretch in stretches for line in _draw_lines(stretch, stretches)]
    lanes = 1 + max((stretch.lane for stretch in stretches), default=0)
    return Drawing(stretches[::-1], lines, 2 * EDGE + (lanes - 1) * LANE, len(stretches) * ROW)


def _find_stretches(oldest_first: Sequence[LogEntry]) -> list[Stretch]:
    children = Counter(parent for entry in oldest_first for parent in set(entry.parents))
    stretches: list[Stretch] = []
    row_of: dict[str, int] = {}
    for entry in oldest_first:
        before = [row_of.get(parent, -1) for parent in entry.parents]
        last = stretches[before[0]] if len(before) == 1 and before[0] >= 0 else None
        if last is not None and children[entry.parents[0]] == 1 and last.session == entry.session is not None:
            last.commits.append(entry)
        else:
            last = Stretch(len(stretches), [entry], list(dict.fromkeys(before)))
            stretches.append(last)
        row_of[entry.commit] = last.row
    return stretches


def _assign_lanes(stretches: Sequence[Stretch]) -> None:
    """Give each session the leftmost free lane until it ends; commits without a session stay in their parent's lane."""
    reach = _find_reach(stretches)
    ends = {stretch.session: 0 for stretch in stretches}
    for stretch in stretches:
        ends[stretch.session] = max(ends[stretch.session], reach[stretch.row])
    lane_of: dict[str, int] = {}
    busy = [-1] * LANES
    for stretch in stretches:
        parent_row = stretch.before[0] if stretch.before else -1
        if stretch.session is None:
            stretch.lane = stretches[parent_row].lane if parent_row >= 0 else 0
        elif stretch.session in lane_of:
            stretch.lane = lane_of[stretch.session]
        else:
            begins = stretch.row if parent_row < 0 else parent_row + 1
            stretch.lane = next((lane for lane in range(LANES) if busy[lane] < begins), LANES - 1)
            lane_of[stretch.session] = stretch.lane
        until = reach[stretch.row] if stretch.session is None else ends[stretch.session]
        busy[stretch.lane] = max(busy[stretch.lane], until)


def _find_reach(stretches: Sequence[Stretch]) -> list[int]:
    """Return, for each stretch in the order of rows, the newest row up to which its lane must stay free.

    A line to a newer stretch occupies the lane of the older stretch until just before that newer one, if it changes
    lanes only at its end (a merge) or not at all.
    """
    reach = [stretch.row for stretch in stretches]
    for stretch in stretches:
        for number, row in enumerate(stretch.before):
            stays = number > 0 or stretch.session in (None, stretches[row].session)
            if row >= 0 and stays:
                reach[row] = max(reach[row], stretch.row - 1)
    return reach


def _draw_lines(stretch: Stretch, stretches: Sequence[Stretch]) -> list[Line]:
    lines = []
    for number, row in enumerate(stretch.before):
        if row < 0:
            lines.append(Line(f"M{stretch.x} {stretch.y + ROW // 2}V{stretch.y}", "earlier", stretch.colour))
        else:
            sort = "join" if number else "next"
            lines.append(Line(_draw_path(stretches[row], stretch, late=bool(number)), sort, stretches[row].colour))
    return lines


def _draw_path(older: Stretch, newer: Stretch, *, late: bool) -> str:
    """Return the SVG path from an older stretch up to a newer one.

    It changes lanes at once, or at the end if `late` (a merge).

    Args:
        older: the older stretch, which is lower in the drawing.
    """
    if older.lane == newer.lane:
        return f"M{older.x} {older.y}V{newer.y}"
    if late:
        turn = newer.y + ROW
        return f"M{older.x} {older.y}V{turn}C{older.x} {turn - BEND} {newer.x} {newer.y + STRAIGHT} {newer.x} {newer.y}"
    turn = older.y - ROW
    return f"M{older.x} {older.y}C{older.x} {turn + STRAIGHT} {newer.x} {older.y - BEND} {newer.x} {turn}V{newer.y}"


DRAWN = 200
"""Maximum number of commits in a drawing."""
SESSIONS = 50
MOST_CONCURRENT = 4
"""Maximum number of concurrent sessions named for a session."""


class SessionRow(NamedTuple):
    """A session, and the ids of those that worked at the same time."""

    session: Session
    concurrent: tuple[str, ...]


def show_lineage(request: PageRequest) -> Response:
    with request.work() as ws:
        first = Paging.of(request, DRAWN).first
        newest_entries, gap = take_readable(ws.branch.history(), first + DRAWN + 1)
        entries = newest_entries[first:]
        paging = Paging.of(request, DRAWN, more=len(entries) > DRAWN)
        all_sessions = find_sessions(ws.branch.read().state)
        newest = all_sessions[::-1][:SESSIONS]
        sessions = [SessionRow(session, _find_concurrent(session, newest, request.site.now())) for session in newest]
        drawn = draw_commits([describe_merge(ws.branch.store, entry) for entry in entries[:DRAWN]])
        shown = {*(entry.session for entry in entries[:DRAWN]), *(session.id for session in newest)}
        summaries = {session.id: session.summary for session in all_sessions if session.summary}
        return request.render(
            "lineage.html",
            ws,
            drawn=drawn,
            summaries=summaries,
            goals=list_goals(ws.branch.read().state, shown),
            sessions=sessions,
            total=len(all_sessions),
            paging=paging,
            gap=gap,
        )


def _find_concurrent(session: Session, others: Sequence[Session], now: datetime) -> tuple[str, ...]:
    """Return the ids of the first `MOST_CONCURRENT` sessions that worked at the same time."""
    span = _find_span(session, now)
    if span is None:
        return ()
    spans = ((candidate.id, _find_span(candidate, now)) for candidate in others if candidate.id != session.id)
    met = [id_ for id_, times in spans if times is not None and times[0] < span[1] and span[0] < times[1]]
    return tuple(met[:MOST_CONCURRENT])


def _find_span(session: Session, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the start and end of a session (`now` while it works); None if they cannot be read."""
    began, ended = parse_time_or_none(session.started), parse_time_or_none(session.ended) if session.ended else now
    return (began, ended) if began is not None and ended is not None else None
