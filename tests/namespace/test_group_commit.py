"""Threads that share a store and write to one namespace at the same time: one ref move for all, and one commit each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from strategies import item
from waiting import until
from world import ANYBODY, NOW, WHO, acting, by_hand, document, stored, workspace

from baton_git.core.errors import Busy, Corrupt, NotAllowed, Stale, WriteFailed
from baton_git.core.names import Namespace
from baton_git.git.store import Store, group_commit
from baton_git.git.store.group_commit import CommitGroup
from baton_git.namespace.branch import Branch
from baton_git.namespace.revision import CommitStamp, ProposedState
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.work_items.followups import add_follow_up

SECONDS = 20


def stamp(session: str) -> CommitStamp:
    return CommitStamp("test", NOW, WHO, ANYBODY, session, "claude", "laptop")


def add_items(*ids: str):
    """Return a change that adds a follow-up for each id."""

    def change(tip):
        state = tip.state
        for one in ids:
            state = state.add(item(id=one))
        return state

    return change


def queue_has(group: CommitGroup[object], count: int) -> bool:
    return group.waiting >= count


@pytest.fixture
def together(ws: Workspace):
    """Return a function that runs `writers` in separate threads.

    All of them wait for a first writer, and then continue as one group.
    """
    with ThreadPoolExecutor(16) as pool:

        def run(*writers: Callable[[], object]) -> list[Future[object]]:
            go, begun = threading.Event(), threading.Event()

            def slow(tip):
                begun.set()
                assert go.wait(SECONDS)
                return tip.state.add(item(id="FU-first"))

            first = pool.submit(ws.branch.update, slow, stamp("first"))
            assert begun.wait(SECONDS)
            group = ws.branch.store.commit_group(ws.branch.ref)
            found = []
            for number, one in enumerate(writers, 1):
                found.append(pool.submit(one))
                until(partial(queue_has, group, number), SECONDS)
            go.set()
            first.result(SECONDS)
            return found

        yield run


def count_ref_moves(ws: Workspace) -> int:
    """Return how often the branch was moved."""
    log = ws.branch.store.repository.common_dir / "logs" / ws.branch.ref
    return len(log.read_text().splitlines())


def update_functions(ws: Workspace, *changes):
    """Return for each change a function that updates the branch with it, as a session of its own."""
    return [
        lambda change=change, number=number: ws.branch.update(change, stamp(f"s{number}"))
        for number, change in enumerate(changes)
    ]


def test_waiting_updates_are_written_with_one_ref_move_and_a_commit_each(ws, together, git):
    found = [one.result(SECONDS) for one in together(*update_functions(ws, *(add_items(f"FU-{n}") for n in range(5))))]
    assert count_ref_moves(ws) == 2
    assert [one.revision.number for one in found] == [2, 3, 4, 5, 6]
    newest, *_ = log = list(ws.branch.history())
    assert [entry.session for entry in log] == ["s4", "s3", "s2", "s1", "s0", "first", None]
    assert [entry.commit for entry in log[:5]] == [one.revision.commit for one in reversed(found)]
    assert all(len(entry.parents) == 1 for entry in log[:-1])
    assert [one.changes[0].id for one in found] == [f"FU-{n}" for n in range(5)]
    with Store(ws.branch.store.repository) as fresh:
        again = Branch(fresh, Namespace("x")).read()
        assert again.commit == newest.commit
        assert again.state.ids("follow_up") == {"FU-first", *(f"FU-{n}" for n in range(5))}
        assert [again.state.entry(key) for key in sorted(again.state.differing(ws.branch.read().state))] == []
    git(ws.branch.store.repository.common_dir, "fsck", "--strict")


def test_a_change_that_is_refused_does_not_touch_the_others(ws, together):
    first, refused, stale, last = together(
        *update_functions(ws, add_items("FU-1"), add_items("FU-2", "FU-1"), add_items("FU-3")),
        lambda: ws.branch.update(add_items("FU-4"), stamp("s3"), expected_revision=3),
    )
    assert first.result().revision.number == 2
    with pytest.raises(NotAllowed, match="exists already"):
        refused.result()
    assert stale.result().revision.number == 3
    assert last.result().revision.number == 4
    assert ws.branch.read().state.ids("follow_up") == {"FU-first", "FU-1", "FU-3", "FU-4"}


def test_an_expected_revision_is_stale_after_an_earlier_update_of_its_group(ws, together):
    one, two = together(
        *update_functions(ws, add_items("FU-1")),
        lambda: ws.branch.update(add_items("FU-2"), stamp("s1"), expected_revision=1),
    )
    assert one.result().revision.number == 2
    with pytest.raises(Stale) as caught:
        two.result()
    assert (caught.value.expected, caught.value.actual) == (1, 2)


def test_success_is_reported_only_after_the_branch_has_moved_durably(ws, together, monkeypatch):
    refs = ws.branch.store.ref_files
    real, reported, reported_at_moves = refs.swap, [], []

    def swap(*args):
        moved = real(*args)
        time.sleep(0.05)
        reported_at_moves.append(list(reported))
        return moved

    monkeypatch.setattr(refs, "swap", swap)
    updates_to_run = update_functions(ws, *(add_items(f"FU-{n}") for n in range(3)))
    for one in together(*(lambda writer=writer: reported.append(writer()) for writer in updates_to_run)):
        one.result(SECONDS)
    assert reported_at_moves == [[], []]
    assert len(reported) == 3


def test_documents_of_one_session_are_written_in_order_without_conflicts(ws, together):
    def of(number: int):
        loops = [{"id": "OL-1", "action": f"round {number}", "expected_outcome": "ok", "created_at": "2026-11-21"}]
        return lambda: write_document(ws, NOW, document("s1", open_loops=loops))

    write_document(ws, NOW, document("s1"))
    found = [one.result(SECONDS) for one in together(*(of(number) for number in range(4)))]
    assert [one.written.revision.number for one in found] == [3, 4, 5, 6]
    assert [one.conflicts for one in found] == [[]] * 4
    assert stored(ws, "open_loop", "OL-1").action == "round 3"


def test_documents_of_several_sessions_are_merged_with_those_in_the_same_group(ws, together, git):
    """The start of a session is searched in commits of which some are not published yet."""
    sessions = [f"s{number}" for number in range(4)]
    for one in sessions:
        write_document(acting(ws, one), NOW, document(one, follow_ups=_items("FU-0")))

    def of(session: str):
        return lambda: write_document(
            acting(ws, session), NOW, document(session, follow_ups=_items("FU-0", f"FU-{session}"))
        )

    found = [one.result(SECONDS) for one in together(*map(of, sessions), *map(of, sessions))]
    assert all(not one.conflicts for one in found)
    assert ws.branch.read().state.ids("follow_up") == {"FU-0", "FU-first", *(f"FU-{one}" for one in sessions)}
    git(ws.branch.store.repository.common_dir, "fsck", "--strict")


def _items(*ids: str):
    return [{"id": one, "item": f"Do {one}", "first_seen": "2026-11-21"} for one in ids]


def test_the_whole_group_retries_after_a_lost_race(ws, together, open_workspace):
    other = open_workspace("other")
    seen = []

    def overtaken(tip):
        if not seen:
            by_hand(other, {"notes.txt": b"by hand"})
        seen.append(tip.commit)
        return tip.state.add(item(id="FU-2"))

    found = [
        one.result(SECONDS) for one in together(*update_functions(ws, add_items("FU-1"), overtaken, add_items("FU-3")))
    ]
    assert len(set(seen)) == 2
    assert [one.revision.number for one in found] == [3, 4, 5]
    assert ws.branch.store.memory.get(("commit", seen[0])) is None
    assert ws.branch.store.memory.get(("revision", Namespace("x"), seen[0])) is None
    with pytest.raises(Exception, match="missing"):
        ws.branch.revision_at(seen[0])
    assert "by hand" in [entry.subject for entry in ws.branch.history()]


def test_a_failed_write_of_one_writer_does_not_affect_the_others(ws, together, monkeypatch):
    store = ws.branch.store
    real = store.store_draft

    def stored(draft, *args):
        if any(b"FU-large" in data for _, data in draft.objects.values()):
            raise OSError(28, "No space left on device")
        return real(draft, *args)

    monkeypatch.setattr(store, "store_draft", stored)
    one, two, three = together(*update_functions(ws, add_items("FU-1"), add_items("FU-large"), add_items("FU-3")))
    one.result(SECONDS)
    with pytest.raises(WriteFailed, match="No space left"):
        two.result(SECONDS)
    three.result(SECONDS)
    assert ws.branch.read().state.ids("follow_up") == {"FU-first", "FU-1", "FU-3"}
    with Store(store.repository) as fresh:
        assert Branch(fresh, Namespace("x")).read().commit == ws.branch.read().commit


def test_a_disk_error_of_the_group_is_raised_for_every_writer(ws, together, monkeypatch):
    refs = ws.branch.store.ref_files
    real, calls, tried = refs.swap, [], []

    def swap(ref, expected, new, *args):
        calls.append(new)
        if len(calls) == 1:
            return real(ref, expected, new, *args)
        tried.append(new)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(refs, "swap", swap)
    found = together(*update_functions(ws, add_items("FU-1"), add_items("FU-2")))
    for one in found:
        with pytest.raises(WriteFailed, match="No space left"):
            one.result(SECONDS)
    assert len(tried) == 3  # together, then each alone
    assert ws.branch.read().state.ids("follow_up") == {"FU-first"}
    for commit in tried:
        assert not ws.branch.store.has(commit)
        assert ws.branch.store.memory.get(("commit", commit)) is None


def test_an_unconfirmed_ref_move_is_not_repeated(ws, together, monkeypatch):
    refs = ws.branch.store.ref_files
    real, calls = refs.swap, []

    def swap(*args):
        calls.append(real(*args))
        if len(calls) > 1:
            raise WriteFailed("moved, but the disk did not confirm it")
        return calls[0]

    monkeypatch.setattr(refs, "swap", swap)
    for one in together(*update_functions(ws, add_items("FU-1"), add_items("FU-2"))):
        with pytest.raises(WriteFailed, match="did not confirm"):
            one.result(SECONDS)
    assert len(calls) == 2
    assert ws.branch.read().number == 3


def test_an_update_without_changes_returns_the_current_revision(ws, together):
    def same(tip):
        return tip.state.put(item(id="FU-1"))

    one, two = together(*update_functions(ws, same, same))
    assert one.result().revision.number == 2
    assert two.result().changes == ()
    assert two.result().revision.commit == one.result().revision.commit


def test_a_thread_that_waits_too_long_gets_busy_and_nothing_is_written(ws):
    go, begun = threading.Event(), threading.Event()

    def slow(tip):
        begun.set()
        assert go.wait(SECONDS)
        return tip.state.add(item(id="FU-first"))

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ws.branch.update, slow, stamp("first"))
        assert begun.wait(SECONDS)
        try:
            with pytest.raises(Busy, match="others kept writing"):
                ws.branch.update(add_items("FU-late"), stamp("late"), patience=0.05)
        finally:
            go.set()
        first.result(SECONDS)
    ws.branch.update(add_items("FU-2"), stamp("s2"))
    assert ws.branch.read().state.ids("follow_up") == {"FU-first", "FU-2"}


def test_a_stopped_writer_thread_fails_its_group_but_not_later_updates(ws, together):
    class Stop(BaseException):
        pass

    def stopped(tip):
        raise Stop

    stop, other = together(*update_functions(ws, stopped, add_items("FU-1")))
    with pytest.raises(Stop):
        stop.result(SECONDS)
    with pytest.raises(WriteFailed, match="was interrupted"):
        other.result(SECONDS)
    ws.branch.update(add_items("FU-2"), stamp("s2"))
    assert ws.branch.read().state.ids("follow_up") == {"FU-first", "FU-2"}


def test_namespaces_of_one_store_do_not_wait_for_each_other(ws):
    def nested(tip):
        there = workspace(ws.branch.store, "s2", namespace="y")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(add_follow_up, there, NOW, item="elsewhere", id="FU-y").result(SECONDS)
        return tip.state.add(item(id="FU-1"))

    ws.branch.update(nested, stamp("s1"))
    assert ws.branch.read().state.ids("follow_up") == {"FU-1"}
    assert workspace(ws.branch.store, namespace="y").branch.read().state.ids("follow_up") == {"FU-y"}


def test_a_missing_object_that_one_writer_needs_is_not_reported_to_others(ws, together):
    """One change restores a file whose object is missing."""

    def restoring(tip):
        return ProposedState(tip.state, files={"notes/a.txt": "1" * 40})

    first, damaged, last = together(*update_functions(ws, add_items("FU-1"), restoring, add_items("FU-2")))
    assert isinstance(damaged.exception(SECONDS), Corrupt)
    assert first.exception(SECONDS) is None
    assert last.exception(SECONDS) is None
    assert {"FU-1", "FU-2"} <= set(ws.branch.read().state.ids("follow_up"))


def test_a_disk_error_of_one_writer_is_not_reported_to_others_after_a_lost_race(ws, together, monkeypatch):
    other = replace(ws.branch, store=Store(ws.branch.store.repository))
    publish, faster = Store.publish, []

    def full(self, draft, *args, **more):
        if self is ws.branch.store and any(b"FU-big" in raw[1] for raw in draft.objects.values()):
            raise WriteFailed("the disk is full")
        return publish(self, draft, *args, **more)

    def overtaken(tip):
        if not faster and "FU-first" in tip.state.ids("follow_up"):
            faster.append(other.update(add_items("FU-foreign"), stamp("foreign")))
        return tip.state.add(item(id="FU-1"))

    monkeypatch.setattr(Store, "publish", full)
    first, big, last = together(*update_functions(ws, overtaken, add_items("FU-big"), add_items("FU-2")))
    assert isinstance(big.exception(SECONDS), WriteFailed)
    assert first.exception(SECONDS) is None
    assert last.exception(SECONDS) is None
    assert set(ws.branch.read().state.ids("follow_up")) == {"FU-first", "FU-foreign", "FU-1", "FU-2"}


@pytest.mark.parametrize("was_woken", [False, True])
def test_an_interrupted_waiting_writer_does_not_block_others(monkeypatch, was_woken):
    group: CommitGroup[str] = CommitGroup()
    served: list[str] = []
    go = threading.Event()

    def serve_first(requests: list[str]) -> None:
        served.extend(requests)
        assert go.wait(SECONDS)

    class Interrupted(threading.Event):
        def wait(self, timeout=None):
            assert not was_woken or super().wait(SECONDS)
            raise KeyboardInterrupt

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(group.serve, "first", serve_first, SECONDS)
        until(lambda: served)
        with monkeypatch.context() as interrupted:
            interrupted.setattr(group_commit, "Event", Interrupted)
            gone = pool.submit(group.serve, "gone", served.extend, SECONDS)
            until(lambda: group.waiting if was_woken else gone.done())
        following = pool.submit(group.serve, "following", served.extend, SECONDS)
        until(lambda: group.waiting == 1 + was_woken)
        go.set()
        assert isinstance(gone.exception(SECONDS), KeyboardInterrupt)
        assert first.result(SECONDS)
        assert following.result(SECONDS)
    assert group.serve("later", served.extend, SECONDS)
    assert served == ["first", "following", "later"]
