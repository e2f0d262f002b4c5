"""ECC's snapshots of sessions: record one, and look at those that are kept."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.interfaces.http.api.acting import After, At, Limit, Named, Who
from baton_git.interfaces.http.api.answering import answer, page, where, written
from baton_git.interfaces.http.api.refusals import WRITES, Responses, refusals
from baton_git.interfaces.http.api.shapes import TIME, Page, Place, Written
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results import snapshots as answers
from baton_git.namespace.results import COMMIT
from baton_git.systems.ecc.adapters.canonical import parse_snapshot
from baton_git.systems.ecc.snapshots import find, history, record, recorded

SnapshotId = Annotated[
    str,
    Path(description="ADAPTER/SESSION, the session, or a unique beginning.", examples=["claude-history/a1b2c3d4"]),
]
SNAPSHOT = {
    "schemaVersion": "ecc.session.v1", "adapterId": "claude-history",
    "session": {"id": "a1b2c3d4", "kind": "history", "state": "recorded", "repoRoot": None,
                "sourceTarget": {"type": "claude-history", "value": "latest"}},
    "workers": [], "aggregates": {"workerCount": 0, "states": {}, "healths": {}},
}  # fmt: skip


class Kept(BaseModel):
    """A session of which a snapshot is kept."""

    target: str = Field(examples=["recorded:claude-history/a1b2c3d4"])
    id: str = Field(examples=["claude-history/a1b2c3d4"])
    created_at: str = Field(examples=[TIME])
    recorded_at: str = Field(examples=[TIME])
    state: str = Field(examples=["recorded"])
    workers: int


class Snapshots(Page, Place):
    snapshots: list[Kept] = Field(description="The newest first.")


class OneSnapshot(Place):
    id: str = Field(examples=["claude-history/a1b2c3d4"])
    created_at: str = Field(examples=[TIME])
    recorded_at: str = Field(examples=[TIME])
    snapshot: dict[str, Any] = Field(description="ECC's canonical snapshot.", examples=[SNAPSHOT])


class Former(BaseModel):
    """A snapshot that a session had."""

    recorded_at: str = Field(examples=[TIME])
    revision: int | None = Field(description="The first version that had it.")
    commit: str | None = Field(examples=[COMMIT])
    snapshot: dict[str, Any]


class Story(BaseModel):
    snapshots: list[Former] = Field(description="Each different from the one before it, the newest first.")


class Recorded(Written):
    id: str = Field(examples=["claude-history/a1b2c3d4"])
    changed: bool = Field(description="Whether it said something new.")


def router(site: Site) -> APIRouter:
    """Snapshots."""
    routes = Routes(tags=["snapshots"], responses=refusals())

    @routes.get("/v1/snapshots", response_model=Snapshots)
    def kept(namespace: Named = None, limit: Limit = 50, after: After = None) -> Response:
        """The sessions of which a snapshot is kept, the newest first."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            shown, more = page(recorded(ws), limit, after, lambda one: one.id)
        data = {"snapshots": [answers.kept(one) for one in shown], "next": more}
        return answer({**where(version), **data}, commit=version.commit)

    known: Responses = {200: {"model": Recorded, "description": "It says what was known."}}

    @routes.post("/v1/snapshots", response_model=Recorded, status_code=201, responses=known | refusals(*WRITES))
    def keep(
        asked: Annotated[
            dict[str, Any], Body(description="A canonical snapshot, `ecc.session.v1`.", examples=[SNAPSHOT])
        ],
        who: Who,
    ) -> Response:
        """Keep a snapshot as the latest one of its session; where nothing changed nothing is written (200)."""
        snapshot = parse_snapshot(asked)
        with who.on(site) as ws:
            done = record(ws, site.now(), snapshot)
        return written(answers.recorded(done), done.written, 201 if done.changed else 200)

    @routes.get("/v1/snapshots/{snapshot_id:path}/history", response_model=Story)
    def story(snapshot_id: SnapshotId, namespace: Named = None, limit: Limit = 20) -> Response:
        """The snapshots that a session had, the newest first."""
        with site.work(namespace) as ws:
            found = history(ws, snapshot_id)
        return answer({"snapshots": [answers.body(one) for one in found[:limit]]})

    @routes.get("/v1/snapshots/{snapshot_id:path}", response_model=OneSnapshot)
    def latest(snapshot_id: SnapshotId, namespace: Named = None, at: At = None) -> Response:
        """The latest snapshot of a session."""
        with site.work(namespace) as ws:
            version = ws.branch.read(at)
            one = find(version.state, snapshot_id)
        data = {"id": one.id, "created_at": one.created_at, "recorded_at": one.recorded_at}
        return answer({**where(version), **data, "snapshot": one.snapshot.as_data()}, commit=version.commit)

    return routes
