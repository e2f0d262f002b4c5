"""The index of passages: a local sqlite file with a full-text table, derived from git and local files.

The file can be deleted without loss. It is rebuilt if it is damaged or has another format. If it cannot be written, the
index is built in memory for each question.

A *source* is a file, or one version of a file, from which passages were read; its *mark* shows whether it has changed
since. Sources are grouped: the records of each branch form a group, whose mark is the last indexed commit; the turns of
sessions (prompts with their answers) form another.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from baton_git.core.errors import Busy, SearchUnavailable
from baton_git.recall.passages import TURN, Passage
from baton_git.recall.terms import extract_terms

FORMAT = 4
"""Version of the schema and of the rules for terms and passages; a file with another version is rebuilt."""
FILE = "index.sqlite"
WAIT_SECONDS = 10.0
"""Maximum seconds that an update waits for another process's update."""

_COLUMNS = ", ".join(f'"{name}"' for name in Passage._fields)
_SCHEMA = f"""
    CREATE TABLE groups (name TEXT PRIMARY KEY, mark TEXT NOT NULL);
    CREATE TABLE sources (id INTEGER PRIMARY KEY, grp TEXT NOT NULL, key TEXT NOT NULL, mark TEXT NOT NULL,
        UNIQUE (grp, key));
    CREATE TABLE passages (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, {_COLUMNS}, terms);
    CREATE INDEX by_source ON passages (source);
    CREATE INDEX by_session ON passages (session);
    CREATE VIRTUAL TABLE words USING fts5(terms, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '.'");
    CREATE TABLE frequencies (term TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    PRAGMA user_version = {FORMAT};
"""


class Hit(NamedTuple):
    """A passage returned by a query: its row id, the passage, and its terms in order."""

    number: int
    passage: Passage
    terms: list[str]


class PassageFilter(NamedTuple):
    """A filter for passages; attributes that are None match all passages.

    Attributes:
        session: a session's id or the beginning of one.
        since: the earliest time, ISO 8601. Passages without a time do not match.
        not_session: a session to exclude.
    """

    namespace: str | None = None
    since: str | None = None
    kind: str | None = None
    session: str | None = None
    not_session: str | None = None

    def condition(self) -> tuple[str, list[str]]:
        """Return the condition as SQL, and the values of its parameters."""
        parts: list[str] = ["1"]
        values: list[str] = []
        for column, value in (("namespace", self.namespace), ("kind", self.kind)):
            if value is not None:
                parts.append(f"p.{column} = ?")
                values.append(value)
        if self.since is not None:
            parts.append("p.time >= ?")
            values.append(self.since)
        if self.session is not None:
            parts.append("substr(p.session, 1, length(?)) = ?")
            values += [self.session, self.session]
        if self.not_session is not None:
            parts.append("p.session != ?")
            values.append(self.not_session)
        return " AND ".join(parts), values


