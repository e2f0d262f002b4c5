"""The verb `namespace list`: a summary of each namespace of a repository."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import Field

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.times import iso
from baton_git.core.verb import READS, Result, verb
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
    return NamespaceList(namespaces=[_summarise(ws, namespace) for namespace in shown], next=more)


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
