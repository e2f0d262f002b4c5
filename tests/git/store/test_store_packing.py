"""Packs of baton are merged so that they stay few and small, and no object is lost meanwhile."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from baton_git.core.errors import Busy, Corrupt, WriteFailed
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.store import Store
from baton_git.git.store.housekeeping import NotedPack


def _record(number: int, version: int) -> bytes:
    words = random.Random(number)
    text = " ".join(words.choice(["loop", "verify", "deploy", "cache", "retry", "merge"]) for _ in range(30))
    return f'id = "OL-{number}"\ntitle = "{text}"\nupdated_at = "{version:08d}"\nattempts = {version}\n'.encode()


def _write(writer, count):
    changes = ({f"open_loops/OL-{number % 20}.toml": _record(number % 20, number)} for number in range(count))
    return [writer.commit(change) for change in changes]


def _packs(top):
    return sorted(path.name for path in (top / ".git/objects/pack").glob("*.pack"))


def _sizes(top):
    return sum(path.stat().st_size for path in (top / ".git/objects/pack").iterdir())


@pytest.mark.slow
def test_packs_stay_few_and_small_and_everything_reads_back(store, writer, top, git):
    tips = _write(writer, 300)
    assert len(_packs(top)) <= 24
    assert len(list((top / ".git/baton/packs").iterdir())) == len(_packs(top))
    assert _sizes(top) / 300 < 1000
    git(top, "fsck", "--strict")
    with Store(store.repository) as fresh:
        for number, tip in enumerate(tips):
            root = fresh.folder(fresh.commit(tip).tree)
            assert root.folder("open_loops").read(f"OL-{number % 20}.toml") == _record(number % 20, number)


@pytest.mark.slow
def test_packing_everything_gives_one_valid_pack(store, writer, top, git):
    _write(writer, 200)
    before = _sizes(top)
    report = store.pack(everything=True)
    assert (report.packs_after, len(_packs(top))) == (1, 1)
    assert report.packs_before > 1
    assert report.bytes_after == _sizes(top) < before == report.bytes_before
    assert report.bytes_after / 200 < 700
    git(top, "fsck", "--strict")
    for index in (top / ".git/objects/pack").glob("*.idx"):
        git(top, "verify-pack", str(index))
        git(top, "index-pack", "--strict", "-o", str(top / "again.idx"), str(index.with_suffix(".pack")))
    again = store.pack(everything=True)
    assert (again.objects, again.packs_after) == (report.objects, 1)
    _write(writer, 20)
    git(top, "fsck", "--strict")


@pytest.mark.slow
def test_objects_that_are_in_several_packs_are_kept_once(store, writer, top, git):
    for number in range(120):
        writer.commit({"a/same": b"%d" % (number % 3), f"b/{number}": b"%d" % number})
    report = store.pack(everything=True)
    (index,) = (top / ".git/objects/pack").glob("*.idx")
    git(top, "index-pack", "--strict", "-o", str(top / "again.idx"), str(index.with_suffix(".pack")))
    listed = [line.split() for line in git(top, "verify-pack", "-v", str(index)).splitlines()]
    names = [fields[0] for fields in listed if fields[1] in {"blob", "tree", "commit"}]
    assert report.objects == len(names) == len(set(names))
    git(top, "fsck", "--strict")


def test_merged_packs_that_share_objects_are_merged_entry_by_entry(store, writer, top, git):
    housekeeping = store.housekeeping
    _write(writer, 60)
    store.pack(everything=True)
    other = type(writer)(store, "refs/heads/baton/y")
    other.time = writer.time
    _write(other, 60)  # the same records once more, in other commits
    store.pack()
    housekeeping.enough, housekeeping.growth = 2, 10**6
    before = {noted.objects for noted in housekeeping.list_noted()}
    assert max(before) > 64
    report = store.pack()
    assert report.packs_after == 1
    git(top, "fsck", "--strict")
    (index,) = (top / ".git/objects/pack").glob("*.idx")
    git(top, "index-pack", "--strict", "-o", str(top / "again.idx"), str(index.with_suffix(".pack")))


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([], 0),
        ([4], 0),
        ([5, 5], 2),
        ([4] * 16, 16),
        ([128, *[4] * 16], 16),
        ([100, *[4] * 16], 17),
        ([900, 100, 4, 4], 2),
    ],
)
def test_which_packs_are_merged(store, sizes, merged):
    packs = [NotedPack(size, f"{number:040x}") for number, size in enumerate(sizes)]
    assert len(store.housekeeping.choose_due(packs)) == merged


def test_only_packs_of_baton_are_merged_or_removed(store, writer, top, git, snapshot):
    git(top, "repack", "-a", "-d")
    (top / "other").write_text("loose\n")
    git(top, "hash-object", "-w", "other")
    before = snapshot(top / ".git/objects")
    _write(writer, 40)
    store.pack(everything=True)
    after = snapshot(top / ".git/objects")
    assert before.items() <= after.items()
    assert len(after) == len(before) + 2


def test_losing_the_notes_about_packs_loses_no_objects(store, writer, top, git):
    tips = _write(writer, 20)
    for note in (top / ".git/baton/packs").iterdir():
        note.unlink()
    left = _packs(top)
    assert store.pack(everything=True).packs_before == 0
    assert _packs(top) == left
    with Store(store.repository) as fresh:
        assert len(list(fresh.log(tips[-1]))) == 20


def test_a_repack_by_git_in_between_is_noticed(store, writer, top, git):
    _write(writer, 15)
    git(top, "gc", "--prune=now")
    assert len(_packs(top)) == 1
    tips = _write(writer, 20)
    git(top, "fsck", "--strict")
    assert store.pack(everything=True).packs_after == 1
    assert len(list(store.log(tips[-1]))) == 35


def test_packs_in_a_multi_pack_index_are_left_to_git(store, writer, top, git):
    _write(writer, 10)
    git(top, "multi-pack-index", "write")
    listed = _packs(top)
    _write(writer, 10)
    store.pack(everything=True)
    assert set(listed) < set(_packs(top))
    git(top, "multi-pack-index", "verify")
    git(top, "fsck", "--strict")


def test_packs_are_merged_beside_alternates_and_a_cut_history(top, git, new_writer, tmp_path, snapshot):
    """Packs of baton hold commits whose parents are in the alternate, and some whose parents are nowhere."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", "--shared", str(top), str(other))
    first = new_writer(top)
    _write(first, 3)
    git(other, "fetch", "-q", "--depth=1", f"file://{top}", f"+{first.ref}:{first.ref}")
    before = snapshot(top / ".git/objects")
    writer = new_writer(other)
    tips = _write(writer, 20)
    assert (other / ".git/shallow").exists()
    assert writer.store.pack(everything=True).packs_after == 1
    assert snapshot(top / ".git/objects") == before
    assert len(list(writer.store.log(tips[-1]))) == 21
    git(other, "fsck", "--strict")


