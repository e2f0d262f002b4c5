"""The verb `namespace list`: a summary of each namespace of a repository."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Self

from pydantic import Field, PrivateAttr

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.output import count_noun, flat
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import READS, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.store import Store
from baton_git.namespace.namespaces import MOVE, list_misplaced
from baton_git.namespace.namespaces import list_namespaces as find_namespaces
from baton_git.namespace.remote_selection import count_pending_commits, count_waiting_commits
from baton_git.namespace.results import COMMIT, PageInput, ResultPart, full_position, take_page
from baton_git.namespace.workspace import Workspace


class NamespacePage(PageInput):
    """The namespaces to list."""

    limit: int = Field(100, ge=1, le=1000, description="Maximum number of namespaces.")


class NamespaceSummary(ResultPart):
    """A summary of a namespace. If the namespace cannot be read, only its name and the reason are set."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])
    revision: int | None = Field(description="The number of its newest revision.", examples=[12])
    commit: str | None = Field(description="The id of its newest commit.", examples=[COMMIT])
    updated_at: str | None = Field(None, description="The time of the last change.", examples=["2026-06-17T12:30:00Z"])
    counts: dict[str, int] = Field({}, description="Number of live records by kind.", examples=[{"open_loop": 3}])
    waiting: dict[str, int] = Field({}, description="By remote, the number of commits that wait for a review.")
    pending: dict[str, int] = Field(
        {}, description="By remote, the number of commits that the remote does not have yet."
    )
    unreadable: str | None = Field(None, description="Why it cannot be read.")


class NamespaceList(Result):
    """A page of namespaces."""

    namespaces: list[NamespaceSummary] = Field(description="The namespaces, sorted by name.")
    next: str | None = Field(description="The value of `after` for the next page; null on the last page.")

    _prefix: str = PrivateAttr("")
    _find_misplaced: Callable[[], list[tuple[str, Namespace]]] = PrivateAttr(list)

    def of(self, store: Store, prefix: str) -> Self:
        """Keep where the branches are, and return this result."""
        self._prefix, self._find_misplaced = prefix, partial(list_misplaced, store, prefix)
        return self

    def show(self, reader: Reader) -> ResultView:
        columns = (
            Column("namespace", lambda row: row.namespace, Role.HEADING),
            Column("revision", lambda row: _UNKNOWN if row.revision is None else row.revision, right=True),
            Column("records", lambda row: _UNKNOWN if row.revision is None else sum(row.counts.values()), right=True),
            Column("changed", lambda row: _describe_change(row, reader.now)),
            Column("to do", _describe_due, Role.WARNING, wraps=True),
        )
        misplaced, notes = self._find_misplaced(), []
        for other in sorted({other for other, _ in misplaced}):
            names = ", ".join(flat(str(name)) for prefix, name in misplaced if prefix == other)
            notes.append(f"still under {other}: {names}; to move them to {self._prefix}: {MOVE}")
        if not self.namespaces and not misplaced:
            notes.append("there is no namespace yet; to create one: baton init")
        elif self.next is not None:
            notes.append(f"there are more namespaces: baton namespace list --after {shlex.quote(flat(self.next))}")
        return ResultView(reader.table(self.namespaces, columns), notes)


_UNKNOWN = "unknown"
"""Shown instead of the figures of a namespace that cannot be read."""


def _describe_change(row: NamespaceSummary, now: datetime) -> str:
    return describe_age(row.updated_at, now) if row.revision else ""


def _describe_due(row: NamespaceSummary) -> str:
    if row.unreadable is not None:
        return flat(row.unreadable)
    waiting = [
        f"{count_noun(number, 'commit')} of {remote} {'waits' if number == 1 else 'wait'} for a review"
        for remote, number in row.waiting.items()
    ]
    return ", ".join(
        [*waiting, *(f"{count_noun(number, 'commit')} to push to {name}" for name, number in row.pending.items())]
    )


@verb(
    "namespace list",
    "GET /v1/namespaces",
    effect=READS,
    anywhere=True,
    tag="state",
    examples=("baton namespace list", "baton namespace list --json | jq .namespaces[].namespace"),
)
def list_namespaces(ws: Workspace, now: datetime, verb_input: NamespacePage) -> NamespaceList:
    """List the namespaces of the repository with a summary of each, sorted by name.

    Raises:
        NotFound: there is no namespace `after`.
    """
    shown, more = take_page(find_namespaces(ws.branch.store, ws.branch.prefix), verb_input, str)
    listed = NamespaceList(namespaces=[_summarise(ws, namespace) for namespace in shown], next=more)
    return listed.of(ws.branch.store, ws.branch.prefix)


def _summarise(ws: Workspace, namespace: Namespace) -> dict[str, Any]:
    ws = ws.on(replace(ws.branch, namespace=namespace))
    try:
        revision = ws.branch.read()
        return {
            **full_position(revision),
            "updated_at": iso(revision.time) if revision.time else None,
            "counts": {kind: len(revision.state.ids(kind)) for kind, info in KINDS.items() if info.counted is not None},
            "waiting": {remote.remote: remote.commits for remote in count_waiting_commits(ws)},
            "pending": count_pending_commits(ws),
        }
    except BatonError as error:
        return {"namespace": str(namespace), "revision": None, "commit": None, "unreadable": str(error)}
