"""The session's own to-do list."""

from __future__ import annotations

import pytest
from world import NOW, acting, later

from baton_git.core.errors import Ambiguous, InvalidArgument, InvalidDocument, LimitExceeded, NotFound
from baton_git.core.records.lineage import Todo
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.work_items.todos import add_todo, list_todos, mark_todo, parse_json_list, parse_list, replace_todos


@pytest.fixture
def ws_in_session(ws):
    begin_session(ws, NOW, StartOptions(check_seconds=0, sync_seconds=0))
    return ws


def list_texts(ws) -> list[tuple[str, str]]:
    return [(one.content, one.status) for one in list_todos(ws, NOW, all=True).todos]


def test_items_are_added_and_marked_by_text_prefix_or_number(ws_in_session):
    for text in ("Write the parser", "Test it", "Write the page"):
        add_todo(ws_in_session, NOW, text, started=text == "Test it")
    mark_todo(ws_in_session, NOW, "write the pag", "completed")
    mark_todo(ws_in_session, NOW, "1", "cancelled")
    assert list_texts(ws_in_session) == [
        ("Write the parser", "cancelled"),
        ("Test it", "in_progress"),
        ("Write the page", "completed"),
    ]
    with pytest.raises(Ambiguous, match="Write the parser, Write the page"):
        mark_todo(ws_in_session, NOW, "Write", "completed")
    for missing in ("nope", "0", "4", ""):
        with pytest.raises(NotFound):
            mark_todo(ws_in_session, NOW, missing, "completed")


def test_a_list_replaces_the_previous_one_and_an_equal_list_writes_nothing(ws_in_session):
    replace_todos(ws_in_session, NOW, [Todo(content="a"), Todo(content="b", status="completed")])
    again = replace_todos(ws_in_session, NOW, [Todo(content="a"), Todo(content="b", status="completed")])
    assert again.changes == []
    replace_todos(ws_in_session, NOW, [])
    assert list_texts(ws_in_session) == []


def test_empty_and_duplicate_items_are_rejected(ws_in_session):
    with pytest.raises(InvalidArgument):
        replace_todos(ws_in_session, NOW, [Todo(content=" ")])
    with pytest.raises(InvalidArgument, match="twice"):
        replace_todos(ws_in_session, NOW, [Todo(content="a"), Todo(content="a", status="completed")])
    add_todo(ws_in_session, NOW, "a")
    with pytest.raises(InvalidArgument, match="already"):
        add_todo(ws_in_session, NOW, "a ")
    with pytest.raises(LimitExceeded):
        replace_todos(ws_in_session, NOW, [Todo(content=str(number)) for number in range(201)])


@pytest.mark.parametrize("session", [None, "nobody"])
def test_without_an_active_session_adding_a_todo_is_an_error(ws, session):
    with pytest.raises(NotFound, match="session") as raised:
        add_todo(acting(ws, session), NOW, "a")
    assert "baton boot" in raised.value.hint


def begin(ws, session: str, minutes: float) -> str:
    options = StartOptions(check_seconds=0, sync_seconds=0)
    return begin_session(acting(ws, session), later(minutes=minutes), options).brief.text


def test_what_a_session_without_hooks_left_undone_is_told_until_somebody_marks_it(ws):
    begin(ws, "one", 0)
    for text in ("test the parser", "write the page", "read the paper"):
        add_todo(acting(ws, "one"), later(minutes=1), text, started=text == "write the page")
    mark_todo(acting(ws, "one"), later(minutes=1), "read", "completed")
    assert "no recorded end" in begin(ws, "two", 2)
    end_session(acting(ws, "one"), later(minutes=3), context="x")
    told = begin(ws, "three", 4)
    assert "- [ ] test the parser (session one)\n- [>] write the page (session one)\n" in told
    assert "read the paper" not in told
    mark_todo(acting(ws, "three"), later(minutes=5), "test the", "completed")
    end_session(acting(ws, "three"), later(minutes=6))
    told = begin(ws, "four", 7)
    assert "write the page" in told
    assert "test the parser" not in told


def test_a_newer_list_says_where_an_item_of_a_session_without_hooks_stands(ws):
    begin(ws, "one", 0)
    add_todo(acting(ws, "one"), later(minutes=1), "test the parser")
    begin(ws, "two", 2)
    add_todo(acting(ws, "two"), later(minutes=3), "test the parser", started=True)
    for session in ("one", "two"):
        end_session(acting(ws, session), later(minutes=4))
    assert begin(ws, "three", 5).count("test the parser") == 1


def test_a_list_is_read_from_lines_and_from_json():
    text = "- [x] Read\n* [>] Write\n\n[ ] Test\n- Plain\n[-] Never\n"
    assert [(one.content, one.status) for one in parse_list(text)] == [
        ("Read", "completed"),
        ("Write", "in_progress"),
        ("Test", "pending"),
        ("Plain", "pending"),
        ("Never", "cancelled"),
    ]
    assert parse_json_list([{"content": "a", "status": "completed"}]) == [Todo(content="a", status="completed")]
    for wrong in ({}, ["a"], [{"content": 1}], [{"content": "a", "status": "begun"}]):
        with pytest.raises(InvalidDocument):
            parse_json_list(wrong)
    with pytest.raises(InvalidDocument, match="mark"):
        parse_list("[?] a")
