"""Helpers for the tests of the importers: databases, batons, a full disk, and a read-only folder."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from baton_git.systems.imported import ImportedBaton

README_BATON: dict[str, Any] = {
    "schema_version": 1,
    "session_id": "2026-06-17-001",
    "parent_session": None,
    "open_loops": [{"id": "OL-001", "action": "Deployed service X", "verify": {"method": "http"}}],
    "context": "Ünïcode, 名前",
    "huge": 2**70,
}

Rows = list[tuple[Any, Any, Any]]


@contextmanager
def server_at(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database as session-baton's storage.py does, and keep the connection open."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA busy_timeout=5000")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS batons"
            " (namespace TEXT PRIMARY KEY, updated_at TEXT NOT NULL, data TEXT NOT NULL)"
        )
        yield connection


def put(
    connection: sqlite3.Connection, namespace: Any, data: Any, updated_at: Any = "2026-06-17T12:00:00+00:00"
) -> None:
    text = data if isinstance(data, str | bytes) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    connection.execute("INSERT INTO batons VALUES (?, ?, ?)", (namespace, updated_at, text))


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a database of session-baton with these batons, as a stopped server leaves it."""

    def make(**batons: Any) -> Path:
        path = tmp_path / "baton.sqlite3"
        with server_at(path) as connection:
            for namespace, data in batons.items():
                put(connection, namespace, data)
        return path

    return make


def baton(namespace: str, document: dict[str, Any] | None = None, **more: Any) -> ImportedBaton:
    return ImportedBaton(
        namespace, README_BATON if document is None else document, **{"updated_at": "2026-06-17", **more}
    )


def tree(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder: the name and the content of each."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@contextmanager
def _full(limit: int = 4096) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full_disk() -> Callable[..., AbstractContextManager[None]]:
    """Return a context manager in which the system refuses to let a file grow beyond `limit` bytes."""
    return _full


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """Yield a folder that this process may read but not write, even if the tests run as root."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        (folder / "there.json").write_text('{"session_id": "s"}')
        with server_at(folder / "there.sqlite3") as connection:
            put(connection, "a", README_BATON)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)
