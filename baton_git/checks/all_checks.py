"""The one list of methods: a new probe is a module with `check`, named here.

A module is loaded when its first check is made: urllib3 costs 100 ms, psutil 20 ms, and most commands of a
session check nothing and should not wait for them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from baton_git.checks.outcome import Outcome
from baton_git.checks.specification import CheckSpec, World

Probe = Callable[[CheckSpec, World], Outcome]


def _from_module(name: str) -> Probe:
    def check(spec: CheckSpec, world: World) -> Outcome:
        probe = cast(Probe, importlib.import_module(f"baton_git.checks.{name}").check)
        return probe(spec, world)

    return check


PROBES: dict[str, Probe] = {
    "http": _from_module("http"),
    "file_exists": _from_module("file_exists"),
    "process_running": _from_module("process_running"),
    "manual": _from_module("manual"),
    "command": _from_module("command"),
    "git_commit": _from_module("git_commit"),
    "port_open": _from_module("port_open"),
}
