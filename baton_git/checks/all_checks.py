"""The functions of all check methods: method `x` is the function `check` of the module `checks.x`.

A module is imported with its first check, because most commands make no checks and importing urllib3 takes 100 ms,
psutil 20 ms.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from baton_git.checks.outcome import Outcome
from baton_git.checks.specification import CheckSpec, World
from baton_git.core.records.check_methods import CHECK_METHODS

Probe = Callable[[CheckSpec, World], Outcome]


def _from_module(name: str) -> Probe:
    def check(spec: CheckSpec, world: World) -> Outcome:
        probe = cast(Probe, importlib.import_module(f"baton_git.checks.{name}").check)
        return probe(spec, world)

    return check


PROBES: dict[str, Probe] = {method: _from_module(method) for method in CHECK_METHODS}
