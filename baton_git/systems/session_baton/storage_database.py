"""The SQLite table `batons`, with the statements and settings of session-baton's `storage.py`.

Opening a database in WAL mode, even to read it, makes SQLite create `-wal` and `-shm` files and leave them behind.
Without a `-wal` file the database is not in use, so it is read as an immutable file. If it changed meanwhile, or a
`-wal` file exists, it is read in the ordinary way.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from baton_git.core.errors import (
    BatonError,
    Busy,
    Corrupt,
    Fault,
    InvalidArgument,
    InvalidDocument,
    NotFound,
    StoreError,
    WriteFailed,
    shorten,
)
from baton_git.core.names import Namespace
from baton_git.git.files.atomic_files import (
    MAX_BYTES,
    check_size,
    make_folder,
    read_head,
    reading,
    resolve_target,
    show_path,
    spare_name,
    sync_folder,
)
from baton_git.git.files.durable_files import remove
from baton_git.systems.imported import (
    ImportedBaton,
    UnusableEntry,
    check_batons,
    find_own_date,
    parse_object,
    refuse_duplicates,
    remove_mark,
)

MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite database."""

WAIT = 5.0
"""Seconds to wait for another writer: session-baton's `busy_timeout`."""

_WAL_VERSIONS = b"\x02\x02"  # bytes 18 and 19 of the header: written and read in WAL mode

_TABLE = """\
CREATE TABLE IF NOT EXISTS batons (
    namespace TEXT PRIMARY KEY,
    updated_at TEXT NOT NULL,
    data TEXT NOT NULL
)"""

_UPSERT = """\
INSERT INTO batons (namespace, updated_at, data)
VALUES (?, ?, ?)
ON CONFLICT(namespace) DO UPDATE SET
    data = excluded.data,
    updated_at = excluded.updated_at"""

_HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = 'batons'"

_ROWS = """\
SELECT namespace, updated_at, length(CAST(data AS BLOB)),
       CASE WHEN length(CAST(data AS BLOB)) <= ? THEN data END
FROM batons ORDER BY namespace"""


def read_database(path: Path, *, wait: float = WAIT) -> list[ImportedBaton | UnusableEntry]:
    """Read all rows of the table, sorted by namespace, without changing the file.

    If the database is not in use, no other file is created next to it.

    Args:
        wait: seconds to wait for a lock.

    Raises:
        NotFound: the file does not exist, or has no table `batons`.
        InvalidArgument: the path is a folder.
        InvalidDocument: the file is not an SQLite database, or its table has unexpected columns.
        Busy: another program held the lock for longer than `wait` seconds.
        Corrupt: the database is damaged.
        StoreError: the database cannot be read.
    """
    if read_head(path, len(MAGIC)) != MAGIC:
        raise InvalidDocument([Fault("", "is not an SQLite database")], where=show_path(path))
    real = Path(os.path.realpath(path))
    with _translate_errors(path, StoreError, "read"), reading(path):
        rows = _read_rows(real, wait)
    if rows is None:
        raise NotFound("table batons in", show_path(path), hint="is this the database of session-baton?")
    return refuse_duplicates([_parse_row(row, show_path(path)) for row in rows])


def _read_rows(path: Path, wait: float) -> list[tuple[Any, ...]] | None:
    resting = _find_rest_state(path)
    if resting is not None:
        rows = query_rows(path, "mode=ro&immutable=1", wait)
        if _find_rest_state(path) == resting:
            return rows
    return query_rows(path, "mode=ro", wait)


def _find_rest_state(path: Path) -> tuple[int, int, int] | None:
    """Return a fingerprint that each write to the database changes; None if it may be in use or is not in WAL mode."""
    if path.with_name(f"{path.name}-wal").exists() or read_head(path, 20)[18:] != _WAL_VERSIONS:
        return None
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def query_rows(path: Path, mode: str, wait: float) -> list[tuple[Any, ...]] | None:
    """Return the rows, opened with an SQLite URI mode; None if there is no table `batons`."""
    with closing(_connect(path, mode, wait)) as connection:
        connection.text_factory = bytes  # as bytes: one row that is not UTF-8 must not hide the others
        if connection.execute(_HAS_TABLE).fetchone() is None:
            return None
        return connection.execute(_ROWS, (MAX_BYTES,)).fetchall()


def _connect(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=wait, isolation_level=None)
    connection.execute("PRAGMA trusted_schema=OFF")  # an untrusted file: its schema must not call functions
    return connection


