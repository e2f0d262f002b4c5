"""Marks that need no fold are those of the fold, whatever is cached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from machines import Clock, Machine, machine
from test_provenance_of_merges import RULE, TEXTS, Line

from baton_git.core.names import Oid
from baton_git.git.store import ObjectDraft
from baton_git.namespace.provenance import uniform
from baton_git.namespace.provenance.fold import MarkFold, Walk, compute_marks
from baton_git.namespace.provenance.marks import Mark, ProvenanceMarks, Slot
from baton_git.namespace.provenance.uniform import UniformCommits

SLOTS = (Slot(RULE), Slot(RULE, "statement"))
whos = st.sampled_from(["here", "hand", "confirmed", "here", "here"])
commits = st.lists(st.tuples(st.sampled_from(TEXTS), whos, st.integers(0, 9), st.integers(0, 9)), max_size=8)
Made = list[tuple[bytes | None, str, int, int]]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = machine(tmp_path_factory.mktemp("uniform"), "ada", Clock())
    made.follow_up("FU-1")
    yield made
    made.store.close()


def fold_all(one: Machine, commit: Oid) -> ProvenanceMarks:
    walk = Walk(one.store, one.ws.branch.ledger, lambda name: None)
    walk.visit(commit)
    return MarkFold(one.store, one.ws.branch.ledger, walk).run(commit)


def find_marks(marks: ProvenanceMarks) -> list[Mark]:
    return [marks.of(slot) for slot in SLOTS]


def add_commits(one: Machine, draft: ObjectDraft, made: Made) -> list[Oid]:
    """Add commits on the initial one; each has one or two of the earlier ones as its parents."""
    line = Line(one, draft)
    assert one.tip is not None
    tips = [line.commit([one.tip], b"first\n", "here")]
    for text, who, first, second in made:
        parents = dict.fromkeys([tips[-1 - first % len(tips)], tips[-1 - second % len(tips)]])
        tips.append(line.commit([*parents], text, who))
    return tips


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(commits)
@example([(b"by hand", "hand", 0, 0), (b"here", "here", 0, 1), (b"here", "here", 0, 0)])
@example([(b"here", "here", 0, 0), (b"again", "here", 1, 1), (b"again", "confirmed", 0, 1), (None, "here", 0, 2)])
def test_marks_are_those_of_a_fold_of_the_whole_history(one: Machine, made: Made) -> None:
    draft = one.store.draft()
    with one.store.expose(draft), pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(uniform, "FEW", 0)
        tips = add_commits(one, draft, made)
        for tip in tips:
            kept = UniformCommits(Path(folder) / "uniform", 20)
            marks, _ = compute_marks(one.store, one.ws.branch.ledger, tip, lambda name: None, kept)
            assert find_marks(marks) == find_marks(fold_all(one, tip))


def test_commits_of_one_origin_need_no_merge_base(
    one: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> list[Oid]:
        raise AssertionError("a merge base was computed")

    draft = one.store.draft()
    with one.store.expose(draft):
        merged = [(b"left\n", "here", 0, 0), (b"right\n", "here", 1, 1), (b"left\n", "here", 0, 1)] * 3
        *_, tip = add_commits(one, draft, merged)
        monkeypatch.setattr(one.store, "merge_bases", fail)
        monkeypatch.setattr(uniform, "FEW", 0)
        ledger = one.ws.branch.ledger
        for visits in (12, 1):  # the second time they are in the file
            kept = UniformCommits(tmp_path / "uniform", 20)
            marks, visited = compute_marks(one.store, ledger, tip, lambda name: None, kept)
            assert (marks.known, visited) == ({}, visits)
        (tmp_path / "uniform").write_bytes(b"damaged")
        kept = UniformCommits(tmp_path / "uniform", 20)
        assert compute_marks(one.store, ledger, tip, lambda name: None, kept)[1] == 12
