"""Who worked after whom, and beside whom, as a drawing: time goes down, each session has a lane, merges join lanes.

Pure: from the commits to places on a grid. Commits that one session made in a row are one stretch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from baton_git.namespace.commit_log import LogEntry

LANES = 7
"""Sessions that stand side by side; what is more shares the last lane."""
ROW, LANE, EDGE = 56, 22, 16
"""Units: the height of a row, the width of a lane, and the margin."""
COLOURS = 6


@dataclass
class Stretch:
    """Commits that one session made in a row, the oldest first."""

    row: int
    commits: list[LogEntry]
    before: list[int]
    """The rows of the stretches that it goes on from; -1 for one that is not drawn."""
    lane: int = field(default=0)

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
    def is_merge(self) -> bool:
        return len(self.first.parents) > 1

    @property
    def colour(self) -> int:
        return self.lane % COLOURS

    @property
    def x(self) -> int:
        return EDGE + self.lane * LANE

    @property
    def y(self) -> int:
        return self.row * ROW + ROW // 2


class Line(NamedTuple):
    """A line between two stretches. `sort` is next, join or earlier (it comes from above the drawing)."""

    path: str
    sort: str
    colour: int


class Drawing(NamedTuple):
    stretches: list[Stretch]
    lines: list[Line]
    width: int
    height: int


def drawing(newest_first: Sequence[LogEntry]) -> Drawing:
    """The drawing of some commits, children before their parents."""
    stretches = _stretches(list(reversed(newest_first)))
    _give_lanes(stretches)
    lines = [line for one in stretches for line in _lines(one, stretches)]
    lanes = 1 + max((one.lane for one in stretches), default=0)
    return Drawing(stretches, lines, 2 * EDGE + (lanes - 1) * LANE, len(stretches) * ROW)


def _stretches(oldest_first: Sequence[LogEntry]) -> list[Stretch]:
    children = Counter(parent for one in oldest_first for parent in set(one.parents))
    found: list[Stretch] = []
    row_of: dict[str, int] = {}
    for one in oldest_first:
        before = [row_of.get(parent, -1) for parent in one.parents]
        last = found[before[0]] if len(before) == 1 and before[0] >= 0 else None
        if last is not None and children[one.parents[0]] == 1 and last.session == one.session is not None:
            last.commits.append(one)
        else:
            last = Stretch(len(found), [one], list(dict.fromkeys(before)))
            found.append(last)
        row_of[one.commit] = last.row
    return found


def _give_lanes(stretches: Sequence[Stretch]) -> None:
    """The leftmost lane that is free as long as the session goes on. What has no session stays in its parent's lane."""
    reach = _reach(stretches)
    ends = {one.session: 0 for one in stretches}
    for one in stretches:
        ends[one.session] = max(ends[one.session], reach[one.row])
    lane_of: dict[str, int] = {}
    busy = [-1] * LANES
    for one in stretches:
        above = one.before[0] if one.before else -1
        if one.session is None:
            one.lane = stretches[above].lane if above >= 0 else 0
        elif one.session in lane_of:
            one.lane = lane_of[one.session]
        else:
            begins = one.row if above < 0 else above + 1
            one.lane = next((lane for lane in range(LANES) if busy[lane] < begins), LANES - 1)
            lane_of[one.session] = one.lane
        until = reach[one.row] if one.session is None else ends[one.session]
        busy[one.lane] = max(busy[one.lane], until)


def _reach(stretches: Sequence[Stretch]) -> list[int]:
    """By row, down to which row the lines of a stretch pass others."""
    reach = [one.row for one in stretches]
    for one in stretches:
        for number, row in enumerate(one.before):
            stays = number > 0 or one.session in (None, stretches[row].session)
            if row >= 0 and stays:
                reach[row] = max(reach[row], one.row - 1)
    return reach


def _lines(one: Stretch, stretches: Sequence[Stretch]) -> list[Line]:
    lines = []
    for number, row in enumerate(one.before):
        if row < 0:
            lines.append(Line(f"M{one.x} {one.y - ROW // 2}V{one.y}", "earlier", one.colour))
        else:
            sort = "join" if number else "next"
            lines.append(Line(_path(stretches[row], one, late=bool(number)), sort, stretches[row].colour))
    return lines


def _path(above: Stretch, below: Stretch, *, late: bool) -> str:
    """From one stretch to a later one: it changes lanes at once, or, where it is merged in, at the end."""
    if above.lane == below.lane:
        return f"M{above.x} {above.y}V{below.y}"
    if late:
        turn = below.y - ROW
        return f"M{above.x} {above.y}V{turn}C{above.x} {turn + 40} {below.x} {turn + 16} {below.x} {below.y}"
    turn = above.y + ROW
    return f"M{above.x} {above.y}C{above.x} {turn - 16} {below.x} {turn - 40} {below.x} {turn}V{below.y}"
