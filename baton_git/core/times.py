"""Convert points in time to and from ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_CLOCK = r"(?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?|[0-5]\d(?:[0-5]\d(?:[.,]\d+)?)?)?"
_OFFSET = r"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
_TIME = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[Tt ]{_CLOCK}{_OFFSET})?", re.ASCII)
"""Matches the texts that count as times. Merges compare times, so this must not depend on the version of Python."""


def iso(now: datetime) -> str:
    """Return a time in UTC to the second: `2026-11-21T08:14:19Z`."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_ms(now: datetime) -> str:
    """Return a time in UTC to the millisecond, as JavaScript writes it: `2026-11-21T08:14:19.001Z`."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_exact(now: datetime) -> str:
    """Like `iso`, but with microseconds unless they are 0, to distinguish events within one second."""
    return now.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Return an ISO 8601 date or date and time as UTC. Without an offset, it is in UTC; a date means its first second.

    `formats/values` describes the grammar. Digits of a second after the sixth are ignored.

    Raises:
        ValueError: the text is not an ISO 8601 time, or out of the range of `datetime`.
    """
    try:
        moment = datetime.fromisoformat(text if _TIME.fullmatch(text) else "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"is no ISO 8601 point in time: {text[:40]!r}") from None


def parse_time_or_none(text: str | None) -> datetime | None:
    """Like `parse_time`, but return None if the text is not a time."""
    try:
        return parse_time(text or "")
    except ValueError:
        return None


def parse_local_time(text: str, *, end_of_day: bool = False) -> datetime:
    """Parse an ISO 8601 date or date and time, in the local time zone unless it has an offset.

    Args:
        end_of_day: whether a date without a time means its last second instead of its first.

    Raises:
        ValueError: the text is not an ISO 8601 time, or out of the range of `datetime`.
    """
    moment = datetime.fromisoformat(text)
    if end_of_day and len(text) <= len("2026-11-21"):
        moment = moment.replace(hour=23, minute=59, second=59)
    try:
        return moment if moment.tzinfo else moment.astimezone()
    except OverflowError as error:
        raise ValueError(str(error)) from error
