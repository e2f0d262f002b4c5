"""A merge by an untrusted author gives a record no better provenance than it had on one of the sides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from machines import Machine

from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.store import ObjectDraft
from baton_git.namespace.caller import Vouching
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.provenance.labels import Labels

RULE = Key("rule", "PAT-1")
PATH = "rules/PAT-1.md"
TEXTS = (b"look first\n", b"look twice\n", None)
CONFIRMED = "edit\n\nBaton-Op: x\nBaton-Confirmed: terminal, by Ada\n"

steps = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(["confirmed", "here", "hand"])), max_size=3)


class Line:
    """Commits in memory, each by a person or an agent of this machine, or by an unknown author."""

    def __init__(self, one: Machine, draft: ObjectDraft) -> None:
        self.one = one
        self.draft = draft
        self.count = 0

    def commit(self, parents: list[Oid], text: bytes | None, who: str) -> Oid:
        self.count += 1
        tree = self.draft.tree(self.one.store.commit(parents[0]).tree, {PATH: text})
        message = f"{CONFIRMED if who != 'here' else 'edit'}\n{self.count}"
        new = self.draft.commit(tree, parents, author="X <x@x>", time=self.count, timezone=0, message=message)
        if who != "hand":
            self.one.ws.branch.ledger.record_made([new], [new] if who == "confirmed" else [])
        return new

    def add_commits(self, tip: Oid, made: list[tuple[bytes | None, str]]) -> Oid:
        for text, who in made:
            tip = self.commit([tip], text, who)
        return tip

    def rule(self, commit: Oid) -> tuple[bytes | None, bool]:
        """Return the text of the rule, and whether it is in force."""
        text = self.one.store.folder(self.one.store.commit(commit).tree).folder("rules").read("PAT-1.md")
        labels = Labels(self.one.ws.branch, commit, Vouching())
        return text, text is not None and labels.of(RULE).kind == "confirmed"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    from machines import Clock, machine

    made = machine(tmp_path_factory.mktemp("law"), "ada", Clock())
    made.pattern("PAT-1")
    yield made
    made.store.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(steps, steps, steps, st.sampled_from((*TEXTS, b"merge")))
@example([(TEXTS[0], "confirmed")], [(None, "here")], [(TEXTS[0], "here")], TEXTS[0])
@example([], [(TEXTS[0], "confirmed")], [(TEXTS[1], "confirmed")], TEXTS[1])
@example([(TEXTS[0], "confirmed")], [(TEXTS[1], "hand")], [(TEXTS[0], "here")], b"merge")
def test_a_merge_by_a_stranger_does_not_put_a_rule_in_force(
    one: Machine,
    common: list[tuple[bytes | None, str]],
    left: list[tuple[bytes | None, str]],
    right: list[tuple[bytes | None, str]],
    outcome: bytes | None,
) -> None:
    draft = one.store.draft()
    line = Line(one, draft)
    assert one.tip is not None
    with one.store.expose(draft):
        base = line.add_commits(one.tip, common)
        sides = [line.add_commits(base, made) for made in (left, right)]
        if sides[0] == sides[1] or base in sides:
            return
        joined = create_merge_commit(one.store, *sides)
        draft.objects.update(joined.draft.objects)
        merged = joined.commit if outcome == b"merge" else line.commit(sides, outcome, "hand")
        text, is_in_force = line.rule(merged)
        assert not is_in_force or (text, True) in [line.rule(side) for side in sides]
        assert not is_in_force or (text, True) == line.rule(joined.commit)
        backwards = line.commit(sides[::-1], outcome, "hand") if outcome != b"merge" else merged
        assert line.rule(backwards) == (text, is_in_force)
