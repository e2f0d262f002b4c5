"""Tests with session-baton's own code, if it is installed; its storage needs only pydantic."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_git.systems.imported import ImportedBaton
from baton_git.systems.session_baton.storage_database import read_database, write_database
from baton_git.systems.session_baton.storage_files import read_cache, write_cache

from .conftest import README_BATON, baton

storage = pytest.importorskip("session_baton.storage", reason="session-baton is not installed")
cache = pytest.importorskip("session_baton.cache", reason="session-baton is not installed")


def test_session_batons_database_is_read_while_open_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "data" / "baton.sqlite3"
    store = storage.BatonStore(path)
    try:
        time = store.write("../../etc/passwd\n:x y/é", README_BATON)
        running = read_database(path)
    finally:
        store.close()
    assert running == read_database(path)
    assert [(one.namespace, one.baton, one.updated_at) for one in running if isinstance(one, ImportedBaton)] == [
        ("../../etc/passwd\n:x y/é", README_BATON, time)
    ]


def test_session_baton_reads_a_database_written_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "baton.sqlite3"
    write_database(path, [baton("project:x")])
    store = storage.BatonStore(path)
    try:
        assert store.read("project:x") == (README_BATON, "2026-06-17")
        write_database(path, [baton("project:x", {"n": 1})])
        assert store.read("project:x") == ({"n": 1}, "2026-06-17")
        store.write("project:x", {"n": 2})
    finally:
        store.close()
    assert [one.baton for one in read_database(path) if isinstance(one, ImportedBaton)] == [{"n": 2}]


def test_session_batons_cache_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "CACHE_DIR", tmp_path / "theirs")
    cache.cache_write("a/b:c", README_BATON, "pending_upload")
    (path,) = write_cache(tmp_path / "ours", [baton("a/b:c", pending=True)])
    assert path.read_bytes() == (tmp_path / "theirs" / path.name).read_bytes()
    (found,) = read_cache(tmp_path / "theirs", names={"a_b_c": "a/b:c"})
    assert isinstance(found, ImportedBaton)
    assert (found.namespace, found.baton, found.pending) == ("a/b:c", README_BATON, True)
