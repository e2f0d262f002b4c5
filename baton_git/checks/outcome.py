"""Outcomes of checks. They are separate types, so that an unknown outcome cannot be mistaken for a passed check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passed:
    """The expectation is met. The fields are the evidence: the HTTP status, or the commit that was found."""

    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Failed:
    """The check was made and the expectation is not met."""

    why: str
    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Unknown:
    """The check could not be made; this never counts as passed."""

    why: str
    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class NotApproved(Unknown):
    """The check was not made because the user has not approved it on this machine. It is shown, but not stored."""


Outcome = Passed | Failed | Unknown


def no_answer(seconds: float) -> Unknown:
    """Return the outcome of a timeout: `Unknown`, because the target may be slow, filtered by a firewall, or gone."""
    return Unknown(f"no answer within {seconds:g} s")
