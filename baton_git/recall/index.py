"""The index of passages: a local sqlite file with a full-text table, derived from git and local files.

The file can be deleted without loss. It is rebuilt if it is damaged or has another format. If it cannot be written, the
index is built in memory for each question.

A *source* is a file, or one version of a file, from which passages were read; its *mark* shows whether it has changed
since. Sources are grouped: the records of each branch form a group, whose mark is the last indexed commit; the turns of
sessions (prompts with their answers) form another.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from baton_git.core.errors import Busy, SearchUnavailable
from baton_git.recall.passages import TURN, Passage
from baton_git.recall.terms import searchable_text

FORMAT = 13
"""Version of the schema and of the rules for terms and passages; a file with another version is rebuilt."""
FILE = f"index-{FORMAT}.sqlite"
"""Each format has its own file: versions of baton side by side would rebuild a common one with every question."""
_ANY_FILE = re.compile(r"index(-\d+)?\.sqlite(-wal|-shm|-journal)?")
_UNUSED = 30 * 86_400 * 1_000_000_000
"""Age in nanoseconds from which the file of another format is removed; every question touches the one that it uses."""
WAIT_SECONDS = 10.0
"""Maximum seconds that an update waits for another process's update."""
MOST_ROWS = 10_000
"""Maximum number of passages that one word of a question may match; of a more common word, the last ones count."""

_PLACES = 16
"""Bits of a passage's number that count the passages of its source; the others are the number of the source. So the
numbers tell without a query which passages are neighbours, and which belong together."""
_SHARED = tuple(name for name in Passage._fields if name not in ("text", "record", "time"))
"""The attributes that all passages of a source have in common."""
_COLUMNS = ", ".join(
    f'coalesce(p."{name}", s."{name}")' if name in ("record", "time") else f'{"p" if name == "text" else "s"}."{name}"'
    for name in Passage._fields
)
_FROM = "FROM passages p JOIN sources s ON s.id = p.id >> 16"
_ACCENTS = 2 if sqlite3.sqlite_version_info >= (3, 27) else 1
"""Which accents are removed: 1 leaves a few on letters with several, and is all that the library of RHEL 8 knows."""
_MEMORY = 16 << 20
"""How many bytes of new words are collected before they are written, and the size of the cache of pages. With the
defaults, 1 and 2 MiB, a build of 9 MB of text writes and merges parts so often that it takes a sixth longer."""
# `columnsize=0`: only the ranking of FTS5 itself needs the sizes of texts.
_SCHEMA = f"""
    CREATE TABLE groups (name TEXT PRIMARY KEY, mark TEXT NOT NULL);
    CREATE TABLE sources (id INTEGER PRIMARY KEY, grp TEXT NOT NULL, key TEXT NOT NULL, mark TEXT NOT NULL,
        {", ".join(f'"{name}"' for name in _SHARED)}, record, time, UNIQUE (grp, key));
    CREATE INDEX by_branch ON sources (branch, time) WHERE branch != '';
    CREATE TABLE passages (id INTEGER PRIMARY KEY, record, time, text);
    CREATE TABLE totals (passages INTEGER NOT NULL, sources INTEGER NOT NULL);
    INSERT INTO totals VALUES (0, 0);
    CREATE VIRTUAL TABLE words USING fts5(
        text, content='', columnsize=0, tokenize="porter unicode61 remove_diacritics {_ACCENTS}");
    INSERT INTO words (words, rank) VALUES ('hashsize', {_MEMORY});
    PRAGMA user_version = {FORMAT};
"""  # noqa: S608  the names are constants


class Hit(NamedTuple):
    """A passage returned by a query, and its number."""

    number: int
    passage: Passage


Session = tuple[str, str, str]
"""The namespace, the agent and the id of a session."""


class Totals(NamedTuple):
    """The numbers of passages and of sources in an index."""

    passages: int
    sources: int


