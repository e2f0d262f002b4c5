"""The verbs of sessions as ECC sees them: those that adapters can open, and recorded snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Self

from pydantic import BaseModel, Field

from baton_git.core.output import flat
from baton_git.core.records.base import parse
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import READS, SETTLES, Input, NoInput, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import (
    COMMIT,
    AtNamespace,
    PageInput,
    PageResult,
    PastRevision,
    ResultPart,
    WrittenResult,
    full_position,
    take_page,
)
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.adapters.adapter import Surroundings, Target
from baton_git.systems.ecc.adapters.all_adapters import BrokenAdapter, list_adapters, list_sessions, open_target
from baton_git.systems.ecc.record import CanonicalSession, Snapshot, parse_snapshot
from baton_git.systems.ecc.snapshots import find_recorded, list_history, list_recorded, record_latest

# --- recorded snapshots


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


# --- what adapters can open


ADAPTER = Field(None, description="The adapter to use. Default: try each.", examples=["claude-history"])


class ListTargets(Input):
    """The sessions to list."""

    adapter: str | None = Field(None, description="The adapter to use. Default: all.", examples=["claude-history"])
    limit: int = Field(20, ge=1, le=1000, description="Maximum number of sessions.")


class InspectTarget(Input):
    """The session to inspect."""

    target: str = Field(
        description="A target that `session list` shows, the path of a plan, a session file or a transcript, or "
        "`recorded:ADAPTER/ID`.",
        examples=["claude:latest"],
    )
    adapter: str | None = ADAPTER
    target_type: str | None = Field(
        None, description="How to read the target, if it is ambiguous: one of the types that `session adapters` lists."
    )


class AdapterProblem(ResultPart):
    """An adapter that failed or left something out."""

    id: str = Field(description="The adapter.")
    why: str = Field(description="The problem.")
    partly: bool = Field(description="Whether it worked, but left something out.")


class AdapterResult(Result):
    """Base class of results that adapters contribute to."""

    problems: list[AdapterProblem] = Field([], description="Adapters that failed or left something out.")

    @classmethod
    def of(cls, broken: Sequence[BrokenAdapter], **fields: Any) -> Self:
        """Return the result with the adapters that failed, if there are any, as ECC's own result has none."""
        problems = {"problems": [AdapterProblem(**adapter._asdict()) for adapter in broken]} if broken else {}
        return cls(**fields, **problems)

    def describe_problems(self) -> list[str]:
        """Return a sentence for each adapter that cannot be used, or not wholly."""
        hows = ((item, "returned only a part" if item.partly else "cannot be used") for item in self.problems)
        return [flat(f"the session adapter {item.id} {how}: {item.why}") for item, how in hows]


class OfferedTarget(ResultPart):
    """A session that can be opened."""

    adapter: str = Field(description="The adapter that opens it.", examples=["claude-history"])
    target: str = Field(description="The target that opens it.", examples=["claude:a1b2c3d4"])
    id: str = Field(description="The id of the session.")
    title: str = Field(description="Title of the session.")
    updated_at: str = Field(description="When the session was last updated, ISO 8601 in UTC; empty if unknown.")
    spawned: str = Field("", description="The id for `session stop`, if baton started the session here.")
    status: str = Field("", description="The status of a session that baton started here.", examples=["running"])


class TargetList(AdapterResult):
    """The sessions that can be opened."""

    sessions: list[OfferedTarget] = Field(description="Sessions, newest first.")
    unreadable: list[str] = Field([], description="Records of sessions that baton started which cannot be read.")


class InspectedTarget(AdapterResult):
    """The snapshot of a session."""

    snapshot: dict[str, Any] = Field(description="The canonical snapshot, `ecc.session.v1`.")


class AdapterInfo(ResultPart):
    """A source of sessions."""

    id: str = Field(description="Its id.", examples=["dmux-tmux"])
    description: str = Field(description="Description of its sessions.")
    targetTypes: list[str] = Field(description="The types of targets that it opens.")  # noqa: N815  ECC's name


class AdapterList(AdapterResult):
    """The sources of sessions."""

    adapters: list[AdapterInfo] = Field(description="Adapters, built-in ones first.")

    def show(self, reader: Reader) -> ResultView:
        columns = (
            Column("adapter", lambda adapter: adapter.id, Role.ID),
            Column("targets", lambda adapter: ", ".join(adapter.targetTypes), Role.ID),
            Column("sessions", lambda adapter: adapter.description, wraps=True),
        )
        return ResultView(reader.table(self.adapters, columns), self.describe_problems())


