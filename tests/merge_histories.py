"""Diverged states: a base, and sides made from it by a few operations each, like those of sessions.

There are few ids and values, so that the sides often conflict: the same id for two records, an id that is reused
after its record was closed, a contradicted graduation, files that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st
from memory_folder import MemoryFolder

from baton_git.core import kinds, layout
from baton_git.core.kinds import ALL_KINDS, KINDS, NUMBERED
from baton_git.core.merge import apply, decide
from baton_git.core.records.base import Archived, Part, Record, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import SECTIONS, FollowUp, Head, Pattern, Rule, Shape
from baton_git.core.state import HEAD, SHAPE, Entry, Key, State, Unreadable
from baton_git.systems.ecc.record import Snapshot
from baton_git.systems.kairos.record import Handover
from baton_git.systems.paif.record import Checkpoint, Identity

Tree = dict[str, bytes]

DATED = {
    "open_loop": {"expected_outcome": "200", "created_at": "2026-11-01"},
    "follow_up": {"first_seen": "2026-11-01"},
    "pattern": {"first_seen": "2026-11-01", "last_seen": "2026-11-01"},
    "active_decision": {"why": "because", "created_at": "2026-11-01"},
}


def about_field(kind: str) -> str:
    """Return the field with the title of a kind's records; empty if there is none."""
    return ALL_KINDS[kind].about if kind in ALL_KINDS else ""


MODELS = {model.kind: model for model in SECTIONS.values()}
FIELDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "open_loop": {
        "status": ("open", "verified", "failed", "escalated"),
        "last_check": tuple({"result": one, "at": f"2026-11-0{n}"} for one in ("passed", "failed") for n in (1, 2)),
        "verify": ({"method": "manual"}, {"method": "manual", "note": "look"}, None),
    },
    "follow_up": {
        "reason": (None, "a", "b"),
        "priority": ("normal", "elevated", "escalated"),
        "last_deferred": ("2026-11-02", "2026-11-02T10:00:00+02:00", "2026-11-02T09:00:00Z"),
    },
    "pattern": {
        "proposed_rule": ("look", "look first", "look\nfirst", None),
        "status": ("observing", "rule_candidate", "dismissed"),
        "threshold": (2, 3),
        "last_seen": ("2026-11-02", "2026-11-03"),
    },
    "active_decision": {
        "evidence": ([], ["a"], ["a", "b"], ["b", "c"], ["c", "a"]),
        "status": ("active", "monitoring", "superseded"),
        "why": ("because", "otherwise"),
    },
}
TIERS = ("raw_source", "llm_derived", "human_confirmed")
EXTRAS = (1, True, 1.0, -0.0, 0.0, None, "a", ["a"], {"a": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"c": {"d": [1]}})


class Step(NamedTuple):
    """One operation: the numbers choose a record, one of its fields, and a value. Any numbers are valid."""

    op: str
    which: int
    what: int
    value: int
    word: str


def list_keys(state: State, kinds: Iterable[str], *, archived: bool = False) -> list[Key]:
    return [Key(kind, id_, archived) for kind in kinds for id_ in sorted(state.ids(kind, archived=archived))]


def put(state: State, key: Key, entry: Entry | None) -> State:
    """Return the state with this entry at the key; None removes the entry."""
    return State(state.source, {**state.edits, key: entry})


def _chosen(state: State, step: Step, *kinds: str) -> Record | None:
    """Return the live record of these kinds that a step chooses; of any kind of session-baton without `kinds`."""
    found = [state.entry(key) for key in list_keys(state, kinds or tuple(MODELS))]
    records = [one for one in found if isinstance(one, Record)]
    return records[step.which % len(records)] if records else None


def _changed(state: State, record: Record | None, **changes: Any) -> State:
    return state if record is None else state.put(record.replace(**changes))