class PassageFilter(NamedTuple):
    """A filter for passages; attributes that are None match all passages.

    Attributes:
        session: a session's id or the beginning of one.
        since: the earliest time, ISO 8601. Passages without a time do not match.
        until: the latest time, in the same form.
        not_session: a session to exclude.
        branch: the branch that was checked out.
    """

    namespace: str | None = None
    since: str | None = None
    kind: str | None = None
    session: str | None = None
    not_session: str | None = None
    until: str | None = None
    branch: str | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether it probably matches few passages, so that they are worth listing before the search."""
        return any(value is not None for value in (self.since, self.until, self.kind, self.session, self.branch))

    def matches(self, passage: Passage) -> bool:
        """Whether a passage matches."""
        time = passage.time
        return (
            self.namespace in (None, passage.namespace)
            and self.kind in (None, passage.kind)
            and (self.since is None or time >= self.since)
            and (self.until is None or "" < time <= self.until)
            and passage.session.startswith(self.session or "")
            and (self.not_session is None or passage.session != self.not_session)
            and self.branch in (None, passage.branch)
        )

    def condition(self) -> tuple[str, list[str]]:
        """Return the condition as SQL, and the values of its parameters."""
        tests = (
            ("s.namespace = ?", self.namespace), ("s.kind = ?", self.kind),
            ("coalesce(p.time, s.time) >= ?", self.since),
            ("coalesce(p.time, s.time) BETWEEN '0' AND ?", self.until),
            ("s.session != ?", self.not_session), ("instr(s.session, ?) = 1", self.session),
            ("s.branch = ?", self.branch),
        )  # fmt: skip
        used = [(test, value) for test, value in tests if value is not None]
        return " AND ".join(["1", *(test for test, _ in used)]), [value for _, value in used]


class RecallIndex:
    """An open index. Close it, or use it in a `with` statement."""

    def __init__(self, database: sqlite3.Connection, opened: int = 0) -> None:
        self._database = database
        self.opened = opened
        """When the file was opened, in nanoseconds, as the file system counts them; 0 in memory."""
        self.is_stored = opened > 0
        """Whether the index is on the disk, so that the next update continues where the last one stopped."""
        self.unread = ""
        """Why the last update could not read older revisions; empty if it could."""
        self.unstored = ""
        """Why the index could not be stored, if it is in memory for that reason."""
        self.pending = ""
        """What the last update left for the next one; empty if everything is indexed."""

    @classmethod
    def open(cls, folder: Path, wait: float = WAIT_SECONDS) -> Self:
        """Open the index in a folder, or create it. A damaged file is replaced.

        Args:
            wait: the maximum seconds that it waits for another process's update.

        If the file cannot be written, return an index in memory.

        Raises:
            SearchUnavailable: Python's sqlite was built without full-text search.
            Busy: another process is building the index.
        """
        path = folder / FILE
        problem = ""
        for _ in range(2):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.touch(mode=0o600)
                now = path.stat().st_mtime_ns
                _remove_unused(folder, now - _UNUSED)
                return cls(_connect(str(path), wait), now)
            except OSError as error:
                problem = error.strerror or str(error)
                break
            except sqlite3.DatabaseError as error:
                if _is_busy(error):
                    raise Busy("another process is building the recall index", hint="try again in a moment") from None
                problem = str(error)
                if not remove_damaged(folder, error):
                    break
        return cls.in_memory(problem)

    @classmethod
    def in_memory(cls, problem: str = "") -> Self:
        """Return an empty index in memory, and why it is there. Raises SearchUnavailable like `open`."""
        index = cls(_connect(":memory:", 0))
        index.unstored = problem
        return index

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
        try:
            yield
        except BaseException:
            if self._database.in_transaction:  # sqlite rolls back itself if the disk is full
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

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
        """Add a source with its mark and passages, or replace it. Only text, record and time of these may differ."""
        self.remove_source(group, key)
        listed = list(passages)[: 1 << _PLACES]
        first = listed[0] if listed else Passage("", "", "")
        shared = [getattr(first, name) for name in _SHARED]
        marks = ", ".join("?" * (len(_SHARED) + 5))
        cursor = self._database.execute(
            f"INSERT INTO sources (grp, key, mark, {_quote(_SHARED)}, record, time) VALUES ({marks})",  # noqa: S608  values are bound
            (group, key, mark, *shared, first.record, first.time),
        )
        begin = (cursor.lastrowid or 0) << _PLACES
        self._database.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?)",
            (
                (
                    begin + at,
                    passage.record if passage.record != first.record else None,
                    passage.time if passage.time != first.time else None,
                    passage.text,
                )
                for at, passage in enumerate(listed)
            ),
        )
        self._database.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            ((begin + at, searchable_text(passage.text)) for at, passage in enumerate(listed)),
        )
        self._add_to_totals(len(listed), 1)

    def remove_source(self, group: str, key: str) -> None:
        """Remove a source with its passages, if it exists."""
        row = self._database.execute("SELECT id FROM sources WHERE grp = ? AND key = ?", (group, key)).fetchone()
        if row is None:
            return
        between = (row[0] << _PLACES, ((row[0] + 1) << _PLACES) - 1)
        rows = self._database.execute("SELECT id, text FROM passages WHERE id BETWEEN ? AND ?", between).fetchall()
        self._database.executemany(
            "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)",
            ((number, searchable_text(text)) for number, text in rows),
        )
        self._database.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", between)
        self._database.execute("DELETE FROM sources WHERE id = ?", row)
        self._add_to_totals(-len(rows), -1)

    def _add_to_totals(self, passages: int, sources: int) -> None:
        self._database.execute("UPDATE totals SET passages = passages + ?, sources = sources + ?", (passages, sources))

    def list_keys(self, pattern: str) -> list[tuple[str, str, Session]]:
        """Return group, key and session of each source whose key has a pattern of SQLite's `GLOB`."""
        query = "SELECT grp, key, namespace, agent, session FROM sources WHERE key GLOB ?"
        return [(row[0], row[1], row[2:]) for row in self._database.execute(query, (pattern,))]

    def list_sessions(self, group: str) -> set[Session]:
        """Return the sessions of which a group has sources."""
        query = "SELECT namespace, agent, session FROM sources WHERE grp = ?"
        return set(self._database.execute(query, (group,)))

    def remove_groups(self, pattern: str) -> None:
        """Remove the groups whose names have a pattern of SQLite's `GLOB`."""
        query = "SELECT grp FROM sources WHERE grp GLOB ? UNION SELECT name FROM groups WHERE name GLOB ?"
        for (group,) in self._database.execute(query, (pattern, pattern)).fetchall():
            self.remove_group(group)

    def remove_group(self, group: str) -> None:
        """Remove all sources of a group, and its mark."""
        for key in self.source_marks(group):
            self.remove_source(group, key)
        self._database.execute("DELETE FROM groups WHERE name = ?", (group,))

    # --- reading

    @property
    def totals(self) -> Totals:
        """The numbers of passages and of sources."""
        return Totals(*self._database.execute("SELECT passages, sources FROM totals").fetchone())

    def match(self, phrase: str, allowed: Set[int] | None = None) -> list[int]:
        """Return the numbers of at most `MOST_ROWS` passages that have a phrase, the last ones.

        Args:
            phrase: an expression of FTS5, such as `"max connections"` or `"auth" *`.
            allowed: the numbers among which to search; None: all.
        """
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC"
        if allowed is None:
            # One text is read in half the time of 10,000 rows.
            joined = f"SELECT group_concat(rowid) FROM ({query} LIMIT ?)"  # noqa: S608  a constant
            (numbers,) = self._database.execute(joined, (phrase, MOST_ROWS)).fetchone()
            return json.loads(f"[{numbers or ''}]")  # type: ignore[no-any-return]
        found = self._database.execute(query, (phrase,))
        return list(islice((number for (number,) in found if number in allowed), MOST_ROWS))

    def count_matches(self, phrase: str) -> int:
        """Return the number of passages that have a phrase."""
        query = "SELECT count(*) FROM words WHERE words MATCH ?"
        return int(self._database.execute(query, (phrase,)).fetchone()[0])

    def has_session(self, beginning: str) -> bool:
        """Return whether there are passages of a session whose id begins with a text."""
        query = "SELECT 1 FROM sources WHERE instr(session, ?) = 1 LIMIT 1"
        return self._database.execute(query, (beginning,)).fetchone() is not None

    def has_other_namespaces(self, namespace: str) -> bool:
        """Return whether there are passages of another namespace."""
        query = "SELECT 1 FROM sources WHERE namespace != ? LIMIT 1"
        return self._database.execute(query, (namespace,)).fetchone() is not None

    def list_matching(self, wanted: PassageFilter) -> set[int]:
        """Return the numbers of all passages that match a filter."""
        condition, values = wanted.condition()
        return {number for (number,) in self._database.execute(f"SELECT p.id {_FROM} WHERE {condition}", values)}

    def read(self, numbers: Sequence[int]) -> list[Hit]:
        """Return the passages with these numbers, in the order of the numbers."""
        rows = sorted(self._select("SELECT id, record, time, text FROM passages WHERE id IN", numbers))
        columns = _quote((*_SHARED, "record", "time"))
        shared = {
            row[0]: Passage("", **dict(zip((*_SHARED, "record", "time"), row[1:], strict=True)))
            for row in self._select(f"SELECT id, {columns} FROM sources WHERE id IN", sorted(sources_of(numbers)))  # noqa: S608  the names are constants
        }
        hits: list[Hit] = []
        for number, record, time, text in rows:
            own = {name: value for name, value in (("record", record), ("time", time)) if value is not None}
            hits.append(Hit(number, shared[number >> _PLACES]._replace(text=text, **own)))
        return hits

    def _select(self, query: str, numbers: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends before a list of numbers."""
        for at in range(0, len(numbers), 500):  # older versions of sqlite take at most 999 parameters
            some = numbers[at : at + 500]
            yield from self._database.execute(f"{query} ({', '.join('?' * len(some))})", some)

    def newest(self, wanted: PassageFilter, limit: int, paths: Set[str] | None = None) -> list[Hit]:
        """Return at most `limit` passages that match the filter, newest first.

        Args:
            paths: the files of records that count; None: all, and turns.
        """
        condition, values = wanted.condition()
        query = f"SELECT p.id, {_COLUMNS} {_FROM} WHERE {condition} ORDER BY coalesce(p.time, s.time) DESC, p.id"
        if paths is None:
            return self._hits(f"{query} LIMIT ?", [*values, limit])
        found = (Hit(number, Passage(*fields)) for number, *fields in self._database.execute(query, values))
        return list(islice((hit for hit in found if hit.passage.path in paths), limit))

    def newest_on_branch(self, branch: str, wanted: PassageFilter, depth: int) -> list[Hit]:
        """Return the last passages, newest first, of the session that began last on a branch and matches the filter."""
        return next(self.ends_of_sessions(wanted._replace(branch=branch), depth), [])

    def ends_of_sessions(self, wanted: PassageFilter, depth: int) -> Iterator[list[Hit]]:
        """Yield the last passages, newest first, of each session with turns that match a filter, newest first."""
        condition, values = wanted.condition()
        sources = self._database.execute(
            f"SELECT s.id {_FROM} WHERE s.kind = ? AND {condition} GROUP BY s.id ORDER BY s.time DESC", (TURN, *values)
        ).fetchall()
        for (source,) in sources:
            begin = source << _PLACES
            yield self._hits(
                f"SELECT p.id, {_COLUMNS} {_FROM} WHERE p.id BETWEEN ? AND ? ORDER BY p.id DESC LIMIT ?",
                (begin, begin + (1 << _PLACES) - 1, depth),
            )

    def of_blob(self, group: str, path: str, blob: str) -> tuple[Passage, ...]:
        """Return the passages of one version of a record's file."""
        rows = self._database.execute(
            f"SELECT {_COLUMNS} {_FROM} WHERE s.grp = ? AND s.key IN (?, ?) AND s.blob = ? ORDER BY p.id",
            (group, path, f"{path} {blob}", blob),
        )
        return tuple(Passage(*row) for row in rows)

    def dump(self) -> list[tuple[Any, ...]]:
        """Return all passages in a fixed order, to compare indexes."""
        return sorted(self._database.execute(f"SELECT {_COLUMNS} {_FROM}"))

    def _hits(self, query: str, values: Sequence[Any]) -> list[Hit]:
        return [Hit(number, Passage(*fields)) for number, *fields in self._database.execute(query, values)]


def remove_damaged(folder: Path, error: sqlite3.DatabaseError) -> bool:
    """Remove the index in a folder if an error says that it is damaged. Return whether it did."""
    if isinstance(error, sqlite3.OperationalError) and not _is_damaged(error):
        return False
    with suppress(OSError):
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            (folder / name).unlink(missing_ok=True)
        return True
    return False


def _remove_unused(folder: Path, before: int) -> None:
    """Remove the files of other formats that were last used before a time, in nanoseconds."""
    for entry in os.scandir(folder):
        if _ANY_FILE.fullmatch(entry.name) and not entry.name.startswith(FILE):
            with suppress(OSError):  # another process removed it
                if entry.stat().st_mtime_ns < before:
                    Path(entry.path).unlink()


def source_of(number: int) -> int:
    """Return the number of a passage's source."""
    return number >> _PLACES


def sources_of(numbers: Iterable[int]) -> set[int]:
    """Return the numbers of the sources of some passages."""
    return {number >> _PLACES for number in numbers}


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _connect(path: str, wait: float) -> sqlite3.Connection:
    """Open a database; create its tables, or recreate them if it has another format.

    Raises:
        SearchUnavailable: Python's sqlite was built without FTS5.
        sqlite3.DatabaseError: the file is damaged, locked, or cannot be written.
    """
    database = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        with suppress(sqlite3.OperationalError):  # fails on some file systems, and while another process reads
            database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA mmap_size = 268435456")  # a question reads pages from all over the file
        database.execute(f"PRAGMA cache_size = -{_MEMORY >> 10}")
        if _format_of(database) != FORMAT:
            _create(database)
        database.execute("SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1").fetchone()
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
