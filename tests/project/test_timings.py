"""Tests do not measure time: how fast something is depends on the machine, and benchmarks/ measures it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from looped_cases import for_each

TESTS = Path(__file__).parent.parent
CLOCKS = {"time.monotonic", "time.perf_counter", "time.process_time", "time.time", "monotonic", "perf_counter"}
PROMISED = {"systems/gobby/workflow/test_rendering.py": 1}
"""How many assertions on a duration a module may have, because the package promises a time limit."""


def find_timings(source: str) -> Iterator[int]:
    """Yield the lines of assertions that compare a duration with a number."""
    if not any(clock in source for clock in CLOCKS):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            compared = [part for part in ast.walk(node.test) if isinstance(part, ast.Compare)]
            sides = [side for part in compared for side in (part.left, *part.comparators)]
            if any(is_duration(side) for side in sides):
                yield node.lineno


def is_duration(side: ast.expr) -> bool:
    """Return whether an expression measures the time since an earlier moment; the age of a file is no such duration."""
    differences = [part for part in ast.walk(side) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub)]
    return any(isinstance(part.left, ast.Call) and ast.unparse(part.left.func) in CLOCKS for part in differences)


def test_no_test_asserts_how_long_something_took() -> None:
    found = {str(path.relative_to(TESTS)): list(find_timings(path.read_text())) for path in TESTS.rglob("*.py")}
    assert len(found) > 200
    assert {path: lines for path, lines in found.items() if len(lines) > PROMISED.get(path, 0)} == {}


@for_each(
    "source",
    ["assert time.monotonic() - began < 5", "assert 0.2 <= time.perf_counter() - began < 2",
     "assert (monotonic() - began) / 100 < 0.003"],
)  # fmt: skip
def test_the_check_finds_an_assertion_on_a_duration(source: str) -> None:
    assert list(find_timings(source))


@for_each(
    "source", ["assert time.monotonic() < deadline", "assert abs(now_of(x) - time.time()) < 5", "x = time.time() - 9"]
)
def test_the_check_accepts_other_uses_of_a_clock(source: str) -> None:
    assert not list(find_timings(source))
