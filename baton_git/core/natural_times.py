"""Parse and format relative times: `yesterday`, `2 days ago`, `last monday`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Final

from baton_git.core.errors import InvalidArgument
from baton_git.core.output import count_noun, one_line
from baton_git.core.times import iso, parse_local_time, parse_time_or_none, to_local

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
