"""ECC's canonical session snapshot, `ecc.session.v1`, and the record that keeps the latest one of a session.

The fields are those of ECC's session adapter contract, named as on its wire. Stricter than ECC's own validator where
the contract says MUST: counts of states and healths, the type of `pid`, no further fields at the top.
"""

from collections import Counter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator

from baton_git.core.errors import Fault
from baton_git.core.records.base import Flag, Id, Part, Record, Text, Texts, Whole
from baton_git.core.records.merge_rules import Beside, Earliest, Latest

SCHEMA_VERSION = "ecc.session.v1"

Counts = dict[Id, Whole]


def _check_number(value: Any) -> int | float:
    """Return the number; a union of two types would report one mistake twice."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("should be a number or null")


Number = Annotated[int | float, PlainValidator(_check_number), WithJsonSchema({"type": "number"})]


def explain_extra_field(fault: Fault, schema: str = SCHEMA_VERSION) -> Fault:
    """Return the fault; for an unknown field, say which format does not have it."""
    is_extra = fault.message.startswith("extra inputs are not permitted")
    return fault._replace(message=f"is no field of {schema}") if is_extra else fault


class SourceTarget(Part):
    """What was looked up to find the session."""

    type: Id = Field(description="Lookup class, as `plan`, `session`, `claude-history`.")
    value: Id = Field(description="The target as it was given, or a resolved path.")


class SessionPart(Part):
    """The session itself."""

    id: Id = Field(description="Stable within its adapter.")
    kind: Id = Field(description="Family, as `orchestrated` or `history`.")
    state: Id = Field(description="Its state; unknown words are fine.")
    repoRoot: Text | None = Field(None, description="Root of its repository or work tree, when known.")
    sourceTarget: SourceTarget = Field(description="What was looked up.")


class Runtime(Part):
    """What a worker runs in."""

    kind: Id = Field(description="Family, as `tmux-pane`.")
    command: Text | None = Field(None, description="The active command, when known.")
    pid: Number | None = Field(None, description="Process id, when known.")
    active: Flag = Field(description="Whether it is active now.")
    dead: Flag = Field(description="Whether it is known to be finished.")


class Intent(Part):
    """Why a worker exists."""

    objective: Id = Field(description="Its objective or title.")
    seedPaths: Texts = Field(description="Paths that it began with.")


class Outputs(Part):
    """What a worker has done, and what is open."""

    summary: Texts = Field(description="What was completed.")
    validation: Texts = Field(description="Evidence and checks.")
    remainingRisks: Texts = Field(description="Open risks, follow-ups, notes.")


class Worker(Part):
    """One worker of the session."""

    id: Id = Field(description="Stable within its adapter.")
    label: Id = Field(description="What an operator calls it.")
    state: Id = Field(description="Where it is in its life; unknown words are fine.")
    health: Id = Field(description="How it is doing; unknown words are fine.")
    branch: Text | None = Field(None, description="Its git branch, when known.")
    worktree: Text | None = Field(None, description="Path of its work tree, when known.")
    runtime: Runtime = Field(description="What it runs in.")
    intent: Intent = Field(description="Why it exists.")
    outputs: Outputs = Field(description="What came of it.")
    artifacts: dict[str, Any] = Field(description="Files and references that the adapter owns.")


class Aggregates(Part):
    """How many workers there are, and of each sort."""

    workerCount: Whole = Field(description="How many workers there are.")
    states: Counts = Field(description="By state, how many workers have it.")
    healths: Counts = Field(description="By health, how many workers have it.")


class CanonicalSession(Part):
    """A snapshot as every adapter gives it."""

    model_config = ConfigDict(extra="forbid")

    schemaVersion: Literal["ecc.session.v1"] = Field(description="Exactly this.")
    adapterId: Id = Field(description="Which adapter made it.")
    session: SessionPart = Field(description="The session.")
    workers: tuple[Worker, ...] = Field(description="Its workers; may be empty.")
    aggregates: Aggregates = Field(description="Counts over the workers.")

    @model_validator(mode="after")
    def _adds_up(self) -> "CanonicalSession":
        ids = Counter(worker.id for worker in self.workers)
        twice = next((id_ for id_, number in ids.items() if number > 1), None)
        if twice is not None:
            raise ValueError(f"workers: two have the id {twice!r}")
        if self.aggregates.workerCount != len(self.workers):
            raise ValueError(
                f"aggregates.workerCount is {self.aggregates.workerCount}, but workers has {len(self.workers)}"
            )
        for name, field in (("states", "state"), ("healths", "health")):
            counted = dict(Counter(getattr(worker, field) for worker in self.workers))
            if {key: value for key, value in getattr(self.aggregates, name).items() if value} != counted:
                raise ValueError(f"aggregates.{name} is not what workers[].{field} says: {counted}")
        return self


class Snapshot(Record):
    """The latest snapshot of one session. Its id is `<adapterId>/<session.id>`; the history has the earlier ones."""

    kind: ClassVar[str] = "snapshot"
    dated: ClassVar[str] = "recorded_at"

    created_at: Annotated[Text, Earliest()] = Field(description="When the session was recorded first, ISO 8601.")
    recorded_at: Annotated[Text, Latest()] = Field(description="When this body was recorded, ISO 8601.")
    updated_at: Annotated[Text | None, Latest()] = Field(
        None, description="When ECC saw this body last, in what came from one of its recording files."
    )
    snapshot: Annotated[CanonicalSession, Beside("recorded_at", "schemaVersion")] = Field(
        description="The snapshot, whole: a merge never mixes two."
    )

    @model_validator(mode="after")
    def _is_that_session(self) -> "Snapshot":
        if "/" in self.snapshot.adapterId:
            raise ValueError(f"snapshot.adapterId: {self.snapshot.adapterId!r} is no name of a folder")
        if self.id != f"{self.snapshot.adapterId}/{self.snapshot.session.id}":
            raise ValueError(f"the snapshot is of {self.snapshot.adapterId}/{self.snapshot.session.id}, not {self.id}")
        return self
