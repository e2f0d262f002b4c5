"""The kept ref of a branch: set by every write, and what git and other programs do to it."""

from __future__ import annotations

import os

import pytest
from store_world import REF, WHO

from baton_git.core.errors import WriteFailed
from baton_git.git.refs.kept_refs import KEPT, OpenKeptRef, kept_name
from baton_git.git.store import ReflogEntry, Repository, Store

KEPT_REF = "refs/baton-kept/heads/baton/x"
WHEN = ReflogEntry(WHO, 7, 0, "subject")


def _publish(store, tip, content=b"new", *, ref=REF):
    draft = store.draft()
    tree = draft.tree(None if tip is None else store.commit(tip).tree, {"a": content})
    new = draft.commit(tree, [tip] if tip else [], author=WHO, time=7, timezone=0, message="subject")
    assert store.publish(draft, ref, tip, new, WHEN, keep=True)
    return new


def test_a_branch_has_a_kept_ref_below_a_prefix_of_its_own():
    assert kept_name(REF) == KEPT_REF
    assert kept_name("refs/baton/") == f"{KEPT}baton/"


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_every_write_sets_it_and_git_reads_it(tmp_path, git, object_format):
    git(tmp_path, "init", f"--object-format={object_format}", "r")
    with Store(Repository.open(tmp_path / "r")) as store:
        tip = None
        for number in range(3):
            tip = _publish(store, tip, b"%d" % number)
            assert store.kept_refs.value(REF) == tip
            assert git(tmp_path / "r", "rev-parse", KEPT_REF) == tip
        assert store.kept_refs.below("refs/heads/baton/") == {REF: tip}


def test_a_ref_that_is_written_without_it_has_none(store, writer):
    writer.commit({"a": b"1"})
    assert store.kept_refs.value(REF) is None


@pytest.mark.parametrize("pack_first", [False, True])
def test_its_commits_survive_the_deletion_of_the_branch_and_gc(store, top, git, pack_first):
    tip = _publish(store, _publish(store, None), b"more")
    if pack_first:
        git(top, "pack-refs", "--all", "--prune")
    git(top, "branch", "-D", "baton/x")
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "remote", "add", "origin", str(top))
    git(top, "remote", "prune", "origin")
    git(top, "gc", "--prune=now")
    with Store(Repository.open(top)) as reopened:
        assert reopened.kept_refs.value(REF) == tip
        assert reopened.tip(REF) is None
        assert git(top, "show", f"{tip}:a") == "more"


def test_a_write_after_pack_refs_sets_it_again(store, top, git):
    tip = _publish(store, None)
    git(top, "pack-refs", "--all", "--prune")
    tip = _publish(store, tip, b"2")
    assert git(top, "rev-parse", KEPT_REF) == tip


@pytest.mark.parametrize("damage", ["", "0" * 40 + "\n", "not an id, and longer than one: " + "x" * 80])
def test_a_damaged_one_is_repaired_by_the_next_write(store, top, git, damage):
    tip = _publish(store, None)
    (top / ".git" / KEPT_REF).write_text(damage)
    tip = _publish(store, tip, b"2")
    assert git(top, "rev-parse", KEPT_REF) == tip
    assert (top / ".git" / KEPT_REF).read_text() == f"{tip}\n"


def test_a_backup_made_of_hard_links_is_not_changed(store, top, tmp_path):
    tip = _publish(store, None)
    os.link(top / ".git" / KEPT_REF, tmp_path / "backup")
    new = _publish(store, tip, b"2")
    assert (tmp_path / "backup").read_text() == f"{tip}\n"
    assert store.kept_refs.value(REF) == new


def test_a_late_writer_does_not_leave_it_behind_a_newer_one(store, monkeypatch):
    """A second write overtakes the first between the move of the branch and the write of the kept ref."""
    first = _publish(store, None)
    write, newer = OpenKeptRef.write, []

    def overtaken(kept, tip):
        if not newer:
            newer.append(None)
            newer[0] = _publish(store, tip, b"3")
        write(kept, tip)

    monkeypatch.setattr(OpenKeptRef, "write", overtaken)
    _publish(store, first, b"2")
    assert store.tip(REF) == newer[0]
    assert store.kept_refs.value(REF) == store.ref_files.noted(REF) == newer[0]


def test_a_write_that_cannot_set_it_says_that_the_branch_moved(store, monkeypatch):
    tip = _publish(store, None)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(WriteFailed, match=r"moved to .* but its kept ref could not be written"):
        _publish(store, tip, b"2")
    monkeypatch.undo()
    assert store.tip(REF) != tip


def test_a_file_in_the_place_of_its_folder_refuses_the_write_before_the_branch_moves(store, top):
    tip = _publish(store, None)
    for folder in ("heads/baton/x", "heads/baton", "heads"):
        path = top / ".git" / KEPT / folder
        path.rmdir() if path.is_dir() else path.unlink()
    (top / ".git" / KEPT / "heads").write_text("")
    with pytest.raises(WriteFailed):
        _publish(store, tip, b"2")
    assert store.tip(REF) == tip
