"""Cron rules against what people reported about other schedulers; the ids name the kind of fault."""

from __future__ import annotations

import time

import pytest

from noonmark.core import cron, times

NEXT = [
    # kind, expression, zone, after, the next moments in UTC
    pytest.param(
        "0 0 * * *",
        "America/New_York",
        "2026-03-08T05:00Z",
        ["2026-03-09T04:00Z", "2026-03-10T04:00Z", "2026-03-11T04:00Z"],
        id="the day after the jump is not lost",
    ),
    pytest.param(
        "30 2 * * *",
        "America/New_York",
        "2026-03-07T17:00Z",
        ["2026-03-08T07:00Z", "2026-03-09T06:30Z", "2026-03-10T06:30Z"],
        id="a fixed time in the gap runs at its end",
    ),
    pytest.param(
        "*/5 * * * *",
        "Europe/Zurich",
        "2026-10-25T00:55Z",
        ["2026-10-25T01:00Z", "2026-10-25T01:05Z", "2026-10-25T01:10Z", "2026-10-25T01:15Z"],
        id="every five minutes runs on through the fold",
    ),
    pytest.param(
        "0 1-23/2 * * *",
        "Europe/London",
        "2026-10-24T23:30Z",
        ["2026-10-25T00:00Z", "2026-10-25T03:00Z", "2026-10-25T05:00Z"],
        id="a two-hourly list runs once for each local time of the fold",
    ),
    pytest.param(
        "0 * * * *",
        "Australia/Lord_Howe",
        "2026-10-03T15:13Z",
        ["2026-10-03T16:00Z", "2026-10-03T17:00Z"],
        id="hourly through a gap of half an hour",
    ),
    pytest.param(
        "40 * * * *",
        "Australia/Lord_Howe",
        "2026-04-04T14:45Z",
        ["2026-04-04T15:10Z", "2026-04-04T16:10Z"],
        id="hourly through a fold of half an hour",
    ),
    pytest.param(
        "*/30 */2 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T14:00Z",
        ["2026-04-04T15:30Z", "2026-04-04T16:00Z"],
        id="a wildcard hour is entered at its start behind a fold of half an hour",
    ),
    pytest.param(
        "0 1 4 11 *",
        "America/Sao_Paulo",
        "2018-11-04T02:00Z",
        ["2018-11-04T03:00Z", "2019-11-04T04:00Z"],
        id="a search passes through a midnight that does not exist",
    ),
    pytest.param(
        "0 0 * * *",
        "America/Santiago",
        "2026-09-05T12:00Z",
        ["2026-09-06T04:00Z", "2026-09-07T03:00Z", "2026-09-08T03:00Z"],
        id="a midnight that does not exist runs at the first moment of its date",
    ),
    pytest.param(
        "0 0 * * *",
        "Africa/Cairo",
        "2027-04-29T12:00Z",
        ["2027-04-29T22:00Z", "2027-04-30T21:00Z"],
        id="no day is skipped at a gap of midnight",
    ),
    pytest.param(
        "0 9 1 1 *",
        "America/Indiana/Indianapolis",
        "2026-07-17T18:00Z",
        ["2027-01-01T14:00Z", "2028-01-01T14:00Z"],
        id="a far date has the offset of that date",
    ),
    pytest.param(
        "0 7-8 * * *",
        "America/Los_Angeles",
        "2026-03-07T17:00Z",
        ["2026-03-08T14:00Z", "2026-03-08T15:00Z", "2026-03-09T14:00Z", "2026-03-09T15:00Z"],
        id="the first run after the jump is no hour late",
    ),
    pytest.param(
        "0 */2 * * *",
        "America/Toronto",
        "2026-03-08T04:30Z",
        ["2026-03-08T05:00Z", "2026-03-08T08:00Z", "2026-03-08T10:00Z"],
        id="a wildcard hour in the gap is dropped, not doubled",
    ),
    pytest.param(
        "0,15,30,45 6-22 * * *",
        "Europe/Brussels",
        "2026-10-24T20:50Z",
        ["2026-10-25T05:00Z", "2026-10-25T05:15Z", "2026-10-25T05:30Z"],
        id="the chain goes on after the October night",
    ),
    pytest.param(
        "0 9 * * *",
        "America/Mexico_City",
        "2026-06-30T00:00Z",
        ["2026-06-30T15:00Z"],
        id="an abolished rule is abolished",
    ),
    pytest.param(
        "0 9 * * *",
        "America/Vancouver",
        "2026-11-29T12:00Z",
        ["2026-11-29T16:00Z"],
        id="zone data of the package: Vancouver",
    ),
    pytest.param(
        "0 9 * * *",
        "Africa/Casablanca",
        "2026-11-29T08:59Z",
        ["2026-11-29T09:00Z"],
        id="zone data of the package: Casablanca",
    ),
    pytest.param(
        "13 8 * * 1-5",
        "UTC",
        "2026-12-04T09:00Z",
        ["2026-12-07T08:13Z", "2026-12-08T08:13Z"],
        id="one is Monday",
    ),
    pytest.param(
        "0 9 * * 7", "UTC", "2026-11-28T12:00Z", ["2026-11-29T09:00Z", "2026-12-06T09:00Z"], id="seven is Sunday"
    ),
    pytest.param(
        "*/40 * * * *",
        "UTC",
        "2026-11-29T12:30Z",
        ["2026-11-29T12:40Z", "2026-11-29T13:00Z", "2026-11-29T13:40Z", "2026-11-29T14:00Z"],
        id="a step begins anew each hour",
    ),
    pytest.param("0 0 31 4,5 *", "UTC", "2026-11-29T12:00Z", ["2027-05-31T00:00Z"], id="one possible month is enough"),
    pytest.param(
        "0 0 29 2 *",
        "UTC",
        "2026-11-29T12:00Z",
        ["2028-02-29T00:00Z", "2032-02-29T00:00Z"],
        id="a leap day is waited for",
    ),
    pytest.param("0 0 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T00:00Z"], id="a leap day eight years away"),
    pytest.param("0 4 1 * *", "UTC", "2027-01-01T04:00:01Z", ["2027-02-01T04:00Z"], id="a month is no timer overflow"),
    pytest.param(
        "0 9 * * *",
        "America/Los_Angeles",
        "2026-11-28T00:00Z",
        ["2026-11-28T17:00Z", "2026-11-29T17:00Z"],
        id="nine in the morning is not nine in UTC",
    ),
    pytest.param("0 9 * * *", "America/Los_Angeles", "2026-07-01T00:00Z", ["2026-07-01T16:00Z"], id="nor in summer"),
    pytest.param(
        "30 1 * * *",
        "America/New_York",
        "2026-11-01T00:00Z",
        ["2026-11-01T05:30Z", "2026-11-02T06:30Z"],
        id="a fixed time in the repeated hour runs once",
    ),
    pytest.param(
        "0 30 1 * * *",
        "America/New_York",
        "2026-11-01T00:00Z",
        ["2026-11-01T05:30Z", "2026-11-02T06:30Z"],
        id="also when it is written with seconds",
    ),
    pytest.param(
        "15 30 2 * * *",
        "America/New_York",
        "2026-03-08T00:00Z",
        ["2026-03-08T07:00Z", "2026-03-09T06:30:15Z"],
        id="a fixed second in the gap runs at its end",
    ),
    pytest.param(
        "30 2 * * *", "America/New_York", "2027-03-13T12:00Z", ["2027-03-14T07:00Z"], id="the gap of another year"
    ),
    pytest.param(
        "*/15 * * * *",
        "America/New_York",
        "2026-11-01T05:50Z",
        ["2026-11-01T06:00Z", "2026-11-01T06:15Z", "2026-11-01T06:30Z", "2026-11-01T06:45Z", "2026-11-01T07:00Z"],
        id="quarter-hours have no hole in the repeated hour",
    ),
    pytest.param(
        "0 2,3 * * *",
        "America/New_York",
        "2026-03-08T00:00Z",
        ["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
        id="two fixed times that meet at the end of the gap are one run",
    ),
    pytest.param(
        "0 10 */2 * *",
        "UTC",
        "2026-11-29T09:59Z",
        ["2026-11-29T10:00Z", "2026-12-01T10:00Z"],
        id="every other day of month",
    ),
]


