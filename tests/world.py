"""Helpers for the tests of the verbs: workspaces, a clock, documents, commits made by hand."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from baton_git.core.names import Namespace, Oid
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import ChangeCaller, Vouching
from baton_git.namespace.machine import Machine
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.systems.session_baton.documents import read_document

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
WHO = "Ada <ada@example.org>"
ANYBODY = ChangeCaller(None, Vouching())
"""The caller of a change for which no person vouches."""


def later(*, days: float = 0, minutes: float = 0) -> datetime:
    return NOW + timedelta(days=days, minutes=minutes)


def workspace(store: Store, session: str | None = "s1", *, namespace: str = "x", **more: Any) -> Workspace:
    more = {"environment": {"PATH": os.environ["PATH"]}, **more}
    return Workspace(Branch(store, Namespace(namespace)), Actor(WHO, session, "claude", "laptop"), **more)


def on_machine(ws: Workspace, home: Path) -> Workspace:
    """Return the same workspace on a machine with this home directory."""
    return replace(ws, find_machine=lambda: Machine(home, home, home / ".config", {}))


def begin(branch: Branch) -> None:
    """Create a namespace, as `baton init` does."""
    branch.create(CommitStamp("init", NOW, WHO, ANYBODY))


def acting(ws: Workspace, session: str | None) -> Workspace:
    """Return the same workspace with another session acting."""
    return replace(ws, actor=replace(ws.actor, session=session))


def stored(ws: Workspace, kind: str, id_: str, *, archived: bool = False) -> Any:
    """Return the record at a key in the newest revision; None if there is none."""
    return ws.branch.read().state.entry(Key(kind, id_, archived))


def by_hand(ws: Workspace, files: Mapping[str, bytes | None], *, message: str = "by hand", minutes: float = 0) -> Oid:
    """Commit on top of the tip as a person would: without trailers. A file whose content is None is removed."""
    store, ref = ws.branch.store, ws.branch.ref
    tip = store.tip(ref)
    draft = store.draft()
    tree = draft.tree(store.commit(tip).tree if tip else None, files)
    seconds = int(later(minutes=minutes).timestamp())
    new = draft.commit(tree, [tip] if tip else [], author=WHO, time=seconds, timezone=0, message=message)
    assert store.publish(draft, ref, tip, new, ReflogEntry(WHO, seconds, 0, message))
    return new


def document(session: str = "s1", parent: str | None = None, **sections: Any) -> dict[str, Any]:
    return {"session_id": session, **({"parent_session": parent} if parent else {}), **sections}


def current(ws: Workspace) -> dict[str, Any]:
    """Return the document of the newest revision."""
    baton = read_document(ws).baton
    assert baton is not None
    return baton


def ids(ws: Workspace, section: str) -> list[str]:
    return [one["id"] for one in current(ws).get(section, [])]


def files(ws: Workspace) -> dict[str, bytes]:
    """Return every file of the newest revision, by path."""
    tree = ws.branch.read().tree
    return _below(ws, tree, "") if tree else {}


def _below(ws: Workspace, tree: Oid, prefix: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, item in ws.branch.store.folder(tree).entries().items():
        if item.is_folder:
            found |= _below(ws, item.oid, f"{prefix}{name}/")
        else:
            found[prefix + name] = ws.branch.store.read(item.oid)
    return found


def objects(ws: Workspace) -> int:
    """Return the number of objects in the repository."""
    return len(_cat(ws, "--batch-check").splitlines())


def all_bytes(ws: Workspace) -> bytes:
    """Return the content of every object in the repository, reachable or not."""
    return _cat(ws, "--batch")


def _cat(ws: Workspace, option: str) -> bytes:
    common = str(ws.branch.store.repository.common_dir)
    argv = ["git", "-C", common, "cat-file", "--batch-all-objects", option]
    return subprocess.run(argv, capture_output=True, check=True).stdout
