"""The batons (session-baton's documents) in another program's storage, and the entries that cannot be read as batons.

A storage is a database, a cache folder or a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidArgument, InvalidDocument, shorten
from baton_git.core.names import Namespace
from baton_git.git.files.atomic_files import check_size

MARK = "_sync_status"
"""The key that session-baton's cache adds to a baton; never a part of the baton itself."""

SYNCED, PENDING = "synced", "pending_upload"

_MARK_OF_THE_SPECIFICATION = "sync_status"


@dataclass(frozen=True)
class ImportedBaton:
    """One baton of another program's storage."""

    namespace: str
    baton: dict[str, Any]
    """The document without `_sync_status`, otherwise unchanged, with its keys in their original order."""
    updated_at: str | None
    """When the baton was stored, as the storage states it, else the `updated_at` of the document, else None."""
    pending: bool = False
    """Whether its last upload failed, so that the server does not have it yet."""
    where: str = ""
    """The file or row, for messages."""


@dataclass(frozen=True)
class UnusableEntry:
    """An entry of a storage that could not be read as a baton."""

    where: str
    why: str


def parse_object(text: str | bytes, *, where: str = "") -> dict[str, Any]:
    """Parse a JSON text that holds one object, and return the object. A byte order mark is ignored.

    Raises:
        InvalidDocument: the text is empty, not strict JSON, or not an object.
        LimitExceeded: the text is too large, or nested too deeply.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    check_size(where or "the document", len(raw))
    if not raw.strip():
        raise InvalidDocument([Fault("", "is empty")], where=where)
    data = json.loads(raw, where=where)
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a baton is an object, and this is not one")], where=where)
    return data


def remove_mark(document: dict[str, Any], *, cached: bool = False) -> tuple[dict[str, Any], Any]:
    """Return the document without the mark of session-baton's cache, and the mark's value, or None if there is no mark.

    Args:
        cached: whether the document may come from a cache. Then `sync_status` is also a mark if its value is one of
            the two values of a mark: session-baton's SPEC.md spells the key this way, but its code never did.
    """
    mark = MARK
    if cached and MARK not in document and document.get(_MARK_OF_THE_SPECIFICATION) in (SYNCED, PENDING):
        mark = _MARK_OF_THE_SPECIFICATION
    return {key: value for key, value in document.items() if key != mark}, document.get(mark)


def find_own_date(baton: dict[str, Any]) -> str | None:
    """Return the document's own `updated_at`; None if it is missing or not a text."""
    date = baton.get("updated_at")
    return date if isinstance(date, str) else None


def refuse_duplicates(entries: Sequence[ImportedBaton | UnusableEntry]) -> list[ImportedBaton | UnusableEntry]:
    """Return the entries, with an `UnusableEntry` in place of each baton whose namespace occurs more than once, because
    it is unknown which of them is the right one."""
    owners: dict[str, list[str]] = {}
    for entry in entries:
        if isinstance(entry, ImportedBaton):
            owners.setdefault(entry.namespace, []).append(entry.where)
    return [_refuse_duplicate(entry, owners) for entry in entries]


def _refuse_duplicate(
    entry: ImportedBaton | UnusableEntry, owners: dict[str, list[str]]
) -> ImportedBaton | UnusableEntry:
    if isinstance(entry, UnusableEntry) or len(owners[entry.namespace]) == 1:
        return entry
    others = ", ".join(where for where in owners[entry.namespace] if where != entry.where) or "another row"
    return UnusableEntry(entry.where, f"its namespace {shorten(entry.namespace)} is also that of {others}")


def check_batons(batons: Iterable[ImportedBaton]) -> list[ImportedBaton]:
    """Return the batons after checking that each can be written and that no namespace occurs twice.

    Raises:
        InvalidName: a namespace is not a valid name.
        InvalidDocument: a document has a value that cannot be stored exactly.
        LimitExceeded: a document is nested too deeply.
        InvalidArgument: a namespace occurs twice.
    """
    imported = list(batons)
    seen: set[str] = set()
    for baton in imported:
        Namespace(baton.namespace)
        json.check(baton.baton, where=baton.namespace)
        if baton.namespace in seen:
            raise InvalidArgument(f"the namespace {shorten(baton.namespace)} is given twice", namespace=baton.namespace)
        seen.add(baton.namespace)
    return imported
