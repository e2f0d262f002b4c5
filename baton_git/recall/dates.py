"""Find the days that a question is about: `on Friday`, `November 27`, `last week`, `since 2026-11-03`."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

from baton_git.core.times import iso, parse_local_time, to_local

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
"""Days of a unit."""
_MONTH = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY, _YEAR, _UNIT = "(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?", "(?P<year>[12][0-9]{3})", "(?P<unit>day|week|month|year)"
_OPEN, _LEADING = "(?P<open>since|after|until|till|before|by) ", "(?:on|in|from|between|and|to|during|of) "
_FORMS = tuple(
    # Part of a path, a version or a hyphenated word is no date.
    re.compile(rf"(?<![\w./-]){form}(?:'s)?(?![\w/-]|\.\w)", re.IGNORECASE)
    for form in (
        rf"(?:{_OPEN}|{_LEADING})?(?P<iso>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})",
        rf"(?:{_OPEN}|{_LEADING})?{_MONTH}\.? {_DAY}(?:,? {_YEAR})?",
        rf"(?:{_OPEN}|{_LEADING})?(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        # Without such a word before it, "may" or "march" is hardly a month.
        rf"(?:{_OPEN}|{_LEADING}|last |this ){_MONTH}(?: {_YEAR})?",
        rf"(?:{_OPEN}|{_LEADING})?(?:last )?(?P<weekday>{'|'.join(_WEEKDAYS)})",
        rf"(?:{_OPEN}|{_LEADING})?(?P<near>today|yesterday)",
        rf"(?:{_LEADING})?the (?:last|past) (?:(?P<back>[0-9]{{1,3}}) )?{_UNIT}s?",
        rf"(?:{_OPEN}|{_LEADING})?(?P<ago>[0-9]{{1,3}}|an?) {_UNIT}s? ago",
        rf"(?:{_OPEN}|{_LEADING})?(?P<which>last|this) {_UNIT}",
    )
)


class Period(NamedTuple):
    """The days that a question is about.

    Attributes:
        since: the beginning of the first day in the local time zone, ISO 8601.
        until: the end of the last day.
        days: the days in words: a date, or the first and the last one.
        rest: the question without these words.
    """

    since: str
    until: str
    days: str
    rest: str


def find_period(question: str, now: datetime) -> Period | None:
    """Return the days that a question names, from the first to the last; None if it names none.

    A day or month without a year is the last one that has begun. A day of the week is the last one before today.
    """
    today, rest = to_local(now).date(), question
    first, last = date.max, date.min
    for form in _FORMS:
        for match in reversed(list(form.finditer(rest))):
            try:
                since, until = _read(match.groupdict(), today)
            except (ValueError, OverflowError):  # `February 30`, or out of the range of dates: only words
                continue
            first, last = min(first, since), max(last, until)
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    if first > last:
        return None
    days = f"{first}" if first == last else f"{first} to {last}"
    days = f"the days up to {last}" if first == date.min else days
    begin, end = parse_local_time(first.isoformat()), parse_local_time(last.isoformat(), end_of_day=True)
    return Period(iso(begin), iso(end), days, " ".join(rest.split()))


def _read(parts: dict[str, str | None], today: date) -> tuple[date, date]:
    """Return the first and the last day that the parts of a match mean.

    Raises:
        ValueError, OverflowError: there is no such day.
    """
    since, until = _read_days({name: text.lower() for name, text in parts.items() if text}, today)
    match (parts.get("open") or "").lower():
        case "since" | "after":
            return since, max(today, until)
        case "":
            return since, until
        case _:
            return date.min, until


def _read_days(parts: dict[str, str], today: date) -> tuple[date, date]:
    if "iso" in parts:
        day = date.fromisoformat(parts["iso"])
    elif "month" in parts:
        return _read_month(parts, today)
    elif "weekday" in parts:
        day = today - timedelta((today.weekday() - _WEEKDAYS.index(parts["weekday"]) - 1) % 7 + 1)
    elif "near" in parts:
        day = today - timedelta(parts["near"] == "yesterday")
    elif "ago" in parts:
        count = int(parts["ago"]) if parts["ago"].isdigit() else 1
        day, about = today - timedelta(count * _LENGTHS[parts["unit"]]), timedelta(_LENGTHS[parts["unit"]] // 2)
        return day - about, day + about  # "two weeks ago" is seldom meant to the day
    elif "which" in parts:
        return _read_span(parts["which"], parts["unit"], today)
    else:
        return today - timedelta(int(parts.get("back", 1)) * _LENGTHS[parts["unit"]]), today
    return day, day


def _read_month(parts: dict[str, str], today: date) -> tuple[date, date]:
    """Return a day of a month, or the whole month."""
    month = _MONTHS.index(parts["month"][:3]) + 1
    first = date(int(parts.get("year", today.year)), month, int(parts.get("day", 1)))
    if "year" not in parts and first > today:
        first = first.replace(year=first.year - 1)
    return first, first if "day" in parts else _end_month(first)


def _read_span(which: str, unit: str, today: date) -> tuple[date, date]:
    """Return this or the last day, week, month or year of the calendar."""
    begin = {
        "day": today, "week": today - timedelta(today.weekday()), "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]  # fmt: skip
    if which == "this":
        return begin, today
    end = begin - timedelta(1)
    return _read_span("this", unit, end)[0], end


def _end_month(first: date) -> date:
    return (first.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)
