"""The days that a question names."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each

from baton_git.core.times import EARLIEST, LATEST
from baton_git.recall.dates import find_period

SATURDAY = datetime(2026, 11, 28, 10, tzinfo=UTC)


@for_each(
    ("question", "days", "rest"),
    [
        ("What was decided on November 27?", "2026-11-27", "What was decided ?"),
        ("what did we ship on Friday", "2026-11-27", "what did we ship"),
        ("last Saturday", "2026-11-21", ""),
        ("yesterday's deploy", "2026-11-27", "deploy"),
        ("the 3rd of December", "2025-12-03", ""),
        ("what broke since 2026-11-03", "2026-11-03 to 2026-11-28", "what broke"),
        ("before Monday", "the days up to 2026-11-23", ""),
        ("what did we do last week", "2026-11-16 to 2026-11-22", "what did we do"),
        ("in the last 3 days", "2026-11-25 to 2026-11-28", ""),
        ("fixed 2 weeks ago", "2026-11-11 to 2026-11-17", "fixed"),
        ("between Nov 3 and Nov 5, 2026", "2026-11-03 to 2026-11-05", ""),
        ("bugs in May", "2026-05-01 to 2026-05-31", "bugs"),
        ("last month", "2026-10-01 to 2026-10-31", ""),
    ],
)  # fmt: skip
def test_days_are_found_and_left_out_of_the_question(question, days, rest) -> None:
    period = find_period(question, SATURDAY)
    assert (period.days, period.rest) == (days, rest)


@for_each(
    "question",
    [
        "may we march", "February 30", "release 2026-11-27-rc1", "config/2026-11-27.md", "monday.com", "the second one",
        "version 1.2026", "32 November", "the month",
    ],
)  # fmt: skip
def test_other_words_are_no_days(question) -> None:
    assert find_period(question, SATURDAY) is None


WORDS = st.sampled_from([
    "last", "this", "the", "since", "until", "on", "in", "today", "monday", "week", "weeks", "ago", "999", "1", "31",
    "february", "may", "0001-01-01", "9999-12-31",
])  # fmt: skip


@given(st.lists(WORDS, max_size=6), st.sampled_from([EARLIEST, SATURDAY, LATEST]))
def test_any_question_at_any_time_can_be_read(words, now) -> None:
    period = find_period(" ".join(words), now)
    assert period is None or period.since <= period.until
