"""The records of session-baton: open loops, follow-ups, patterns with their rules, and decisions.

Fields, enumerations and defaults are those of session-baton's `models.py`. This project added `last_check`, `anchors`,
the check methods `command`, `git_commit` and `port_open`, and their fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from baton_git.core.records.base import (
    Append,
    Beside,
    Counter,
    Covered,
    Earliest,
    Either,
    Extend,
    Flag,
    Ladder,
    Latest,
    Part,
    Recent,
    Record,
    RecordingRule,
    SourceTier,
    Text,
    Union,
    Whole,
)
from baton_git.core.records.check_methods import CHECK_METHODS


class Anchor(Part):
    """A file or symbol as it was when the record was written."""

    path: Text = Field(min_length=1, description="The file, relative to the top of the work tree.")
    symbol: Text | None = Field(None, description="A function, class or other name in the file, dotted if nested.")
    digest: Text | None = Field(None, description="The blob id of the file; for a symbol, the SHA-256 of its lines.")
    commit: Text | None = Field(None, description="The commit that HEAD pointed to at that time.")
    session: Text | None = Field(None, description="The session that wrote it; its later commits carry the record out.")
    by_default: Flag = Field(
        False, description="Whether it was added automatically, because the session had changed the file."
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
"""Maximum number of recent occurrences in a pattern; its count is not limited."""


class VerifySpec(Part):
    """How to check the outcome of an open loop. Checks are structured and never use a shell."""

    method: Method = Field(description="The check method.")
    url: Text | None = Field(None, description="http: the address to GET.")
    expected_status: Annotated[int, Field(strict=True, ge=100, le=599)] | None = Field(
        None, description="http: the status that means success; by default 200."
    )
    path: Text | None = Field(None, description="file_exists: the file, relative to the work tree.")
    process_name: Text | None = Field(None, description="process_running: the name of the process.")
    host: Text | None = Field(None, description="port_open: the host; by default localhost.")
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = Field(
        None, description="port_open: the TCP port."
    )
    argv: tuple[Text, ...] | None = Field(
        None, description="command: the program and its arguments; runs only after `baton trust` on this machine."
    )
    commit: Text | None = Field(None, description="git_commit: a commit id, or the subject of a commit.")
    branch: Text | None = Field(None, description="git_commit: the branch that must contain it; by default HEAD.")
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = Field(
        5, description="Seconds after which the result is `unknown`."
    )
    note: Text | None = Field(None, description="manual: what a person should look at.")


class LastCheck(Part):
    """The result of the last check: the evidence for the status."""

    result: Literal["passed", "failed", "unknown"] = Field(
        description="The outcome; `unknown` if the check could not be made."
    )
    at: Annotated[Text, Latest()] = Field(description="The time of the check, ISO 8601 in UTC.")
    why: Text | None = Field(None, description="The reason, if it did not pass.")
    duration_ms: Whole | None = Field(None, description="The duration of the check in milliseconds.")
    http_status: Annotated[int, Field(strict=True)] | None = Field(None, description="http: the status received.")
    commit: Text | None = Field(None, description="The checked commit of the code; git_commit: the commit found.")
    by: Text | None = Field(None, description="`probe` if baton ran the check; for a manual check, who answered it.")


class OpenLoop(Record):
    """An action and its expected outcome, which a later session checks (session-baton's Impact tier)."""

    kind: ClassVar[str] = "open_loop"
    dated: ClassVar[str] = "created_at"

    action: Annotated[Text, Covered(), Covered("statement")] = Field(description="What was done.")
    expected_outcome: Annotated[Text, Covered(), Covered("statement")] = Field(
        description="What must be true if the action worked."
    )
    verify: Annotated[VerifySpec | None, Covered(), Covered("check")] = Field(
        None, description="How to check the outcome; if absent, a person or an agent checks it."
    )
    created_at: Annotated[Text, Earliest()] = Field(description="When it was created, an ISO date or date and time.")
    ttl_days: Whole = Field(7, description="Days after which an unverified loop is escalated.")
    decision_ref: Text | None = Field(None, description="The id of the decision that this follows from.")
    status: Annotated[LoopStatus, Ladder("open", "verified", "escalated", "failed")] = Field(
        "open", description="open → verified | failed | escalated."
    )
    source_tier: SourceTier = Field("llm_derived", description="The declared provenance.")
    last_check: Annotated[LastCheck | None, Beside("status", "at")] = Field(
        None, description="The result of the last check."
    )


class FollowUp(Record):
    """A deferred task; repeated deferral escalates it."""

    kind: ClassVar[str] = "follow_up"
    dated: ClassVar[str] = "first_seen"
    recording = RecordingRule(begins="first_seen", last="last_deferred")

    item: Annotated[Text, Covered(), Covered("statement")] = Field(description="What is to be done.")
    first_seen: Annotated[Text, Earliest()] = Field(description="When it first came up, an ISO date or date and time.")
    reason: Annotated[Text | None, Covered()] = Field(None, description="Why it was deferred.")
    defer_count: Annotated[Whole, Counter()] = Field(0, description="How many times it was deferred.")
    last_deferred: Annotated[Text | None, Latest()] = Field(None, description="When it was last deferred.")
    priority: Annotated[Priority, Ladder("normal", "elevated", "escalated")] = Field(
        "normal", description="By default, elevated at 3 deferrals, escalated at 5."
    )
    linked_pattern: Text | None = Field(None, description="The id of the pattern that this belongs to.")
    source_tier: SourceTier = Field("llm_derived", description="The declared provenance.")


class Occurrence(Part):
    """An occurrence of a pattern."""

    session: Text = Field(description="The session that observed it.")
    context: Text = Field(description="The circumstances.")


class Pattern(Record):
    """A recurring failure, which may become a rule (session-baton's Experience tier)."""

    kind: ClassVar[str] = "pattern"
    dated: ClassVar[str] = "first_seen"
    recording = RecordingRule(begins="first_seen", last="last_seen", entries="recent_occurrences")

    what: Annotated[Text, Covered(), Covered("statement")] = Field(description="The recurring failure.")
    first_seen: Annotated[Text, Earliest()] = Field(description="When it was first seen, an ISO date or date and time.")
    last_seen: Annotated[Text, Latest()] = Field(description="When it was last seen.")
    count: Annotated[Whole, Counter()] = Field(1, description="How many times it was seen in all (no upper limit).")
    recent_occurrences: Annotated[tuple[Occurrence, ...], Field(max_length=OCCURRENCES), Recent(OCCURRENCES)] = Field(
        (), description="The newest five occurrences, oldest first."
    )
    threshold: Annotated[int, Field(strict=True, ge=1)] = Field(3, description="The count at which a rule is proposed.")
    status: Annotated[
        PatternStatus,
        Ladder("observing", "rule_candidate", "graduated", "dismissed"),
        Covered(only=("graduated",)),
    ] = Field("observing", description="observing → rule_candidate → graduated (only by a person), or dismissed.")
    proposed_rule: Annotated[Text | None, Extend(), Covered()] = Field(
        None, description="The rule that it would become."
    )
    graduated_to: Annotated[Text | None, Covered()] = Field(None, description="The file of the rule that it became.")
    source_tier: SourceTier = Field("llm_derived", description="The declared provenance.")
    anchors: Annotated[tuple[Anchor, ...], Union()] = Field((), description="The files or symbols that it refers to.")


class ActiveDecision(Record):
    """A choice with its reasons (session-baton's Decision tier)."""

    kind: ClassVar[str] = "active_decision"
    dated: ClassVar[str] = "created_at"

    what: Annotated[Text, Covered(), Covered("statement")] = Field(description="What was decided.")
    why: Annotated[Text, Covered(), Covered("statement")] = Field(description="The reason.")
    created_at: Annotated[Text, Earliest()] = Field(description="When it was made, an ISO date or date and time.")
    evidence: Annotated[tuple[Text, ...], Union(), Covered()] = Field((), description="The evidence for it.")
    rejected: Annotated[tuple[Text, ...], Union(), Covered()] = Field((), description="The rejected alternatives.")
    status: Annotated[
        DecisionStatus, Ladder("active", "monitoring", "superseded"), Covered("closing", only=("superseded",))
    ] = Field("active", description="active → monitoring → superseded; never back.")
    superseded_by: Annotated[Text | None, Covered("closing")] = Field(
        None, description="The id of the decision that replaced it."
    )
    replaces: Text | None = Field(
        None, description="The id of the decision that it is proposed to replace; that one stays in force meanwhile."
    )
    source_tier: SourceTier = Field("human_confirmed", description="The declared provenance.")
    anchors: Annotated[tuple[Anchor, ...], Union()] = Field((), description="The files or symbols that it refers to.")


class Head(Part):
    """The fields of a baton document other than its lists of records, stored in the file `baton.toml`."""

    schema_version: Annotated[int, Field(strict=True, ge=1)] = Field(1, description="session-baton's schema version.")
    session_id: Annotated[Text, Latest()] = Field("", description="The session of the last write.")
    parent_session: Annotated[Text | None, Latest()] = Field(None, description="The session before it.")
    updated_at: Annotated[Text | None, Latest()] = Field(
        None, description="The time set by the writer, which can differ from that of the commit."
    )
    context: Annotated[Text, Append()] = Field("", description="A free-form description of the state of the work.")


class Baton(Head):
    """The whole document that session-baton's clients read and write."""

    session_id: Text = Field(description="The session that wrote it.")
    open_loops: tuple[OpenLoop, ...] = Field((), description="Actions whose outcome must be checked.")
    follow_ups: tuple[FollowUp, ...] = Field((), description="Deferred tasks.")
    patterns: tuple[Pattern, ...] = Field((), description="Recurring failures.")
    active_decisions: tuple[ActiveDecision, ...] = Field((), description="Decisions with their reasons.")


SECTIONS: dict[str, type[Record]] = {
    "open_loops": OpenLoop,
    "follow_ups": FollowUp,
    "patterns": Pattern,
    "active_decisions": ActiveDecision,
}
"""The lists of a baton document, in document order, with the model of each."""


class Shape(Part):
    """The layout of the last whole document, so that it can be returned as it was; the file `document.toml`."""

    sections: Annotated[tuple[Text, ...], Union()] = Field(
        (), description="The lists in the document, including empty ones."
    )
    order: Annotated[dict[str, tuple[Text, ...]], Either()] = Field(
        default_factory=dict, description="The ids in document order by list, if they are not in order of date."
    )


# --- rules: what graduated patterns became, for sessions to follow


class Rule(Record):
    """The file `rules/<pattern-id>.md`; its id is that of the pattern."""

    kind: ClassVar[str] = "rule"

    text: Annotated[Text, Append(), Covered()] = Field(description="The rule, Markdown.")
