"""What `benchmarks/year.py`, `machines.py` and `recall.py` promise, with less data."""

from __future__ import annotations

import argparse
import importlib
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark_named(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Import a script of `benchmarks/`."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "machines", raising=False)  # the tests have a module of the same name
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


def test_a_new_machine_is_told_everything_at_the_end_of_every_month(benchmark_named: Any, tmp_path: Path) -> None:
    """And the generated files and merges are those that baton makes (else `live_a_year` fails)."""
    year = benchmark_named("year")
    arguments = argparse.Namespace(
        agents=10, sessions=4, days=30, months=3, newest_only=False, fsck=True, until=None, again=[], no_measuring=False
    )
    months = year.live_a_year(arguments, tmp_path)
    assert [one["month"] for one in months] == [1, 2, 3]
    # a machine that is too busy for a start's 3 s is not told everything; the same start on an idle one is
    in_time = [one for one in months if one["first boot"]["wall"] < 3]
    assert [one["gaps"] for one in in_time] == [[] for _ in in_time]
    assert months[-1]["merges"] > 300


def test_sessions_that_end_together_make_no_conflicts_and_lose_nothing(benchmark_named: Any) -> None:
    machines = benchmark_named("machines")
    arguments = argparse.Namespace(machines=4, rounds=2, transport="http", delay=0, guard=False, lanes=False)
    result = machines.measure("session", arguments)
    assert result.writes == 8
    assert (result.conflicts, result.lost, result.equal, result.failed) == (0, 0, True, [])


def test_recall_answers_hard_questions_better_than_grep(
    benchmark_named: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = benchmark_named("recall")
    monkeypatch.setattr(benchmark, "GENERATED", 40)
    documents, decisions, questions = benchmark.load_documents(random.Random(1))
    with benchmark.workspace() as ws:
        benchmark.store_sessions(ws, documents)
        documents += benchmark.store_decisions(ws, decisions)
        systems = {"recall": benchmark.ask_recall(ws), "grep": benchmark.ask_grep(documents, tmp_path)}
        cases = benchmark.find_cases(questions, documents)
        results = benchmark.measure(systems, cases, benchmark.Texts(documents))
    scores = {name: [score for _, score in rows] for name, rows in results.items()}
    assert benchmark.mean(scores["recall", 4_000], "named") == 100
    assert benchmark.mean(scores["recall", 4_000], "silent") == 0
    for budget in benchmark.BUDGETS:
        ours, grep = (benchmark.mean(scores[name, budget], "quoted") for name in systems)
        assert ours > grep
    assert benchmark.missed == []  # no answer exceeds its budget
