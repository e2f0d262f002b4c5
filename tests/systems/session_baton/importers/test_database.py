"""session-baton's SQLite database: read it without changing it, and write rows without losing others."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from baton_git.core.errors import (
    Busy,
    Corrupt,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    LimitExceeded,
    NotFound,
    StoreError,
    WriteFailed,
)
from baton_git.git.files import atomic_files
from baton_git.systems.imported import ImportedBaton, UnusableEntry
from baton_git.systems.session_baton.storage_database import read_database, write_database

from .conftest import README_BATON, baton, put, server_at, tree

Database = Callable[..., Path]


def rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM batons ORDER BY namespace").fetchall()


def test_each_row_is_read_unchanged_with_its_time(database: Database) -> None:
    found = read_database(database(**{"project:x": README_BATON, "a/b": {}, "..": {"open_loops": "no list"}}))
    time = "2026-06-17T12:00:00+00:00"
    assert [
        (one.namespace, one.baton, one.updated_at, one.pending) for one in found if isinstance(one, ImportedBaton)
    ] == [
        ("..", {"open_loops": "no list"}, time, False),
        ("a/b", {}, time, False),
        ("project:x", README_BATON, time, False),
    ]
    assert list(found[2].baton) == list(README_BATON)  # type: ignore[union-attr]


def test_reading_a_closed_database_makes_no_file_and_changes_none(database: Database) -> None:
    path = database(a=README_BATON)
    before = tree(path.parent)
    assert list(before) == ["baton.sqlite3"]
    read_database(path)
    assert tree(path.parent) == before


def test_rows_that_a_running_server_has_only_in_its_wal_are_read(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    with server_at(path) as connection:
        put(connection, "a", {"n": 1})
        before = path.read_bytes()
        assert [one.baton for one in read_database(path) if isinstance(one, ImportedBaton)] == [{"n": 1}]
        assert path.read_bytes() == before
        put(connection, "b", {"n": 2})
        assert len(read_database(path)) == 2


def test_a_write_in_progress_is_not_seen_and_does_not_stop_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    with server_at(path) as connection:
        put(connection, "a", {})
        connection.execute("BEGIN IMMEDIATE")
        put(connection, "b", {})
        assert [one.namespace for one in read_database(path, wait=0) if isinstance(one, ImportedBaton)] == ["a"]
        connection.execute("ROLLBACK")


def test_rows_left_in_the_wal_by_a_killed_server_are_read(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    with server_at(path) as connection:
        put(connection, "a", {"n": 1})
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute(\"INSERT INTO batons VALUES ('b', 't', '{}')\"); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, path], check=False).returncode == 9
    before = path.read_bytes()
    assert [one.namespace for one in read_database(path) if isinstance(one, ImportedBaton)] == ["a", "b"]
    assert path.read_bytes() == before


def test_rows_written_during_the_read_are_not_missed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(a={})
    module = sys.modules["baton_git.systems.session_baton.storage_database"]
    query_rows, modes = module.query_rows, []

    def disturbed(path: Path, mode: str, wait: float) -> Any:
        answer = query_rows(path, mode, wait)
        modes.append(mode)
        if len(modes) == 1:
            with server_at(path) as connection:
                put(connection, "b", {})
        return answer

    monkeypatch.setattr(module, "query_rows", disturbed)
    assert len(read_database(path)) == 2
    assert modes == ["mode=ro&immutable=1", "mode=ro"]


def test_a_database_in_a_read_only_folder_is_read(read_only_folder: Path) -> None:
    assert [
        one.namespace for one in read_database(read_only_folder / "there.sqlite3") if isinstance(one, ImportedBaton)
    ] == ["a"]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_a_database_without_wal_and_in_any_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "odd ?#%41 名.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA encoding='{encoding}'")
        connection.execute("CREATE TABLE Batons (namespace TEXT PRIMARY KEY, updated_at TEXT, data TEXT, revision INT)")
        connection.execute("INSERT INTO batons VALUES (?, 't', '{\"k\": \"名\"}', 4)", ("é\0x",))
    assert read_database(path) == [ImportedBaton("é\0x", {"k": "名"}, "t", where=f"{path}, row 'é\\x00x'")]
    assert list(tree(tmp_path)) == [path.name]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("{", "not JSON"),
        ("", "is empty"),
        ("[]", "not one"),
        ("null", "not one"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "nesting"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ("[" * 100_000, "nesting"),
    ],
)
def test_an_unreadable_row_is_reported_and_the_others_are_read(tmp_path: Path, data: Any, why: str) -> None:
    path = tmp_path / "b.sqlite3"
    with server_at(path) as connection:
        put(connection, "bad", data)
        put(connection, "good", {})
    bad, good = read_database(path)
    assert isinstance(bad, UnusableEntry)
    assert why in bad.why
    assert "'bad'" in bad.where
    assert isinstance(good, ImportedBaton)


def test_rows_with_invalid_keys_are_reported_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    with server_at(path) as connection:
        put(connection, "", {})
        put(connection, None, {})
        put(connection, b"\xff\xfe", {})
        put(connection, "x" * 300, {})
        put(connection, "time", {}, updated_at=b"\xff")
        connection.execute("INSERT INTO batons VALUES ('text', 't', CAST(CAST('\xed' AS BLOB) AS TEXT))")
        put(connection, "good", {})
    entries = read_database(path)
    assert len(entries) == 7
    assert [one.namespace for one in entries if isinstance(one, ImportedBaton)] == ["good"]


def test_a_row_that_is_too_large_is_reported(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(big={"context": "x" * 2000}, small={})
    monkeypatch.setattr("baton_git.systems.session_baton.storage_database.MAX_BYTES", 1000)
    monkeypatch.setattr(atomic_files, "MAX_BYTES", 1000)
    big, small = read_database(path)
    assert isinstance(big, UnusableEntry)
    assert "the limit is 1,000 bytes" in big.why
    assert isinstance(small, ImportedBaton)


def test_several_rows_of_one_namespace_are_all_unusable(tmp_path: Path) -> None:
    path = tmp_path / "tenants.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE batons (tenant TEXT, namespace TEXT, updated_at TEXT, data TEXT)")
        connection.executemany("INSERT INTO batons VALUES (?, ?, 't', '{}')", [("1", "a"), ("2", "a"), ("1", "b")])
    assert [type(one) for one in read_database(path)] == [UnusableEntry, UnusableEntry, ImportedBaton]


def test_a_sync_status_that_a_client_uploaded_is_not_part_of_the_baton(database: Database) -> None:
    (found,) = read_database(database(a={"_sync_status": "pending_upload", "n": 1}))
    assert isinstance(found, ImportedBaton)
    assert (found.baton, found.pending) == ({"n": 1}, False)


def test_a_missing_database_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file") as raised:
        read_database(tmp_path / "none.db")
    assert "none.db" in raised.value.hint
    assert not tree(tmp_path)


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="folder"):
        read_database(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"SQLite format 3\0", b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_that_is_not_a_database_is_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "b.db"
    path.write_bytes(content)
    with pytest.raises(InvalidDocument, match=r"b\.db: is not an SQLite database"):
        read_database(path)
    assert tree(tmp_path) == {"b.db": content}


@pytest.mark.parametrize("size", [600, 4096, 9000])
def test_a_truncated_database_is_corrupt(database: Database, size: int) -> None:
    path = database(**{f"n{number}": README_BATON for number in range(100)})
    os.truncate(path, size)
    with pytest.raises(Corrupt, match="malformed"):
        read_database(path)


def test_a_database_without_the_table_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW batons AS SELECT 'a' AS namespace, 't' AS updated_at, '{}' AS data")
    with pytest.raises(NotFound, match="table batons"):
        read_database(path)


def test_a_table_with_other_columns_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE batons (id INT, body TEXT)")
    with pytest.raises(InvalidDocument, match="not session-baton's table"):
        read_database(path)
    with pytest.raises(InvalidDocument, match="not session-baton's table"):
        write_database(path, [baton("a")])


def test_a_locked_database_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    write_database(path, [baton("a")])
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode=DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Busy, match="another program"):
            read_database(path, wait=0.01)
        with pytest.raises(Busy, match="another program"):
            write_database(path, [baton("b")], wait=0.01)
    assert len(rows(path)) == 1


def test_a_new_database_has_the_schema_and_settings_of_session_baton(tmp_path: Path) -> None:
    path = tmp_path / "data" / "b.sqlite3"
    assert write_database(path, [baton("project:x", {"k": ["名", None]}), baton("y", {})]) == 2
    assert list(tree(path.parent)) == ["b.sqlite3"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchone()
    columns = "namespace TEXT PRIMARY KEY, updated_at TEXT NOT NULL, data TEXT NOT NULL"
    assert " ".join(sql.split()) == f"CREATE TABLE batons ( {columns} )"
    assert rows(path) == [("project:x", "2026-06-17", '{"k":["名",null]}'), ("y", "2026-06-17", "{}")]


def test_other_rows_and_tables_are_kept(database: Database) -> None:
    path = database(a={"old": 1}, b={"old": 2})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memories (text TEXT)")
    write_database(path, [baton("a", {"new": 1}), baton("c", {})])
    assert [(row[0], row[2]) for row in rows(path)] == [("a", '{"new":1}'), ("b", '{"old":2}'), ("c", "{}")]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (0,)


def test_a_database_of_another_program_keeps_its_journal_mode(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memories (text TEXT)")
    write_database(path, [baton("a")])
    assert len(read_database(path)) == 1
    assert list(tree(tmp_path)) == ["memory.db"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_running_server_sees_the_rows_and_can_still_write(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    with server_at(path) as connection:
        put(connection, "a", {})
        write_database(path, [baton("b", {})])
        assert connection.execute("SELECT count(*) FROM batons").fetchone() == (2,)
        put(connection, "c", {})
    assert len(rows(path)) == 3


def test_rows_are_added_to_a_database_that_a_server_creates_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "b.sqlite3", os.link

    def late(source: Path, target: Path) -> None:
        with server_at(path) as connection:
            put(connection, "a", {})
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    write_database(path, [baton("b")])
    assert [row[0] for row in rows(path)] == ["a", "b"]
    assert list(tree(tmp_path)) == ["b.sqlite3"]


def test_without_a_time_of_its_own_a_row_gets_the_documents_time(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite3"
    write_database(path, [baton("a", {"updated_at": "2026-01-01"}, updated_at=None)])
    assert rows(path)[0][1] == "2026-01-01"
    with pytest.raises(InvalidArgument, match="no updated_at"):
        write_database(path, [baton("b"), baton("c", {}, updated_at=None)])
    assert len(rows(path)) == 1


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (baton(""), InvalidName),
        (baton("\ud800"), InvalidName),
        (baton("good"), InvalidArgument),
        (baton("b", {"x": float("nan")}), InvalidDocument),
        (baton("b", {"x": "\ud800"}), InvalidDocument),
        (baton("b", {"x": "y" * (16 * 1024 * 1024)}), LimitExceeded),
    ],
)
def test_one_invalid_baton_prevents_the_whole_export(
    tmp_path: Path, bad: ImportedBaton, error: type[Exception]
) -> None:
    with pytest.raises(error):
        write_database(tmp_path / "b.sqlite3", [baton("good"), bad])
    assert not tree(tmp_path)


@pytest.mark.parametrize("content", [b"hello", b'{"session_id": "s"}' * 100])
def test_a_file_that_is_not_a_database_is_never_written(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(content)
    with pytest.raises(InvalidDocument, match="not an SQLite database"):
        write_database(path, [baton("a")])
    assert tree(tmp_path) == {"b.json": content}


def test_a_truncated_database_is_not_written(database: Database) -> None:
    path = database(**{f"n{number}": README_BATON for number in range(100)})
    os.truncate(path, 9000)
    before = path.read_bytes()
    with pytest.raises(StoreError):
        write_database(path, [baton("a")])
    assert path.read_bytes() == before


def test_a_folder_in_place_of_the_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a file"):
        write_database(tmp_path, [baton("a")])


@pytest.mark.parametrize("limit", [0, 4096, 20_000])
def test_a_full_disk_leaves_no_new_database(tmp_path: Path, full_disk: Any, limit: int) -> None:
    with full_disk(limit), pytest.raises(WriteFailed, match="cannot write"):
        write_database(tmp_path / "b.sqlite3", [baton("a", {"x": "y" * 100_000})])
    assert not tree(tmp_path)


def test_a_full_disk_leaves_the_rows_as_they_were(database: Database, full_disk: Any) -> None:
    path = database(a={"old": 1})
    with full_disk(20_000), pytest.raises(WriteFailed):
        write_database(path, [baton("a", {}), baton("b", {"x": "y" * 100_000})])
    assert [(row[0], row[2]) for row in rows(path)] == [("a", '{"old":1}')]


def test_an_unwritable_target_is_reported(read_only_folder: Path) -> None:
    with pytest.raises(WriteFailed, match="cannot write"):
        write_database(read_only_folder / "new.sqlite3", [baton("a")])
    with pytest.raises(WriteFailed, match="cannot write"):
        write_database(read_only_folder / "there.sqlite3", [baton("b")])
    assert [path.name for path in sorted(read_only_folder.iterdir())] == ["there.json", "there.sqlite3"]


def test_a_linked_database_is_read_and_written_through_the_link(tmp_path: Path, database: Database) -> None:
    path = database(a={})
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(path)
    write_database(link, [baton("b")])
    assert link.is_symlink()
    assert len(read_database(link)) == 2
