"""Schedules written as calls, calendars and words of other tools: what is told to write means what theirs means.

The meanings of Celery, APScheduler and systemd were compared with those programs themselves.
"""

from __future__ import annotations

import re

import pytest

from noonmark.core import cron
from noonmark.core.errors_zh import in_chinese


def told(written: str) -> str:
    """Return what the refusal says to write; it can be written."""
    with pytest.raises(cron.CronError) as refused:
        cron.parse_cron(written, "UTC")
    text = str(refused.value)
    assert in_chinese(text) != text
    found = re.search(r"; write (.*)$", text)
    assert found is not None, text
    meant = found[1].removesuffix(", with the day that is meant")
    assert meant in in_chinese(text)
    if not meant.startswith("every:"):
        expression, _, zone = meant.partition(", tz: ")
        cron.parse_cron(expression, zone or "UTC")
    return meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("crontab()", "* * * * *"),
        ("crontab(minute='*/15')", "*/15 * * * *"),
        ("crontab(hour=7, minute=30, day_of_week=1)", "30 7 * * MON"),
        ("crontab(0, 0, day_of_month='2')", "0 0 2 * *"),
        ("crontab(minute=0, hour=0, day_of_week='thu,fri')", "0 0 * * THU,FRI"),
        ("crontab(minute=0, hour='22-4/2')", "0 22,0,2,4 * * *"),
        ("crontab(minute=0, hour=9, day_of_week='saturday-monday')", "0 9 * * SAT,SUN,MON"),
        ("crontab(minute=[0, 30], hour=[9, 17])", "0,30 9,17 * * *"),
        ("crontab(0, 8, day_of_month='1-7', day_of_week='mon')", "0 8 * * MON#1"),
        ("crontab(0, 8, day_of_month='*/2', day_of_week='mon')", "0 8 */2 * MON"),
        ("celery.schedules.crontab(hour=9)", "* 9 * * *"),
    ],
)
def test_a_crontab_of_celery_in_which_both_day_fields_must_hold(written: str, meant: str) -> None:
    assert told(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("CronTrigger(hour=6, minute=0)", "0 6 * * *"),
        ("CronTrigger(hour=6)", "0 6 * * *"),
        ("CronTrigger(month=6)", "0 0 1 6 *"),
        ("CronTrigger(second='*/10')", "*/10 * * * * *"),
        ("CronTrigger(day='last', hour=23, minute=30)", "30 23 L * *"),
        ("CronTrigger(day='2nd fri')", "0 0 * * FRI#2"),
        ("CronTrigger(day='last sun', hour=3)", "0 3 * * SUNL"),
        ("CronTrigger(day_of_week='mon-fri', hour=9, timezone='Asia/Tokyo')", "0 9 * * MON-FRI, tz: Asia/Tokyo"),
        ("CronTrigger(day_of_week=0, hour=9)", "0 9 * * MON"),
        ("CronTrigger(day_of_week='5-6')", "0 0 * * SAT,SUN"),
        ("CronTrigger(day_of_week='*/3', hour=9)", "0 9 * * MON,THU,SUN"),
        ("CronTrigger.from_crontab('0 0 1-15 may-aug *')", "0 0 1-15 MAY-AUG *"),
        ("IntervalTrigger(minutes=90)", "every: 90m"),
    ],
)
def test_a_trigger_of_apscheduler_whose_week_begins_with_monday_as_0(written: str, meant: str) -> None:
    assert told(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("OnCalendar=daily", "0 0 * * *"),
        ("OnCalendar=weekly", "0 0 * * MON"),
        ("weekly", "0 0 * * MON"),
        ("Mon..Fri *-*-* 09:00:00", "0 9 * * MON-FRI"),
        ("OnCalendar=Fri..Mon 08:00", "0 8 * * FRI,SAT,SUN,MON"),
        ("*-*-* 02:30:00 UTC", "30 2 * * *, tz: UTC"),
        ("OnCalendar=*-*-* *:0/15", "0/15 * * * *"),
        ("*-1,7-1 00:00", "0 0 1 1,7 *"),
        ("Sat *-*-1..7 18:00:00", "0 18 * * SAT#1"),
        ("*-*~01 06:00", "0 6 L * *"),
        ("Sat,Sun *-*-* 10..16/2:30", "30 10-16/2 * * SAT,SUN"),
        ("OnCalendar=*-*-* *:*:0/15", "0/15 * * * * *"),
        ("OnUnitActiveSec=5min", "every: 5m"),
    ],
)
def test_a_calendar_of_systemd(written: str, meant: str) -> None:
    assert told(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("9am", "0 9 * * *"),
        ("12am", "0 0 * * *"),
        ("9:30pm", "30 21 * * *"),
        ("21:30:00", "30 21 * * *"),
        ("daily at noon", "0 12 * * *"),
        ("every monday 09:00", "0 9 * * MON"),
        ("mondays and thursdays at 5pm", "0 17 * * MON,THU"),
        ("every weekday at 18:30", "30 18 * * MON-FRI"),
        ("09:00 Europe/Berlin", "0 9 * * *, tz: Europe/Berlin"),
        ("1h30m", "every: 1h30m"),
        ("every hour", "every: 1h"),
        ("2 hours and 15 minutes", "every: 2h15m"),
        ("timedelta(hours=1, minutes=30)", "every: 1h30m"),
        ("CronSchedule(cron='0 7 * * MON-FRI', timezone='America/Toronto')", "0 7 * * MON-FRI, tz: America/Toronto"),
        ("CronDataIntervalTimetable('@daily', timezone='UTC')", "@DAILY, tz: UTC"),
        ("DeltaDataIntervalTimetable(timedelta(days=7))", "every: 7d"),
        ("Cron('0 9 * * *', timezone='Europe/Rome')", "0 9 * * *, tz: Europe/Rome"),
        ("CronSchedule(cron='0 9 1-7 * mon', day_or=False)", "0 9 * * MON#1"),
        ("ScheduleDefinition(job=j, cron_schedule='15 */4 * * *')", "15 */4 * * *"),
    ],
)
def test_words_of_people_and_calls_that_hold_an_expression(written: str, meant: str) -> None:
    assert told(written) == meant


