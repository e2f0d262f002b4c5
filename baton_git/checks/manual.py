"""`manual`: a person has to look."""

from __future__ import annotations

from baton_git.checks.outcome import Unknown
from baton_git.checks.specification import CheckSpec, World


def check(spec: CheckSpec, world: World) -> Unknown:
    """Always `Unknown`: no program can answer for the person who was asked."""
    return Unknown(f"needs a person: {spec.note}" if spec.note else "needs a person")
