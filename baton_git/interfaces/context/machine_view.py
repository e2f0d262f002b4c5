"""Give session adapters the facts about this machine that they may use: home, current folder, time, environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baton_git.interfaces.context.invocation import Call
from baton_git.systems.ecc.adapters.adapter import Surroundings


def fill_surroundings(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an input, with the facts about this machine."""
    return {**fields, "around": Surroundings(Path.home(), Path.cwd(), call.now, dict(os.environ))}


FILLS: Mapping[str, Callable[[Call, dict[str, Any]], dict[str, Any]]] = {
    "session list": fill_surroundings,
    "session inspect": fill_surroundings,
}
"""The functions that complete the fields of verbs."""
