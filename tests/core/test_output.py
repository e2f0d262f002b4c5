"""Text for output: characters that are unsafe in a medium are escaped, and our own styling is known by its type."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from planting import PLANTED, UNSAFE
from strategies import laws

from baton_git.core import output
from baton_git.core.change_lines import format_changes
from baton_git.core.diff import FieldChange, RecordChange
from baton_git.core.sessions import SessionNames
from baton_git.core.view import Reader
from baton_git.interfaces.cli.sharing.review import format_waiting_record
from baton_git.interfaces.http.site import SafeFormatter
from baton_git.namespace.review.queue import WaitingRecord
from baton_git.systems.kairos import codec as kairos

ANY = st.text(st.characters()) | st.sampled_from(["\x1b[2J", "\u202e", "\ud800", "a\r\nb", "\U000e0041", "\u034f"])
OWN = re.compile("\x1b\\[(?:0|[12]|3[1-6])m")


@laws
@given(ANY)
def test_no_medium_shows_unsafe_characters(text: str) -> None:
    for safe in (output.terminal(text), output.terminal_line(text), output.one_line(text, 100), output.html(text)):
        assert UNSAFE.findall(safe) == []
    assert output.terminal_line(text).isprintable()
    if output.is_safe(text):
        assert output.terminal(text) == text


@laws
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | ANY,
        lambda one: st.lists(one, max_size=3) | st.dictionaries(ANY, one, max_size=3),
        max_leaves=6,
    )
)
def test_json_parses_back_to_the_same(data: Any) -> None:
    text = output.json_text(data)
    assert UNSAFE.findall(text) == []
    assert json.loads(text) == data


@laws
@given(st.dictionaries(st.sampled_from(["a", "n m"]), ANY.filter(lambda text: not re.search("[\ud800-\udfff]", text))))
def test_a_displayed_handover_parses_to_the_same_record(state: dict[str, str]) -> None:
    data: dict[str, Any] = {"id": "run-1", **({"state": state} if state else {})}
    shown = kairos.dump_for_terminal(data)
    assert UNSAFE.findall(shown) == []
    assert kairos.loads(shown.encode()) == kairos.loads(kairos.dumps(data))


@for_each(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"), ("\x1b[31m", "\\x1b[31m"), ("\x9b", "\\x9b"), ("\u202e\u2028", "\\u202e\\u2028"),
        ("\U000e0041", "\\U000e0041"), ("é 名前 ❤️", "é 名前 ❤️"), ("x\u3164", "x\\u3164"), ("\ufe01", "\\ufe01"),
    ],
)  # fmt: skip
def test_control_characters_are_escaped_for_a_terminal(text: str, shown: str) -> None:
    assert output.terminal(text) == shown


READER = Reader(datetime(2026, 6, 17, tzinfo=UTC), SessionNames())


def test_only_styles_added_by_baton_are_kept() -> None:
    line = "see " + output.style(f"x{PLANTED}", output.RED) + " \x1b[8m" + output.style("y", output.BOLD)
    assert isinstance(line, output.Styled)
    assert output.terminal(line) == line
    assert OWN.findall(line) == ["\x1b[31m", "\x1b[0m", "\x1b[1m", "\x1b[0m"]
    assert UNSAFE.findall(OWN.sub("", line)) == []
    assert "\x1b" not in output.terminal(f"{line}")


def test_the_servers_log_has_no_unsafe_characters() -> None:
    error = ValueError(PLANTED)
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "a bug: %s", (PLANTED,), (ValueError, error, None))
    line = SafeFormatter("%(message)s").format(record)
    assert "ValueError" in line
    assert UNSAFE.findall(line) == []


def test_records_cannot_style_the_output_of_changes_and_reviews() -> None:
    field = FieldChange(PLANTED, (PLANTED,), ([PLANTED],))
    lists = FieldChange("x", ([PLANTED],), ([PLANTED, "y"],))
    change = RecordChange("follow_up", PLANTED, "changed", PLANTED, PLANTED, (field, lists))
    gone = change._replace(action="archived")
    text = output.Styled("\n").join(
        [
            *format_changes(READER, [change, gone]),
            *format_waiting_record(READER, WaitingRecord("follow_up", PLANTED, (change, gone), frozenset())),
        ]
    )
    assert "\x1b[1m" in text
    assert UNSAFE.findall(OWN.sub("", output.terminal(text))) == []
