"""Check method `manual`: a person has to check."""

from __future__ import annotations

from baton_git.checks.outcome import CheckSpec, Unknown, World


def check(spec: CheckSpec, world: World) -> Unknown:
    """Return `Unknown`, because only a person can answer."""
    return Unknown(f"needs a person: {spec.note}" if spec.note else "needs a person")
