"""Convert points in time to and from ISO 8601 and words (`2 days ago`), between time zones, and by durations.

Records and commits may have any time from year 1 to year 9999. All conversions of a `datetime` are total: near the ends
of its range they return the nearest time that can be represented instead of failing. Only parsing a text can fail.
Other modules do not convert times themselves, and do not add durations to times that come from outside;
`tests/core/test_times.py` finds modules that do.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final

from baton_git.core.errors import InvalidArgument
from baton_git.core.output import count_noun, one_line

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


# --- relative times: `yesterday`, `2 days ago`, `last monday`

EXAMPLES = "2026-06-17, 2026-06-17T12:30, yesterday, 2 days ago, last monday, 3h"
"""Examples of times, for messages and help texts."""


class TimeText:
    """Marks an input field that can contain a time, so that it also accepts the phrases of `expand_time`."""


TIME_TEXT: Final = TimeText()
TimeField = Annotated[str | None, TIME_TEXT]

_UNITS: Final = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
    "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800, "month": 2_592_000, "year": 31_536_000,
}  # fmt: skip
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DISTANCE = re.compile(r"(?:(in) )?(\d{1,4}|an?) ?([a-z]+?)s?( ago)?")
_NEAR_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_SECONDS_OF_DAY: Final = 86_400


def expand_time(text: str, now: datetime) -> str:
    """Return the ISO date or time that a phrase means; any other text is returned unchanged.

    Phrases for days, in the local time zone: `today`, `yesterday`, `tomorrow`, `monday` or `last monday` (both mean the
    last Monday before today), `last week` (7 days ago), `last month` (30 days ago), `last year` (365 days ago).

    Phrases for times: `now`, `2 days ago`, `in 2 hours`. Without `ago` and `in`, as in `2 days` and `3h`, a time in the
    past is meant. A month has 30 days, a year 365.
    """
    phrase = " ".join(text.lower().split())
    if phrase == "now":
        return iso(now)
    days = _count_days(phrase, now)
    try:
        if days is not None:
            return (to_local(now) + timedelta(days=days)).date().isoformat()
        seconds = _count_seconds(phrase)
        return iso(now + timedelta(seconds=seconds)) if seconds is not None else text
    except OverflowError:  # `9999 years ago`: no date, so the caller names it in its message
        return text


def parse_moment(text: str, *, end_of_day: bool = False) -> datetime:
    """Parse an ISO date or time with `parse_local_time`.

    Raises:
        InvalidArgument: the text is not a date or time; the hint has examples.
    """
    try:
        return parse_local_time(text, end_of_day=end_of_day)
    except ValueError:
        raise InvalidArgument(f"{text!r} is not a date or time", hint=f"for example {EXAMPLES}") from None


def _count_days(phrase: str, now: datetime) -> int | None:
    """Return the offset in days from today to a named day, or None if the phrase does not name a day."""
    name = phrase.removeprefix("last ")
    if name in _DAYS:
        return -((to_local(now).weekday() - _DAYS.index(name) - 1) % 7 + 1)
    if phrase in ("last week", "last month", "last year"):
        return -(_UNITS[name] // _SECONDS_OF_DAY)
    return _NEAR_DAYS.get(phrase)


def _count_seconds(phrase: str) -> int | None:
    """Return the offset in seconds from now, negative for the past; None if the phrase is not a duration."""
    match = _DISTANCE.fullmatch(phrase)
    unit = _UNITS.get(match[3]) if match is not None else None
    if match is None or unit is None or (match[1] and match[4]):
        return None
    number = int(match[2]) if match[2].isdigit() else 1
    return number * unit if match[1] else -number * unit


def relative_time(then: datetime, now: datetime) -> str:
    """Return a time relative to now, in words: `just now`, `5 minutes ago`, `yesterday`, `3 Jun`, `3 Jun 2025`."""
    seconds = (now - then).total_seconds()
    distance = abs(seconds)
    if distance < 60:
        return "just now"
    for unit, size, limit in (("minute", 60, 3600), ("hour", 3600, 12 * 3600)):
        if distance < limit:
            return _name_distance(int(distance // size), unit, is_past=seconds > 0)
    local_then, local_now = to_local(then), to_local(now)
    days = (local_now.date() - local_then.date()).days
    if days in (-1, 0, 1):
        return {1: "yesterday", 0: "today", -1: "tomorrow"}[days]
    if abs(days) < 7:
        return _name_distance(abs(days), "day", is_past=days > 0)
    year = "" if local_then.year == local_now.year else f" {local_then.year}"
    return f"{local_then.day} {local_then:%b}{year}"


def describe_age(text: str | None, now: datetime) -> str:
    """Return an ISO time in the words of `relative_time`, and any other text as one line of at most 40 characters.

    Return an empty text for None.
    """
    time = parse_time_or_none(text)
    return relative_time(time, now) if time is not None else one_line(text or "", 40)


def _name_distance(number: int, unit: str, *, is_past: bool) -> str:
    text = count_noun(number, unit)
    return f"{text} ago" if is_past else f"in {text}"
