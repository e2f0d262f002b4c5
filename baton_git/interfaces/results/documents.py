"""The whole document of session-baton: read, written, and refused because it comes too late."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from baton_git.core.kinds import LABELLED
from baton_git.core.state import Key
from baton_git.namespace.provenance.judgement import as_data
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.documents import DocumentRead

if TYPE_CHECKING:
    from baton_git.systems.session_baton.document_writing import DocumentResult


def document(found: DocumentRead) -> dict[str, Any]:
    """session-baton's answer to a read, with the revision, the commit, and what could not be read."""
    version = found.version
    data: dict[str, Any] = {
        "baton": found.baton,
        "namespace": str(version.namespace),
        "updated_at": updated_at(version),
        "revision": version.number if version.commit else None,
        "commit": version.commit,
    }
    if found.unreadable:
        data["unreadable"] = [{"path": one.path, "why": one.why} for one in found.unreadable]
    return data


def with_provenance(ws: Workspace, found: DocumentRead) -> dict[str, Any]:
    """The same, and who vouches for each record of it, computed from history."""
    if found.version.commit is None:
        return document(found)
    return {**document(found), "provenance": ws.judgement(found.version).labels_as_data(found.version.state)}


def provenance(ws: Workspace, version: Revision, key: Key) -> dict[str, Any]:
    """Who vouches for one record, as a value beside it; nothing for kinds that have no provenance."""
    return {"provenance": as_data(ws.judgement(version).label(key))} if key.kind in LABELLED else {}


def updated_at(version: Revision) -> str | None:
    """When the version was written, in session-baton's form; whole seconds, as a commit has them."""
    return version.time.astimezone(UTC).replace(microsecond=0).isoformat() if version.time else None


def written(done: DocumentResult) -> dict[str, Any]:
    """session-baton's answer to a write, with what else became of the document."""
    version = done.written.revision
    data: dict[str, Any] = {
        "ok": True,
        "updated_at": updated_at(version),
        "namespace": str(version.namespace),
        "revision": version.number,
        "commit": version.commit,
    }
    if done.held:
        data["held"] = [one._asdict() for one in done.held]
    archived = [one.id for one in done.written.changes if one.action == "archived"]
    redacted = [{"record": str(key), "path": one.path, "kind": one.kind} for key, one in done.written.redactions]
    extras = {"archived": archived, "conflicts": done.conflicts, "renamed": done.rekeyed, "redacted": redacted}
    return data | {name: value for name, value in extras.items() if value}


def conflict(namespace: str, expected: int | None, found: DocumentRead) -> dict[str, Any]:
    """The body of session-baton's (memory-hall's) answer to a stale write: what is there, all of one version."""
    return {
        "error": "baton_revision_conflict",
        "namespace": namespace,
        "expected_revision": expected,
        "current_baton": found.baton,
        "current_updated_at": updated_at(found.version),
        "current_revision": found.version.number if found.version.commit else None,
    }
