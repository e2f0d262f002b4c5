"""Kind and size of objects are read without expanding them, and equal those that git reports."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from dulwich.object_format import SHA1
from dulwich.pack import pack_object_header
from hypothesis import given
from hypothesis import strategies as st

from baton_git.core.errors import Corrupt, StoreError
from baton_git.git.objects.pack_reader import OFS_DELTA, EntryHead, OpenPack, encode_entry_head, entry_head
from baton_git.git.store import Repository, Store

TEXT = "".join(f"line {number} of a text that changes little\n" for number in range(400))


@pytest.fixture
def varied(top: Path, git) -> Path:
    """Return a repository with similar files (which become deltas), an annotated tag, and large and empty files."""
    for number in range(12):
        (top / "notes").write_text(TEXT.replace(f"line {number} ", "changed "))
        (top / "large").write_bytes(bytes([number]) * 70_000)
        (top / "empty").touch()
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", f"number {number}")
    git(top, "tag", "-a", "-m", "a tag", "v1")
    return top


def list_by_git(top: Path) -> set[tuple[str, str, int]]:
    words = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]
    done = subprocess.run(["git", "-C", str(top), *words], capture_output=True, text=True, check=True)
    return {(oid, kind, int(size)) for oid, kind, size in (line.split() for line in done.stdout.splitlines())}


def list_by_baton(top: Path) -> set[tuple[str, str, int]]:
    kinds = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
    with Store(Repository.open(top)) as store:
        return {(one.oid, kinds[one.kind], one.size) for one in store.headers(top / ".git/objects", 10)}


@pytest.mark.parametrize("offsets", ["loose", "true", "false"])
def test_object_headers_agree_with_git(varied: Path, git, offsets: str) -> None:
    """With `false`, deltas name their base by its id."""
    if offsets != "loose":
        git(varied, "-c", f"repack.useDeltaBaseOffset={offsets}", "repack", "-a", "-d", "-f", "-q")
        assert not list((varied / ".git/objects").glob("[0-9a-f][0-9a-f]"))
    assert list_by_baton(varied) == list_by_git(varied)


def test_a_delta_that_begins_with_the_tables_of_its_code_is_read(top: Path, git) -> None:
    """zlib returns nothing for the first bytes of a large delta, which are its Huffman tables."""
    words = random.Random(5)
    lines = TEXT.splitlines()
    for _ in range(6):
        lines = [f"{line} {words.randbytes(12)!r}" if words.random() < 0.4 else line for line in lines]
        (top / "notes").write_text("\n".join(lines))
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "grown")
    git(top, "repack", "-a", "-d", "-f", "-q")
    assert list_by_baton(top) == list_by_git(top)


def test_a_pack_without_its_header_is_refused_at_every_access(varied: Path, git) -> None:
    git(varied, "repack", "-q", "-a", "-d")
    (index,) = (varied / ".git/objects/pack").glob("*.idx")
    pack = index.with_suffix(".pack")
    pack.chmod(0o644)
    pack.write_bytes(b"XXXX" + pack.read_bytes()[4:])
    opened = OpenPack(index, SHA1)
    for _ in range(2):
        with pytest.raises(Corrupt, match="header of a pack"):
            _ = opened.body
    opened.close()


def test_a_pack_that_git_cannot_open_is_corrupt(varied: Path, git) -> None:
    """Seen with git 2.39.5: `git cat-file --batch-all-objects` leaves its objects out, and ends with status 0."""
    git(varied, "repack", "-a", "-d", "-q")
    [index] = (varied / ".git/objects/pack").glob("*.idx")
    index.chmod(0o644)
    index.write_bytes(index.read_bytes()[:-1])
    with pytest.raises(Corrupt):
        list_by_baton(varied)


def test_a_listing_that_takes_too_long_is_an_error(varied: Path) -> None:
    with Store(Repository.open(varied)) as store, pytest.raises(StoreError, match="did not finish within 0 seconds"):
        store.headers(varied / ".git/objects", 0)


def test_a_damaged_pack_is_corrupt(varied: Path, git) -> None:
    git(varied, "repack", "-a", "-d", "-q")
    [pack] = (varied / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:60])
    with pytest.raises(Corrupt):
        list_by_baton(varied)


@given(st.sampled_from([1, 2, 3, 4]), st.integers(0, 1 << 40), st.none() | st.integers(1, 1 << 40))
def test_an_entry_head_is_written_like_dulwich_writes_it_and_read_back(kind: int, size: int, back: int | None) -> None:
    kind = kind if back is None else OFS_DELTA
    head = encode_entry_head(kind, size, back)
    assert head == bytes(pack_object_header(kind, back, size, SHA1))
    assert entry_head(head, 0, 20) == EntryHead(kind, size, back, len(head))


def test_a_warning_of_git_about_a_setting_is_no_damage(top: Path, git) -> None:
    """Seen with git 2.39.5: it warns twice that core.fsyncObjectFiles is deprecated."""
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "config", "core.fsyncObjectFiles", "true")
    assert list_by_baton(top) == list_by_git(top) != set()
