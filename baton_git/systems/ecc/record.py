"""ECC's canonical session snapshot, `ecc.session.v1`, and the record of the latest snapshot of a session.

The fields are those of ECC's session adapter contract, with the names of its JSON. Three checks are stricter than in
ECC's own validator, because the contract says MUST: the counts of states and healths, the type of `pid`, and that there
are no other fields at the top level.
"""

from collections import Counter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.records.base import Beside, Earliest, Flag, Id, Latest, Part, Record, Text, Texts, Whole, parse

SCHEMA_VERSION = "ecc.session.v1"

Counts = dict[Id, Whole]


def _check_number(value: Any) -> int | float:
    """Return the value if it is a number, else raise ValueError. Pydantic would report a wrong `int | float` twice."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("should be a number or null")


Number = Annotated[int | float, PlainValidator(_check_number), WithJsonSchema({"type": "number"})]


def explain_extra_field(fault: Fault, schema: str = SCHEMA_VERSION) -> Fault:
    """Return the fault; for an unknown field, name the format that does not have it."""
    is_extra = fault.message.startswith("extra inputs are not permitted")
    return fault._replace(message=f"is no field of {schema}") if is_extra else fault


class SourceTarget(Part):
    """The target that led to the session."""

    type: Id = Field(description="Type of target: `plan`, `session`, `claude-history`, …")
    value: Id = Field(description="The target as given, or as a resolved path.")


class SessionPart(Part):
    """The session itself."""

    id: Id = Field(description="Its id, stable within the adapter.")
    kind: Id = Field(description="Kind of session: `orchestrated`, `history`, …")
    state: Id = Field(description="Its state; any word is allowed.")
    repoRoot: Text | None = Field(None, description="Root of its repository or work tree, if known.")
    sourceTarget: SourceTarget = Field(description="The target with which the session was found.")


class Runtime(Part):
    """The process or pane of a worker."""

    kind: Id = Field(description="Kind of process: `tmux-pane`, …")
    command: Text | None = Field(None, description="The running command, if known.")
    pid: Number | None = Field(None, description="Process id, if known.")
    active: Flag = Field(description="Whether it is active now.")
    dead: Flag = Field(description="Whether it is known to be finished.")


class Intent(Part):
    """The task of a worker."""

    objective: Id = Field(description="Its objective or title.")
    seedPaths: Texts = Field(description="Files it was started with.")


class Outputs(Part):
    """The results of a worker."""

    summary: Texts = Field(description="What was completed.")
    validation: Texts = Field(description="Evidence and checks.")
    remainingRisks: Texts = Field(description="Open risks, follow-ups, notes.")


class Worker(Part):
    """One worker of the session."""

    id: Id = Field(description="Its id, stable within the adapter.")
    label: Id = Field(description="Its name for an operator.")
    state: Id = Field(description="State of its work; any word is allowed.")
    health: Id = Field(description="Its health; any word is allowed.")
    branch: Text | None = Field(None, description="Its git branch, if known.")
    worktree: Text | None = Field(None, description="Path of its work tree, if known.")
    runtime: Runtime = Field(description="Its process or pane.")
    intent: Intent = Field(description="Its task.")
    outputs: Outputs = Field(description="Its results.")
    artifacts: dict[str, Any] = Field(description="Files and references specific to the adapter.")


class Aggregates(Part):
    """The number of workers, in total, by state and by health."""

    workerCount: Whole = Field(description="Number of workers.")
    states: Counts = Field(description="Number of workers by state.")
    healths: Counts = Field(description="Number of workers by health.")


class CanonicalSession(Part):
    """A snapshot in the form that every adapter returns."""

    model_config = ConfigDict(extra="forbid")

    schemaVersion: Literal["ecc.session.v1"] = Field(description="Version of the format: always `ecc.session.v1`.")
    adapterId: Id = Field(description="The adapter that made the snapshot.")
    session: SessionPart = Field(description="The session.")
    workers: tuple[Worker, ...] = Field(description="Its workers; may be empty.")
    aggregates: Aggregates = Field(description="Counts over the workers.")

    @model_validator(mode="after")
    def _check_ids_and_counts(self) -> "CanonicalSession":
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
    """The latest snapshot of one session; earlier ones are in git's history. The id is `<adapterId>/<session.id>`."""

    kind: ClassVar[str] = "snapshot"
    dated: ClassVar[str] = "recorded_at"

    created_at: Annotated[Text, Earliest()] = Field(description="When the session was recorded first, ISO 8601.")
    recorded_at: Annotated[Text, Latest()] = Field(description="When this snapshot was recorded, ISO 8601.")
    updated_at: Annotated[Text | None, Latest()] = Field(
        None, description="When ECC last saw this snapshot; only if it was imported from an ECC recording file."
    )
    snapshot: Annotated[CanonicalSession, Beside("recorded_at", "schemaVersion")] = Field(
        description="The snapshot; a merge takes the whole snapshot of one side."
    )

    @model_validator(mode="after")
    def _check_id(self) -> "Snapshot":
        if "/" in self.snapshot.adapterId:
            raise ValueError(f"snapshot.adapterId: {self.snapshot.adapterId!r} is not a valid name of a folder")
        if self.id != f"{self.snapshot.adapterId}/{self.snapshot.session.id}":
            raise ValueError(f"the snapshot is of {self.snapshot.adapterId}/{self.snapshot.session.id}, not {self.id}")
        return self


# --- parsing: every snapshot that an adapter, a file or a request provides


def parse_snapshot(data: object, *, where: str = "") -> CanonicalSession:
    """Parse and validate a snapshot.

    Raises:
        InvalidDocument: it is not plain JSON, or violates a rule of ECC's contract; each fault names its field.
        LimitExceeded: it is nested too deep.
    """
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a snapshot is an object, and this is not one")], where=where)
    json.check(data, where=where)
    try:
        return parse(CanonicalSession, data, where=where)
    except InvalidDocument as error:
        raise InvalidDocument([explain_extra_field(fault) for fault in error.faults], where=where) from error
