"""Import batons from session-baton's storages, and export them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.core.errors import BatonError, NotFound
from baton_git.core.names import Namespace
from baton_git.namespace.branch import list_namespaces
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import DocumentResult, write_document
from baton_git.systems.session_baton.documents import read_document
from baton_git.systems.session_baton.importers import (
    ImportedBaton,
    UnusableEntry,
    cache_stem,
    read_any,
    write_cache,
    write_database,
    write_file,
)

Storage = Literal["sqlite", "cache", "json"]


class BatonImport(NamedTuple):
    """The import of one baton: its write, or why it could not be imported."""

    namespace: str
    where: str
    done: DocumentResult | None = None
    why: str = ""


def import_session_baton(
    ws: Workspace, now: datetime, path: Path, *, namespace: str | None = None, everything: bool = False
) -> list[BatonImport]:
    """Import batons from session-baton's database, its cache folder, or a JSON file.

    Each is merged into its namespace: other records stay, and records of an earlier import that the new one lacks go
    to the archive.

    Args:
        namespace: the foreign namespace to import into the namespace of `ws`; None chooses the one of the same name,
            or the only one.
        everything: import all, each into the namespace of its own name.

    Raises:
        NotFound: there is no baton, or none of that name.
    """
    known = {
        cache_stem(str(name)): str(name)
        for name in [*list_namespaces(ws.branch.store, ws.branch.prefix), ws.branch.namespace]
    }
    entries = read_any(path, namespace=None if everything else namespace or str(ws.branch.namespace), names=known)
    if not entries:
        raise NotFound("baton in", str(path), hint="give a database, a cache folder, or a JSON file of session-baton")
    if everything:
        chosen = [(entry, entry.namespace if isinstance(entry, ImportedBaton) else "") for entry in entries]
    else:
        wanted = _choose_batons(entries, namespace, str(ws.branch.namespace))
        chosen = [(entry, str(ws.branch.namespace)) for entry in wanted]
    return [_import_baton(ws, now, entry, target) for entry, target in chosen]


def _choose_batons(
    entries: Sequence[ImportedBaton | UnusableEntry], namespace: str | None, own: str
) -> list[ImportedBaton | UnusableEntry]:
    batons = [entry for entry in entries if isinstance(entry, ImportedBaton)]
    named = [baton for baton in batons if baton.namespace == (namespace or own)]
    if named:
        return [*named]
    if len(entries) == 1 and namespace is None:
        return [*entries]
    names = ", ".join(sorted(baton.namespace for baton in batons)) or "none that can be read"
    raise NotFound("baton of namespace", namespace or own, hint=f"there: {names}; choose with --from NS, or --all")


def _import_baton(ws: Workspace, now: datetime, entry: ImportedBaton | UnusableEntry, target: str) -> BatonImport:
    if isinstance(entry, UnusableEntry):
        return BatonImport(target, entry.where, why=entry.why)
    branch = replace(ws.branch, namespace=Namespace(target))
    try:
        done = write_document(replace(ws, branch=branch), now, entry.baton, where=entry.where, op="import")
    except BatonError as error:
        return BatonImport(target, entry.where, why=str(error))
    return BatonImport(target, entry.where, done)


def export_session_baton(
    ws: Workspace, path: Path, storage: Storage, *, everything: bool = False, at: str | None = None
) -> list[str]:
    """Export the baton (or those of all namespaces) to a storage of session-baton; return the namespaces.

    Raises:
        NotFound: the namespace does not exist.
        WriteFailed: the storage cannot be written; nothing was changed.
    """
    spaces = list_namespaces(ws.branch.store, ws.branch.prefix) if everything else [ws.branch.namespace]
    batons = [_read_baton(replace(ws, branch=replace(ws.branch, namespace=name)), at) for name in spaces]
    if storage == "sqlite":
        write_database(path, batons)
    elif storage == "cache":
        write_cache(path, batons)
    else:
        for baton in batons:
            write_file(path, baton)
    return [baton.namespace for baton in batons]


def _read_baton(ws: Workspace, at: str | None) -> ImportedBaton:
    there = read_document(ws, at)
    if there.baton is None or there.version.time is None:
        raise NotFound("namespace", str(ws.branch.namespace), hint="baton init makes it")
    moment = there.version.time.astimezone(UTC).isoformat(timespec="microseconds")
    return ImportedBaton(str(ws.branch.namespace), there.baton, moment)
