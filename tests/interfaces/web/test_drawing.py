"""Lanes and merges in the drawn lineage, computed from the commits alone."""

from __future__ import annotations

from datetime import UTC, datetime

from baton_git.core.names import Oid
from baton_git.interfaces.web.pages.lineage import LANES, draw_commits
from baton_git.namespace.commit_log import LogEntry

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def entry(commit: str, session: str | None, *parents: str) -> LogEntry:
    ids = tuple(Oid(one) for one in parents)
    return LogEntry(Oid(commit), ids, Oid("t"), NOW, "Ada", commit, "op", session, None, None, 1)


def test_commits_of_one_session_in_a_row_are_one_stretch() -> None:
    drawn = draw_commits([entry("c", "s1", "b"), entry("b", "s1", "a"), entry("a", None)])
    assert [[one.commit for one in s.commits] for s in drawn.stretches] == [["b", "c"], ["a"]]
    assert [s.lane for s in drawn.stretches] == [0, 0]


def test_concurrent_sessions_have_separate_lanes_and_a_merge_joins_them() -> None:
    drawn = draw_commits([
        entry("m", None, "a2", "b1"), entry("a2", "sa", "a1"), entry("b1", "sb", "r"), entry("a1", "sa", "r"),
        entry("r", None),
    ])  # fmt: skip
    lanes = {s.last.commit: s.lane for s in drawn.stretches}
    assert lanes == {"r": 0, "a2": 0, "b1": 1, "m": 0}
    assert [s.is_merge for s in drawn.stretches] == [True, False, False, False]
    assert [line.sort for line in drawn.lines].count("join") == 1


def test_a_lane_is_reused_after_its_session() -> None:
    drawn = draw_commits([entry("c", "s3", "b"), entry("b", "s2", "a"), entry("a", "s1", "r"), entry("r", None)])
    assert {s.lane for s in drawn.stretches} == {0}


def test_more_sessions_than_lanes_share_the_last_one() -> None:
    rows = [entry("r", None)]
    for turn in range(2):
        rows += [entry(f"{turn}-{n}", f"s{n}", rows[-1].commit) for n in range(LANES + 3)]
    drawn = draw_commits(rows[::-1])
    assert max(s.lane for s in drawn.stretches) == LANES - 1
    assert drawn.width < 200


def test_a_parent_above_the_drawing_has_a_line_from_its_top() -> None:
    [line] = draw_commits([entry("b", "s", "not-drawn")]).lines
    assert line.sort == "earlier"


def test_no_commits_give_an_empty_drawing() -> None:
    assert draw_commits([]).stretches == []
