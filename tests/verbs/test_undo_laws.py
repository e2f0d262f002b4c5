"""Properties of undo and redo, on histories of two sessions that Hypothesis draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import examples, laws
from world import acting, by_hand, files, later, workspace

from baton_git.core.errors import BatonError, NotAllowed
from baton_git.core.records.base import Part
from baton_git.core.state import Entry, Key, State
from baton_git.git.store import Repository, Store
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.editing import edit_record, forget_record, reopen_record
from baton_git.verbs.revisions.undo import redo, rollback, undo
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.work_items.decisions import add_decision, monitor_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up, merge_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop, settle_loop
from baton_git.verbs.work_items.patterns import propose_rule, record_pattern

COUNTED = {"defer_count", "last_deferred", "priority", "count", "recent_occurrences", "last_seen", "status"}
"""Fields in which the changes of several sessions are combined, so that no session alone determines the value."""

Outcome = Literal["passed", "failed"]
few = settings(laws, max_examples=examples(6))
"""Each example writes dozens of commits."""
numbers = st.sampled_from("12")


def check(ws: Workspace, now: datetime, loop: str, result: Outcome, note: str) -> None:
    settle_loop(ws, now, loop, result, note=note)


def start(ws: Workspace, now: datetime) -> None:
    begin_session(ws, now, StartOptions(check_seconds=0, sync_seconds=0))


def write_by_hand(ws: Workspace, now: datetime, text: str) -> None:
    by_hand(ws, {"notes.txt": text.encode()})


steps = st.one_of(
    st.tuples(st.just(add_follow_up), st.builds(lambda n: {"item": f"item {n}", "id": f"FU-{n}"}, numbers)),
    st.tuples(st.just(defer_follow_up), st.builds(lambda n, why: {"id": f"FU-{n}", "reason": why}, numbers, numbers)),
    st.tuples(st.just(finish_follow_up), st.builds(lambda n: {"id": f"FU-{n}"}, numbers)),
    st.tuples(st.just(add_loop), st.builds(lambda n: {"action": n, "expect": "x", "id": f"OL-{n}"}, numbers)),
    st.tuples(
        st.just(check),
        st.builds(
            lambda n, result, note: {"loop": f"OL-{n}", "result": result, "note": note},
            numbers, st.sampled_from(("passed", "failed")), numbers,
        ),
    ),
    st.tuples(st.just(close_loop), st.builds(lambda n: {"id": f"OL-{n}", "reason": "gone"}, numbers)),
    st.tuples(st.just(record_pattern), st.builds(lambda c: {"what": "w", "id": "PAT-1", "context": c}, numbers)),
    st.tuples(st.just(rollback), st.builds(lambda n: {"revision": f"~{n}"}, numbers)),
    st.tuples(st.just(write_by_hand), st.builds(lambda n: {"text": n}, numbers)),
    st.tuples(st.just(start), st.just({})),
    st.tuples(
        st.just(edit_record), st.builds(lambda n, text: {"id": f"FU-{n}", "fields": {"item": text}}, numbers, numbers)
    ),
    st.tuples(st.just(reopen_record), st.builds(lambda n: {"id": f"FU-{n}"}, numbers)),
    st.tuples(st.just(forget_record), st.builds(lambda n: {"id": f"FU-{n}", "reason": "x"}, numbers)),
    st.tuples(st.just(merge_follow_up), st.builds(lambda n: {"id": f"FU-{n}", "into": f"FU-{3 - int(n)}"}, numbers)),
    st.tuples(st.just(add_decision), st.builds(lambda n: {"what": n, "why": "w", "id": f"DEC-{n}"}, numbers)),
    st.tuples(st.just(monitor_decision), st.builds(lambda n: {"id": f"DEC-{n}"}, numbers)),
    st.tuples(st.just(propose_rule), st.builds(lambda n: {"id": "PAT-1", "rule": n}, numbers)),
    st.tuples(st.just(rollback), st.builds(lambda n: {"record": f"FU-{n}"}, numbers)),
)  # fmt: skip


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a function that creates a workspace of the session `a` with a new namespace."""
    store = Store(Repository.create_bare(tmp_path_factory.mktemp("laws") / "state.git"))
    fresh_numbers = count()
    yield lambda: workspace(store, "a", namespace=f"n{next(fresh_numbers)}")
    store.close()


