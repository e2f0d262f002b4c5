"""The helper `for_each`: every case is tried, and the failing ones are named."""

from __future__ import annotations

import re

import pytest
from looped_cases import for_each


def test_every_combination_of_cases_is_tried():
    tried = []

    @for_each(("number", "square"), [(1, 1), pytest.param(3, 9, id="three")])
    @for_each("factor", [1, 10], ids=str)
    def multiply(number, square, factor):
        tried.append((number, factor))
        assert number * number == square

    multiply()
    assert tried == [(1, 1), (1, 10), (3, 1), (3, 10)]


@for_each("name", ["first", "second"])
def test_a_looped_test_can_use_fixtures(tmp_path, name):
    (tmp_path / name).mkdir()


def test_all_failing_cases_are_named():
    @for_each("number", [1, 2, 3], ids=lambda number: f"number {number}")
    def is_two(number):
        if number == 1:
            pytest.fail("one")
        assert number == 2

    with pytest.raises(AssertionError) as caught:
        is_two()
    assert re.fullmatch(r"2 of 3 cases failed\nnumber 1: .*one.*\nnumber 3: AssertionError.*", str(caught.value), re.S)
    assert caught.value.__cause__ is not None


def test_a_case_with_a_mark_is_refused():
    with pytest.raises(ValueError, match="a test of its own"):
        for_each("number", [pytest.param(1, marks=pytest.mark.slow)])
