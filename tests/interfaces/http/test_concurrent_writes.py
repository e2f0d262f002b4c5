"""Concurrent writes, and the separate process that merges the server's packs."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from waiting import until
from world import ANYBODY

from baton_git.core.names import Namespace
from baton_git.core.records.work_items import Head
from baton_git.core.state import HEAD
from baton_git.git.store import Repository, Store
from baton_git.interfaces.background.pack_merge import PackMergeProcess
from baton_git.namespace.branch import Branch
from baton_git.namespace.revision import CommitStamp

WRITE = "/v1/baton/write"
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def _document(number, **more):
    return {"session_id": f"s-{number}", "context": f"round {number}", **more}


def _write_context(branch, context):
    branch.update(lambda tip: tip.state.put(Head(context=context), HEAD), CommitStamp("write", NOW, "A <a@b>", ANYBODY))


@pytest.fixture
def branch(top):
    with Store(Repository.open(top)) as store:
        yield Branch(store, Namespace("project:x"))


def test_each_concurrent_writer_gets_its_own_response(server):
    answers = {}

    def write(number):
        baton = _document(number) if number % 4 else _document(number, follow_ups="none")
        answers[number] = server.post(WRITE, {"namespace": server.namespace, "baton": baton}, code=None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(24)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {number for number, answer in answers.items() if answer.status_code == 422} == set(range(0, 24, 4))
    written = [answer.json() for answer in answers.values() if answer.status_code == 200]
    assert sorted(one["revision"] for one in written) == sorted({one["revision"] for one in written})
    assert len({one["commit"] for one in written}) == 18


def _packs(top: Path) -> int:
    return len(list((top / ".git/objects/pack").glob("*.pack")))


def test_packs_are_merged_by_a_separate_process(branch, top):
    store = branch.store
    store.tidied_by = merge_process = PackMergeProcess(store.repository)
    store.housekeeping.enough = 4
    store.housekeeping.roll_up = lambda: pytest.fail("the packs were merged in this process")
    for number in range(40):
        _write_context(branch, f"round {number}")
    assert until(lambda: merge_process() and _packs(top) < 40)
    merge_process.close()
    assert [one.revision for one in branch.history()] == list(range(40, -1, -1))


def test_the_process_ends_after_a_large_merge_and_the_next_merge_starts_another(branch, top):
    """Python would keep the memory that the merge needed."""
    store = branch.store
    merge_process = PackMergeProcess(store.repository)
    for number in range(32):
        draft = store.draft()
        for one in range(650):
            draft.blob(f"{number} {one}".encode())
        store.housekeeping.settle(store.store_draft(draft))
    assert merge_process()
    first = merge_process.process
    assert until(lambda: merge_process() and merge_process.process is not first)
    assert first.returncode == 0
    assert _packs(top) < 32
    merge_process.close()


def test_without_a_process_packs_are_merged_in_the_server(branch, top, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    store = branch.store
    store.tidied_by = merge_process = PackMergeProcess(store.repository)
    for number in range(70):
        _write_context(branch, f"round {number}")
    assert not merge_process()
    assert _packs(top) < 40


def test_a_killed_process_is_not_waited_for(branch):
    merge_process = PackMergeProcess(branch.store.repository)
    assert merge_process()
    merge_process.process.kill()
    merge_process.process.wait()
    assert until(lambda: not merge_process())
    assert not merge_process()
    merge_process.close()


def test_the_process_ends_with_the_server(serve):
    client = serve()
    client.post(WRITE, {"namespace": client.namespace, "baton": _document(1)})
    assert client.site.store.tidied_by()
    process = client.site.store.tidied_by.process
    client.site.close()
    assert process.returncode == 0
