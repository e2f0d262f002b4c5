"""The last revision that a session saw: the index agrees with the history, and a write reads only a part of it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import acting, by_hand, document, later, workspace

from baton_git.git.store import Repository, Store
from baton_git.namespace import last_seen as index
from baton_git.namespace.last_tip import accept_tip
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sessions.sessions import init
from baton_git.verbs.work_items.followups import add_follow_up

SESSIONS = ("s0", "s1", "s2")
KINDS = ("boot", "write", "verb", "hand", "lose", "restart", "reset")
STEPS = st.lists(
    st.tuples(st.sampled_from(SESSIONS), st.sampled_from(KINDS)),
    min_size=1, max_size=14,
)  # fmt: skip


def index_file(ws) -> Path:
    return ws.branch.store.repository.common_dir / "baton/last-seen/x.json"


def restart(ws) -> None:
    """Forget the index in memory, as another process has none."""
    ws.branch.store.memory.forget(lambda key: key[0] == "last-seen")


def step(ws, number: int, session: str, what: str) -> None:
    """Do one step: a verb of the session, a commit by hand, the loss of the index file or of the
    index in memory, or a reset to the parent commit."""
    ws, now = acting(ws, session), later(minutes=number)
    if what == "boot":
        begin_session(ws, now, StartOptions(check_seconds=0, sync_seconds=0))
    elif what == "write":
        record = {"id": f"FU-{session}", "item": f"i{number}", "reason": "r", "first_seen": "s0"}
        write_document(ws, now, document(session, follow_ups=[record]))
    elif what == "verb":
        add_follow_up(ws, now, item=f"j{number}", reason="r")
    elif what == "hand":
        by_hand(ws, {f"follow_ups/FU-h{number}.toml": b'item = "x"\nreason = "r"\nfirst_seen = "s0"\n'}, minutes=number)
    elif what == "lose":
        index_file(ws).unlink(missing_ok=True)
    elif what == "restart":
        restart(ws)
    elif tip := ws.branch.read().commit:
        ref = ws.branch.store.repository.common_dir / ws.branch.ref
        before = ws.branch.store.commit(tip).parents[0] if ws.branch.store.commit(tip).parents else tip
        ref.write_text(f"{before}\n")
        accept_tip(ws.branch.store, ws.branch.ref, before)


@settings(max_examples=8, deadline=None)
@given(STEPS)
def test_the_index_agrees_with_the_history(steps):
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as folder:
        patched.setattr(index, "EVERY", 2)
        with Store(Repository.create_bare(Path(folder) / "s.git")) as store:
            ws = workspace(store)
            init(ws, later())
            for number, (session, what) in enumerate(steps):
                step(ws, number, session, what)
                tip = ws.branch.read().commit
                for one in SESSIONS:
                    assert index.find_last_seen(ws.branch, tip, one) == index.walk_history(ws.branch, tip, one)


@pytest.fixture
def in_turn(ws):
    """Return a workspace in which the sessions `s0` and `s1` wrote 24 documents in turn."""
    for number in range(24):
        step(ws, number, f"s{number % 2}", "write")
    return ws


def test_writing_a_document_reads_only_a_few_commits_of_a_long_history(in_turn, monkeypatch):
    read, real = set(), Store.commit
    monkeypatch.setattr(Store, "commit", lambda store, oid: (read.add(oid), real(store, oid))[1])
    with Store(in_turn.branch.store.repository) as store:
        step(workspace(store), 100, "s0", "write")
    assert 0 < len(read) < 32
    assert len(list(in_turn.branch.history())) >= 48


def test_an_invalid_index_is_ignored(in_turn):
    tip = in_turn.branch.read().commit
    expected = index.walk_history(in_turn.branch, tip, "s0")
    one_row = json.dumps({"tip": tip, "sessions": {"s0": 1}})
    for text in ("", "{", "[]", '{"tip": "x", "sessions": {}}', '{"tip": null}', one_row):
        index_file(in_turn).write_text(text)
        restart(in_turn)
        assert index.find_last_seen(in_turn.branch, tip, "s0") == expected
        assert json.loads(index_file(in_turn).read_text())["tip"] == tip
    index_file(in_turn).unlink()
    index_file(in_turn).mkdir()
    restart(in_turn)
    assert index.find_last_seen(in_turn.branch, tip, "s0") == expected


def test_many_sessions_do_not_make_the_index_grow_without_limit(in_turn, monkeypatch):
    monkeypatch.setattr(index, "KEPT", 3)
    monkeypatch.setattr(index, "EVERY", 1)
    for number in range(5):
        step(in_turn, 100 + number, f"t{number}", "write")
    step(in_turn, 200, "s0", "write")
    assert len(json.loads(index_file(in_turn).read_text())["sessions"]) <= 3
