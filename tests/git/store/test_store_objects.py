"""Reading objects: loose, packed, borrowed, missing, or damaged."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from store_world import REF

from baton_git.core.errors import Corrupt, StoreError
from baton_git.core.names import Oid
from baton_git.git.objects.pack_writer import entry_bytes
from baton_git.git.objects.values import BLOB, object_id
from baton_git.git.store import Repository, Store


def _loose(top, oid):
    return top / ".git/objects" / oid[:2] / oid[2:]


def _rewrite(path, data):
    path.chmod(0o644)
    path.write_bytes(data)


@pytest.fixture
def readme(git, top):
    return git(top, "rev-parse", "HEAD:readme")


DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:8] + bytes([data[8] ^ 0xFF]) + data[9:],
    "other content": lambda data: zlib.compress(b"blob 6\0hella\n"),
    "wrong size": lambda data: zlib.compress(b"blob 99\0hello\n"),
    "unknown type": lambda data: zlib.compress(b"blub 6\0hello\n"),
    "no header": lambda data: zlib.compress(b"hello\n"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_loose_object_is_an_error_that_names_it(store, top, readme, damage):
    path = _loose(top, readme)
    _rewrite(path, DAMAGES[damage](path.read_bytes()))
    with pytest.raises(Corrupt, match=readme) as caught:
        store.read(readme)
    assert "git fsck" in caught.value.hint


def test_a_damaged_file_is_reported_with_its_path(store, writer, top):
    tip = writer.commit({"open_loops/OL-1.toml": b"x" * 300})
    for pack in (top / ".git/objects/pack").glob("*.pack"):
        data = bytearray(pack.read_bytes())
        data[data.find(entry_bytes(BLOB, b"x" * 300)) + 6] ^= 0xFF
        _rewrite(pack, bytes(data))
    with Store(store.repository) as fresh:
        folder = fresh.folder(fresh.commit(tip).tree).folder("open_loops")
        with pytest.raises(Corrupt, match=r"open_loops/OL-1\.toml"):
            folder.read("OL-1.toml")


def test_a_missing_folder_is_empty(store, writer):
    tip = writer.commit({"a/b": b"1"})
    root = store.folder(store.commit(tip).tree)
    assert root.folder("a").read("b") == b"1"
    assert root.read("a") is None
    assert root.read("none") is None
    assert root.folder("none").oid is None
    assert root.folder("none").folder("deeper").entries() == {}
    assert root.folder("a").folder("b").entries() == {}
    assert store.folder(None).entries() == {}


def test_the_wrong_type_is_an_error(store, git, top):
    tip = store.tip("refs/heads/main")
    with pytest.raises(Corrupt, match="is a commit where a blob"):
        store.read(tip)
    with pytest.raises(Corrupt, match="is a tree where a commit"):
        store.commit(store.commit(tip).tree)
    with pytest.raises(Corrupt, match="root of the tree"):
        store.folder(tip).entries()


def test_a_damaged_object_is_skipped_if_an_intact_copy_exists(store, writer, top, git, readme):
    git(top, "repack", "-a")  # the loose copy stays
    (pack,) = (top / ".git/objects/pack").glob("*.pack")
    _rewrite(pack, pack.read_bytes()[:30])
    assert store.read(readme) == b"hello\n"


def test_a_truncated_index_is_skipped_or_reported(store, writer, top, git, readme):
    git(top, "repack", "-a", "-d")
    (index,) = (top / ".git/objects/pack").glob("*.idx")
    _rewrite(index, index.read_bytes()[:500])
    tip = writer.commit({"a": b"1"})
    with Store(store.repository) as fresh:
        assert fresh.commit(tip).message == "change"
    with pytest.raises(Corrupt, match="index"):
        store.read(readme)


def test_an_unreadable_object_is_an_error_with_the_reason(store, top, readme, monkeypatch):
    path = _loose(top, readme)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match="directory"):
        store.read(readme)


def test_objects_of_git_are_read_however_it_packed_them(store, git, top, readme):
    (top / "big").write_bytes(b"".join(b"line %d\n" % number for number in range(20000)))
    git(top, "add", "big")
    git(top, "commit", "-m", "big")
    (top / "big").write_bytes((top / "big").read_bytes() + b"one more\n")
    git(top, "commit", "-a", "-m", "bigger")
    blobs = [git(top, "rev-parse", f"{rev}:big") for rev in ("HEAD", "HEAD~")]
    for arguments in (["-a", "-d"], ["-a", "-d", "-F", "--depth=50"], ["-a", "-d", "--write-midx"]):
        git(top, "repack", *arguments)
        with Store(store.repository) as fresh:
            assert [object_id(BLOB, fresh.read(oid), fresh.objects.form) for oid in blobs] == blobs
    git(top, "-c", "pack.indexVersion=1", "repack", "-a", "-d", "-f")
    with Store(store.repository) as fresh:
        assert fresh.read(readme) == b"hello\n"


def test_a_fetched_thin_pack_is_read(store, git, top, tmp_path, writer, new_writer):
    writer.commit({"a": b"x\n" * 500})
    git(tmp_path, "clone", "-q", "--bare", str(top), "far.git")
    far = new_writer(tmp_path / "far.git")
    tip = far.commit({"a": b"x\n" * 500 + b"y"})
    git(top, "-c", "fetch.unpackLimit=1", "fetch", "-q", str(tmp_path / "far.git"), f"{REF}:refs/remotes/far/x")
    assert store.tip("refs/remotes/far/x") == tip
    assert store.folder(store.commit(tip).tree).read("a") == b"x\n" * 500 + b"y"


def test_objects_in_alternates_are_read(store, git, top, tmp_path, new_writer, writer):
    writer.commit({"a": b"1"})
    git(tmp_path, "clone", "-q", "--shared", "--bare", str(top), "borrower.git")
    borrower = new_writer(tmp_path / "borrower.git")
    borrower.commit({"b": b"2"})
    assert set(borrower.store.folder(borrower.store.commit(borrower.store.tip(REF)).tree).entries()) == {"a", "b"}
    git(tmp_path / "borrower.git", "fsck", "--strict")


def test_a_reader_whose_packs_disappear_looks_for_the_new_ones(store, writer, git, top):
    tips = [writer.commit({f"f{number}": b"%d" % number}) for number in range(6)]
    with Store(store.repository) as reader:
        assert reader.commit(tips[0]).oid == tips[0]
        git(top, "repack", "-a", "-d")
        assert reader.folder(reader.commit(tips[5]).tree).read("f3") == b"3"
        assert len(list(reader.log(tips[5]))) == 6


def test_a_hundred_packs_need_at_most_two_descriptors(store, writer, top):
    store.housekeeping.enough = 1000
    for number in range(100):
        writer.commit({"a": b"%d" % number})
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0
    with Store(store.repository) as reader:
        assert len(list(reader.log(reader.tip(REF)))) == 100
        after = len(list(descriptors.iterdir())) if before else 0
    assert after <= before + 2


def test_reading_from_a_store_that_is_never_closed_gives_no_warnings(top):
    code = (
        "import sys, pathlib; from baton_git.git.store import Repository, Store\n"
        "store = Store(Repository.open(pathlib.Path(sys.argv[1])))\n"
        "print(store.commit(store.tip('refs/heads/main')).message)\n"  # and never closed
    )
    subprocess.run(["git", "-C", str(top), "gc", "-q"], check=True)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code, str(top)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("first\n", "")


def test_the_library_imports_no_heavy_part_of_dulwich():
    code = "import sys, baton_git.git.store; print([m for m in sys.modules if m.startswith('dulwich.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"dulwich.repo", "dulwich.porcelain", "dulwich.object_store", "dulwich.config"} & set(eval(done.stdout))


def test_a_store_knows_which_objects_it_has(top, readme):
    with Store(Repository.open(top)) as store:
        assert store.has(readme)
        assert not store.has(Oid("1" * 40))


def test_the_log_of_a_shallow_clone_ends_at_its_oldest_commit(store, writer, git, top, tmp_path, new_writer):
    for number in range(5):
        writer.commit({"a": b"%d" % number})
    git(tmp_path, "clone", "-q", "--bare", "--depth=2", "--branch=baton/x", f"file://{top}", "shallow.git")
    shallow = new_writer(tmp_path / "shallow.git")
    shallow.commit({"a": b"more"})
    assert len(list(shallow.store.log(shallow.store.tip(REF)))) == 3
    assert len(list(shallow.store.log(shallow.store.tip(REF), first_parent=True))) == 3
    git(tmp_path / "shallow.git", "fsck", "--strict")


def test_a_commit_cannot_reuse_an_object_that_was_pruned_after_reading(store, writer, git, top):
    writer.commit({"a": b"1"})
    blob = git(top, "hash-object", "-w", "--stdin", text="unreachable")
    assert store.read(blob) == b"unreachable"
    git(top, "prune", "--expire=now")
    with pytest.raises(Corrupt, match="missing"):
        writer.commit({"a": blob})
