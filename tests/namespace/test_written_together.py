"""Updates of several branches that are written together: one pack and its syncs for all, and a result for each."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from strategies import item
from world import ANYBODY, NOW, WHO, by_hand, stored, workspace

from baton_git.core.errors import BatonError, NotAllowed, Stale, WriteFailed
from baton_git.core.names import Namespace
from baton_git.git.files.ref_locks import hold_flock, local_name
from baton_git.git.refs.kept_refs import OpenKeptRef
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch, TargetedUpdate, write_together
from baton_git.namespace.revision import CommitStamp, UpdateRequest

NAMES = [f"n{number}" for number in range(5)]


@pytest.fixture
def branches(ws) -> list[Branch]:
    return [workspace(ws.branch.store, namespace=name).branch for name in NAMES]


def update(branch: Branch, id_: str, expected: int | None = None, change=None) -> TargetedUpdate:
    stamp = CommitStamp("test", NOW, WHO, ANYBODY, f"session-{id_}", "claude", "laptop")
    return TargetedUpdate(branch, UpdateRequest(change or (lambda tip: tip.state.add(item(id=id_))), stamp, expected))


def ids(branch: Branch) -> set[str]:
    with Store(branch.store.repository) as fresh:
        return set(replace(branch, store=fresh).read().state.ids("follow_up"))


def count_packs(store: Store) -> int:
    return len(list(store.housekeeping.packs.glob("*.pack")))


def write(*updates: TargetedUpdate):
    return write_together(updates)


def write_alone(one: TargetedUpdate):
    return one.branch.update(one.update.change, one.update.stamp, expected_revision=one.update.expected_revision)


def test_branches_share_one_pack_and_each_has_its_own_commit(branches, git, monkeypatch):
    store = branches[0].store
    write(*(update(branch, "FU-0") for branch in branches))
    before, synced, real = count_packs(store), [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(fd) or real(fd))
    found = write(*(update(branch, f"FU-{number}") for number in (1, 2) for branch in branches))
    assert count_packs(store) == before + 1
    assert len(synced) == len(branches) + 4  # the pack, its index, their folder, a ticket for each ref, and its folder
    assert [one.revision.number for one in found] == [2] * 5 + [3] * 5
    for number, branch in enumerate(branches):
        assert ids(branch) == {"FU-0", "FU-1", "FU-2"}
        assert branch.tip() == found[number + 5].revision.commit == store.kept_refs.value(branch.ref)
        assert store.commit(found[number + 5].revision.commit).parents == (found[number].revision.commit,)
    git(store.repository.common_dir, "fsck", "--strict", "--no-dangling")


def test_an_update_that_is_refused_does_not_touch_the_others(branches):
    first, second, third = branches[:3]
    found = write(
        update(first, "FU-1"),
        update(second, "FU-1"),
        update(first, "FU-1"),
        update(second, "FU-2", expected=0),
        update(third, "FU-1", expected=0),
        update(replace(third, fault=BatonError("a setting is invalid")), "FU-3"),
    )
    assert [type(one) for one in found[2:4]] == [NotAllowed, Stale]
    assert [one.revision.number for one in (*found[:2], found[4])] == [1, 1, 1]
    assert str(found[5]) == "a setting is invalid"
    assert ids(first) == ids(second) == ids(third) == {"FU-1"}


def test_a_change_with_a_bug_is_reported_to_its_writer_only(branches):
    def broken(tip):
        raise ZeroDivisionError

    found = write(update(branches[0], "FU-1", change=broken), update(branches[1], "FU-1"), update(branches[0], "FU-2"))
    assert isinstance(found[0], ZeroDivisionError)
    assert ids(branches[0]) == {"FU-2"}
    assert ids(branches[1]) == {"FU-1"}


def test_a_branch_that_another_process_moves_meanwhile_is_left_to_its_writer(branches):
    first, second = branches[:2]
    write(update(first, "FU-0"), update(second, "FU-0"))
    moved = []

    def overtaken(tip):
        if not moved:
            with Store(first.store.repository) as other:
                moved.append(write(update(replace(first, store=other), "FU-other"))[0].revision.number)
        return tip.state.add(item(id="FU-1"))

    late = update(first, "FU-1", change=overtaken)
    left, written = write(late, update(second, "FU-1"))
    assert moved == [2]
    assert left is None
    assert written.revision.number == 2
    assert ids(first) == {"FU-0", "FU-other"}
    assert write_alone(late).revision.number == 3
    assert ids(first) == {"FU-0", "FU-other", "FU-1"}


def test_a_branch_that_another_process_is_writing_does_not_hold_up_the_others(branches):
    first, second = branches[:2]
    store = first.store
    write(update(first, "FU-0"), update(second, "FU-0"))
    with hold_flock(Path(store.locks.folder) / f"queue-{local_name(first.ref)}", 0):
        left, written = write(update(first, "FU-1"), update(second, "FU-1"))
    assert left is None
    assert written.revision.number == 2
    assert ids(first) == {"FU-0"}
    assert first.read().state.ids("follow_up") == {"FU-0"}


def test_a_ref_whose_lock_is_held_is_left_alone(branches, git):
    first, second = branches[:2]
    store = first.store
    write(update(first, "FU-0"), update(second, "FU-0"))
    lock = store.repository.common_dir / f"{first.ref}.lock"
    lock.write_text("")  # as `git update-ref` creates it
    store.locks.wait = 0.1
    late = update(first, "FU-1")
    left, written = write(late, update(second, "FU-1"))
    assert left is None
    assert written.revision.number == 2
    assert ids(first) == {"FU-0"}
    assert first.tip() == store.kept_refs.value(first.ref)
    lock.unlink()
    assert write_alone(late).revision.number == 2
    git(store.repository.common_dir, "fsck", "--strict", "--no-dangling")


def test_a_full_disk_leaves_nothing(branches, monkeypatch):
    first, second = branches[:2]
    write(update(first, "FU-0"), update(second, "FU-0"))
    before = {path.name for path in first.store.housekeeping.packs.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(first.store, "store_draft", full)
    assert write(update(first, "FU-1"), update(second, "FU-1")) == [None, None]
    with pytest.raises(WriteFailed, match="No space left"):
        write_alone(update(first, "FU-1"))
    assert {path.name for path in first.store.housekeeping.packs.iterdir()} == before
    assert ids(first) == ids(second) == {"FU-0"}


def test_a_branch_that_moved_although_its_write_failed_is_not_written_again(branches, monkeypatch):
    first, second = branches[:2]
    write(update(first, "FU-0"), update(second, "FU-0"))
    real, calls = OpenKeptRef.write, []

    def note(kept, tip):
        calls.append(tip)
        if len(calls) == 1:
            raise WriteFailed("moved, but its kept ref could not be written")
        real(kept, tip)

    monkeypatch.setattr(OpenKeptRef, "write", note)
    found = write(update(first, "FU-1"), update(second, "FU-1"))
    assert isinstance(found[0], WriteFailed)
    assert found[1].revision.number == 2
    assert first.read().number == 2


def test_nothing_is_reported_before_all_refs_and_their_folder_are_durable(branches, monkeypatch):
    """Each ref must be synced before its kept ref is set, because the kept ref may never be ahead of the branch."""
    store, events = branches[0].store, []
    write(*(update(branch, "FU-0") for branch in branches))
    real_sync, real_note = os.fsync, OpenKeptRef.write

    def sync(fd):
        events.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        real_sync(fd)

    def note(kept, tip):
        events.append("kept")
        real_note(kept, tip)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(OpenKeptRef, "write", note)
    write(*(update(branch, "FU-1") for branch in branches))
    folder = events.index(str(store.repository.common_dir / "refs/heads/baton"))
    assert events[folder + 1 :] == ["kept"] * len(branches)
    assert sum("ticket-" in event for event in events[:folder]) == len(branches)


def test_an_edit_by_hand_is_kept(branches, git):
    first, second = branches[:2]
    write(update(first, "FU-0"), update(second, "FU-0"))
    workspace_ = workspace(first.store, namespace=NAMES[0])
    by_hand(workspace_, {"notes.txt": b"mine\n"})
    write(update(first, "FU-1"), update(second, "FU-1"))
    assert git(first.store.repository.common_dir, "show", f"{first.ref}:notes.txt").strip() == "mine"
    assert stored(workspace_, "follow_up", "FU-1") is not None
    assert Branch(first.store, Namespace(NAMES[0])).read().number >= 2
