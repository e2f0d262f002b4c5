"""The verbs of ECC's session snapshots: record a snapshot, and list and show recorded snapshots."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from baton_git.core.output import flat
from baton_git.core.records.base import parse
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age
from baton_git.core.verb import READS, SETTLES, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import (
    COMMIT,
    AtNamespace,
    PageInput,
    PageResult,
    PastRevision,
    WrittenResult,
    full_position,
    take_page,
)
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.adapters.canonical import parse_snapshot
from baton_git.systems.ecc.record import CanonicalSession, Snapshot
from baton_git.systems.ecc.snapshots import find_recorded, list_history, list_recorded, record_latest

RECORDED = "recorded:"
"""Prefix of targets that name a recorded snapshot."""
TAG = "snapshots"
TIME = "2026-06-17T12:30:00Z"
ID = "claude-history/a1b2c3d4"
ID_ABOUT = "ADAPTER/SESSION, only SESSION, or a unique beginning of either."
SNAPSHOT = {
    "schemaVersion": "ecc.session.v1", "adapterId": "claude-history",
    "session": {"id": "a1b2c3d4", "kind": "history", "state": "recorded", "repoRoot": None,
                "sourceTarget": {"type": "claude-history", "value": "latest"}},
    "workers": [], "aggregates": {"workerCount": 0, "states": {}, "healths": {}},
}  # fmt: skip


class RecordSnapshot(Input):
    """A snapshot to record."""

    snapshot: dict[str, Any] = Field(description="A canonical snapshot, `ecc.session.v1`.", examples=[SNAPSHOT])


class RecordedSnapshot(WrittenResult):
    """The outcome of recording a snapshot."""

    id: str = Field(description="ADAPTER/SESSION.", examples=[ID])
    changed: bool = Field(description="Whether it differed from the latest recorded snapshot.")

    @property
    def http_status(self) -> int | None:
        return None if self.changed else 200

    def show(self, reader: Reader) -> ResultView:
        return ResultView(flat(self.id), self.told)


class SnapshotSummary(BaseModel):
    """A session with a recorded snapshot."""

    target: str = Field(description="Target for `baton session inspect`.", examples=[f"{RECORDED}{ID}"])
    id: str = Field(description="ADAPTER/SESSION.", examples=[ID])
    created_at: str = Field(description="When the first snapshot of the session was recorded.", examples=[TIME])
    recorded_at: str = Field(description="When its latest snapshot was recorded.", examples=[TIME])
    state: str = Field(description="The state of the session.", examples=["recorded"])
    workers: int = Field(description="Number of workers.")


class SnapshotList(PageResult):
    """The sessions with a recorded snapshot."""

    snapshots: list[SnapshotSummary] = Field(description="Sessions, newest first.")

    def show(self, reader: Reader) -> ResultView:
        columns = [
            Column("recorded", lambda summary: describe_age(summary.recorded_at, reader.now), Role.DIM),
            Column("state", lambda summary: summary.state),
            Column("workers", lambda summary: summary.workers, right=True),
            Column("id", lambda summary: reader.sessions.shorten(summary.id), Role.ID),
        ]
        none = "there is no recorded snapshot; to record one: baton session record TARGET"
        return ResultView(reader.table(self.snapshots, columns), () if self.snapshots else [none])


class SnapshotHistoryInput(Input):
    """The session whose snapshots to list."""

    id: str = Field(description=ID_ABOUT, examples=[ID])
    limit: int = Field(20, ge=1, le=1000, description="Maximum number of snapshots.")


class FormerSnapshot(BaseModel):
    """A recorded snapshot of a session."""

    recorded_at: str = Field(description="When it was recorded.", examples=[TIME])
    revision: int | None = Field(
        description="The number of the first revision that had it; null for a commit made by hand."
    )
    commit: str | None = Field(description="The commit of that revision.", examples=[COMMIT])
    snapshot: dict[str, Any] = Field(description="ECC's canonical snapshot.")


class SnapshotHistory(Result):
    """The recorded snapshots of a session."""

    snapshots: list[FormerSnapshot] = Field(description="Snapshots, newest first; each differs from the one before it.")

    def show(self, reader: Reader) -> ResultView:
        columns = [
            Column("revision", lambda former: former.revision or (former.commit or "?")[:10], Role.WARNING, right=True),
            Column("recorded", lambda former: describe_age(former.recorded_at, reader.now), Role.DIM),
            Column("about", lambda former: describe_snapshot(parse(CanonicalSession, former.snapshot))),
        ]
        return ResultView(reader.table(self.snapshots, columns))


def describe_snapshot(snapshot: CanonicalSession) -> str:
    """Return a snapshot in a few words: its state, and what was to be done or how many workers did it."""
    number = len(snapshot.workers)
    about = snapshot.workers[0].intent.objective if number == 1 else f"{number} workers"
    return f"{snapshot.session.state}: {about}"


class ShowSnapshot(Input):
    """The snapshot to show."""

    id: str = Field(description=ID_ABOUT, examples=[ID])
    at: PastRevision = None


class ShownSnapshot(AtNamespace):
    """The latest snapshot of a session."""

    id: str = Field(description="ADAPTER/SESSION.", examples=[ID])
    created_at: str = Field(description="When the first snapshot of the session was recorded.", examples=[TIME])
    recorded_at: str = Field(description="When this snapshot was recorded.", examples=[TIME])
    snapshot: dict[str, Any] = Field(description="ECC's canonical snapshot.", examples=[SNAPSHOT])


@verb(
    "session record",
    "POST /v1/snapshots",
    effect=SETTLES,
    status=201,
    other_status={200: "The snapshot is unchanged."},
    tag=TAG,
    body="snapshot",
    options={"snapshot": Option(hidden=True)},
    examples=("baton session record claude:latest", "baton session record --file snapshot.json"),
)
def record_snapshot(ws: Workspace, now: datetime, verb_input: RecordSnapshot) -> RecordedSnapshot:
    """Record a snapshot as the latest one of its session. Nothing is written if the latest one is equal.

    Raises:
        InvalidDocument: the snapshot violates a rule of ECC's contract, or its id contains a secret.
        InvalidName: its id cannot be the name of a file.
    """
    done = record_latest(ws, now, parse_snapshot(verb_input.snapshot))
    return RecordedSnapshot.of(done.written, id=done.id, changed=done.changed)


@verb("session snapshots", "GET /v1/snapshots", effect=READS, tag=TAG, examples=("baton session snapshots",))
def list_snapshots(ws: Workspace, now: datetime, verb_input: PageInput) -> SnapshotList:
    """List the sessions with recorded snapshots, newest first."""
    shown, after = take_page(list_recorded(ws), verb_input, lambda snapshot: snapshot.id)
    summaries = [summarize_snapshot(snapshot) for snapshot in shown]
    return SnapshotList(snapshots=summaries, next=after, **full_position(ws.branch.read()))


@verb(
    "session history",
    "GET /v1/snapshots/{id}/history",
    effect=READS,
    tag=TAG,
    positional=("id",),
    options={"limit": Option(names=("--limit", "-l"))},
    examples=("baton session history claude-history/a1b2c3d4", "baton session history a1b2 --json"),
)
def list_former_snapshots(ws: Workspace, now: datetime, verb_input: SnapshotHistoryInput) -> SnapshotHistory:
    """List the recorded snapshots of a session, newest first.

    Raises:
        NotFound: the session was never recorded.
        Ambiguous: several ids begin with the given text.
    """
    former = [
        FormerSnapshot(
            recorded_at=dated.recorded_at,
            revision=dated.revision,
            commit=dated.commit,
            snapshot=dated.snapshot.as_data(),
        )
        for dated in list_history(ws, verb_input.id)[: verb_input.limit]
    ]
    return SnapshotHistory(snapshots=former)


@verb(
    "session show",
    "GET /v1/snapshots/{id}",
    effect=READS,
    tag=TAG,
    positional=("id",),
    options={"at": Option(metavar="REV|TIME")},
    examples=("baton session show claude-history/a1b2c3d4",),
)
def show_snapshot(ws: Workspace, now: datetime, verb_input: ShowSnapshot) -> ShownSnapshot:
    """Show the latest recorded snapshot of a session.

    Raises:
        NotFound: the session was not recorded by then, or `at` names no revision.
        Ambiguous: several ids begin with the given text, or several revisions match `at`.
    """
    revision = ws.branch.read(verb_input.at)
    snapshot = find_recorded(revision.state, verb_input.id)
    return ShownSnapshot(
        id=snapshot.id, created_at=snapshot.created_at, recorded_at=snapshot.recorded_at,
        snapshot=snapshot.snapshot.as_data(), **full_position(revision),
    )  # fmt: skip


def summarize_snapshot(snapshot: Snapshot) -> SnapshotSummary:
    """Return the summary of a recorded session."""
    session = snapshot.snapshot
    return SnapshotSummary(
        target=f"{RECORDED}{snapshot.id}", id=snapshot.id, created_at=snapshot.created_at,
        recorded_at=snapshot.recorded_at, state=session.session.state, workers=len(session.workers),
    )  # fmt: skip
