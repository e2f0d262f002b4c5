"""What a check found: one of three types, so that nobody can read a doubt as a yes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passed:
    """The expectation is met; the evidence says by what."""

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
    """The check could not be made, so nothing is known; never counted as passed."""

    why: str
    http_status: int | None = None
    commit: str | None = None


@dataclass(frozen=True)
class NotApproved(Unknown):
    """The check was not made, since the user of this machine did not allow it. That is told here and not stored."""


Outcome = Passed | Failed | Unknown


def no_answer(seconds: float) -> Unknown:
    """Silence proves nothing: the thing may be slow, filtered on the way, or gone."""
    return Unknown(f"no answer within {seconds:g} s")