def utc(text: str) -> int:
    return times.parse_instant(text, None)


@pytest.mark.parametrize(("expression", "zone", "after", "expected"), NEXT)
def test_the_next_moments_are(expression: str, zone: str, after: str, expected: list[str]) -> None:
    rule, at, found = cron.parse_cron(expression, zone), utc(after), []
    for _ in expected:
        following = rule.next_after(at)
        assert following is not None
        found.append(at := following)
    assert found == [utc(text) for text in expected]


@pytest.mark.parametrize(
    ("expression", "before", "expected"),
    [
        pytest.param(
            "0 2 * * *", "2026-03-08T07:30Z", ["2026-03-08T07:00Z", "2026-03-07T07:00Z"], id="moved by the gap"
        ),
        pytest.param("0 1 * * *", "2026-11-01T05:30Z", ["2026-11-01T05:00Z"], id="never the second 01:00"),
        pytest.param("0 1 * * *", "2026-11-01T06:30Z", ["2026-11-01T05:00Z"], id="nor from within the repeated hour"),
    ],
)
def test_a_data_interval_near_a_change_is_never_empty(expression: str, before: str, expected: list[str]) -> None:
    rule, at, found = cron.parse_cron(expression, "America/New_York"), utc(before), []
    for _ in expected:
        earlier = rule.previous_before(at)
        assert earlier is not None
        found.append(at := earlier)
    assert found == [utc(text) for text in expected]


