"""Conversions of times are total: no time, zone or duration makes one fail."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import laws

import baton_git
from baton_git.core.times import (
    EARLIEST,
    LATEST,
    describe_age,
    expand_time,
    format_minute,
    from_seconds,
    iso,
    iso_exact,
    iso_ms,
    parse_local_time,
    parse_moment,
    parse_time,
    parse_time_or_none,
    relative_time,
    shift,
    to_local,
    to_utc,
)

NOW = datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
ZONES = ("Etc/GMT+12", "America/Los_Angeles", "America/St_Johns", "UTC", "Europe/Berlin", "Asia/Tokyo", "Etc/GMT-14")
"""From 12 hours west to 14 hours east of UTC."""

offsets = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
ends = st.sampled_from(
    [
        datetime.min,
        datetime.max,
        datetime(1, 1, 1, 11),
        datetime(1, 1, 2),
        datetime(9999, 12, 31),
        datetime(999, 12, 31),
    ]
)
moments = st.builds(lambda moment, zone: moment.replace(tzinfo=zone), ends | st.datetimes(), offsets)
durations = st.sampled_from([timedelta.min, timedelta.max]) | st.timedeltas()
seconds = st.integers() | st.floats() | st.sampled_from([2**31, 2**63, -(2**63), 253402300799, 253402300800, 1e308])


@contextmanager
def in_zone(monkeypatch: pytest.MonkeyPatch, zone: str) -> Iterator[None]:
    """Set the local time zone of this process."""
    with monkeypatch.context() as here:
        here.setenv("TZ", zone)
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(params=ZONES)
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with in_zone(monkeypatch, request.param):
        yield


@pytest.mark.usefixtures("_zone")
def test_every_time_can_be_converted_and_shown_in_every_zone() -> None:
    @laws
    @given(moments, moments, durations)
    def holds(moment: datetime, now: datetime, duration: timedelta) -> None:
        utc, local = to_utc(moment), to_local(moment)
        assert utc.tzinfo is UTC
        assert EARLIEST <= utc <= LATEST
        assert utc == moment or utc in (EARLIEST, LATEST)
        assert local == moment
        for text in (iso(moment), iso_ms(moment), iso_exact(moment)):
            assert abs(parse_time(text) - utc) < timedelta(seconds=1)
            assert describe_age(text, now)
        assert len(iso(moment)) == len("2026-11-21T08:14:19Z")
        assert format_minute(local)[4::3] == "-- :"
        assert relative_time(moment, now)
        later = shift(moment, duration)
        assert later.tzinfo is moment.tzinfo
        assert (later >= moment) if duration >= timedelta(0) else (later <= moment)

    holds()


@pytest.mark.usefixtures("_zone")
def test_every_day_is_a_time_in_every_zone() -> None:
    @laws
    @given(ends | st.datetimes(), moments)
    def holds(moment: datetime, now: datetime) -> None:
        for text in (moment.isoformat(), moment.date().isoformat()):
            given_time = parse_moment(text, end_of_day=True)
            assert abs(given_time - parse_local_time(text)) <= timedelta(days=2)
        assert parse_moment("0001-01-01") == EARLIEST  # no zone has all of that day
        assert LATEST - parse_moment("9999-12-31", end_of_day=True) < timedelta(days=1)
        for phrase in ("yesterday", "tomorrow", "last monday", "3 days ago", "in 9999 years", "9999 years ago", "now"):
            assert expand_time(phrase, now)

    holds()


@laws
@given(seconds)
def test_any_number_of_seconds_is_a_time(number: float) -> None:
    moment = from_seconds(number)
    assert moment.tzinfo is UTC
    if abs(number) < 10**9:
        assert abs(moment.timestamp() - number) < 1e-5


@for_each(
    ("number", "moment"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)), (float("nan"), datetime(1970, 1, 1, tzinfo=UTC)),
        (float("inf"), LATEST), (float("-inf"), EARLIEST), (253402300800, LATEST), (10**400, LATEST),
        (-62135596801, EARLIEST),
    ],
)  # fmt: skip
def test_seconds_out_of_range_become_the_nearest_time(number: float, moment: datetime) -> None:
    assert from_seconds(number) == moment


@for_each("text", ["9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+14:00", "0000-12-31", "10000-01-01"])
def test_a_text_out_of_the_range_of_utc_is_still_no_time(text: str) -> None:
    assert parse_time_or_none(text) is None


def test_years_before_1000_have_four_digits() -> None:
    assert iso(EARLIEST) == "0001-01-01T00:00:00Z"
    assert format_minute(EARLIEST) == "0001-01-01 00:00"


# --- no other module converts times itself

CONVERSIONS = {"astimezone", "fromtimestamp", "utcfromtimestamp", "strftime"}
ALLOWED = {
    ("git/signing/allowed.py", "fromtimestamp"): "a time that cannot be represented makes the signature unverifiable",
    ("interfaces/context/settings.py", "astimezone"): "the clock of this machine",
    ("interfaces/hook/command.py", "astimezone"): "the clock of this machine",
    ("interfaces/hook/session_supervisor.py", "astimezone"): "the clock of this machine",
    ("verbs/sessions/session_start.py", "strftime"): "the clock of this machine",
}


@pytest.mark.lint
def test_only_one_module_converts_times() -> None:
    root = Path(baton_git.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Attribute) and node.attr in CONVERSIONS and name != "core/times.py":
                found.add((name, node.attr))
    assert found == set(ALLOWED)
