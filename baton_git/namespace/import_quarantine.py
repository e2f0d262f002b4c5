"""The rows that imports could not take over, kept on this machine with the reason: one JSON file for each namespace.

What a source says no more, or what fits by now, leaves with the next import of the same source. Secrets are taken out.
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
    """A part of a document that does not fit, and why: a record, a field, or all of it (`path` is empty)."""

    path: str
    why: str
    row: Any = None


class QuarantinedRow(NamedTuple):
    """A refused row as it is kept.

    Attributes:
        source: what was imported, for people.
        row: without secrets; None where it is too large, or could not be read.
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
        """Return the rows in the order in which they came.

        Raises:
            Corrupt, InvalidDocument: the file cannot be read.
        """
        if not self._file.exists():
            return []
        data = json.loads(read_bytes(self._file), where=str(self._file))
        return [QuarantinedRow(**row) for row in data]

    def replace(self, source: str, refused: Sequence[RefusedRow], at: str) -> list[QuarantinedRow]:
        """Replace what is kept of a source, and return what is kept of it now. Raises WriteFailed, Busy."""
        if not refused and not self._file.exists():
            return []
        kept = [self._make_row(source, row, at) for row in refused]
        with self._alone():
            known = {row.id: row for row in self.rows()}
            kept = [known.get(row.id, row) for row in kept]
            self._write([*(row for row in known.values() if row.source != source), *kept])
        return kept

    def discard(self, ids: Sequence[str] | None) -> list[QuarantinedRow]:
        """Remove rows, or all of them, and return them.

        Raises:
            NotFound: there is no such row; nothing was removed.
        """
        with self._alone():
            rows = self.rows()
            missing = [id_ for id_ in ids or () if id_ not in {row.id for row in rows}]
            if missing:
                raise NotFound("row in quarantine", missing[0], hint="baton import quarantine lists them")
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
    def _alone(self) -> Iterator[None]:
        make_folder(self._file.parent)
        with hold_flock(self._file.with_suffix(".lock"), WAIT) as alone:
            if alone is False:
                raise Busy("another import changes the quarantine", hint="try again")
            yield

    def _write(self, rows: Sequence[QuarantinedRow]) -> None:
        write_all({self._file: f"{json.dumps([row._asdict() for row in rows])}\n".encode()}, mode=0o600)


def _copy(row: Any) -> Any:
    """Return a row without secrets; None for one that JSON cannot hold, or that is larger than a record may be."""
    try:
        json.check(row)
        clean = redact(row)[0]
        return clean if len(json.dumps(clean)) <= MAX_RECORD_BYTES else None
    except (InvalidDocument, LimitExceeded):
        return None


def list_quarantines(common_dir: Path) -> list[Namespace]:
    """List the namespaces that have a quarantine, by name."""
    files = sorted((common_dir / "baton" / "quarantine").glob("*.json"))
    namespaces = []
    for file in files:
        try:
            namespaces.append(Namespace.from_component(file.stem))
        except BatonError:  # another program's file
            continue
    return namespaces
