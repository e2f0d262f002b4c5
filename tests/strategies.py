"""Hypothesis strategies for names, JSON, records, documents and states, and the settings of all property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from baton_git.core.records.base import Part, Record
from baton_git.core.records.work_items import (
    SECTIONS,
    ActiveDecision,
    Anchor,
    Baton,
    FollowUp,
    LastCheck,
    Occurrence,
    OpenLoop,
    Pattern,
    VerifySpec,
)
from baton_git.core.state import State


def examples(count: int) -> int:
    """Return the number of examples: `count` in the default profile, and proportionally more in other profiles."""
    return count * settings().max_examples // settings.get_profile("steady").max_examples


laws = settings(
    deadline=None,
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
"""For every property test: few examples by default, many with --hypothesis-profile=thorough, as in CI."""

NASTY_KEYS = (
    "", "$", "$$", "$null", "$int", "$$null", "a.b", "a b", '"', "'", "\n", "\x00", "é", "e\u0301", "kind", "dated",
    "id",
    "given", "replace", "copy", "model_config", "model_fields", "model_fields_set", "model_extra", "model_dump",
    "__class__", "__dict__", "__init__", "__pydantic_extra__", "__pydantic_fields_set__", "self", "cls", "record", "x",
)  # fmt: skip
"""Keys that a codec or a model could mistake for internal names."""

NASTY_TEXTS = (
    "", " ", "\n", "\r", "\r\n", "a\r\nb\n", '"""', "'''", "\\", 'a"""\n"', "\x00\x1b[31m\x7f", "\u0085\u2028\ufeff",
    "é", "e\u0301", "🚀",
    "true", "null", "1", "2026-11-21", "# no comment", "[table]", "a = 1", "<<<<<<< ours\n", "line\nline\n", "\ttab",
    "\\\n",
)  # fmt: skip

NASTY_IDS = (
    "OL-1", "ol-1", "Ol-1", "OL-A", "a", "A", "a/b", "a_b", "a:b", "a b", ".", "..", "x.lock", "con", "CON", "-x",
    "%41", "é",
    "e\u0301", "É", "名前", "ß", "ı", "\u212a", "k", "K", "\x00", "\n", "FU-001.toml", "$null", "OL-1.2", "..lock",
    "a..b", "a.", ".a",
)  # fmt: skip

