"""Take over what another system keeps, and give it what we keep."""

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
from baton_git.systems.session_baton.document_writing import DocumentWritten, write
from baton_git.systems.session_baton.documents import read
from baton_git.systems.session_baton.importers import (
    Found,
    Unusable,
    cache_stem,
    read_any,
    write_cache,
    write_database,
    write_file,
)

Storage = Literal["sqlite", "cache", "json"]


class Imported(NamedTuple):
    """What came of one foreign baton: the write, or why it could not be taken over."""

    namespace: str
    where: str
    done: DocumentWritten | None = None
    why: str = ""


def import_session_baton(
    ws: Workspace, now: datetime, path: Path, *, namespace: str | None = None, everything: bool = False
) -> list[Imported]:
    """Takes over batons from session-baton's database, its cache folder, or a JSON file.

    Each is merged into the namespace of its name: what is there stays, and what an earlier import brought and the
    new one no longer has goes to the archive.

    Args:
        namespace: the foreign namespace to take over, into the one that `ws` works on; for a JSON file, cache or
            database alike. None takes the one that is called like that of `ws`, or the only one.
        everything: take over all, each into the namespace of its own name.

    Raises:
        NotFound: nothing there, or no baton of that name.
    """
    known = {
        cache_stem(str(one)): str(one)
        for one in [*list_namespaces(ws.branch.store, ws.branch.prefix), ws.branch.namespace]
    }
    found = read_any(path, namespace=None if everything else namespace or str(ws.branch.namespace), names=known)
    if not found:
        raise NotFound("baton in", str(path), hint="give a database, a cache folder, or a JSON file of session-baton")
    if everything:
        chosen = [(one, one.namespace if isinstance(one, Found) else "") for one in found]
    else:
        wanted = _chosen(found, namespace, str(ws.branch.namespace))
        chosen = [(one, str(ws.branch.namespace)) for one in wanted]
    return [_imported(ws, now, one, target) for one, target in chosen]


def _chosen(found: Sequence[Found | Unusable], namespace: str | None, own: str) -> list[Found | Unusable]:
    batons = [one for one in found if isinstance(one, Found)]
    named = [one for one in batons if one.namespace == (namespace or own)]
    if named:
        return [*named]
    if len(found) == 1 and namespace is None:
        return [*found]
    names = ", ".join(sorted(one.namespace for one in batons)) or "none that can be read"
    raise NotFound("baton of namespace", namespace or own, hint=f"there: {names}; choose with --from NS, or --all")


def _imported(ws: Workspace, now: datetime, one: Found | Unusable, target: str) -> Imported:
    if isinstance(one, Unusable):
        return Imported(target, one.where, why=one.why)
    branch = replace(ws.branch, namespace=Namespace(target))
    try:
        done = write(replace(ws, branch=branch), now, one.baton, where=one.where, op="import")
    except BatonError as error:
        return Imported(target, one.where, why=str(error))
    return Imported(target, one.where, done)


def export_session_baton(
    ws: Workspace, path: Path, storage: Storage, *, everything: bool = False, at: str | None = None
) -> list[str]:
    """Writes the baton (or those of all namespaces) where session-baton keeps its own; gives their names.

    Raises:
        NotFound: the namespace does not exist.
        WriteFailed: the disk said no; nothing was changed.
    """
    spaces = list_namespaces(ws.branch.store, ws.branch.prefix) if everything else [ws.branch.namespace]
    batons = [_found(replace(ws, branch=replace(ws.branch, namespace=one)), at) for one in spaces]
    if storage == "sqlite":
        write_database(path, batons)
    elif storage == "cache":
        write_cache(path, batons)
    else:
        for baton in batons:
            write_file(path, baton)
    return [one.namespace for one in batons]


def _found(ws: Workspace, at: str | None) -> Found:
    there = read(ws, at)
    if there.baton is None or there.version.time is None:
        raise NotFound("namespace", str(ws.branch.namespace), hint="baton init makes it")
    moment = there.version.time.astimezone(UTC).isoformat(timespec="microseconds")
    return Found(str(ws.branch.namespace), there.baton, moment)
