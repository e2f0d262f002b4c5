"""Syncing several files, and replacing files that are held open."""

import os
import threading
import time
from pathlib import Path

import pytest

from baton_git.git.files import durable_files

COUNT = 20


@pytest.fixture
def files(tmp_path):
    fds = [durable_files.open_new(tmp_path / str(number), b"content", mode=0o644) for number in range(COUNT)]
    yield fds
    for fd in fds:
        os.close(fd)


@pytest.mark.parametrize("seconds", [0.0, 0.002])
def test_every_file_is_synced_before_the_call_returns(files, monkeypatch, seconds):
    synced, threads, real = [], set(), os.fsync

    def sync(fd):
        time.sleep(seconds)
        real(fd)
        synced.append(fd)
        threads.add(threading.get_ident())

    monkeypatch.setattr(os, "fsync", sync)
    durable_files.sync_files(files)
    assert sorted(synced) == sorted(files)
    assert len(threads) > 1 or not seconds


@pytest.mark.parametrize("seconds", [0.0, 0.002])
@pytest.mark.parametrize("broken", [0, 7, COUNT - 1])
def test_a_failed_sync_is_reported_after_the_others(files, monkeypatch, seconds, broken):
    tried = []

    def sync(fd):
        time.sleep(seconds)
        tried.append(fd)
        if fd == files[broken]:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(OSError, match="No space"):
        durable_files.sync_files(files)
    assert sorted(tried) == sorted(files)


def test_every_file_is_synced_if_no_thread_can_be_started(files, monkeypatch):
    synced = []

    def sync(fd):
        time.sleep(0.002)
        synced.append(fd)

    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    durable_files.sync_files(files)
    assert sorted(synced) == sorted(files)


def test_files_that_are_held_open_are_freed_after_the_block(tmp_path):
    old, new, missing = (tmp_path / name for name in ("old", "new", "missing"))
    old.write_bytes(b"1")
    new.write_bytes(b"2")

    def held():
        return [path for fd in Path("/proc/self/fd").iterdir() if "old" in (path := _target(fd))]

    with durable_files.holding_open(map(str, (old, missing))):
        new.replace(old)
        assert held() == [f"{old} (deleted)"]
    assert held() == []
    assert old.read_bytes() == b"2"


def _target(fd):
    try:
        return str(fd.readlink())
    except OSError:  # that of the listing
        return ""