texts = st.sampled_from(NASTY_TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
keys = st.sampled_from(NASTY_KEYS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = (
    st.integers() | st.integers(min_value=2**62, max_value=2**80) | st.floats(allow_nan=False, allow_infinity=False)
)
scalars = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
json_tables = st.dictionaries(keys, json_values, max_size=6)

names = st.sampled_from(NASTY_IDS) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
ids = names
sessions = st.sampled_from(("s1", "2026-06-17-003", "会话-1", "a session with spaces", "S/1", "..")) | st.from_regex(
    r"[a-z0-9-]{1,20}", fullmatch=True
)
dates = st.sampled_from(
    ("2026-06-17", "2026-06-18", "2026-06-17T08:14:19Z", "2026-06-17T08:14:19.001420+00:00", "", "no date")
)
tiers = st.sampled_from(("raw_source", "llm_derived", "human_confirmed"))
counts = st.integers(0, 9) | st.integers(2**63, 2**70)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def extended(
    model: type[Part], required: dict[str, st.SearchStrategy[Any]], known: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw tables with all of `required`, some of `known`, and fields that `model` lacks, in any order.

    Hypothesis also draws texts from the source code, so unless it is filtered, a key may be the name of any field.
    """
    extras = st.dictionaries(keys.filter(lambda key: key not in model.model_fields), json_values, max_size=3)
    fixed = st.fixed_dictionaries(required, optional=known)
    return st.builds(lambda table, more: {**table, **more}, fixed, extras).flatmap(
        lambda table: st.permutations(list(table.items())).map(dict)
    )


verify_specs = extended(
    VerifySpec,
    {"method": st.sampled_from(("http", "file_exists", "process_running", "manual", "command", "git_commit",
        "port_open"))},
    {
        "url": optional(texts), "expected_status": optional(st.integers(100, 599)), "path": optional(texts),
        "process_name": optional(texts), "host": optional(texts), "port": optional(st.integers(1, 65535)),
        "argv": optional(st.lists(texts, max_size=3)), "commit": optional(texts), "branch": optional(texts),
        "timeout_seconds": st.integers(1, 3600), "note": optional(texts),
    },
)  # fmt: skip
last_checks = extended(
    LastCheck,
    {"result": st.sampled_from(("passed", "failed", "unknown")), "at": dates},
    {
        "why": optional(texts),
        "duration_ms": optional(counts),
        "commit": optional(texts),
        "http_status": optional(st.integers()),
        "by": optional(texts),
    },
)
open_loops = extended(
    OpenLoop,
    {"id": ids, "action": texts, "expected_outcome": texts, "created_at": dates},
    {
        "verify": optional(verify_specs), "ttl_days": counts, "decision_ref": optional(texts),
        "status": st.sampled_from(("open", "verified", "failed", "escalated")), "source_tier": tiers,
        "last_check": optional(last_checks),
    },
)  # fmt: skip
follow_ups = extended(
    FollowUp,
    {"id": ids, "item": texts, "first_seen": dates},
    {
        "reason": optional(texts), "defer_count": counts, "last_deferred": optional(dates),
        "priority": st.sampled_from(("normal", "elevated", "escalated")), "linked_pattern": optional(texts),
        "source_tier": tiers,
    },
)  # fmt: skip
occurrences = extended(Occurrence, {"session": texts, "context": texts}, {})
anchors = st.lists(
    extended(
        Anchor,
        {"path": texts.filter(bool)},
        {
            "symbol": optional(texts),
            "digest": optional(texts),
            "commit": optional(texts),
            "by_default": st.booleans(),
        },
    ),
    max_size=2,
)
patterns = extended(
    Pattern,
    {"id": ids, "what": texts, "first_seen": dates, "last_seen": dates},
    {
        "count": counts, "recent_occurrences": st.lists(occurrences, max_size=5), "threshold": st.integers(1, 9),
        "status": st.sampled_from(("observing", "rule_candidate", "graduated", "dismissed")),
        "proposed_rule": optional(texts), "graduated_to": optional(texts), "source_tier": tiers,
        "anchors": anchors,
    },
)  # fmt: skip
active_decisions = extended(
    ActiveDecision,
    {"id": ids, "what": texts, "why": texts, "created_at": dates},
    {
        "evidence": st.lists(texts, max_size=3), "rejected": st.lists(texts, max_size=3),
        "status": st.sampled_from(("active", "monitoring", "superseded")), "superseded_by": optional(texts),
        "source_tier": tiers, "anchors": anchors,
    },
)  # fmt: skip
tables_of = {
    "open_loops": open_loops, "follow_ups": follow_ups, "patterns": patterns, "active_decisions": active_decisions,
}  # fmt: skip


def without_twins(records: st.SearchStrategy[dict[str, Any]], most: int = 4) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(records, max_size=most, unique_by=lambda record: record["id"])


documents = extended(
    Baton,
    {"session_id": sessions},
    {
        "schema_version": st.integers(1, 99), "parent_session": optional(sessions), "updated_at": optional(dates),
        "context": texts, **{name: without_twins(records) for name, records in tables_of.items()},
    },
)  # fmt: skip
"""Whole session-baton documents, with unknown fields at every level."""

# --- states for merging: few ids and few values, so that the sides often change the same record

SMALL_IDS = ("OL-1", "FU-1", "x")
words = st.sampled_from(("", "a", "a\nb\n", "é"))
small = st.sampled_from((None, True, 1, 1.0, "a", ["a", None], {"b": 1}))
small_extras = {"x": small, "$y": small}
small_tables: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "open_loops": st.fixed_dictionaries(
        {"id": st.sampled_from(SMALL_IDS), "action": words, "expected_outcome": words, "created_at": dates},
        optional={
            "status": st.sampled_from(("open", "verified", "failed", "escalated")), "source_tier": tiers,
            "last_check": optional(st.builds(lambda at: {"result": "passed", "at": at}, dates)), **small_extras,
        },
    ),
    "follow_ups": st.fixed_dictionaries(
        {"id": st.sampled_from(SMALL_IDS), "item": words, "first_seen": dates},
        optional={"reason": optional(words), "defer_count": counts, "source_tier": tiers, **small_extras},
    ),
    "patterns": st.fixed_dictionaries(
        {"id": st.sampled_from(SMALL_IDS), "what": words, "first_seen": dates, "last_seen": dates},
        optional={
            "count": counts, "proposed_rule": optional(words), "source_tier": tiers, "graduated_to": optional(words),
            "status": st.sampled_from(("observing", "rule_candidate", "graduated", "dismissed")),
            "recent_occurrences": st.lists(st.fixed_dictionaries({"session": words, "context": words}), max_size=5),
        },
    ),
    "active_decisions": st.fixed_dictionaries(
        {"id": st.sampled_from(SMALL_IDS), "what": words, "why": words, "created_at": dates},
        optional={
            "evidence": st.lists(words, max_size=3), "status": st.sampled_from(("active", "monitoring", "superseded")),
            "source_tier": tiers, "superseded_by": optional(words), **small_extras,
        },
    ),
}  # fmt: skip


def small_records(section: str) -> st.SearchStrategy[Record]:
    return small_tables[section].map(SECTIONS[section].model_validate)


def put_all(state: State, records: list[Record]) -> State:
    for record in records:
        state = state.put(record)
    return state


any_small_record = st.one_of([small_records(section) for section in SECTIONS])
states = st.lists(any_small_record, max_size=4).map(lambda records: put_all(State(), records))
"""Small states with live records of all kinds."""

# --- plain records for examples

LOOP = {"id": "OL-1", "action": "Deployed X", "expected_outcome": "answers 200", "created_at": "2026-11-01"}
ITEM = {"id": "FU-1", "item": "Refactor", "first_seen": "2026-11-01"}
PATTERN = {"id": "PAT-1", "what": "Assumed", "first_seen": "2026-11-01", "last_seen": "2026-11-01"}
DECISION = {"id": "DEC-1", "what": "Use X", "why": "Because", "created_at": "2026-11-01"}


def loop(**more: Any) -> OpenLoop:
    return OpenLoop.model_validate({**LOOP, **more})


def item(**more: Any) -> FollowUp:
    return FollowUp.model_validate({**ITEM, **more})


def pattern(**more: Any) -> Pattern:
    return Pattern.model_validate({**PATTERN, **more})


def decision(**more: Any) -> ActiveDecision:
    return ActiveDecision.model_validate({**DECISION, **more})
