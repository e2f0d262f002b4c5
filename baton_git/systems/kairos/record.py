"""A KAIROS handover: the record of a protocol run, and the rules by which another client continues it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from baton_git.core.codecs import toml
from baton_git.core.errors import InvalidArgument, NotFound, StepConflict
from baton_git.core.output import one_line
from baton_git.core.records.base import Either, Fields, Latest, Part, Record, Text, parse
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.times import iso, parse_time
from baton_git.systems.kairos import codec


class Step(Part):
    """The current step of the run. A merge takes all fields of the step from one side."""

    current_challenge: Text | None = Field(None, description="The name of the step, which KAIROS calls a challenge.")
    chain_uri: Text | None = Field(None, description="The URI of the step.")
    step_index: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        None, description="The number of the step, from 1."
    )


class Handover(Record):
    """One protocol run. The record's id is the run's `SESSION_ID`."""

    kind: ClassVar[str] = "handover"
    dated: ClassVar[str] = "updated_at"

    step: Step = Field(
        Step(), description="The current step: the keys `current_challenge`, `chain_uri` and `step_index` of the file."
    )
    state: Annotated[dict[str, Any], Fields(Part)] = Field(
        {}, description="The partial state: all keys of the file that KAIROS does not define, with their values."
    )
    order: Annotated[tuple[Text, ...] | None, Either()] = Field(
        None, description="The order of the keys in the file. Null: the default order."
    )
    updated_at: Annotated[Text | None, Latest()] = Field(None, description="The time of the last change: ISO 8601.")


# --- the rules
# A run is at one step. It proceeds to another step, or to a higher step number. If a client wants to proceed from a
# step that the run has already left, it gets a `StepConflict` with the current step.


STALE_AFTER = timedelta(hours=24)
"""The default age at which a run is stale."""
SKEW = timedelta(minutes=5)
"""Maximum time by which `updated_at` may be in the future, because clocks of machines differ."""


@dataclass(frozen=True)
class StepRequest:
    """A requested step of a run.

    Attributes:
        index: the number of the step; None means the current number plus one, if the run has a number.
        came_from: the challenge at which the run must be; None means any.
        stays: whether the run stays at its current step. `challenge`, `uri` and `index` then state what this step must
            be; None means any.
        values: partial state to set, by key.
        without: keys of the partial state to remove.
    """

    challenge: str | None = None
    uri: str | None = None
    index: int | None = None
    came_from: str | None = None
    stays: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()


def take_step(run: Handover | None, id_: str, request: StepRequest, now: datetime) -> Handover:
    """Return the run after a step: a new run if `run` is None, the run at its next step, or the run at the same step
    with changed partial state.

    Raises:
        StepConflict: the run is not where `request` assumes, or is already at the requested step or after it.
        NotFound: `request.stays` is set, but there is no run.
        InvalidArgument: challenge or URI is missing, or a key is not valid in the partial state.
        InvalidDocument, LimitExceeded: a key contains a secret, or a value cannot be written.
    """
    check_keys([*request.values, *request.without])
    if run is None and request.stays:
        raise NotFound("handover", id_, hint="a first step with challenge and uri begins the run")
    if run is None or not request.stays:
        _check_complete(request)
    if run is None and request.came_from is not None:
        raise StepConflict(f"handover {id_} has not begun: it cannot continue from {request.came_from}", current=None)
    if run is not None:
        _check_step(run, request)
    old = run.step if run is not None else Step()
    step = old.as_data() if request.stays else _make_next_step(old, request)
    state = {key: value for key, value in (run.state if run else {}).items() if key not in request.without}
    before = run.as_data() if run is not None else {}
    return normalize_run(
        {**before, "id": id_, "step": step, "state": {**state, **request.values}, "updated_at": iso(now)}
    )


def prepare_for_archive(run: Handover) -> Handover:
    """Return the run for the archive. TOML puts tables last; if that changes the order of the keys, the run's `order`
    records it."""
    data = run.as_data()
    if list(toml.loads(toml.dumps(data)).get("state", {})) == list(data.get("state", {})):
        return run
    return run.replace(order=tuple(key for key in codec.list_keys(data) if key != codec.UPDATED))


def check_keys(keys: list[str]) -> None:
    """Check the keys of the partial state.

    Raises:
        InvalidArgument: a key is not valid.
        InvalidDocument: a key contains a secret.
    """
    for key in keys:
        refuse_secret("key of the partial state", key)
        fault = codec.find_key_fault(key)
        if fault:
            raise InvalidArgument(f"the key {key[:60]!r} {fault}", key=key, hint="choose another name for it")


def normalize_run(data: Mapping[str, Any]) -> Handover:
    """Return the record that results when the data is written as a handover file and parsed again."""
    return parse(Handover, codec.loads(codec.dumps(data)))


def _check_complete(request: StepRequest) -> None:
    missing = [name for name, value in (("challenge", request.challenge), ("uri", request.uri)) if not value]
    if missing:
        raise InvalidArgument(
            f"the step lacks {' and '.join(missing)}",
            hint="name the step completely, or keep the run at its current step",
        )


def _make_next_step(old: Step, request: StepRequest) -> dict[str, Any]:
    index = request.index
    if index is None and old.step_index is not None:
        index = old.step_index + 1
    step = {"current_challenge": request.challenge, "chain_uri": request.uri}
    return step if index is None else {**step, "step_index": index}


def _check_step(run: Handover, request: StepRequest) -> None:
    """Raise StepConflict if the run is not at the step that `request` assumes."""
    step = run.step
    if request.came_from is not None and request.came_from != step.current_challenge:
        raise make_step_conflict(
            run, f"it has left {request.came_from}" if not request.stays else f"it is not at {request.came_from}"
        )
    if request.stays:
        _check_stay(run, request)
        return
    if request.index is None and (request.challenge, request.uri) == (step.current_challenge, step.chain_uri):
        raise make_step_conflict(run, "it is already at this step")
    if request.index is not None and step.step_index is not None and request.index <= step.step_index:
        raise make_step_conflict(run, f"step {request.index} is not after its current step")


def _check_stay(run: Handover, request: StepRequest) -> None:
    expected = {"current_challenge": request.challenge, "chain_uri": request.uri, "step_index": request.index}
    for name, value in expected.items():
        if value is not None and value != getattr(run.step, name):
            raise make_step_conflict(run, f"its {name} is not {value}")


def make_step_conflict(run: Handover, why: str) -> StepConflict:
    """Return the error for a step that does not fit the state of the run. The error contains the run's current step."""
    return StepConflict(
        f"handover {run.id} is at {describe_step(run)}: {why}",
        current=to_kairos_data(run),
        session=run.id,
        hint=f"to see the current step and continue from it: baton handover resume --session {run.id}",
    )


