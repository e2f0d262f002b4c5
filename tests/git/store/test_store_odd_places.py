"""Folders instead of files, files instead of folders, and unreadable paths: each is one clear error, or is skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from store_world import REF, WHO

from baton_git.core.errors import Corrupt, StoreError
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.objects.values import decode_commit
from baton_git.git.store import Repository, Store
from baton_git.git.store.housekeeping import is_running


def _pack_file(top, suffix):
    (found,) = (top / ".git/objects/pack").glob(f"*{suffix}")
    return found


def _make_folder_of(path):
    path.unlink()
    path.mkdir()


def test_after_the_ref_moved_housekeeping_cannot_fail_the_write(writer, top, git):
    (top / ".git/baton").mkdir()
    (top / ".git/baton/packs").write_text("in the way")
    assert writer.commit({"a": b"1"}) == git(top, "rev-parse", REF)


@pytest.mark.parametrize("digits", [b"9" * 25, b"", b"x"])
def test_an_invalid_process_id_counts_as_not_running(digits):
    assert not is_running(digits)


def test_worktrees_that_cannot_be_read_are_not_reported(store, top, git):
    git(top, "worktree", "add", "-b", "side", "../linked")
    odd = top / ".git/worktrees/odd"
    odd.mkdir()
    (odd / "HEAD").write_text("ref: refs/heads/side\n")
    (odd / "gitdir").mkdir()
    (top / ".git/worktrees/a-file").write_text("x")
    nul = top / ".git/worktrees/a-nul"
    nul.mkdir()
    (nul / "HEAD").write_text("ref: refs/heads/side\n")
    (nul / "gitdir").write_text("a\0b\n")
    assert store.find_checkout("refs/heads/side") is not None
    git(top, "worktree", "remove", "--force", "../linked")
    assert store.find_checkout("refs/heads/side") is None


def test_an_unlistable_folder_of_worktrees_counts_as_empty(store, top, monkeypatch):
    folder = top / ".git/worktrees"
    folder.mkdir()

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(folder), "iterdir", refused)
    assert store.find_checkout("refs/heads/side") is None


def test_a_broken_main_repository_does_not_make_the_search_for_a_checkout_fail(top, git, tmp_path):
    git(top, "worktree", "add", "../linked")
    with Store(Repository.open(tmp_path / "linked")) as store:
        (top / ".git/config").write_text("[core]\n\trepositoryformatversion = 9\n")
        assert store.find_checkout("refs/heads/main") is None


def test_a_pack_folder_that_is_a_file_is_a_store_error(top):
    folder = top / ".git/objects/pack"
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_text("x")
    with Store(Repository.open(top)) as store, pytest.raises(StoreError, match="objects/pack"):
        store.read(Oid("1" * 40))


def test_alternates_that_cannot_be_read_are_a_store_error(top):
    (top / ".git/objects/info").mkdir(exist_ok=True)
    (top / ".git/objects/info/alternates").mkdir()
    with pytest.raises(StoreError, match="alternates"):
        Store(Repository.open(top))


@pytest.mark.parametrize("damage", [lambda path: path.mkdir(), lambda path: path.write_bytes(b"\xff\xfe\n")])
def test_a_shallow_file_that_cannot_be_read_is_a_store_error(store, top, damage):
    damage(top / ".git/shallow")
    with pytest.raises(StoreError, match="shallow"):
        store.commit(store.tip("refs/heads/main"))


def test_a_pack_that_cannot_be_read_is_an_error_unless_there_is_another_copy(store, writer, top, git):
    readme = git(top, "rev-parse", "HEAD:readme")
    git(top, "repack", "-a")
    _make_folder_of(_pack_file(top, ".pack"))
    assert store.read(readme) == b"hello\n"
    (top / ".git/objects" / readme[:2] / readme[2:]).unlink()
    with Store(store.repository) as fresh, pytest.raises(StoreError, match="directory"):
        fresh.read(readme)


def test_an_index_that_cannot_be_read_is_an_error_unless_there_is_another_copy(top, git):
    readme = git(top, "rev-parse", "HEAD:readme")
    git(top, "repack", "-a")
    _make_folder_of(_pack_file(top, ".idx"))
    with Store(Repository.open(top)) as store:
        assert store.read(readme) == b"hello\n"
    (top / ".git/objects" / readme[:2] / readme[2:]).unlink()
    with Store(Repository.open(top)) as store, pytest.raises(StoreError, match="directory"):
        store.read(readme)


def test_a_reflog_that_cannot_be_looked_at_is_a_store_error(store, writer, top, monkeypatch):
    real = os.stat

    def stat(path, **named):
        if "logs" in Path(path).parts:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **named)

    monkeypatch.setattr(os, "stat", stat)
    with pytest.raises(StoreError, match="Permission denied"):
        writer.commit({"a": b"1"})


def test_refs_that_cannot_be_listed_are_a_store_error(store, writer, monkeypatch):
    writer.commit({"a": b"1"})
    real = os.scandir

    def scandir(path="."):
        if str(path).endswith("heads/baton"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(StoreError, match="Permission denied"):
        store.refs("refs/heads/")


def test_new_folders_are_synced_by_name(top, writer, monkeypatch):
    synced = []
    real = durable_files.sync_folder
    monkeypatch.setattr(durable_files, "sync_folder", lambda folder: (synced.append(Path(folder)), real(folder)))
    writer.commit({"a": b"1"})
    assert {top / ".git/refs/heads", top / ".git/refs/heads/baton", top / ".git/logs/refs/heads"} <= set(synced)


def test_a_new_bare_repository_is_synced_in_all_its_folders(tmp_path, monkeypatch):
    synced = []
    real = durable_files.sync_folder
    monkeypatch.setattr(durable_files, "sync_folder", lambda folder: (synced.append(Path(folder)), real(folder)))
    Repository.create_bare(tmp_path / "new/s.git")
    assert {tmp_path, tmp_path / "new"} <= set(synced)
    (fresh,) = {folder for folder in synced if folder.name.startswith(".s.git-")}
    for inside in ("objects", "objects/pack", "refs", "refs/heads"):
        assert fresh / inside in synced, inside


@pytest.mark.parametrize("time", ["9223372036854775807", "18446744073709551615", "-62135596801", "9" * 30])
def test_absurd_dates_of_commits_are_kept_as_they_are(time):
    data = f"tree {'1' * 40}\nauthor {WHO} {time} +0000\ncommitter {WHO} {time} +0000\n\nm\n".encode()
    assert decode_commit(Oid("2" * 40), data).time == int(time)


def test_a_commit_without_a_tree_is_still_corrupt():
    with pytest.raises(Corrupt):
        decode_commit(Oid("2" * 40), f"author {WHO} 1 +0000\n\nm\n".encode())
