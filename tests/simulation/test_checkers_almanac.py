"""The checkers' own calendar against noonmark's: two pieces of code that share nothing but the rules they keep (C1)."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from zoneinfo import available_timezones

import pytest

from noonmark.core import series, times
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, At, CatchUp, Cron, Every, Job, Micros, Window
from noonmark.sim import almanac
from noonmark.testing.builders import make_job

TRANSITIONS = (
    ("America/New_York", "2026-03-08T02:00"),
    ("America/New_York", "2026-11-01T02:00"),
    ("Europe/Berlin", "2026-03-29T02:00"),
    ("Europe/Berlin", "2026-10-25T03:00"),
    ("Australia/Lord_Howe", "2026-04-05T02:00"),
    ("Australia/Lord_Howe", "2026-10-04T02:00"),
    ("America/Sao_Paulo", "2026-02-01T00:00"),
    ("Asia/Kolkata", "2026-05-01T00:00"),
)


def _micros(text: str, zone: str) -> Micros:
    return times.parse_instant(text, zone)


def _job(expression: str, zone: str) -> Job:
    return make_job(trigger=Cron(expression=expression, tz=zone))


def _ours(job: Job, after: Micros, until: Micros) -> list[Micros]:
    return [moment.at for moment in series.moments_between(job, after, until, limit=100_000)]


def _expression(dice: random.Random) -> str:
    minute = dice.choice(("*", "*/5", "*/7", str(dice.randrange(60)), "0,30", "10-20/3"))
    hour = dice.choice(("*", "*/2", "1-23/2", str(dice.randrange(4)), "0-3", "1,2,3"))
    return f"{minute} {hour} * * *"


@pytest.mark.parametrize(("zone", "around"), TRANSITIONS)
def test_both_calendars_name_the_same_moments_where_clocks_change(zone: str, around: str) -> None:
    dice = random.Random(f"{zone} {around}")
    middle = _micros(around, zone)
    for _ in range(25):
        job = _job(_expression(dice), zone)
        begin, end = middle - 5 * HOUR, middle + 5 * HOUR
        assert almanac.moments(job, begin, end) == _ours(job, begin, end), job.trigger


def test_both_calendars_agree_in_every_kind_of_zone_and_year() -> None:
    dice = random.Random("noonmark almanac")
    zones = sorted(available_timezones() - {"localtime", "posixrules", "Factory"})
    for _ in range(60):
        zone = dice.choice(zones)
        begin = int(datetime(dice.randrange(2000, 2037), dice.randrange(1, 13), 1, tzinfo=UTC).timestamp()) * SECOND
        day, weekday = dice.choice((("*", "*"), ("1", "*"), ("*", "SUN"), ("1,15", "MON-FRI"), ("*/3", "1-5/2")))
        job = _job(
            f"{dice.choice(('0', '*/15'))} {dice.randrange(24)} {day} {dice.choice(('*', '1-6'))} {weekday}", zone
        )
        assert almanac.moments(job, begin, begin + 3 * DAY) == _ours(job, begin, begin + 3 * DAY), (zone, job.trigger)


@pytest.mark.parametrize(
    ("expression", "zone", "day", "local"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-29", ["2026-03-29T03:00"]),  # the end of the gap
        ("30 2 * * *", "Europe/Berlin", "2026-10-25", ["2026-10-25T02:30"]),  # once, the first
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-29", []),
        ("15 1 * * *", "America/New_York", "2026-11-01", ["2026-11-01T01:15"]),
    ],
)
def test_the_almanac_keeps_the_stated_rules(expression: str, zone: str, day: str, local: list[str]) -> None:
    begin = _micros(f"{day}T00:00", zone)
    assert almanac.moments(_job(expression, zone), begin - 1, begin + 23 * HOUR) == [
        _micros(text, zone) for text in local
    ]


def test_grids_and_lists_are_the_same_in_both() -> None:
    grid = make_job(trigger=Every(period=210 * SECOND, anchor=7 * SECOND))
    listed = make_job(
        trigger=At(moments=("2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-06-01T00:00:00Z"), tz="Europe/Berlin")
    )
    begin = _micros("2026-01-01T00:00", "UTC")
    assert almanac.moments(grid, begin, begin + HOUR) == _ours(grid, begin, begin + HOUR)
    assert almanac.moments(listed, begin, begin + 365 * DAY) == _ours(listed, begin, begin + 365 * DAY)


def test_limits_are_those_of_the_rule() -> None:
    for trigger in (
        Cron(expression="* * * * *", tz="UTC"), Cron(expression="*/5 * * * *", tz="UTC"), At(moments=(), tz="UTC"),
        Cron(expression="17 * * * *", tz="UTC"), Cron(expression="0 9 * * *", tz="UTC"), Every(period=45 * SECOND),
        Cron(expression="0,10 3 * * *", tz="UTC"),
    ):  # fmt: skip
        for changes in ({}, {"window": Window(start="01:00", end="02:00")}, {"catch_up": CatchUp(max_delay=HOUR)}):
            job = make_job(trigger=trigger, **changes)
            assert almanac.limit(job) == series.default_max_delay(job, 0), (trigger, changes)


def test_windows_open_and_close_by_the_clock_of_their_zone() -> None:
    night = Window(start="22:00", end="06:00", crosses_midnight=True)
    for window, at in ((night, "2026-05-01T23:30"), (Window(start="09:00", end="11:30"), "2026-05-01T09:00")):
        scheduled = _micros(at, "Asia/Kolkata")
        opens, closes = times.window_bounds(window, scheduled, "Asia/Kolkata")
        assert opens is not None
        assert almanac.is_open(window, scheduled, "Asia/Kolkata")
        assert almanac.closes(window, scheduled, "Asia/Kolkata") == closes
        assert not almanac.is_open(window, opens - MINUTE, "Asia/Kolkata")
