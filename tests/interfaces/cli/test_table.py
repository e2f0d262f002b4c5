"""Tables fit the terminal, count the width of wide characters, and let no text control the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
from hypothesis import given
from hypothesis import strategies as st

from baton_git.core.diff import FieldChange, RecordChange
from baton_git.core.output import RED, style
from baton_git.core.sessions import SessionNames
from baton_git.core.styles import Column, Role
from baton_git.core.text_layout import count_columns, fit, fit_styled, render_table, wrap, wrap_after, wrap_styled
from baton_git.core.view import Reader
from baton_git.interfaces.cli.sharing.review import format_waiting_record
from baton_git.namespace.review.queue import WaitingRecord

READER = Reader(datetime(2026, 6, 17, tzinfo=UTC), SessionNames())
COLUMNS = [
    Column("id", lambda row: row[0]),
    Column("n", lambda row: row[1], right=True),
    Column("title", lambda row: row[2]),
]
ROWS = [("OL-1", 5, "Deployed"), ("FU-10", 12, "日本語 の 題"), ("X", "", "")]


def plain_table(*args: Any, **options: Any) -> str:
    return click.unstyle(render_table(*args, **options))


def test_columns_are_aligned_and_lines_have_no_trailing_spaces() -> None:
    assert plain_table(ROWS, COLUMNS).splitlines() == [
        "ID      N  TITLE",
        "OL-1    5  Deployed",
        "FU-10  12  日本語 の 題",
        "X",
    ]


def test_an_empty_column_is_left_out_and_a_table_without_rows_is_empty() -> None:
    assert plain_table([("a", "", "b")], COLUMNS).splitlines() == ["ID  TITLE", "a   b"]
    assert plain_table([], COLUMNS) == ""


def test_control_characters_are_printed_as_escapes() -> None:
    assert plain_table([("a", "", "\x1b[2J\nx")], COLUMNS, headings=False) == "a  \\x1b[2J\\x0ax"


def test_a_narrow_terminal_cuts_or_wraps_texts_but_not_ids_and_moves_the_last_column_below_if_needed() -> None:
    columns = [
        Column("id", lambda row: row[0], Role.ID),
        Column("who", lambda row: row[1]),
        COLUMNS[2]._replace(wraps=True),
    ]
    row = ("7f3e9a52-1c44", "セッション of claude", "looked at the timeouts")
    assert plain_table([row], columns, width=48).splitlines() == [
        "ID             WHO             TITLE",
        "7f3e9a52-1c44  セッション of…  looked at the",
        "                               timeouts",
    ]
    assert plain_table([row], columns, width=36).splitlines() == [
        "ID             WHO",
        "7f3e9a52-1c44  セッション of claude",
        "    looked at the timeouts",
    ]


@given(
    st.lists(st.tuples(st.text("abあ", max_size=70), st.integers(0, 999), st.text(max_size=60)), min_size=1),
    st.integers(40, 120),
    st.booleans(),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, int, str]], width: int, wraps: bool) -> None:
    columns = [*COLUMNS[:2], COLUMNS[2]._replace(wraps=wraps)]
    lines = plain_table(rows, columns, width=width).splitlines()
    assert all(count_columns(line) <= width for line in lines)


@given(st.text("ab あい", max_size=90), st.integers(2, 40))
def test_wrapped_lines_fit_and_hold_the_whole_text(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(count_columns(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.text(), st.integers(1, 40))
def test_a_cut_text_fits_and_begins_like_the_whole_text(text: str, width: int) -> None:
    cut = fit(text, width)
    assert cut == text or (count_columns(cut) <= width and text.startswith(cut[:-1]))


def test_styles_have_no_width_and_end_where_a_line_is_cut() -> None:
    line = "  81  " + style("Ada", RED) + "  デプロイ now escalated"
    assert fit_styled(line, 16) == "  81  \x1b[31mAda\x1b[0m  デプ…\x1b[0m"
    assert wrap_styled(line, 16, "    ").split("\n") == [
        "  81  \x1b[31mAda\x1b[0m",
        "    デプロイ now",
        "    escalated",
    ]
    assert fit_styled(line, 40) == wrap_styled(line, None, "") == line


def test_a_text_after_a_prefix_continues_below_its_first_line() -> None:
    assert wrap_after("  1. [ ] ", "記憶庫を配備 and look at it", None) == "  1. [ ] 記憶庫を配備 and look at it"
    assert wrap_after("  1. [ ] ", "記憶庫を配備 and look at it", 30).split("\n") == [
        "  1. [ ] 記憶庫を配備 and look",
        "         at it",
    ]


def test_a_waiting_record_shows_its_fields_in_columns_and_its_id_once() -> None:
    fields = (
        FieldChange("id", (), ("DEC-1",)),
        FieldChange("what", (), ("Use git",)),
        FieldChange("why", ("a",), ("b",)),
    )
    change = RecordChange("active_decision", "DEC-1", "added", "Use git", fields=fields)
    rule = RecordChange("rule", "PAT-1", "added")
    lines = format_waiting_record(READER, WaitingRecord("active_decision", "DEC-1", (change, rule), frozenset()))
    assert click.unstyle("\n".join(lines)).split("\n") == [
        "decision DEC-1",
        "  added",
        "    what  Use git",
        "    why   a → b",
        "  rule PAT-1 written",
    ]
