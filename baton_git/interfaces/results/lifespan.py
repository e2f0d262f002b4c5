"""The beginning and the end of a session, and how things stand in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baton_git.core.times import iso
from baton_git.namespace.revision import Revision
from baton_git.verbs.sessions import Boot, Status


def begun(boot: Boot) -> dict[str, Any]:
    """The session that began, what was settled and checked, and its brief."""
    version = boot.version
    return {
        "session": boot.session,
        "parent": boot.parent,
        "namespace": str(version.namespace),
        "revision": version.number,
        "commit": version.commit,
        "checks": {id_: found.as_data() for id_, found in boot.checks.items()},
        "archived": list(boot.closed),
        "problems": list(boot.problems),
        "news": list(boot.news),
        "left_out": boot.brief.left_out,
        "brief": boot.brief.text,
    }


def initialised(version: Revision, ref: str, repository: Path, *, fresh: bool) -> dict[str, Any]:
    """A namespace, where it is kept, and whether it was made just now."""
    return {
        "namespace": str(version.namespace),
        "created": fresh,
        "ref": ref,
        "repository": str(repository),
        "commit": version.commit,
        "revision": version.number,
    }


def stands(found: Status, repository: Path) -> dict[str, Any]:
    """How many of what there are, who is at work, and what is wrong."""
    version = found.version
    return {
        "namespace": str(version.namespace),
        "exists": version.commit is not None,
        "repository": str(repository),
        "revision": version.number,
        "commit": version.commit,
        "updated_at": iso(version.time) if version.time else None,
        **found.counts,
        "active_sessions": [one.as_data() for one in found.sessions],
        "damaged": [{"path": one.path, "why": one.why} for one in found.damaged],
        "checked_out_at": found.checked_out_at,
        "waiting": {one.remote: one.commits for one in found.waiting},
        "pending": dict(found.pending),
        "problems": list(found.problems),
    }