@verb(
    "session list",
    effect=READS,
    anywhere=True,
    options={"adapter": Option(metavar="ID"), "limit": Option(names=("--limit", "-l"))},
    machine=True,
    examples=("baton session list", "baton session list --adapter claude-history --limit 5"),
)
def list_targets(ws: Workspace, now: datetime, verb_input: ListTargets) -> TargetList:
    """List the sessions that adapters can open, newest first, each with the target for baton session inspect.

    Sessions that a workflow or baton loop-run started have their status and the id for baton session stop.

    Raises:
        InvalidArgument: there is no such adapter.
    """
    offered, broken = list_sessions(_describe_surroundings(ws, now), verb_input.adapter)
    listed = list(islice(offered, verb_input.limit))
    spawned, unreadable = _find_spawned(ws, now)
    sessions = [
        OfferedTarget(adapter=adapter, **item._asdict(), **spawned.get(item.target.partition(":")[2], {}))
        for adapter, item in listed
    ]
    return TargetList.of(broken, sessions=sessions, **({"unreadable": unreadable} if unreadable else {}))


def _find_spawned(ws: Workspace, now: datetime) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the id and status of each session that baton started here, by the id of its agent CLI, and the messages
    about unreadable records."""
    from baton_git.agents.sessions.records import (
        SpawnedSessions,  # slow to import
        end_unwatched_sessions,  # as above
    )

    records = SpawnedSessions.of(ws.branch.store.repository.common_dir)
    end_unwatched_sessions(records, iso(now))
    sessions, problems = records.all()
    return {item.session: {"spawned": item.id, "status": item.status} for item in sessions if item.session}, problems


@verb(
    "session inspect",
    effect=READS,
    anywhere=True,
    positional=("target",),
    options={"adapter": Option(metavar="ID"), "target_type": Option(metavar="TYPE")},
    machine=True,
    examples=(
        "baton session inspect claude:latest",
        "baton session inspect workflow-visual-proof --adapter dmux-tmux",
        "baton session inspect codex:latest --write /tmp/session.json",
    ),
)
def inspect_target(ws: Workspace, now: datetime, verb_input: InspectTarget) -> InspectedTarget:
    """Show the canonical snapshot (ecc.session.v1) of a session.

    TARGET is a target that baton session list shows, the path of a plan, a session file or a transcript, or
    recorded:ADAPTER/ID for a recorded snapshot.

    Raises:
        NotFound: nothing matches the target.
        InvalidArgument: there is no such adapter, or no such type of target.
        InvalidDocument: the session cannot be parsed.
    """
    if verb_input.target.startswith(RECORDED) and verb_input.adapter is None:
        kept = find_recorded(ws.branch.read().state, verb_input.target.removeprefix(RECORDED)).snapshot
        return InspectedTarget(snapshot=kept.as_data())
    target = Target(verb_input.target, verb_input.target_type or "")
    opened = open_target(target, _describe_surroundings(ws, now), verb_input.adapter)
    return InspectedTarget.of(opened.problems, snapshot=opened.data)


@verb("session adapters", effect=READS, anywhere=True, examples=("baton session adapters",))
def list_session_adapters(ws: Workspace, now: datetime, verb_input: NoInput) -> AdapterList:
    """List the session adapters, including those of other packages.

    An adapter reads the sessions of one source, such as an agent CLI, and shows them as snapshots.
    """
    known = list_adapters()
    usable = [adapter for adapter in known if not isinstance(adapter, BrokenAdapter)]
    adapters = [
        AdapterInfo(id=adapter.ID, description=adapter.DESCRIPTION, targetTypes=list(adapter.TARGET_TYPES))
        for adapter in usable
    ]
    broken = [adapter for adapter in known if isinstance(adapter, BrokenAdapter)]
    return AdapterList.of(broken, adapters=adapters)


def _describe_surroundings(ws: Workspace, now: datetime) -> Surroundings:
    """Return what adapters may see."""
    machine = ws.required_machine
    return Surroundings(machine.home, machine.folder, now, machine.variables, ws.branch.read().state)