def describe_step(run: Handover) -> str:
    """Describe the run's step: `find_slot, step 3, kairos://…, since 2026-11-21T08:00:00Z`."""
    step = run.step
    parts = [step.current_challenge or "no challenge", f"step {step.step_index}" if step.step_index else None]
    since = f"since {run.updated_at}" if run.updated_at else None
    return ", ".join(one_line(part, 200) for part in (*parts, step.chain_uri, since) if part)


def to_kairos_data(run: Handover) -> dict[str, Any]:
    """Return the run under the keys of its file; None for missing values."""
    step = run.step
    return {
        codec.SESSION: run.id,
        "current_challenge": step.current_challenge,
        "chain_uri": step.chain_uri,
        "step_index": step.step_index,
        "state": run.as_data().get("state", {}),
        "updated_at": run.updated_at,
    }


class Age(NamedTuple):
    """The age of a run in seconds, and whether it is stale; None with the reason in `why` if the age is unknown."""

    stale: bool | None
    seconds: int | None = None
    why: str = ""


def compute_age(run: Handover, now: datetime, stale_after: timedelta = STALE_AFTER) -> Age:
    """Return the age of a run, computed from its `updated_at`. A time without an offset is UTC."""
    if not run.updated_at:
        return Age(None, why="updated_at is missing")
    try:
        age = now - parse_time(run.updated_at)
    except ValueError:
        return Age(None, why="updated_at is not an ISO 8601 date and time")
    if age < -SKEW:
        return Age(None, why="updated_at is in the future: a clock is wrong")
    return Age(age > stale_after, max(0, int(age.total_seconds())))