@pytest.mark.parametrize(
    "written",
    [
        "crontab(0, 9, 1)", "crontab(minute=x)", "crontab(day_of_month='13', day_of_week='fri')",
        "CronTrigger(year=2027, month=3)", "CronTrigger(week=10)", "CronTrigger(day_of_week='tue-3')",
        "CronTrigger.from_crontab('0 9 * * 1')", "CronTrigger.from_crontab('0 9 1 * mon')",
        "CronSchedule(cron='0 9 1 * MON', day_or=False)", "solar('sunset', -37.81, 144.96)", "timedelta(hours=-1)",
        "__import__('os').system('x')", "f('0 9 * * *', '0 18 * * *')",
    ],
)  # fmt: skip
def test_a_call_that_says_more_than_one_expression_can_is_not_translated(written: str) -> None:
    with pytest.raises(cron.CronError, match="is a call; write the expression itself") as refused:
        cron.parse_cron(written, "UTC")
    assert "是一次调用" in in_chinese(str(refused.value))


@pytest.mark.parametrize(
    "written",
    ["1 month", "1M", "5 months", "500ms", "2 mondays 9:00", "monday to friday 9:00", "every 2nd monday 9:00",
     "every other day 9:00", "13pm", "Mon *-*-1 05:00", "2027-*-* 09:00", "*-*~03 09:00", "15", "3600",
     "R5/2026-01-01T00:00:00Z/P1D"],
)  # fmt: skip
def test_what_cannot_be_told_for_sure_is_not_guessed(written: str) -> None:
    with pytest.raises(cron.CronError) as refused:
        cron.parse_cron(written, "UTC")
    assert "write" not in str(refused.value)
