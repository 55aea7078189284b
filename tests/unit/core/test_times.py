"""Instants, zones and local time."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noonmark.core import times, zones
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND

NEW_YORK = "America/New_York"
ZONES = [NEW_YORK, "Europe/London", "Australia/Lord_Howe", "Africa/Cairo", "America/St_Johns", "Asia/Shanghai", "UTC"]
instants = st.integers(-(10**15), 4 * 10**15)


def utc(text: str) -> int:
    return times.parse_instant(text, None)


@given(instants)
def test_an_instant_and_its_datetime_are_one(us: int) -> None:
    moment = times.to_datetime(us)
    assert moment.utcoffset() == timedelta(0)
    assert times.from_datetime(moment) == us
    assert times.from_datetime(moment.astimezone(ZoneInfo("Asia/Shanghai"))) == us


def test_a_naive_datetime_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        times.from_datetime(datetime(2026, 11, 28, 9))  # noqa: DTZ001


@pytest.mark.parametrize("us", [10**18, -(10**18), 10**30])
def test_an_instant_outside_the_calendar_is_refused(us: int) -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        times.to_datetime(us)


def test_zones_come_from_the_package_and_not_from_the_host() -> None:
    import zoneinfo

    assert all("tzdata" in folder for folder in zoneinfo.TZPATH)
    assert times.tzdata_version() >= "2026.1"
    assert times.zone("Asia/Shanghai") is times.zone("Asia/Shanghai")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("asia/shanghai", "Asia/Shanghai"),
        ("Asia/Shangai", "Asia/Shanghai"),
        ("Shanghai", "Asia/Shanghai"),
        ("Beijing", "Asia/Shanghai"),
        ("New York", NEW_YORK),
        ("GMT+8", "Etc/GMT-8"),
        ("+08:00", "Etc/GMT-8"),
        ("", "Asia/Shanghai or UTC"),
        ("America", "IANA"),
        ("AEST", "Australia/Sydney"),
        ("KST", "Asia/Seoul"),
        ("MSK", "Europe/Moscow"),
        ("WEST", "Europe/Lisbon"),
        ("Asia/Mumbai", "Asia/Kolkata"),
        ("India", "Asia/Kolkata"),
        ("Pacific Time", "America/Los_Angeles"),
        ("SE Asia Standard Time", "Asia/Bangkok"),
        ("Etc/UTC+8", "Etc/GMT-8"),
        ("UTC+5:30", "Asia/Kolkata"),
        ("Europe/Berlim", "Europe/Berlin"),
        ("Asia/Bejing", "Asia/Shanghai"),
        ("UTC8", "IANA"),
        ("host", "IANA"),
        ("local", "IANA"),
        ("Europe", "IANA"),
        ("__init__.py", "IANA"),
        ("zone.tab", "IANA"),
        ("../../etc/passwd", "IANA"),
        ("Moon/Tranquility", "IANA"),
        ("\0", "IANA"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ValueError, match=near.replace("+", r"\+")):
        times.zone(name)


def test_every_zone_that_is_told_for_another_name_is_one() -> None:
    from noonmark.core import zonenames

    told = (*zonenames._KNOWN.values(), *zonenames._WINDOWS.values(), *zonenames._HALF_HOURS.values())
    for name in {one for names in told for one in names.split(" or ")}:
        assert times.zone(name) is not None
    for offset, name in zonenames._HALF_HOURS.items():
        shown = times.local(utc("2027-01-15T00:00Z"), name).strftime("%z")
        assert f"{shown[:3]}:{shown[3:]}" == offset


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("etc/gmt+8", "Etc/GMT+8"), ("ETC/GMT-5", "Etc/GMT-5"), ("Etc/GMT+08", "Etc/GMT+8"),
        ("GMT+8", "Etc/GMT-8"), ("Etc/UTC+8", "Etc/GMT-8"), ("UTC-05:00", "Etc/GMT+5"),
    ],
)  # fmt: skip
def test_an_offset_is_read_eastwards_unless_it_is_written_as_the_zones_that_count_westwards(
    written: str, meant: str
) -> None:
    with pytest.raises(ValueError, match=rf"did you mean {re.escape(meant)}\?"):
        times.zone(written)


@given(instants, st.sampled_from(ZONES))
def test_a_stretch_contains_its_instant_and_has_its_offset(us: int, tz: str) -> None:
    stretch = zones.stretch_at(us, tz)
    assert stretch.start <= us < stretch.end
    for probe in (stretch.start, us, stretch.end - 1):
        assert times.local(probe, tz).utcoffset() == timedelta(microseconds=stretch.offset)
    before = times.local(stretch.start - 1, tz).utcoffset()
    assert before == timedelta(microseconds=stretch.before)


@given(instants, st.sampled_from(ZONES))
def test_a_local_time_leads_back_to_its_instant_unless_it_has_been_before(us: int, tz: str) -> None:
    shown = times.local(us, tz)
    back = times.resolve_local(shown.replace(tzinfo=None, fold=0), tz)
    assert times.fold_of(us, tz) == shown.fold
    assert back == us if shown.fold == 0 else back < us


@pytest.mark.parametrize(
    ("local", "tz", "expected"),
    [
        ("2026-03-08T01:59:59", NEW_YORK, "2026-03-08T06:59:59Z"),
        ("2026-03-08T02:00", NEW_YORK, "2026-03-08T07:00Z"),
        ("2026-03-08T02:59:59", NEW_YORK, "2026-03-08T07:00Z"),
        ("2026-03-08T03:00", NEW_YORK, "2026-03-08T07:00Z"),
        ("2026-11-01T01:30", NEW_YORK, "2026-11-01T05:30Z"),
        ("2026-11-01T02:00", NEW_YORK, "2026-11-01T07:00Z"),
        ("2026-10-04T02:15", "Australia/Lord_Howe", "2026-10-03T15:30Z"),
        ("2027-04-30T00:15", "Africa/Cairo", "2027-04-29T22:00Z"),
        ("2011-12-30T12:00", "Pacific/Apia", "2011-12-30T10:00Z"),
        ("2026-12-01T09:00:00", "Asia/Tokyo", "2026-12-01T00:00Z"),
    ],
)
def test_a_local_time_in_a_gap_is_its_end_and_in_a_fold_the_first(local: str, tz: str, expected: str) -> None:
    assert times.resolve_local(datetime.fromisoformat(local), tz) == utc(expected)
    assert times.parse_instant(local, tz) == utc(expected)
    assert times.parse_instant(f"{local} {tz}", None) == utc(expected)


def test_an_aware_datetime_is_no_local_time() -> None:
    with pytest.raises(ValueError, match="has a zone already"):
        times.resolve_local(datetime(2026, 1, 1, tzinfo=UTC), "UTC")


def test_the_repeated_hour_is_told_by_its_fold() -> None:
    assert [times.fold_of(utc(f"2026-11-01T0{hour}:30Z"), NEW_YORK) for hour in (4, 5, 6, 7)] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "tz", "says"),
    [
        ("2026-12-01T09:00:00", None, "names no instant"),
        ("2026-12-01", "UTC", "no time of day"),
        ("20261201", "UTC", "no time of day"),
        ("2026-02-30T09:00:00", "UTC", "no ISO time"),
        ("tomorrow", "UTC", "no ISO time"),
        ("", "UTC", "no ISO time"),
        ("2026-12-01T25:00:00", "UTC", "no ISO time"),
        ("2026-12-01T09:00:00 Asia/Tokio", None, "Asia/Tokyo"),
        ("9999-12-31T23:00:00", "UTC", "years 1 to 9999"),
        ("0001-01-01T00:00:00", "UTC", "years 1 to 9999"),
    ],
)
def test_text_that_names_no_instant_is_refused(text: str, tz: str | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        times.parse_instant(text, tz)


@given(instants.map(lambda us: us // SECOND * SECOND), st.sampled_from(ZONES))
def test_nominal_text_is_read_back_where_the_time_is_the_first(us: int, tz: str) -> None:
    if times.fold_of(us, tz) == 0:
        assert times.parse_instant(times.nominal_text(us, tz), None) == us


def test_local_dates_and_weekdays_are_those_of_the_zone() -> None:
    late = utc("2026-11-27T16:30:00Z")
    assert times.local_date(late, "Asia/Shanghai") == "2026-11-28"
    assert times.business_date(late, "Asia/Shanghai", "same") == "2026-11-28"
    assert times.business_date(late, "Asia/Shanghai", "previous_day") == "2026-11-27"
    assert (times.weekday_name(late, "Asia/Shanghai"), times.weekday_name(late, "UTC")) == ("Sat", "Fri")
    assert times.is_weekend(late, "Asia/Shanghai")
    assert not times.is_weekend(late, "UTC")
    with pytest.raises(ValueError, match="previous_day"):
        times.business_date(late, "UTC", "yesterday")


def test_the_business_date_of_a_night_run_is_the_day_before_whenever_it_starts() -> None:
    due = utc("2026-11-29T01:00:00Z")
    assert times.business_date(due, "Europe/Berlin", "previous_day") == "2026-11-28"


@pytest.mark.parametrize(
    ("now", "tz", "expected"),
    [
        ("2026-11-27T16:30Z", "Asia/Shanghai", "2026-11-29T16:00Z"),  # Saturday -> Monday
        ("2026-11-27T10:00Z", "UTC", "2026-11-30T00:00Z"),  # Friday -> Monday
        ("2026-11-25T23:59Z", "UTC", "2026-11-26T00:00Z"),
        ("2027-04-29T12:00Z", "Africa/Cairo", "2027-04-29T22:00Z"),  # a Friday that begins at 01:00
    ],
)
def test_the_next_weekday_begins_at_local_midnight_or_the_end_of_the_gap(now: str, tz: str, expected: str) -> None:
    assert times.next_weekday(utc(now), tz) == utc(expected)


def test_times_are_written_for_people() -> None:
    at = utc("2026-11-28T10:30:00Z")
    assert times.clock_text(at, "Asia/Shanghai") == "18:30"
    assert times.clock_text(at + 5 * SECOND, "Asia/Shanghai") == "18:30:05"
    assert times.stamp_text(at, "Asia/Shanghai") == "Sat 28 Nov 2026 18:30:00"
    assert times.nominal_text(at, "Asia/Shanghai") == "2026-11-28T18:30:00 Asia/Shanghai"
    assert times.start_of_day(date(2026, 11, 28), "Asia/Shanghai") == utc("2026-11-27T16:00Z")


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 ms"),
        (7, "7 µs"),
        (250_000, "250 ms"),
        (SECOND, "1 s"),
        (9_700_000, "9.7 s"),
        (59_999_999, "59 s"),
        (42 * MINUTE, "42 min"),
        (90 * SECOND, "1 min 30 s"),
        (101 * MINUTE, "1 h 41 min"),
        (2 * HOUR + 5 * SECOND, "2 h"),
        (3 * DAY + 4 * HOUR, "3 d 4 h"),
        (-42 * MINUTE, "-42 min"),
    ],
)
def test_a_length_is_written_for_people(us: int, text: str) -> None:
    assert times.length_text(us) == text


def test_half_a_century_of_a_zone_is_cut_in_well_under_a_second() -> None:
    zones._stretches.cache_clear()
    began = time.process_time()
    changes = 0
    for stretch in zones.stretches_from(utc("2026-01-01T00:00Z"), NEW_YORK):
        if stretch.start > utc("2076-01-01T00:00Z"):
            break
        changes += stretch.offset != stretch.before
    assert changes == 100
    assert time.process_time() - began < 0.5
