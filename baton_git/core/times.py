"""Points in time ↔ ISO 8601 text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def iso(now: datetime) -> str:
    """`2026-11-21T08:14:19Z`."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_ms(now: datetime) -> str:
    """`2026-11-21T08:14:19.001Z`, as JavaScript writes it."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_exact(now: datetime) -> str:
    """As `iso`, with microseconds where there are any: tells apart what two machines began in one second."""
    return now.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 date, or date and time, as UTC unless it has an offset; a date means its first second.

    Raises:
        ValueError: it is not one, or out of the range of `datetime`.
    """
    try:
        moment = datetime.fromisoformat(text if _DATE.match(text) else "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"is no ISO 8601 point in time: {text[:40]!r}") from None


def parse_time_or_none(text: str | None) -> datetime | None:
    """As `parse_time`, but None if the text is not a time."""
    try:
        return parse_time((text or "").strip())
    except ValueError:
        return None


def parse_local_time(text: str, *, end_of_day: bool = False) -> datetime:
    """Parse a date or time that a person typed, in the local time zone unless it has an offset.

    Args:
        end_of_day: whether a plain date means its last second instead of its first.

    Raises:
        ValueError: it is not one, or out of the range of `datetime`.
    """
    moment = datetime.fromisoformat(text)
    if end_of_day and len(text) <= len("2026-11-21"):
        moment = moment.replace(hour=23, minute=59, second=59)
    try:
        return moment if moment.tzinfo else moment.astimezone()
    except OverflowError as error:
        raise ValueError(str(error)) from error