def test_a_merged_pack_is_durable_before_the_packs_are_removed(store, writer, top, monkeypatch):
    _write(writer, 3)
    old, calls = _packs(top), []
    synced, unlink = durable_files.sync_folder, os.unlink
    with monkeypatch.context() as patch:
        patch.setattr(durable_files, "sync_folder", lambda folder: (synced(folder), calls.append(Path(folder).name)))
        patch.setattr(os, "unlink", lambda path: (unlink(path), calls.append(Path(path).name)))
        store.pack(everything=True)
    assert set(old) < set(calls)
    assert calls.index("pack") < min(calls.index(name) for name in old)
    assert not set(old) & set(_packs(top))


def test_in_a_repository_with_precious_objects_nothing_is_removed(top, git, new_writer):
    git(top, "config", "core.repositoryformatversion", "1")
    git(top, "config", "extensions.preciousObjects", "true")
    writer = new_writer(top)
    _write(writer, 40)
    assert len(_packs(top)) == 40
    note = next((top / ".git" / "baton" / "packs").iterdir())
    note.rename(f"{note}.merged")  # a process was killed before the repository got the setting
    writer.store.pack(everything=True)
    assert len(_packs(top)) == 40


def test_the_pack_of_a_killed_writer_is_released_and_counted(store, writer, top, git):
    code = (
        "import sys, os, pathlib; from baton_git.git.store import Repository, Store\n"
        "store = Store(Repository.open(pathlib.Path(sys.argv[1]))); draft = store.draft(); draft.blob(b'orphan')\n"
        "print(store.store_draft(draft).name, flush=True); os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(top)], capture_output=True, text=True, check=False)
    keep = top / f".git/objects/pack/pack-{done.stdout.strip()}.keep"
    assert keep.read_bytes().startswith(b"baton ")
    foreign = keep.with_name("pack-1234.keep")
    foreign.write_text("mine\n")
    store.pack()
    assert keep.exists()  # too young to be sure
    os.utime(keep, (keep.stat().st_mtime - 120,) * 2)
    report = store.pack(everything=True)
    assert not keep.exists()
    assert report.objects == 1
    assert foreign.exists()
    assert store.read(git(top, "hash-object", "--stdin", text="orphan")) == b"orphan"


def test_old_temporary_files_of_killed_writers_are_removed(store, top):
    folder = top / ".git/objects/pack"
    folder.mkdir(exist_ok=True)
    halves = [folder / name for name in ("tmp_pack_baton_1", "tmp_idx_baton_1", "tmp_pack_of_git", "tmp_pack_baton_2")]
    for half in halves:
        half.write_bytes(b"half")
        os.utime(half, (half.stat().st_mtime - 7200,) * 2)
    os.utime(halves[-1])
    store.pack()
    assert {path.name for path in folder.iterdir()} == {"tmp_pack_of_git", "tmp_pack_baton_2"}


def test_a_pack_that_git_takes_away_while_packing_is_no_failure(store, writer, git, top, monkeypatch):
    tips = _write(writer, 5)
    present = store.housekeeping.list_present
    calls = []

    def meanwhile():
        found = present()
        calls.append(found)
        if len(calls) == 2:
            git(top, "gc", "-q")
        return found

    monkeypatch.setattr(store.housekeeping, "list_present", meanwhile)
    assert store.pack(everything=True).packs_after == 0
    assert len(list(store.log(tips[-1]))) == 5
    git(top, "fsck", "--strict")


def test_the_keep_file_of_a_living_writer_is_not_removed(store, top):
    draft = store.draft()
    draft.blob(b"being written")
    pack = store.store_draft(draft)
    os.utime(pack.keep_path, (Path(pack.keep_path).stat().st_mtime - 120,) * 2)
    store.pack(everything=True)
    assert Path(pack.keep_path).exists()
    assert pack.exists()


def test_only_one_process_packs(store, writer, top):
    _write(writer, 3)
    with hold_flock(top / ".git/baton/pack.lock", 0) as alone:
        assert alone
        with pytest.raises(Busy):
            store.pack(everything=True)
        _write(writer, 20)  # a write does not wait for it
    assert len(_packs(top)) == 23


def test_packing_that_cannot_write_names_the_cause(store, writer, top):
    _write(writer, 1)
    (top / ".git/baton/pack.lock").symlink_to(top / "missing/lock")
    with pytest.raises(WriteFailed, match="cannot write a pack"):
        store.pack(everything=True)


def test_a_damaged_pack_is_never_merged_away(store, writer, top):
    tips = _write(writer, 10)
    victim = (top / ".git/objects/pack") / _packs(top)[0]
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0xFF
    victim.chmod(0o644)
    victim.write_bytes(data)
    before = _packs(top)
    with pytest.raises(Corrupt):
        store.pack(everything=True)
    assert _packs(top) == before
    new = _write(writer, 30)[-1]  # an automatic merge that cannot be done does not fail a write
    assert store.commit(new).parents
    assert store.commit(tips[-1])
    assert victim.read_bytes() == data
    assert len(_packs(top)) < 25  # and it does not keep the others from being merged