def _add(state: State, step: Step) -> State:
    kind = tuple(MODELS)[step.which % len(MODELS)]
    key = Key(kind, f"X-{step.what % 2}")
    if state.entry(key) is not None:
        return state
    data = {"id": key.id, KINDS[kind].about: step.word, **DATED[kind]}
    return state.put(MODELS[kind].model_validate(data))


def _edit(state: State, step: Step) -> State:
    record = _chosen(state, step)
    if record is None or getattr(record, "status", "") == "graduated":
        return state
    choices = FIELDS[record.kind]
    name = tuple(choices)[step.what % len(choices)]
    return _changed(state, record, **{name: choices[name][step.value % len(choices[name])]})


def _unknown(state: State, step: Step) -> State:
    name = ("x", "y", "z")[step.what % 3]
    value = EXTRAS[step.value % len(EXTRAS)]
    record = _chosen(state, step)
    if record is None:
        entry = state.entry(HEAD)
        return state.put(entry.replace(**{name: value}), HEAD) if isinstance(entry, Head) else state
    return _changed(state, record, **{name: value})


def _tier(state: State, step: Step) -> State:
    record = _chosen(state, step)
    return state if _is_graduated(record) else _changed(state, record, source_tier=TIERS[step.value % 3])


def _is_graduated(record: Entry | None) -> bool:
    return isinstance(record, Pattern) and record.status == "graduated"


def _count(state: State, step: Step) -> State:
    record = _chosen(state, step, "follow_up", "pattern")
    if isinstance(record, FollowUp):
        return _changed(state, record, defer_count=record.defer_count + 1 + step.value % 3)
    if isinstance(record, Pattern):
        seen = [*record.as_data().get("recent_occurrences", []), {"session": step.word, "context": ""}][-5:]
        return _changed(state, record, count=record.count + 1, recent_occurrences=seen)
    return state


def _title(state: State, step: Step) -> State:
    record = _chosen(state, step)
    return _changed(state, record, **{KINDS[record.kind].about: step.word}) if record else state


def _archive(state: State, step: Step) -> State:
    record = _chosen(state, step)
    at = f"2026-11-0{1 + step.value % 3}"
    return state.archive(record, at=at, reason="done", session=step.word) if record else state


def _restore(state: State, step: Step) -> State:
    keys = list_keys(state, tuple(MODELS), archived=True)
    key = keys[step.which % len(keys)] if keys else None
    entry = state.entry(key) if key else None
    if key is None or not isinstance(entry, Archived):
        return state
    record = MODELS[key.kind].model_validate(entry.record)
    live = Key(key.kind, record.id)
    return state if state.entry(live) is not None else state.remove(key).put(record)


def _edit_closed(state: State, step: Step) -> State:
    keys = list_keys(state, tuple(MODELS), archived=True)
    key = keys[step.which % len(keys)] if keys else None
    entry = state.entry(key) if key else None
    if not isinstance(entry, Archived):
        return state
    return state.put(entry.replace(record={**entry.record, "x": step.value % 3}), key)


def _remove(state: State, step: Step) -> State:
    keys = list_keys(state, kinds.KINDS) + list_keys(state, tuple(MODELS), archived=True)
    return put(state, keys[step.which % len(keys)], None) if keys else state


def _graduate(state: State, step: Step) -> State:
    record = _chosen(state, step, "pattern")
    if record is None or _is_graduated(record):
        return state
    text = ("look", "look first", "look\nfirst")[step.value % 3]
    path = f"rules/{record.id}.md"
    grown = record.replace(status="graduated", source_tier="human_confirmed", proposed_rule=text, graduated_to=path)
    return put(state.put(grown), Key("rule", record.id), Rule(id=record.id, text=f"{text}\nby {step.word}\n"))


def _ungraduate(state: State, step: Step) -> State:
    record = _chosen(state, step, "pattern")
    if not isinstance(record, Pattern) or not _is_graduated(record):
        return state
    data = {**record.as_data(), "status": "rule_candidate", "source_tier": "llm_derived", "graduated_to": None}
    return put(state.put(Pattern.model_validate(data)), Key("rule", record.id), None)


