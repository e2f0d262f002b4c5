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
class Found:
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
class Unusable:
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


def unmarked(document: dict[str, Any], *, cached: bool = False) -> tuple[dict[str, Any], Any]:
    """The document without the mark of the cache, and the mark; None when there is none.

    Args:
        cached: it may come from a cache: then `sync_status` counts too, which is how the specification spells it
            (SPEC.md of session-baton; its code never did), if it says what only a mark says.
    """
    mark = MARK
    if cached and MARK not in document and document.get(_MARK_OF_THE_SPECIFICATION) in (SYNCED, PENDING):
        mark = _MARK_OF_THE_SPECIFICATION
    return {key: value for key, value in document.items() if key != mark}, document.get(mark)


def own_date(baton: dict[str, Any]) -> str | None:
    """The `updated_at` that the document itself has, if it is a text."""
    date = baton.get("updated_at")
    return date if isinstance(date, str) else None


def apart(entries: Sequence[Found | Unusable]) -> list[Found | Unusable]:
    """The entries, but batons that claim one namespace are unusable, all of them: nobody knows which is meant."""
    owners: dict[str, list[str]] = {}
    for entry in entries:
        if isinstance(entry, Found):
            owners.setdefault(entry.namespace, []).append(entry.where)
    return [_contested(entry, owners) for entry in entries]


def _contested(entry: Found | Unusable, owners: dict[str, list[str]]) -> Found | Unusable:
    if isinstance(entry, Unusable) or len(owners[entry.namespace]) == 1:
        return entry
    others = ", ".join(where for where in owners[entry.namespace] if where != entry.where) or "another row"
    return Unusable(entry.where, f"its namespace {shorten(entry.namespace)} is also that of {others}")


def checked(batons: Iterable[Found]) -> list[Found]:
    """The batons, each of which can be written, and no namespace twice.

    Raises:
        InvalidName: a namespace that cannot be one.
        InvalidDocument, LimitExceeded: a document that could not be read again.
        InvalidArgument: a namespace that is there twice.
    """
    found = list(batons)
    seen: set[str] = set()
    for one in found:
        Namespace(one.namespace)
        json.check(one.baton, where=one.namespace)
        if one.namespace in seen:
            raise InvalidArgument(f"the namespace {shorten(one.namespace)} is given twice", namespace=one.namespace)
        seen.add(one.namespace)
    return found
