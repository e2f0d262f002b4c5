"""Which cases of a test with many are in the default run, and which only in the slow group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(count: int, cases: Iterable[Any]) -> list[Any]:
    """Return cases for `pytest.mark.parametrize`: those after the first `count` run only in the slow group."""
    every = list(cases)
    return [*every[:count], *(pytest.param(case, marks=pytest.mark.slow) for case in every[count:])]
