"""Publishing a commit: its objects are safe before the ref moves; a lost race or a failure leaves nothing behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from store_world import REF, WHO, Writer

from baton_git.core.errors import Corrupt, WriteFailed
from baton_git.git.files import durable_files
from baton_git.git.store import ReflogEntry, Repository, Store

WHEN = ReflogEntry(WHO, 7, -5400, "subject\n\nBody: x")


def _draft(store, tip, content=b"new", path="a"):
    draft = store.draft()
    tree = draft.tree(None if tip is None else store.commit(tip).tree, {path: content})
    new = draft.commit(tree, [tip] if tip else [], author=WHO, time=7, timezone=-5400, message="subject\n\nBody: x")
    return draft, new


def _places(tmp_path: Path, git, top: Path) -> dict[str, Path]:
    """Create one repository of each kind; return their folders by kind."""
    git(top, "worktree", "add", "../linked")
    git(tmp_path, "init", "-b", "main", "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", str(top), "inner")
    git(tmp_path, "init", "--bare", "bare.git")
    git(tmp_path, "init", "--separate-git-dir", str(tmp_path / "apart.git"), "apart")
    return {
        "normal": top, "linked": tmp_path / "linked", "submodule": tmp_path / "outer" / "inner",
        "bare": tmp_path / "bare.git", "apart": tmp_path / "apart",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["normal", "linked", "submodule", "bare", "apart"])
def test_in_every_kind_of_repository_git_reads_what_was_written(kind, tmp_path, git, top, new_writer):
    where = _places(tmp_path, git, top)[kind]
    writer = new_writer(where)
    writer.commit({"open_loops/OL-1.toml": b"a = 1\n", "baton.toml": b"x = 1\n"}, message="first")
    git(where, "pack-refs", "--all", "--prune")
    writer.commit({"open_loops/OL-1.toml": b"a = 2\n"}, message="second\n\nBaton-Op: verify")
    assert git(where, "log", "--format=%s %an <%ae> %at %(trailers:key=Baton-Op)", REF).split("\n")[0] == (
        "second Agent <agent@machine> 1700000002 Baton-Op: verify"
    )
    assert git(where, "show", f"{REF}:open_loops/OL-1.toml") == "a = 2"
    git(where, "fsck", "--strict")
    git(where, "gc", "--prune=now")
    writer.commit({"open_loops/OL-1.toml": b"a = 3\n"})
    git(where, "fsck", "--strict")
    assert git(where, "rev-list", "--count", REF) == "3"


def test_the_users_repository_is_unchanged(top, git, tmp_path, new_writer, snapshot):
    git(top, "worktree", "add", "../linked")
    git(top, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for hook in ("pre-commit", "post-commit", "reference-transaction", "update"):
        (tmp_path / "hooks" / hook).write_text("#!/bin/sh\ntouch hook-ran\nexit 1\n")
        (tmp_path / "hooks" / hook).chmod(0o755)
    (top / "readme").write_text("being edited\n")
    (top / "staged").write_text("staged\n")
    git(top, "add", "staged")
    before = snapshot(tmp_path)
    writer = new_writer(tmp_path / "linked")
    for number in range(40):
        writer.commit({f"a/{number % 7}": b"%d" % number})
    after = snapshot(tmp_path)
    ours = ("work/.git/baton/", "work/.git/objects/pack/", f"work/.git/{REF}", f"work/.git/logs/{REF}")
    assert {name: data for name, data in after.items() if not name.startswith(ours)} == before


def test_a_lost_race_leaves_nothing_behind(store, writer, top, snapshot):
    tip = writer.commit({"a": b"1"})
    draft, new = _draft(store, tip)
    winner = writer.commit({"a": b"2"})
    before = snapshot(top)
    assert store.publish(draft, REF, tip, new, WHEN) is False
    assert store.publish(*_draft(store, None)[:1], REF, None, new, WHEN) is False
    assert snapshot(top) == before
    assert store.tip(REF) == winner


def test_a_race_lost_after_the_objects_were_stored_leaves_nothing_either(store, writer, top, snapshot, monkeypatch):
    tip = writer.commit({"a": b"1"})
    draft, new = _draft(store, tip)
    writer.commit({"a": b"2"})
    before = snapshot(top)
    monkeypatch.setattr(type(store), "tip", lambda *_: tip)
    assert store.publish(draft, REF, tip, new, WHEN) is False
    assert snapshot(top) == before


def test_a_draft_can_be_published_again_after_a_lost_race(store, writer, git, top):
    tip = writer.commit({"a": b"1"})
    draft, new = _draft(store, tip)
    moved = writer.commit({"a": b"2"})
    assert not store.publish(draft, REF, tip, new, WHEN)
    git(top, "update-ref", REF, tip, moved)
    assert store.publish(draft, REF, tip, new, WHEN)
    git(top, "fsck", "--strict")


def test_the_reflog_is_written_where_git_would(store, writer, git, top, tmp_path, new_writer):
    first = writer.commit({"a": b"1"}, message="first")
    draft, second = _draft(store, first)
    store.publish(draft, REF, first, second, WHEN)
    lines = (top / ".git/logs" / REF).read_text().splitlines()
    assert lines[0] == f"{'0' * 40} {first} {WHO} 1700000001 +0100\tfirst"
    assert lines[1] == f"{first} {second} {WHO} 7 -0130\tsubject Body: x"
    assert git(top, "rev-parse", f"{REF}@{{1}}") == first
    assert git(top, "reflog", REF, "--format=%gs") == "subject Body: x\nfirst"
    git(tmp_path, "init", "--bare", "plain.git")
    new_writer(tmp_path / "plain.git").commit({"a": b"1"})
    assert not (tmp_path / "plain.git/logs" / REF).exists()
    new_writer(top, "refs/baton/x").commit({"a": b"1"})
    assert not (top / ".git/logs/refs/baton/x").exists()
    git(top, "config", "core.logAllRefUpdates", "always")
    new_writer(top, "refs/baton/y").commit({"a": b"1"})
    assert (top / ".git/logs/refs/baton/y").exists()


def test_a_commit_round_trips(store):
    draft, new = _draft(store, None)
    assert store.publish(draft, REF, None, new, WHEN)
    commit = store.commit(new)
    assert (commit.author, commit.time, commit.timezone) == (WHO, 7, -5400)
    assert (commit.message, commit.parents) == ("subject\n\nBody: x", ())


def test_commits_of_git_with_any_encoding_or_signature_are_read(store, git, top):
    for codec in ("utf-8", "iso-8859-1", "no-such-codec"):
        git(top, "-c", f"i18n.commitEncoding={codec}", "commit", "--allow-empty", "-m", "weitergefuehrt")
        assert store.commit(store.tip("refs/heads/main")).message == "weitergefuehrt"
    head = git(top, "cat-file", "commit", "HEAD").replace(
        "encoding no-such-codec", "gpgsig -----BEGIN\n parent 1\n tree 2\n -----END"
    )
    signed = git(top, "hash-object", "-t", "commit", "-w", "--stdin", text=head + "\n")
    assert len(store.commit(signed).parents) == 1


def test_a_fetched_commit_is_put_on_a_ref_without_new_objects(store, git, top):
    tip = store.tip("refs/heads/main")
    assert store.publish(store.draft(), REF, None, tip, WHEN)
    assert git(top, "rev-parse", REF) == tip
    with pytest.raises(Corrupt, match="missing"):
        store.publish(store.draft(), REF, tip, "1" * 40, WHEN)
    with pytest.raises(Corrupt, match="is a tree"):
        store.publish(store.draft(), REF, tip, store.commit(tip).tree, WHEN)


def test_objects_are_kept_from_gc_until_the_ref_has_moved(store, writer, git, top, monkeypatch):
    tip = writer.commit({"a": b"1"})
    real = store.ref_files.swap

    def swap(*args):
        git(top, "gc", "--prune=now")
        git(top, "repack", "-a", "-d")
        git(top, "cat-file", "-e", args[2])
        return real(*args)

    monkeypatch.setattr(store.ref_files, "swap", swap)
    draft, new = _draft(store, tip)
    assert store.publish(draft, REF, tip, new, WHEN)
    git(top, "fsck", "--strict")
    assert not list((top / ".git/objects/pack").glob("*.keep"))


def test_objects_are_synced_to_disk_before_the_ref_moves(store, writer, top, monkeypatch):
    tip = writer.commit({"a": b"1"})
    pack = top / ".git/objects/pack"
    old, synced = set(pack.iterdir()), set()
    sync, swap = os.fsync, store.ref_files.swap

    def spy(fd):
        sync(fd)
        synced.add(os.fstat(fd).st_ino)

    def check(*args):
        new = [one for one in pack.iterdir() if one not in old and one.suffix != ".keep"]
        needed = {Path(one).stat().st_ino for one in (pack, args[4].path, *new)}
        assert len(needed) == 4
        assert needed <= synced
        return swap(*args)

    draft, new = _draft(store, tip)
    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(store.ref_files, "swap", check)
    assert store.publish(draft, REF, tip, new, WHEN)


def test_a_pack_that_is_removed_before_the_ref_moves_is_written_again(store, writer, git, top, monkeypatch):
    tip = writer.commit({"a": b"1"})
    real = store.ref_files.swap

    def swap(*args):
        for keep in (top / ".git/objects/pack").glob("*.keep"):
            keep.unlink()
        git(top, "gc", "--prune=now")
        return real(*args)

    monkeypatch.setattr(store.ref_files, "swap", swap)
    draft, new = _draft(store, tip)
    assert store.publish(draft, REF, tip, new, WHEN)
    git(top, "fsck", "--strict")
    assert git(top, "show", f"{REF}:a") == "new"


def test_a_failure_after_the_objects_were_stored_leaves_nothing(store, writer, top, snapshot, monkeypatch):
    tip = writer.commit({"a": b"1"})
    draft, new = _draft(store, tip)
    before = snapshot(top)

    def refused(*_):
        raise OSError(28, "No space left on device")

    real = os.replace
    monkeypatch.setattr(os, "replace", lambda one, to: refused() if str(one).endswith(".lock") else real(one, to))
    with pytest.raises(WriteFailed, match="No space left") as caught:
        store.publish(draft, REF, tip, new, WHEN)
    assert "free some space" in caught.value.hint
    assert snapshot(top) == before


def test_an_interrupt_leaves_nothing(store, writer, top, snapshot, monkeypatch):
    tip = writer.commit({"a": b"1"})
    draft, new = _draft(store, tip)
    before = snapshot(top)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(durable_files, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.publish(draft, REF, tip, new, WHEN)
    assert snapshot(top) == before


def test_a_failed_confirmation_keeps_the_objects(store, writer, git, top, monkeypatch):
    tip = writer.commit({"a": b"1"})
    draft, new = _draft(store, tip)
    real = durable_files.sync_folder

    def sync(folder):
        if Path(folder).name == "baton":
            raise OSError(5, "Input/output error")
        real(folder)

    monkeypatch.setattr(durable_files, "sync_folder", sync)
    with pytest.raises(WriteFailed, match=r"moved to .* did not confirm"):
        store.publish(draft, REF, tip, new, WHEN)
    assert git(top, "rev-parse", REF) == new
    git(top, "fsck", "--strict")


def test_in_a_shared_repository_the_group_can_read_and_write(tmp_path, git, new_writer):
    git(tmp_path, "init", "--shared=group", "-b", "main", "shared")
    before = os.umask(0o077)
    try:
        writer = new_writer(tmp_path / "shared")
        for number in range(20):
            writer.commit({"a": b"%d" % number})
    finally:
        os.umask(before)
    common = tmp_path / "shared" / ".git"
    for path in [*(common / "objects/pack").iterdir(), common / REF, common / "logs" / REF]:
        assert path.stat().st_mode & 0o040, path
    for folder in (common / "refs/heads/baton", common / "logs/refs/heads/baton", common / "baton/locks"):
        assert folder.stat().st_mode & 0o070 == 0o070, folder


def test_many_threads_on_one_ref_lose_nothing(top, git):
    def work(number):
        with Store(Repository.open(top)) as store:
            writer = Writer(store)
            for count in range(8):
                with store.queue(REF, 20) as mine:
                    assert mine
                    writer.commit({f"{number}-{count}": b"x"})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(git(top, "ls-tree", "--name-only", REF).splitlines()) == 32
    assert git(top, "rev-list", "--count", REF) == "32"


def test_the_work_tree_of_a_checked_out_branch_is_found(store, writer, git, top, tmp_path):
    writer.commit({"a": b"1"})
    assert store.find_checkout(REF) is None
    assert store.find_checkout("refs/heads/main") == top
    git(top, "worktree", "add", "../linked", "baton/x")
    assert store.find_checkout(REF) == tmp_path / "linked"
    with Store(Repository.open(tmp_path / "linked")) as linked:
        assert linked.find_checkout("refs/heads/main") == top
    git(top, "checkout", "-q", "--detach")
    assert store.find_checkout("refs/heads/main") is None


def test_in_a_bare_repository_no_branch_is_checked_out(tmp_path):
    with Store(Repository.create_bare(tmp_path / "b.git")) as store:
        assert store.find_checkout("refs/heads/main") is None