def test_a_local_day_of_25_hours_has_25_hourly_moments() -> None:
    rule, at, found = cron.parse_cron("0 * * * *", "America/Chicago"), utc("2026-11-01T05:00Z") - 1, 0
    while (at := rule.next_after(at) or 0) < utc("2026-11-02T06:00Z"):
        found += 1
    assert found == 25


def test_both_day_fields_mean_or_61_times_in_2026() -> None:
    rule, at, found = cron.parse_cron("0 0 13 * 5", "UTC"), utc("2025-12-31T23:00Z"), 0
    while (at := rule.next_after(at) or 0) < utc("2027-01-01T00:00Z"):
        found += 1
    assert found == 61
    assert any("OR" in warning for warning in rule.warnings)


@pytest.mark.parametrize(
    "expression", ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6 *", "0 0 30-31 FEB *", "0 0 31 2 */2"]
)
def test_a_date_that_never_comes_is_refused_at_once(expression: str) -> None:
    began = time.perf_counter()
    with pytest.raises(cron.CronError, match="never occurs"):
        cron.parse_cron(expression, "America/New_York")
    assert time.perf_counter() - began < 0.5


def test_a_step_above_the_field_is_refused_and_an_uneven_one_warned_of() -> None:
    with pytest.raises(cron.CronError, match=r"minute.*above 59.*every:"):
        cron.parse_cron("*/360 * * * *", "UTC")
    assert "not every 40 minutes" in cron.parse_cron("*/40 * * * *", "UTC").warnings[0]
    assert cron.parse_cron("*/15 */6 * * *", "UTC").warnings == ()


def test_a_wildcard_minute_with_a_fixed_hour_in_the_gap_is_warned_of_with_its_dates() -> None:
    rule = cron.parse_cron("*/30 2 * * *", "America/New_York")
    assert rule.silent_dates(utc("2026-01-01T00:00Z"), utc("2027-12-31T00:00Z")) == ("2026-03-08", "2027-03-14")
    (warning,) = rule.warnings
    assert "no run on that date" in warning
    assert cron.parse_cron("0,30 2 * * *", "America/New_York").warnings == ()
    assert cron.parse_cron("*/30 2 * * *", "Asia/Shanghai").warnings == ()
    assert rule.next_after(utc("2026-03-08T05:00Z")) == utc("2026-03-09T06:00Z")