def _parse_row(row: Sequence[Any], path: str) -> ImportedBaton | UnusableEntry:
    where = f"{path}, row {shorten(_show_value(row[0]))}"
    try:
        namespace = Namespace(_decode_text(row[0], "the namespace")).text
        updated_at = _decode_text(row[1], "updated_at")
        check_size("data", row[2] or 0)
        if not isinstance(row[3], bytes):
            raise InvalidArgument("data is not a text")
        baton, _ = remove_mark(parse_object(row[3]))
    except BatonError as error:
        return UnusableEntry(where, str(error))
    return ImportedBaton(namespace, baton, updated_at, where=where)


def _show_value(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _decode_text(value: Any, field: str) -> str:
    if not isinstance(value, bytes):
        raise InvalidArgument(f"{field} is not a text")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{field} is not UTF-8 text") from None


def write_database(path: Path, batons: Iterable[ImportedBaton], *, wait: float = WAIT) -> int:
    """Insert or replace the rows of the batons' namespaces in one transaction, and return their number.

    A missing file is created as session-baton creates it; on a file system with hard links, it appears only when it is
    complete. An existing file keeps its journal mode, its other rows and its other tables. It is safe to call this
    while session-baton runs.

    Args:
        batons: each needs an `updated_at`, its own or that of its document.
        wait: seconds to wait for another writer.

    Raises:
        InvalidName, InvalidDocument, LimitExceeded: a baton could not be read back.
        InvalidDocument: the file is not an SQLite database, or its table has unexpected columns.
        InvalidArgument: a namespace occurs twice, a baton has no time, or `path` is not a file.
        Busy: another program held the lock for longer than `wait` seconds.
        Corrupt: the database is damaged.
        WriteFailed: the database cannot be written. In each case nothing is written.
    """
    rows = [_make_row(baton) for baton in check_batons(batons)]
    target = resolve_target(path)
    with _translate_errors(path, WriteFailed, "write"):
        if target.exists():
            _upsert(target, rows, wait)
        else:
            _create(target, rows, wait)
    return len(rows)


def _make_row(baton: ImportedBaton) -> tuple[str, str, str]:
    updated_at = baton.updated_at or find_own_date(baton.baton)
    if updated_at is None:
        raise InvalidArgument(f"the baton of {shorten(baton.namespace)} has no updated_at, which the table needs")
    # The same format as that of session-baton's `dump_json`.
    data = json.dumps(baton.baton, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    check_size(f"the baton of {baton.namespace}", len(data.encode()))
    return baton.namespace, updated_at, data


def _create(target: Path, rows: Sequence[tuple[str, str, str]], wait: float) -> None:
    make_folder(target.parent)
    spare = spare_name(target.parent)
    try:
        _upsert(spare, rows, wait)
        _publish(spare, target, rows, wait)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            remove(spare.with_name(spare.name + suffix))
    sync_folder(target.parent)


def _publish(spare: Path, target: Path, rows: Sequence[tuple[str, str, str]], wait: float) -> None:
    try:
        os.link(spare, target)  # unlike a rename, a link never replaces a database that a server created meanwhile
    except OSError:  # the database exists now, or this file system has no hard links
        _upsert(target, rows, wait)


def _upsert(path: Path, rows: Sequence[tuple[str, str, str]], wait: float) -> None:
    with closing(_connect(path, "mode=rwc", wait)) as connection:
        if connection.execute("PRAGMA page_count").fetchone() == (0,):
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("BEGIN IMMEDIATE")  # closing without a commit rolls back
        connection.execute(_TABLE)
        connection.executemany(_UPSERT, rows)
        connection.execute("COMMIT")


@contextmanager
def _translate_errors(path: Path, refused: type[StoreError], verb: str) -> Iterator[None]:
    """Convert SQLite's errors to errors of this package; `refused` is the class for errors of the operating system."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate_error(error, show_path(path), refused, verb) from error


def _translate_error(error: sqlite3.Error, path: str, refused: type[StoreError], verb: str) -> BatonError:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy(f"{path}: another program holds the database", hint="try again in a moment", path=path)
        case sqlite3.SQLITE_NOTADB:
            return InvalidDocument([Fault("", "is not an SQLite database")], where=path)
        case sqlite3.SQLITE_CORRUPT:
            return Corrupt(path, str(error), hint="`sqlite3 FILE .recover` may save what is left of it")
        case sqlite3.SQLITE_ERROR | sqlite3.SQLITE_CONSTRAINT:
            return InvalidDocument([Fault("batons", f"is not session-baton's table: {error}")], where=path)
        case _:
            return refused(f"cannot {verb} {path}: {error}", hint="check the disk and the permissions", path=path)
