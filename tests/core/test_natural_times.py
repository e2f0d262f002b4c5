"""Times as people write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each

from baton_git.core.times import expand_time, parse_time, relative_time

NOW = datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
"""A Sunday."""


@for_each(
    ("phrase", "meant"),
    [
        ("yesterday", "2026-11-21"), ("Today", "2026-11-22"), ("tomorrow", "2026-11-23"),
        ("monday", "2026-11-16"), ("last sunday", "2026-11-15"), ("last week", "2026-11-15"),
        ("2 days ago", "2026-11-20T14:30:00Z"), ("an hour ago", "2026-11-22T13:30:00Z"), ("3h", "2026-11-22T11:30:00Z"),
        ("in 2 hours", "2026-11-22T16:30:00Z"), ("90 min", "2026-11-22T13:00:00Z"), ("now", "2026-11-22T14:30:00Z"),
    ],
)  # fmt: skip
def test_phrases_are_parsed_to_times(phrase: str, meant: str) -> None:
    assert expand_time(phrase, NOW) == meant


@for_each("text", ["12", "~3", "r12", "1234567d", "2026-06-17", "soon", "in 2 days ago", "OL-1", "", "9999 years"])
def test_other_text_is_unchanged(text: str) -> None:
    assert expand_time(text, NOW) == text


@for_each(
    ("before", "words"),
    [
        (timedelta(seconds=5), "just now"), (timedelta(minutes=1), "1 minute ago"), (timedelta(hours=3), "3 hours ago"),
        (timedelta(hours=14), "today"), (timedelta(hours=20), "yesterday"), (timedelta(days=3), "3 days ago"),
        (timedelta(days=20), "2 Nov"), (timedelta(days=400), "18 Oct 2025"), (-timedelta(minutes=5), "in 5 minutes"),
        (-timedelta(days=1), "tomorrow"),
    ],
)  # fmt: skip
def test_times_are_described_by_their_age(before: timedelta, words: str) -> None:
    assert relative_time(NOW - before, NOW) == words


@given(st.integers(1, 5000), st.sampled_from(["minute", "hour", "day", "week"]))
def test_larger_numbers_are_earlier_times(number: int, unit: str) -> None:
    times = [parse_time(expand_time(f"{count} {unit}s ago", NOW)) for count in (number, number + 1)]
    assert times[1] < times[0] < NOW
