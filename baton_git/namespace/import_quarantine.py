"""Quarantine of rows that imports had to refuse: one JSON file per namespace, on this machine only.

Each row is stored with the reason, and secrets are redacted. The next import of the same source removes the rows that
the source no longer contains or that have become valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, Busy, InvalidDocument, LimitExceeded, NotFound
from baton_git.core.layout import MAX_RECORD_BYTES
from baton_git.core.names import Namespace
from baton_git.core.redaction import redact, redact_text
from baton_git.git.files.atomic_files import make_folder, read_bytes, write_all
from baton_git.git.files.ref_locks import hold_flock

WAIT = 5.0
"""Seconds to wait for another import."""


class RefusedRow(NamedTuple):
    """An invalid part of a document (a record, a field, or everything if `path` is empty) and the reason."""

    path: str
    why: str
    row: Any = None


class QuarantinedRow(NamedTuple):
    """A refused row as stored in the quarantine.

    Attributes:
        source: a description of the imported source.
        row: the redacted row; None if it is too large or could not be read.
    """

    id: str
    namespace: str
    source: str
    path: str
    why: str
    at: str
    row: Any = None


class ImportQuarantine:
    """The quarantine of a namespace in a repository."""

    def __init__(self, common_dir: Path, namespace: Namespace) -> None:
        self._namespace = str(namespace)
        self._file = common_dir / "baton" / "quarantine" / f"{namespace.component}.json"

    def rows(self) -> list[QuarantinedRow]:
        """Return the rows, oldest first.

        Raises:
            Corrupt, InvalidDocument: the file cannot be read.
        """
        if not self._file.exists():
            return []
        data = json.loads(read_bytes(self._file), where=str(self._file))
        return [QuarantinedRow(**row) for row in data]

    def replace(self, source: str, refused: Sequence[RefusedRow], at: str) -> list[QuarantinedRow]:
        """Replace the stored rows of a source by those in `refused`, and return them as they are stored.

        A row that was in the quarantine before keeps the time at which it was refused first.

        Raises:
            WriteFailed: writing to disk failed.
            Busy: another import held the lock for `WAIT` seconds.
            Corrupt, InvalidDocument: the file cannot be read.
        """
        if not refused and not self._file.exists():
            return []
        kept = [self._make_row(source, row, at) for row in refused]
        with self._hold_lock():
            known = {row.id: row for row in self.rows()}
            kept = [known.get(row.id, row) for row in kept]
            self._write([*(row for row in known.values() if row.source != source), *kept])
        return kept

    def discard(self, ids: Sequence[str] | None) -> list[QuarantinedRow]:
        """Remove the rows with the given ids, or all rows if `ids` is None, and return them.

        Raises:
            NotFound: a row does not exist; nothing was removed.
            WriteFailed, Busy, Corrupt, InvalidDocument: under the same conditions as `replace`.
        """
        with self._hold_lock():
            rows = self.rows()
            missing = [id_ for id_ in ids or () if id_ not in {row.id for row in rows}]
            if missing:
                raise NotFound("row in quarantine", missing[0], hint="to list the rows: baton import quarantine")
            gone = [row for row in rows if ids is None or row.id in ids]
            self._write([row for row in rows if row not in gone])
        return gone

    def _make_row(self, source: str, refused: RefusedRow, at: str) -> QuarantinedRow:
        row = _copy(refused.row)
        identity = json.dumps([self._namespace, source, refused.path, row])
        id_ = f"Q-{sha256(identity.encode()).hexdigest()[:8]}"
        why = redact_text(refused.why)[0]
        return QuarantinedRow(id_, self._namespace, source, refused.path, why, at, row)

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        make_folder(self._file.parent)
        with hold_flock(self._file.with_suffix(".lock"), WAIT) as alone:
            if alone is False:
                raise Busy("another import is writing the quarantine", hint="try again")
            yield

    def _write(self, rows: Sequence[QuarantinedRow]) -> None:
        write_all({self._file: f"{json.dumps([row._asdict() for row in rows])}\n".encode()}, mode=0o600)


def _copy(row: Any) -> Any:
    """Return a redacted copy of a row; None if JSON cannot represent it or it is larger than a record may be."""
    try:
        json.check(row)
        clean = redact(row)[0]
        return clean if len(json.dumps(clean)) <= MAX_RECORD_BYTES else None
    except (InvalidDocument, LimitExceeded):
        return None


def list_quarantines(common_dir: Path) -> list[Namespace]:
    """Return the namespaces that have a quarantine, sorted by file name."""
    files = sorted((common_dir / "baton" / "quarantine").glob("*.json"))
    namespaces = []
    for file in files:
        try:
            namespaces.append(Namespace.from_component(file.stem))
        except BatonError:  # the file belongs to another program
            continue
    return namespaces