def do(ws: Workspace, minute: int, step: tuple[Any, dict[str, Any]]) -> None:
    """Run a step that is possible here; a refused step changes nothing."""
    verb, fields = step
    with suppress(BatonError):
        verb(ws, later(minutes=minute), **fields)


def stored_files(ws: Workspace) -> dict[str, bytes]:
    """Return all files except those of sessions, which undo does not change."""
    return {path: text for path, text in files(ws).items() if "sessions/" not in path}


def walk(ws: Workspace, step: Any) -> list[dict[str, bytes]]:
    """Undo or redo everything; return the files after each step."""
    walked: list[dict[str, bytes]] = []
    while True:
        try:
            step(ws, later(days=1, minutes=len(walked)))
        except NotAllowed:
            return walked
        walked.append(stored_files(ws))


@few
@given(drawn=st.lists(steps, min_size=1, max_size=8))
def test_redoing_every_undo_restores_the_same_files_step_by_step(fresh: Any, drawn: list[Any]) -> None:
    ws = fresh()
    add_follow_up(ws, later(), item="first", id="FU-1")
    for minute, step in enumerate(drawn, 1):
        do(ws, minute, step)
    before = stored_files(ws)
    back = walk(ws, undo)
    forward = walk(ws, redo)
    assert len(forward) == len(back)
    assert forward == [*reversed(back[:-1]), before]


FINISH = (finish_follow_up, {"id": "FU-1"})
REOPEN = (rollback, {"revision": "~1"})
REOPEN_BEFORE = (rollback, {"revision": "~2"})
DEFER = (defer_follow_up, {"id": "FU-1", "reason": "1"})


@few
@example(drawn=[("a", FINISH), ("a", REOPEN), ("b", DEFER)])
@example(drawn=[("a", FINISH), ("a", REOPEN), ("b", FINISH)])
@example(drawn=[("a", FINISH), ("b", REOPEN), ("b", FINISH), ("a", REOPEN_BEFORE), ("b", REOPEN_BEFORE)])
@given(drawn=st.lists(st.tuples(st.sampled_from("ab"), steps), min_size=2, max_size=8))
def test_an_undo_keeps_later_changes_of_other_sessions(fresh: Any, drawn: list[Any]) -> None:
    ws = fresh()
    add_follow_up(ws, later(), item="first", id="FU-1")
    for minute, (session, step) in enumerate(drawn, 1):
        do(acting(ws, session), minute, step)
    before = ws.branch.read()
    theirs = written_last_by(ws, "b")
    back = walk(ws, undo)
    state = ws.branch.read().state
    for (key, name), value in theirs.items():
        assert values_at(state, key).get(name) == value, (key, name)
    forward = walk(ws, redo)
    assert len(forward) == len(back)
    assert values(ws.branch.read().state) == values(before.state)


def written_last_by(ws: Workspace, session: str) -> dict[tuple[Key, str], Any]:
    """Return, by record and field, the values that this session wrote last and no other session ever wrote."""
    writers: dict[tuple[Key, str], list[tuple[str | None, Any]]] = {}
    before: dict[tuple[Key, str], Any] = {}
    for entry in reversed(list(ws.branch.history())):
        after = values(ws.branch.revision_at(entry.commit).state)
        for field in {**before, **after}:
            if before.get(field) != after.get(field):
                writers.setdefault(field, []).append((entry.session, after.get(field)))
        before = after
    return {
        field: written[-1][1]
        for field, written in writers.items()
        if field[1] not in COUNTED and {who for who, value in written if value == written[-1][1]} == {session}
    }


def values(state: State) -> dict[tuple[Key, str], Any]:
    """Return, by record and field, all values of a state, without sessions.

    A record keeps its live key in the archive, so that archiving it does not count as writing all of its fields.
    """
    keys = {key._replace(archived=False) for key in State().differing(state) if key.kind != "session" and key.id}
    return {(key, name): value for key in keys for name, value in values_at(state, key).items()}


def values_at(state: State, key: Key) -> dict[str, Any]:
    """Return the fields of a record, live or archived, and those of its frame in the archive."""
    live, archived = state.entry(key), state.entry(key._replace(archived=True))
    frame = {f"archive.{name}": value for name, value in fields(archived).items()}
    return fields(live) | frame if live is not None else frame.pop("archive.record", {}) | frame


def fields(entry: Entry | None) -> dict[str, Any]:
    return entry.as_data() if isinstance(entry, Part) else {}