def _edit_rule(state: State, step: Step) -> State:
    record = _chosen(state, step, "rule")
    return _changed(state, record, text=record.text + step.word + "\n") if isinstance(record, Rule) else state


def _session(state: State, step: Step) -> State:
    id_ = f"s{step.which % 2}"
    now = state.entry(Key("session", id_))
    if not isinstance(now, Session):
        if now is not None:
            return state
        return state.remove(Key("session", id_, archived=True)).put(Session(id=id_, started="2026-11-01", agent="a"))
    changes: tuple[dict[str, Any], ...] = (
        {"status": "ended", "ended": f"2026-11-0{1 + step.value % 4}"},
        {"wrote_document": step.value},
        {"summary": step.word},
    )
    if step.what % 4 == 3:
        return state.archive(now, at="2026-11-09", reason="older", session=id_)
    return _changed(state, now, **changes[step.what % 4])


def _head(state: State, step: Step) -> State:
    head = state.entry(HEAD)
    if head is not None and not isinstance(head, Head):
        return state
    head = head or Head()
    changes: tuple[dict[str, Any], ...] = (
        {"context": f"{head.context}{step.word}\n"},
        {"context": step.word},
        {"session_id": step.word, "updated_at": f"2026-11-0{1 + step.value % 4}"},
        {"mood": EXTRAS[step.value % len(EXTRAS)]},
    )
    return state.put(head.replace(**changes[step.what % 4]), HEAD)


def _shape(state: State, step: Step) -> State:
    if state.entry(SHAPE) is not None and not isinstance(state.entry(SHAPE), Shape):
        return state
    sections = tuple(SECTIONS)[: step.value % 5]
    return state.put(Shape(sections=sections, order={"open_loops": (step.word,)}), SHAPE)


def _checkpoint(state: State, step: Step) -> State:
    """Two checkpoints that are made at the same moment have the same id."""
    id_ = f"zero/2026-11-0{1 + step.which % 3}t10-00-00.000z-s"
    if (
        state.entry(Key("checkpoint", id_)) is not None
        or state.entry(Key("checkpoint", id_, archived=True)) is not None
    ):
        return state
    metadata = {"agent_id": "zero", "session_id": "s", "started_at": "2026-11-01", "ended_at": "2026-11-01"}
    found = parse(Checkpoint, {"id": id_, "metadata": metadata, "context": {"conversation_summary": step.word}})
    state = state.put(found)
    return state.archive(found, at="2026-11-09", reason="older", session=None) if step.what % 4 == 3 else state


def _identity(state: State, step: Step) -> State:
    now = state.entry(Key("identity", "zero"))
    data: dict[str, Any] = now.as_data() if isinstance(now, Identity) else {"id": "zero"}
    if now is not None and not isinstance(now, Identity):
        return state
    counts = data.get("mutable", {}).get("state", {}).get("accumulated_experience", 0)
    changes: tuple[dict[str, Any], ...] = (
        {"immutable": {"purpose": {"statement": step.word}}},  # an edit by hand can replace an existing one
        {"state": {"accumulated_experience": counts + 1 + step.value % 2}},
        {"state": {"last_session_at": f"2026-11-0{1 + step.value % 4}"}},
        {"state": {"current_focus": step.word}},
        {"beliefs": [{"subject": step.word, "confidence": 0.5}]},
    )
    change = changes[step.what % 5]
    if "immutable" in change:
        return state.put(parse(Identity, {**data, **change}))
    old = data.get("mutable", {})
    mutable = {**old, **change, "state": {**old.get("state", {}), **change.get("state", {})}}
    return state.put(parse(Identity, {**data, "mutable": mutable}))


