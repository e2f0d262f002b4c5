"""`manual`: a person has to look."""

from __future__ import annotations

from baton_git.probes.checks import CheckSpec, World
from baton_git.probes.outcome import Unknown


def check(spec: CheckSpec, world: World) -> Unknown:
    """Always `Unknown`: no program can answer for the person who was asked."""
    return Unknown(f"needs a person: {spec.note}" if spec.note else "needs a person")
