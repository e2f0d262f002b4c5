"""Time the merge of two sides with 500 operations each on 1,000 records, also next to 10,000 more records."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from itertools import islice, pairwise

from measuring import missed, report, workspace

from baton_git.core import layout
from baton_git.core.merge import apply, decide
from baton_git.core.names import Oid
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Key, State
from baton_git.git.store import ReflogEntry, Store
from baton_git.namespace.workspace import Workspace

RECORDS = 1_000
OPERATIONS = 500
BESIDE = 10_000
ROUNDS = 15
WORDS = "words that say what is to be done " * 5


def make_records(beside: int) -> State:
    """Return the records that the sides change, a quarter of each kind, and other records, half of them closed."""
    state = State()
    edits = {}
    for number in range(RECORDS // 4):
        first = "2026-11-01"
        records = (
            OpenLoop(id=f"OL-{number}", action=f"{number} {WORDS}", expected_outcome="200", created_at=first),
            FollowUp(id=f"FU-{number}", item=f"{number} {WORDS}", first_seen=first, reason="later"),
            Pattern(id=f"PAT-{number}", what=f"{number} {WORDS}", first_seen=first, last_seen=first),
            ActiveDecision(id=f"DEC-{number}", what=f"{number} {WORDS}", why="because", created_at=first),
        )
        edits |= {Key(one.kind, one.id): one for one in records}
    for number in range(beside // 2):
        live = FollowUp(id=f"FU-more{number}", item=f"{number} {WORDS}", first_seen="2026-11-01")
        edits[Key(live.kind, live.id)] = live
    state = State(state.source, edits)
    for number in range(beside // 2):
        old = FollowUp(id=f"FU-old{number}", item=f"{number} {WORDS}", first_seen="2026-11-01")
        closed = layout.Archived(at="2026-11-02", reason="done", record=old.as_data())
        edits[Key(old.kind, old.id, archived=True)] = closed
    return State(state.source, edits)


def apply_operations(state: State, word: str) -> State:
    """Apply operations: 40 % edit records that the other side edits too, 30 % edit others, 20 % add, 10 % close."""
    for number in range(OPERATIONS):
        state = apply_operation(state, word, number)
    return state


def apply_operation(state: State, word: str, number: int) -> State:
    shared = number // 10 % (RECORDS // 4)
    own = shared + (100 if word == "mine" else 175)
    match number % 10:
        case 0 | 1:
            item = state.get(FollowUp, f"FU-{shared}")
            return state.put(item.replace(defer_count=item.defer_count + 1, reason=f"{word} {number % 10}"))
        case 2:
            seen = state.get(Pattern, f"PAT-{shared}")
            return state.put(seen.replace(count=seen.count + 1, last_seen="2026-11-20"))
        case 3:
            return state.put(state.get(ActiveDecision, f"DEC-{shared}").replace(evidence=[f"{word} saw it"]))
        case 4:
            return state.put(state.get(OpenLoop, f"OL-{own}").replace(status="escalated"))
        case 5:
            return state.put(state.get(FollowUp, f"FU-{own}").replace(reason=word))
        case 6:
            return state.put(state.get(Pattern, f"PAT-{own}").replace(proposed_rule=word))
        case 7 | 8:
            new = FollowUp(id=f"FU-{word}{number}", item=f"{word} {number} {WORDS}", first_seen="2026-11-20")
            return state.put(new)
        case _:
            decision = state.get(ActiveDecision, f"DEC-{own}")
            return state.archive(decision, at="2026-11-20T08:14:19Z", reason="superseded", session=word)


def store_sides(ws: Workspace, beside: int) -> list[Oid]:
    """Store base, ours and theirs in one pack, and return their trees."""
    base = make_records(beside)
    draft = ws.branch.store.draft()
    files = [
        layout.encode(one.edits) for one in (base, apply_operations(base, "mine"), apply_operations(base, "yours"))
    ]
    trees = [draft.tree(None, {**layout.ROOT_FILES, **records}) for records in files]
    who = {"author": "Bench <bench@localhost>", "time": 0, "timezone": 0}
    commit = None
    for tree in trees:
        commit = draft.commit(tree, (commit,) if commit else (), message="bench", **who)
    assert commit is not None
    ws.branch.store.publish(draft, ws.branch.ref, None, commit, ReflogEntry(who["author"], 0, 0, "bench"))
    return trees


def time_merge(ws: Workspace, trees: list[Oid]) -> Iterator[dict[str, float]]:
    """Merge again and again, each time from a newly opened store; yield the time of each part in seconds."""
    while True:
        with Store(ws.branch.store.repository) as store:
            base, ours, theirs = (layout.state_of(store.folder(tree)) for tree in trees)
            times = [time.perf_counter()]
            decisions = decide(base, ours, theirs)
            times.append(time.perf_counter())
            result = apply(ours, decisions)
            times.append(time.perf_counter())
            made = {key: entry for key, entry in result.edits.items() if theirs.entry(key) is not entry}
            layout.encode(made, limited=False)
            times.append(time.perf_counter())
        parts = [after - before for before, after in pairwise(times)]
        yield dict(zip(("decide", "apply", "encode"), parts, strict=True), decisions=float(len(decisions)))


def print_medians(what: str, rounds: list[dict[str, float]]) -> float:
    """Print the medians, and return the total of all parts in seconds."""
    medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    parts = ", ".join(f"{name} {medians[name] * 1e3:.0f} ms" for name in ("decide", "apply", "encode"))
    print(f"{what}: {parts}; {medians['decisions']:.0f} decisions")
    return statistics.median(one["decide"] + one["apply"] + one["encode"] for one in rounds)


def main() -> int:
    with workspace() as small, workspace() as large:
        turns = zip(
            time_merge(small, store_sides(small, 0)), time_merge(large, store_sides(large, BESIDE)), strict=False
        )
        alone, beside = zip(*islice(turns, 1, ROUNDS + 1), strict=True)
    few = print_medians("alone", list(alone))
    many = print_medians(f"next to {BESIDE:,} more records", list(beside))
    report(f"{2 * OPERATIONS:,} operations on {RECORDS:,} records merged", few, 0.5, " s")
    report(f"the same next to {BESIDE:,} unchanged records", many / few, 1.5)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