class RecallIndex:
    """An open index. Close it, or use it in a `with` statement."""

    def __init__(self, database: sqlite3.Connection, *, is_stored: bool = False) -> None:
        self._database = database
        self.is_stored = is_stored
        """Whether the index is on the disk, so that the next update continues where the last one stopped."""
        self._changed: Counter[str] = Counter()
        self.unread = ""
        """Why the last update could not read older revisions; empty if it could."""
        self.pending = ""
        """What the last update left for the next one; empty if everything is indexed."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the index in a folder, or create it. A damaged file is replaced.

        If the file cannot be written, return an index in memory.

        Raises:
            SearchUnavailable: Python's sqlite was built without full-text search.
            Busy: another process is building the index.
        """
        path = folder / FILE
        for _ in range(2):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.touch(mode=0o600)
                return cls(_connect(str(path)), is_stored=True)
            except OSError:
                break
            except sqlite3.DatabaseError as error:
                if _is_busy(error):
                    raise Busy("another process is building the recall index", hint="try again in a moment") from None
                if isinstance(error, sqlite3.OperationalError) and not _is_damaged(error):
                    break
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
                    (folder / name).unlink(missing_ok=True)
        return cls.in_memory()

    @classmethod
    def in_memory(cls) -> Self:
        """Return an empty index in memory. Raises SearchUnavailable like `open`."""
        return cls(_connect(":memory:"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    # --- writing

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Return a context manager for a transaction. Other processes wait for its end before they begin their own.

        Raises:
            Busy: another process's transaction did not finish in time.
        """
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if _is_busy(error):
                raise Busy("another process is building the recall index", hint="try again in a moment") from None
            raise
        self._changed.clear()
        try:
            yield
            self._save_frequencies()
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def _save_frequencies(self) -> None:
        """Add the changes of term counts since the transaction began to the stored frequencies."""
        self._database.executemany(
            "INSERT INTO frequencies VALUES (?, ?) ON CONFLICT (term) DO UPDATE SET count = count + excluded.count",
            [(term, count) for term, count in self._changed.items() if count],
        )
        self._database.execute("DELETE FROM frequencies WHERE count <= 0")

    def mark(self, group: str) -> str:
        """Return the mark of a group of sources; empty if the group has none."""
        row = self._database.execute("SELECT mark FROM groups WHERE name = ?", (group,)).fetchone()
        return str(row[0]) if row else ""

    def set_mark(self, group: str, mark: str) -> None:
        self._database.execute("REPLACE INTO groups VALUES (?, ?)", (group, mark))

    def source_marks(self, group: str) -> dict[str, str]:
        """Return the marks of the sources of a group, by key."""
        return dict(self._database.execute("SELECT key, mark FROM sources WHERE grp = ?", (group,)))

    def source_mark(self, group: str, key: str) -> str | None:
        """Return the mark of a source, or None if it is not indexed."""
        row = self._database.execute("SELECT mark FROM sources WHERE grp = ? AND key = ?", (group, key)).fetchone()
        return None if row is None else str(row[0])

    def put_source(self, group: str, key: str, mark: str, passages: Iterable[Passage]) -> None:
        """Add a source with its mark and passages, or replace it."""
        self.remove_source(group, key)
        cursor = self._database.execute("INSERT INTO sources (grp, key, mark) VALUES (?, ?, ?)", (group, key, mark))
        for passage in passages:
            passage_terms = extract_terms(passage.text)
            self._changed.update(set(passage_terms))
            terms = " ".join(passage_terms)
            placeholders = ", ".join("?" * (len(Passage._fields) + 2))
            row = self._database.execute(
                f"INSERT INTO passages (source, {_COLUMNS}, terms) VALUES ({placeholders})",  # noqa: S608  values are bound
                (cursor.lastrowid, *passage, terms),
            )
            self._database.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (row.lastrowid, terms))

    def remove_source(self, group: str, key: str) -> None:
        """Remove a source with its passages, if it exists."""
        row = self._database.execute("SELECT id FROM sources WHERE grp = ? AND key = ?", (group, key)).fetchone()
        if row is None:
            return
        for (terms,) in self._database.execute("SELECT terms FROM passages WHERE source = ?", row):
            self._changed.subtract(set(terms.split()))
        self._database.execute(
            "INSERT INTO words (words, rowid, terms) SELECT 'delete', id, terms FROM passages WHERE source = ?", row
        )
        self._database.execute("DELETE FROM passages WHERE source = ?", row)
        self._database.execute("DELETE FROM sources WHERE id = ?", row)

    def remove_group(self, group: str) -> None:
        """Remove all sources of a group, and its mark."""
        for key in self.source_marks(group):
            self.remove_source(group, key)
        self._database.execute("DELETE FROM groups WHERE name = ?", (group,))

    # --- reading

    def count(self) -> int:
        """Return the number of passages."""
        return int(self._database.execute("SELECT count(*) FROM passages").fetchone()[0])

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return the number of passages that contain each term."""
        values = list(terms)
        query = f"SELECT term, count FROM frequencies WHERE term IN ({', '.join('?' * len(values))})"  # noqa: S608  values are bound
        return {**dict.fromkeys(values, 0), **dict(self._database.execute(query, values))}

    def search(self, terms: Sequence[str], wanted: PassageFilter, limit: int) -> list[Hit]:
        """Return at most `limit` passages that match the filter and contain a term, best first by BM25 rank."""
        condition, values = wanted.condition()
        match = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        return (
            self._hits(
                f"SELECT p.id, p.terms, {_list_columns()} FROM words JOIN passages p ON p.id = words.rowid "  # noqa: S608  values are bound
                f"WHERE words MATCH ? AND {condition} ORDER BY words.rank LIMIT ?",
                [match, *values, limit],
            )
            if terms
            else []
        )

    def newest(self, wanted: PassageFilter, limit: int) -> list[Hit]:
        """Return at most `limit` passages that match the filter, newest first."""
        condition, values = wanted.condition()
        return self._hits(
            f"SELECT p.id, p.terms, {_list_columns()} FROM passages p WHERE {condition} "  # noqa: S608  values are bound
            "ORDER BY p.time DESC, p.id LIMIT ?",
            [*values, limit],
        )

    def list_turns(self, session: str, wanted: PassageFilter, limit: int) -> list[Hit]:
        """Return at most `limit` turns of a session that match the filter, in the order of indexing."""
        condition, values = wanted.condition()
        return self._hits(
            f"SELECT p.id, p.terms, {_list_columns()} FROM passages p "  # noqa: S608  values are bound
            f"WHERE p.session = ? AND p.kind = ? AND {condition} ORDER BY p.id LIMIT ?",
            [session, TURN, *values, limit],
        )

    def of_blob(self, group: str, path: str, blob: str) -> tuple[Passage, ...]:
        """Return the passages of one version of a record's file."""
        rows = self._database.execute(
            f"SELECT {_list_columns()} FROM passages p JOIN sources s ON p.source = s.id "  # noqa: S608  values are bound
            "WHERE s.grp = ? AND s.key IN (?, ?) AND p.blob = ? ORDER BY p.id",
            (group, path, f"{path} {blob}", blob),
        )
        return tuple(Passage(*row) for row in rows)

    def dump(self) -> list[tuple[Any, ...]]:
        """Return all passages in a fixed order, to compare indexes."""
        return sorted(self._database.execute(f"SELECT {_COLUMNS}, terms FROM passages"))  # noqa: S608  values are bound

    def _hits(self, query: str, values: Sequence[Any]) -> list[Hit]:
        rows = self._database.execute(query, values)
        return [Hit(number, Passage(*fields), terms.split()) for number, terms, *fields in rows]


def _list_columns() -> str:
    return ", ".join(f'p."{name}"' for name in Passage._fields)


def _connect(path: str) -> sqlite3.Connection:
    """Open a database; create its tables, or recreate them if it has another format.

    Raises:
        SearchUnavailable: Python's sqlite was built without FTS5.
        sqlite3.DatabaseError: the file is damaged, locked, or cannot be written.
    """
    database = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        with suppress(sqlite3.OperationalError):  # fails on some file systems, and while another process reads
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        if _format_of(database) != FORMAT:
            _create(database)
        database.execute("SELECT rowid FROM words LIMIT 1").fetchone()
    except BaseException:
        database.close()
        raise
    return database


def _format_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _create(database: sqlite3.Connection) -> None:
    database.execute("BEGIN EXCLUSIVE")
    if _format_of(database) != FORMAT:
        # dropped first, because sqlite then drops the tables in which it stores the full-text index
        full_text_table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'words'"
        other_tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        for query in (full_text_table, other_tables):
            for (name,) in database.execute(query).fetchall():
                database.execute(f'DROP TABLE IF EXISTS "{name}"')
        try:
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
        except sqlite3.OperationalError as error:
            if "fts5" not in str(error):
                raise
            raise SearchUnavailable(
                "this Python's sqlite has no FTS5, so nothing can be searched",
                hint="use a Python whose sqlite3 module was built with FTS5",
            ) from None
    database.execute("COMMIT")


def _is_busy(error: sqlite3.Error) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def _is_damaged(error: sqlite3.Error) -> bool:
    return "malformed" in str(error) or "no such table" in str(error) or "not a database" in str(error)