def _handover(state: State, step: Step) -> State:
    id_ = f"run {step.which % 2}"
    now = state.entry(Key("handover", id_))
    if now is not None and not isinstance(now, Handover):
        return state
    data = now.as_data() if now else {"id": id_}
    if now is not None and step.what % 4 == 3:
        return state.archive(now, at="2026-11-09", reason="completed", session=None)
    if step.what % 4 < 2:
        at = {"current_challenge": step.word, "chain_uri": f"kairos://{step.word}", "step_index": 1 + step.value % 3}
        return state.put(parse(Handover, {**data, "step": at, "updated_at": f"2026-11-0{1 + step.value % 4}"}))
    values = {**data.get("state", {}), ("a", "b c")[step.value % 2]: EXTRAS[step.value % len(EXTRAS)]}
    return state.put(parse(Handover, {**data, "state": values}))


def _snapshot(state: State, step: Step) -> State:
    if state.entry(Key("snapshot", "x/s")) is not None and step.what % 2:
        return state
    worker = {
        "id": step.word, "label": step.word, "state": "running", "health": "healthy", "artifacts": {},
        "runtime": {"kind": "k", "active": True, "dead": False}, "intent": {"objective": "o", "seedPaths": []},
        "outputs": {"summary": [], "validation": [], "remainingRisks": []},
    }  # fmt: skip
    number = step.value % 2
    body = {
        "schemaVersion": "ecc.session.v1", "adapterId": "x", "workers": [worker] * number,
        "session": {"id": "s", "kind": "k", "state": step.word, "sourceTarget": {"type": "t", "value": "v"}},
        "aggregates": {"workerCount": number, "states": {"running": 1} if number else {},
            "healths": {"healthy": 1} if number else {}},
    }  # fmt: skip
    dates = {"created_at": "2026-11-01", "recorded_at": f"2026-11-0{1 + step.value % 4}"}
    if isinstance(state.entry(Key("snapshot", "x/s")), Unreadable):
        return state
    return state.put(parse(Snapshot, {"id": "x/s", **dates, "snapshot": body}))


def _break(state: State, step: Step) -> State:
    """Replace a record by an unreadable file, or an unreadable file by a record."""
    keys = [HEAD, *list_keys(state, kinds.KINDS), *list_keys(state, tuple(MODELS), archived=True)]
    keys += [Key("follow_up", "X-0"), Key("pattern", "X-1", archived=True)]
    key = keys[step.which % len(keys)]
    raw = (b"broken", b"\xff\xfe", b"x = 1\n")[step.value % 3] + step.word.encode()
    entry = layout.decode(key, layout.path_of(key), raw)
    return put(state, key, entry)


def _settle(state: State, step: Step) -> State:
    """Remove a conflict."""
    record = _chosen(state, step, "conflict")
    return state.remove(Key("conflict", record.id)) if record else state


OPS: dict[str, Callable[[State, Step], State]] = {
    "add": _add, "edit": _edit, "unknown": _unknown, "tier": _tier, "count": _count, "title": _title,
    "archive": _archive, "restore": _restore, "edit_closed": _edit_closed, "remove": _remove, "graduate": _graduate,
    "ungraduate": _ungraduate, "edit_rule": _edit_rule, "session": _session, "head": _head, "shape": _shape,
    "checkpoint": _checkpoint, "identity": _identity, "handover": _handover, "snapshot": _snapshot,
    "break": _break, "settle": _settle,
}  # fmt: skip
USUAL = ("add", "add", "add", "edit", "edit", "edit", "count", "archive", "archive", "graduate", "title")
"""Frequent operations; they are drawn in addition to all others."""


def grown(state: State, steps: Sequence[Step]) -> State:
    """Return the state after these operations."""
    for step in steps:
        state = OPS[step.op](state, step)
    return state


