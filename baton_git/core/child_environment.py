"""The environment of child processes: the environment of baton, without baton's own secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SECRET: Final = re.compile(r"BATON_\w*(?:TOKEN|KEY|SECRET|PASSWORD)\w*", re.IGNORECASE)


def is_secret_variable(name: str) -> bool:
    """Whether a variable of this name holds a token or key of baton, which child processes must not inherit."""
    return _SECRET.fullmatch(name) is not None


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not is_secret_variable(name)}
