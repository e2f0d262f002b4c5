"""Read JSON lines files in every state in which agents leave them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from transcript_files import write

from baton_git.agents import json_lines
from baton_git.agents.events import BEGINNING, Position
from baton_git.agents.json_lines import JsonLines, parse_object, read_object
from baton_git.core.errors import InvalidArgument, LimitExceeded, NotFound, StoreError


def read(path: Path, start: Position = BEGINNING) -> tuple[list[object], int]:
    lines = JsonLines(path, start)
    return [record for _, record in lines], lines.unread


def test_each_object_comes_with_its_line_number_and_offset(tmp_path):
    path = write(tmp_path / "a", {"é": 1}, "", {"b": 2})
    offset = path.read_bytes().index(b'{"b"')
    assert [place for place, _ in JsonLines(path)] == [Position(1, 0), Position(3, offset)]


def test_objects_glued_on_one_line_are_all_read(tmp_path):
    assert read(write(tmp_path / "a", '{"a":1}{"b":2} {"c":3}')) == ([{"a": 1}, {"b": 2}, {"c": 3}], 0)


def test_the_readable_part_of_a_broken_line_is_read_and_the_line_counted(tmp_path):
    assert read(write(tmp_path / "a", '{"a":1}rest', {"b": 2})) == ([{"a": 1}, {"b": 2}], 1)


@pytest.mark.parametrize("line", ["garbage", "[1]", "7", "null", '"text"', '{"a":', "NaN {", "1" * 5000, "[" * 100_000])
def test_a_line_that_is_not_an_object_is_counted_and_skipped(tmp_path, line):
    assert read(write(tmp_path / "a", {"a": 1}, line, {"b": 2})) == ([{"a": 1}, {"b": 2}], 1)


@pytest.mark.parametrize("line", ["", "   ", "\t", "\r", "\0\0\0"])
def test_an_empty_line_is_skipped_and_not_counted(tmp_path, line):
    assert read(write(tmp_path / "a", {"a": 1}, line, {"b": 2})) == ([{"a": 1}, {"b": 2}], 0)


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    assert read(write(tmp_path / "a", b'\xef\xbb\xbf{"a":1}\r', b'{"b":2}\r')) == ([{"a": 1}, {"b": 2}], 0)


def test_bytes_that_are_not_utf8_are_replaced(tmp_path):
    assert read(write(tmp_path / "a", b'{"a":"\xff\xfe x"}')) == ([{"a": "\ufffd\ufffd x"}], 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a":"\ud83d"}', "\ufffd"),
        (r'{"a":"\uDC00 \ud83d\ude80"}', "\ufffd 🚀"),
        (r'{"a":["\ud83d",1]}', ["\ufffd", 1]),
        (r'{"a":{"\ud83d":null}}', {"\ufffd": None}),
    ],
)
def test_half_a_surrogate_pair_is_replaced(tmp_path, text, value):
    assert read(write(tmp_path / "a", text)) == ([{"a": value}], 0)


def test_a_control_character_in_a_text_is_accepted(tmp_path):
    assert read(write(tmp_path / "a", '{"a":"x\ty"}')) == ([{"a": "x\ty"}], 0)


def test_reading_continues_where_it_ended(tmp_path):
    path = write(tmp_path / "a", {"a": 1}, {"b": 2})
    lines = JsonLines(path)
    assert len(list(lines)) == 2
    path.write_bytes(path.read_bytes() + b'{"c":3}\n')
    assert lines.end.line == 3
    assert list(JsonLines(path, lines.end)) == [(lines.end, {"c": 3})]


def test_an_unfinished_line_is_left_for_the_next_reading(tmp_path):
    path = write(tmp_path / "a", {"a": 1})
    path.write_bytes(path.read_bytes() + b'{"b":')
    lines = JsonLines(path)
    assert [record for _, record in lines] == [{"a": 1}]
    assert lines.unread == 1
    path.write_bytes(path.read_bytes() + b"2}\n")
    assert read(path, lines.end) == ([{"b": 2}], 0)


def test_a_whole_last_line_without_an_end_is_read_and_left_for_the_next_reading_too(tmp_path):
    """The line may still grow, so the next reading starts with it."""
    path = tmp_path / "a"
    path.write_bytes(b'{"a":1}')
    lines = JsonLines(path)
    assert len(list(lines)) == 1
    assert (lines.is_open, lines.end) == (True, BEGINNING)
    path.write_bytes(b'{"a":1}{"b":2}\n')
    assert read(path, lines.end) == ([{"a": 1}, {"b": 2}], 0)


def test_a_file_that_became_shorter_is_read_from_the_start(tmp_path):
    path = write(tmp_path / "a", {"a": 1})
    assert list(JsonLines(path, Position(9, 500))) == [(BEGINNING, {"a": 1})]


def test_a_line_that_is_too_long_is_counted_and_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "MAX_BYTES", 30)
    path = write(tmp_path / "a", {"a": 1}, {"b": "x" * 100}, {"c": 3})
    assert read(path) == ([{"a": 1}, {"c": 3}], 1)
    assert [place for place, _ in JsonLines(path)][1] == Position(3, path.read_bytes().index(b'{"c"'))


def test_reading_stops_after_the_maximum_number_of_lines(tmp_path):
    assert len(list(JsonLines(write(tmp_path / "a", "x", {"a": 1}, {"b": 2}), most=2))) == 1


def test_only_one_line_is_in_memory_at_a_time(tmp_path):
    path = write(tmp_path / "a", *({"a": "x" * 1_000_000} for _ in range(20)))
    tracemalloc.start()
    assert sum(1 for _ in JsonLines(path)) == 20
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path):
    with pytest.raises(NotFound, match="there is no file"):
        read(tmp_path / "nowhere")
    with pytest.raises(InvalidArgument, match="folder"):
        read(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError, match="loop"):
        read(tmp_path / "loop")


def test_a_file_may_be_one_object_over_many_lines(tmp_path, monkeypatch):
    path = write(tmp_path / "a", "{", '"a": 1', "}")
    assert read_object(path) == {"a": 1}
    assert read_object(write(tmp_path / "b", {"a": 1}, {"b": 2})) is None
    monkeypatch.setattr(json_lines, "MAX_BYTES", 5)
    with pytest.raises(LimitExceeded):
        read_object(path)


def test_a_text_is_parsed_to_an_object_or_to_none():
    assert parse_object(' {"a": 1}\n') == {"a": 1}
    assert [parse_object(text) for text in ("", "x", "[1]", '{"a":1} x', "[" * 100_000)] == [None] * 5
