"""The records of session-baton: what was done and must be checked, put off, kept going wrong, was decided.

Fields, enumerations and defaults are those of session-baton's `models.py`; `last_check`, the probe
methods `command`, `git_commit` and `port_open`, and their fields are this project's additions.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from baton_git.core.records.anchor import Anchor
from baton_git.core.records.base import Part, Record, SourceTier, Text, Whole
from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.core.records.confirmable import Covered
from baton_git.core.records.merge_rules import (
    Append,
    Beside,
    Counter,
    Earliest,
    Either,
    Extend,
    Ladder,
    Latest,
    Recent,
    RecordingRule,
    Union,
)

if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[tuple(CHECK_METHODS)]
LoopStatus = Literal["open", "verified", "failed", "escalated"]
Priority = Literal["normal", "elevated", "escalated"]
PatternStatus = Literal["observing", "rule_candidate", "graduated", "dismissed"]
DecisionStatus = Literal["active", "monitoring", "superseded"]

OCCURRENCES = 5
"""How many recent occurrences a pattern keeps; its count goes on."""


class VerifySpec(Part):
    """How the outcome of an open loop can be checked. Only structured checks: there is no shell."""

    method: Method = Field(description="Which probe answers.")
    url: Text | None = Field(None, description="http: the address to GET.")
    expected_status: Annotated[int, Field(strict=True, ge=100, le=599)] | None = Field(
        None, description="http: the status that means success; 200 when absent."
    )
    path: Text | None = Field(None, description="file_exists: the file, relative to the work tree.")
    process_name: Text | None = Field(None, description="process_running: the name of the process.")
    host: Text | None = Field(None, description="port_open: the host; 127.0.0.1 when absent.")
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = Field(
        None, description="port_open: the TCP port."
    )
    argv: tuple[Text, ...] | None = Field(
        None, description="command: the program and its arguments; runs only after `baton trust` on this machine."
    )
    commit: Text | None = Field(None, description="git_commit: a commit id, or the subject of a commit.")
    branch: Text | None = Field(None, description="git_commit: where it must be; HEAD when absent.")
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = Field(
        5, description="Seconds until the probe gives up with `unknown`."
    )
    note: Text | None = Field(None, description="manual: what a person should look at.")


class LastCheck(Part):
    """What the last run of a probe found: the evidence for the status."""

    result: Literal["passed", "failed", "unknown"] = Field(description="A check that could not be made is `unknown`.")
    at: Annotated[Text, Latest()] = Field(description="When, ISO 8601 in UTC.")
    why: Text | None = Field(None, description="The reason, when it did not pass.")
    duration_ms: Whole | None = Field(None, description="How long the probe took, in milliseconds.")
    http_status: Annotated[int, Field(strict=True)] | None = Field(None, description="The status an http probe got.")
    commit: Text | None = Field(None, description="The commit of the code that was checked, or that was looked for.")
    by: Text | None = Field(None, description="`probe`, or who answered a manual check.")


class OpenLoop(Record):
    """An action and the outcome it should have; the next session checks it (Impact tier, hot)."""

    kind: ClassVar[str] = "open_loop"
    dated: ClassVar[str] = "created_at"

    action: Annotated[Text, Covered()] = Field(description="What was done.")
    expected_outcome: Annotated[Text, Covered()] = Field(description="What must be true if it worked.")
    verify: Annotated[VerifySpec | None, Covered(), Covered("check")] = Field(
        None, description="How to check it; without one a person must."
    )
    created_at: Annotated[Text, Earliest()] = Field(description="When, an ISO date or date and time.")
    ttl_days: Whole = Field(7, description="Whole days after which an unverified loop is escalated.")
    decision_ref: Text | None = Field(None, description="Id of the decision this follows from.")
    status: Annotated[LoopStatus, Ladder("open", "verified", "escalated", "failed")] = Field(
        "open", description="open → verified | failed | escalated."
    )
    source_tier: SourceTier = Field("llm_derived", description="Who vouches for it.")
    last_check: Annotated[LastCheck | None, Beside("status", "at")] = Field(
        None, description="Evidence of the last check."
    )


class FollowUp(Record):
    """A task put off; putting it off again and again escalates it."""

    kind: ClassVar[str] = "follow_up"
    dated: ClassVar[str] = "first_seen"
    recording = RecordingRule(begins="first_seen", last="last_deferred")

    item: Annotated[Text, Covered()] = Field(description="What is to be done.")
    first_seen: Annotated[Text, Earliest()] = Field(description="When it came up first, an ISO date.")
    reason: Annotated[Text | None, Covered()] = Field(None, description="Why it was put off.")
    defer_count: Annotated[Whole, Counter()] = Field(0, description="How often it was put off.")
    last_deferred: Annotated[Text | None, Latest()] = Field(None, description="When it was put off last.")
    priority: Annotated[Priority, Ladder("normal", "elevated", "escalated")] = Field(
        "normal", description="Elevated at 3 deferrals, escalated at 5."
    )
    linked_pattern: Text | None = Field(None, description="Id of the pattern this belongs to.")
    source_tier: SourceTier = Field("llm_derived", description="Who vouches for it.")


class Occurrence(Part):
    """One time a pattern was seen."""

    session: Text = Field(description="The session that saw it.")
    context: Text = Field(description="What was going on.")


class Pattern(Record):
    """What keeps going wrong, on its way to a rule (Experience tier)."""

    kind: ClassVar[str] = "pattern"
    dated: ClassVar[str] = "first_seen"
    recording = RecordingRule(begins="first_seen", last="last_seen", entries="recent_occurrences")

    what: Annotated[Text, Covered()] = Field(description="The recurring failure.")
    first_seen: Annotated[Text, Earliest()] = Field(description="When it was seen first, an ISO date.")
    last_seen: Annotated[Text, Latest()] = Field(description="When it was seen last.")
    count: Annotated[Whole, Counter()] = Field(1, description="How often it was seen; never capped.")
    recent_occurrences: Annotated[tuple[Occurrence, ...], Field(max_length=OCCURRENCES), Recent(OCCURRENCES)] = Field(
        (), description="The newest five, oldest first."
    )
    threshold: Annotated[int, Field(strict=True, ge=1)] = Field(3, description="The count at which a rule is proposed.")
    status: Annotated[
        PatternStatus,
        Ladder("observing", "rule_candidate", "graduated", "dismissed"),
        Covered(only=("graduated",)),
    ] = Field(
        "observing", description="observing → rule_candidate → graduated, the last only by a person; or dismissed."
    )
    proposed_rule: Annotated[Text | None, Extend(), Covered()] = Field(None, description="The rule it would become.")
    graduated_to: Annotated[Text | None, Covered()] = Field(None, description="The file of the rule it became.")
    source_tier: SourceTier = Field("llm_derived", description="Who vouches for it.")
    anchors: Annotated[tuple[Anchor, ...], Union()] = Field((), description="The files or symbols that it is about.")


class ActiveDecision(Record):
    """A choice with its reasons (Decision tier, warm)."""

    kind: ClassVar[str] = "active_decision"
    dated: ClassVar[str] = "created_at"

    what: Annotated[Text, Covered()] = Field(description="What was decided.")
    why: Annotated[Text, Covered()] = Field(description="The reason.")
    created_at: Annotated[Text, Earliest()] = Field(description="When, an ISO date.")
    evidence: Annotated[tuple[Text, ...], Union(), Covered()] = Field((), description="What speaks for it.")
    rejected: Annotated[tuple[Text, ...], Union(), Covered()] = Field(
        (), description="What was considered and turned down."
    )
    status: Annotated[
        DecisionStatus, Ladder("active", "monitoring", "superseded"), Covered("closing", only=("superseded",))
    ] = Field("active", description="active → monitoring → superseded; never back.")
    superseded_by: Annotated[Text | None, Covered("closing")] = Field(
        None, description="Id of the decision that took its place."
    )
    source_tier: SourceTier = Field("human_confirmed", description="Who vouches for it.")
    anchors: Annotated[tuple[Anchor, ...], Union()] = Field((), description="The files or symbols that it is about.")


class Head(Part):
    """What a baton says besides its records: the file `baton.toml`."""

    schema_version: Annotated[int, Field(strict=True, ge=1)] = Field(1, description="session-baton's schema version.")
    session_id: Annotated[Text, Latest()] = Field("", description="The session that wrote last.")
    parent_session: Annotated[Text | None, Latest()] = Field(None, description="The session before it.")
    updated_at: Annotated[Text | None, Latest()] = Field(
        None, description="What the writer said; the commit has its own."
    )
    context: Annotated[Text, Append()] = Field("", description="Free-form narrative of where the work stands.")


class Baton(Head):
    """The whole document that session-baton's clients read and write."""

    session_id: Text = Field(description="The session that wrote it.")
    open_loops: tuple[OpenLoop, ...] = Field((), description="What must be checked.")
    follow_ups: tuple[FollowUp, ...] = Field((), description="What was put off.")
    patterns: tuple[Pattern, ...] = Field((), description="What keeps going wrong.")
    active_decisions: tuple[ActiveDecision, ...] = Field((), description="What was decided.")


SECTIONS: dict[str, type[Record]] = {
    "open_loops": OpenLoop,
    "follow_ups": FollowUp,
    "patterns": Pattern,
    "active_decisions": ActiveDecision,
}
"""The lists of a baton document, in its order, with the record of each."""


class Shape(Part):
    """How the last whole document was laid out, so that it is given back as it came: the file `document.toml`."""

    sections: Annotated[tuple[Text, ...], Union()] = Field(
        (), description="The lists that the document had, empty ones too."
    )
    order: Annotated[dict[str, tuple[Text, ...]], Either()] = Field(
        default_factory=dict, description="By section, the ids in the document's order, where it is not by date."
    )
