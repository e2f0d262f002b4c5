"""What a storage held: a baton, or something that could not be read as one."""

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
    """One baton of a foreign storage."""

    namespace: str
    baton: dict[str, Any]
    """The document as it is, value for value and in its order, without `_sync_status`."""
    updated_at: str | None
    """When it was stored, as the storage says it; else the `updated_at` of the document; else None."""
    pending: bool = False
    """Whether its last upload failed, so that the server does not have it yet."""
    where: str = ""
    """The file or the row, for messages."""


@dataclass(frozen=True)
class UnusableEntry:
    """Something that was there but could not be read."""

    where: str
    why: str


def parse_object(text: str | bytes, *, where: str = "") -> dict[str, Any]:
    """The object that JSON text holds; a byte order mark is let pass.

    Raises:
        InvalidDocument: it is empty, not strict JSON, or not an object.
        LimitExceeded: it is too large, or nested too deep.
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
    """The document without the mark of the cache, and the mark; None when there is none.

    Args:
        cached: it may come from a cache: then `sync_status` counts too, which is how the specification spells it
            (SPEC.md of session-baton; its code never did), if it says what only a mark says.
    """
    mark = MARK
    if cached and MARK not in document and document.get(_MARK_OF_THE_SPECIFICATION) in (SYNCED, PENDING):
        mark = _MARK_OF_THE_SPECIFICATION
    return {key: value for key, value in document.items() if key != mark}, document.get(mark)


def find_own_date(baton: dict[str, Any]) -> str | None:
    """The `updated_at` that the document itself has, if it is a text."""
    date = baton.get("updated_at")
    return date if isinstance(date, str) else None


def refuse_duplicates(entries: Sequence[ImportedBaton | UnusableEntry]) -> list[ImportedBaton | UnusableEntry]:
    """The entries, but batons that claim one namespace are unusable, all of them: nobody knows which is meant."""
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
    """The batons, each of which can be written, and no namespace twice.

    Raises:
        InvalidName: a namespace that cannot be one.
        InvalidDocument, LimitExceeded: a document that could not be read again.
        InvalidArgument: a namespace that is there twice.
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