def steps(word: str, *, without: Sequence[str] = (), least: int = 0, most: int = 5) -> st.SearchStrategy[list[Step]]:
    """Draw the operations of one side. Its titles and texts are `word`, or a word that all sides share."""
    ops = [op for op in (*USUAL, *OPS) if op not in without]
    words = st.sampled_from(("same", word, f"{word} 2"))
    numbers = [st.integers(0, most_) for most_ in (9, 7, 40)]
    return st.lists(st.builds(Step, st.sampled_from(ops), *numbers, words), min_size=least, max_size=most)


FURNISHED = grown(
    State(),
    [
        *(Step("add", kind, 0, 0, f"old {kind}") for kind in range(4)),
        Step("edit", 2, 1, 1, ""),
        Step("add", 1, 1, 0, "closed"),
        Step("archive", 1, 0, 0, "s0"),
    ],
)
"""A base with a record of each kind, one of them closed."""


CANDIDATE = grown(State(), [Step("add", 2, 0, 0, "old"), Step("edit", 0, 1, 1, ""), Step("edit", 0, 0, 0, "")])
"""A base with one pattern, for which a rule is proposed."""

GATED = ("graduate", "ungraduate", "edit_rule", "edit", "tier", "count")
"""The operations that can affect a graduation."""


class History(NamedTuple):
    """A base and two sides that were made from it."""

    base: State
    ours: State
    theirs: State

    def merged(self) -> State:
        return merged(*self)

    def mirrored(self) -> State:
        return merged(self.base, self.theirs, self.ours)


def merged(base: State, ours: State, theirs: State) -> State:
    return apply(ours, decide(base, ours, theirs))


@st.composite
def histories(draw: st.DrawFn, *, without: Sequence[str] = (), start: State | None = None) -> History:
    """Draw histories in which each side has its own operations, and repeats some operations of the other side with
    different values."""
    start = start or (FURNISHED if draw(st.booleans()) else State())
    base = grown(start, draw(steps("base", without=without)))
    shared = draw(steps("both", without=without, least=1, most=3))
    sides = []
    for word in ("mine", "yours"):
        mine = [
            one._replace(value=draw(st.integers(0, 40)), word=draw(st.sampled_from(("same", word)))) for one in shared
        ]
        own = draw(steps(word, without=without, most=3))
        sides.append(grown(base, mine + own if draw(st.booleans()) else own + mine))
    return History(base, *sides)


# --- reading a state


def entries(state: State) -> dict[Key, Entry]:
    """Return all entries of a state."""
    keys = [HEAD, SHAPE, *list_keys(state, kinds.KINDS), *list_keys(state, kinds.KINDS, archived=True)]
    return {key: entry for key in keys if (entry := state.entry(key)) is not None}


def tree(state: State) -> Tree:
    """Return all files of a state, with their content."""
    return {path: text for path, text in layout.encode(entries(state), limited=False).items() if text is not None}


def stored(state: State) -> State:
    return read(tree(state))


def read(files: Tree) -> State:
    return layout.state_of(MemoryFolder(files))


def record_of(entry: Entry | None) -> dict[str, Any]:
    """Return the fields of a record, live or closed."""
    if isinstance(entry, Archived):
        return entry.record
    return entry.as_data() if isinstance(entry, Part) else {}


def titles(state: State) -> set[tuple[str, str]]:
    """Return kind and title of each record of session-baton's kinds, live or closed."""
    return {
        (key.kind, record_of(entry)[KINDS[key.kind].about])
        for key, entry in entries(state).items()
        if key.kind in NUMBERED and isinstance(entry, Part)
    }


def conflict_titles(state: State) -> set[tuple[str, str]]:
    """Return the titles that conflicts contain."""
    found = set()
    for one in state.records(Conflict):
        for value in (one.ours, one.theirs):
            data = value.get("record", value) if isinstance(value, dict) else {about_field(one.record_kind): value}
            title = data.get(about_field(one.record_kind))
            found |= {(one.record_kind, title)} if isinstance(title, str) else set()
    return found
