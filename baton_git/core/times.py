"""Convert points in time to and from ISO 8601, between time zones, and by durations.

Records and commits may have any time from year 1 to year 9999. All conversions of a `datetime` are total: near the ends
of its range they return the nearest time that can be represented instead of failing. Only parsing a text can fail.
Other modules do not convert times themselves, and do not add durations to times that come from outside;
`tests/core/test_times.py` finds modules that do.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
LATEST: Final = datetime.max.replace(tzinfo=UTC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OUT_OF_RANGE: Final = (OverflowError, ValueError, OSError)
"""Errors of `datetime` for times that it, or the platform's `localtime`, cannot represent."""

_CLOCK = r"(?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?|[0-5]\d(?:[0-5]\d(?:[.,]\d+)?)?)?"
_OFFSET = r"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
_TIME = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[Tt ]{_CLOCK}{_OFFSET})?", re.ASCII)
"""Matches the texts that count as times. Merges compare times, so this must not depend on the version of Python."""


def iso(now: datetime) -> str:
    """Return a time in UTC to the second: `2026-11-21T08:14:19Z`. The year always has four digits."""
    return to_utc(now).isoformat(timespec="seconds").replace("+00:00", "Z")


def iso_ms(now: datetime) -> str:
    """Return a time in UTC to the millisecond, as JavaScript writes it: `2026-11-21T08:14:19.001Z`."""
    return to_utc(now).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_exact(now: datetime) -> str:
    """Like `iso`, but with microseconds unless they are 0, to distinguish events within one second."""
    return to_utc(now).isoformat().replace("+00:00", "Z")


@lru_cache(4096)
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

    A time that the local time zone cannot represent, within a day of the ends of the range, is `EARLIEST` or `LATEST`.

    Args:
        end_of_day: whether a date without a time means its last second instead of its first.

    Raises:
        ValueError: the text is not an ISO 8601 time.
    """
    moment = datetime.fromisoformat(text)
    if end_of_day and len(text) <= len("2026-11-21"):
        moment = moment.replace(hour=23, minute=59, second=59)
    try:
        return moment if moment.tzinfo else moment.astimezone()
    except _OUT_OF_RANGE:  # the first day of the year 1 in every zone, the last hours of 9999 west of Greenwich
        return _nearest_end(moment)


def to_utc(moment: datetime) -> datetime:
    """Convert an aware time to UTC; one outside the range of UTC becomes `EARLIEST` or `LATEST`."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return _nearest_end(moment)


def to_local(moment: datetime) -> datetime:
    """Convert an aware time to the local time zone.

    A time that the local time zone cannot represent, within a day of the ends of the range, stays in its own zone: the
    first hour of the year 10000 in Berlin is shown as the last hour of 9999 in UTC.
    """
    try:
        return moment.astimezone()
    except _OUT_OF_RANGE:
        return moment


def shift(moment: datetime, duration: timedelta) -> datetime:
    """Add a duration, which may be negative; a sum out of range becomes the end of the range, in the same zone."""
    try:
        return moment + duration
    except OverflowError:
        end = datetime.max if duration > timedelta(0) else datetime.min
        return end.replace(tzinfo=moment.tzinfo)


def from_seconds(seconds: float) -> datetime:
    """Convert seconds since 1970, such as those of a file or a commit, to UTC; NaN becomes 1970."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except _OUT_OF_RANGE:
        return LATEST if seconds > 0 else EARLIEST if seconds < 0 else _EPOCH


def format_minute(moment: datetime) -> str:
    """Return `2026-06-17 12:30`, without a conversion. The year always has four digits, unlike in `strftime`."""
    return moment.isoformat(sep=" ", timespec="minutes")[: len("2026-06-17 12:30")]


def _nearest_end(moment: datetime) -> datetime:
    return LATEST if moment.year > _EPOCH.year else EARLIEST
