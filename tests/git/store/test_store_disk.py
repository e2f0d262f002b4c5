"""Full, read-only and closed disks: a write fails with a clear error, and the store stays intact."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from store_world import REF, Writer

from baton_git.core.errors import WriteFailed
from baton_git.git.store import Repository, Store


@pytest.fixture
def small_disk(tmp_path):
    """Mount a separate file system of 600 kB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"mount is not allowed here: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _commit_until_it_fails(writer):
    with suppress(WriteFailed):
        while True:
            yield writer.commit({"a": os.urandom(3000)})


def _fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return filler
    raise AssertionError("the disk was never full")


def test_on_a_full_disk_a_write_fails_in_one_line_and_changes_nothing(small_disk, git, snapshot):
    with Store(Repository.create_bare(small_disk / "s.git")) as store:
        writer = Writer(store)
        good = writer.commit({"a": b"1"})
        filler = _fill(small_disk)
        before = snapshot(small_disk / "s.git")
        with pytest.raises(WriteFailed, match="No space left") as caught:
            writer.commit({"a": os.urandom(50_000)})
        assert "free some space" in caught.value.hint
        assert "\n" not in str(caught.value)
        assert snapshot(small_disk / "s.git") == before
        filler.unlink()
        assert store.tip(REF) == good
        new = writer.commit({"a": b"2"})
        git(small_disk / "s.git", "fsck", "--strict")
        assert git(small_disk / "s.git", "rev-parse", REF) == new


def test_a_disk_that_fills_up_while_writing_never_breaks_the_store(small_disk, git):
    repository = Repository.create_bare(small_disk / "s.git")
    with Store(repository) as store:
        writer = Writer(store)
        acknowledged = list(_commit_until_it_fails(writer))
        assert len(acknowledged) > 20
        assert store.tip(REF) == acknowledged[-1]
        assert not list((repository.common_dir / "objects/pack").glob("*tmp*"))
        assert not list(repository.common_dir.glob("refs/heads/baton/*.lock"))
    assert git(repository.common_dir, "rev-list", "--count", REF) == str(len(acknowledged))
    git(repository.common_dir, "fsck", "--strict")


def test_a_read_only_file_system_is_reported_and_reading_works(small_disk, git):
    repository = Repository.create_bare(small_disk / "s.git")
    with Store(repository) as store:
        good = Writer(store).commit({"a": b"1"})
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with Store(repository) as store:
        with store.queue(REF, 0.1) as mine:
            assert not mine
        assert store.folder(store.commit(store.tip(REF)).tree).read("a") == b"1"
        with pytest.raises(WriteFailed, match="Read-only") as caught:
            Writer(store).commit({"a": b"2"})
        assert "read-only" in caught.value.hint
        assert store.tip(REF) == good


def test_a_folder_without_permission_is_a_write_that_failed(store, writer, top, monkeypatch):
    tip = writer.commit({"a": b"1"})
    real = os.open

    def refusing(path, flags, *rest, **named):
        if flags & os.O_CREAT and "objects" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(WriteFailed, match="Permission denied") as caught:
        writer.commit({"a": b"2"})
    assert "permissions" in caught.value.hint
    assert store.tip(REF) == tip
