"""What is coming, told with its offset and with what daylight saving does to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from desk import DIGEST, TICK, at

from noonmark.core.model import At, Cron, Every, Guardrails, Job, JobRow, Manual, OnEvent, Window
from noonmark.explain.describe import cron_text, trigger_text, window_text
from noonmark.explain.forecast import coming
from noonmark.explain.voice import Voice

CLOSE = Job(
    name="market-close", trigger=Cron(expression="30 18 * * mon-sat", tz="America/New_York"), reason="After the bell."
)


def voice(zone: str, now: str) -> Voice:
    return Voice(zone=zone, now=at(now, zone))


def test_the_next_moments_keep_local_time_when_clocks_go_back() -> None:
    here = voice("America/New_York", "2027-11-05T12:00:00")
    friday, saturday, monday = coming(CLOSE, here.now, 3, here)
    assert (friday.local, friday.offset, friday.utc) == ("Fri 2027-11-05 18:30", "-04:00", "22:30Z")
    assert saturday.notes == ()
    assert (monday.local, monday.offset, monday.utc) == ("Mon 2027-11-08 18:30", "-05:00", "23:30Z")
    assert monday.notes == ("clocks went back: the offset changed from -04:00 to -05:00, local time is kept",)
    assert friday.distance == "in 6 h 30 min"


def test_a_time_that_does_not_exist_is_said_to_run_at_the_end_of_the_gap() -> None:
    job = replace(CLOSE, trigger=Cron(expression="30 2 * * *", tz="America/New_York"))
    here = voice("America/New_York", "2027-03-13T12:00:00")
    (gap,) = coming(job, here.now, 1, here)
    assert gap.local == "Sun 2027-03-14 03:00"
    assert gap.notes[-1] == "02:30 does not exist on that day: it runs at the end of the gap"


def test_a_time_that_happens_twice_is_said_to_run_once() -> None:
    job = replace(CLOSE, trigger=Cron(expression="30 1 * * *", tz="America/New_York"))
    here = voice("America/New_York", "2027-11-06T12:00:00")
    first, second = coming(job, here.now, 2, here)
    assert first.local == "Sun 2027-11-07 01:30"
    assert first.notes[-1] == "01:30 happens twice on that day: it runs once, the first time"
    assert second.local == "Mon 2027-11-08 01:30"


@pytest.mark.parametrize(
    ("trigger", "after", "shown", "note"),
    [
        (Cron(expression="@daily", tz="America/Santiago"), "2026-09-05T12:00:00", "Sun 2026-09-06 01:00",
         "00:00 does not exist on that day: it runs at the end of the gap"),
        (Cron(expression="30 1,2 * * *", tz="America/New_York"), "2027-03-14T01:45:00", "Sun 2027-03-14 03:00",
         "02:30 does not exist on that day: it runs at the end of the gap"),
        (Cron(expression="15 30 2 * * *", tz="America/New_York"), "2027-03-14T01:45:00", "Sun 2027-03-14 03:00",
         "02:30:15 does not exist on that day: it runs at the end of the gap"),
        (Cron(expression="0 12 * * *", tz="Pacific/Apia"), "2011-12-29T12:00:00", "Sat 2011-12-31 00:00",
         "2011-12-30 12:00 does not exist on that day: it runs at the end of the gap"),
        (At(moments=("2027-03-14T02:30:00",), tz="America/New_York"), "2027-03-13T12:00:00", "Sun 2027-03-14 03:00",
         "02:30 does not exist on that day: it runs at the end of the gap"),
        (At(moments=("2027-11-07T01:30:00",), tz="America/New_York"), "2027-11-06T12:00:00", "Sun 2027-11-07 01:30",
         "01:30 happens twice on that day: it runs once, the first time"),
        (Cron(expression="30 1,2 * * *", tz="America/New_York"), "2027-11-06T12:00:00", "Sun 2027-11-07 01:30",
         "01:30 happens twice on that day: it runs once, the first time"),
    ],
)  # fmt: skip
def test_every_local_time_that_a_clock_change_moves_or_repeats_is_told(
    trigger: Cron | At, after: str, shown: str, note: str
) -> None:
    here = voice(trigger.tz, after)
    (moved,) = coming(replace(CLOSE, trigger=trigger), here.now, 1, here)
    assert moved.local == shown
    assert moved.notes[-1] == note


def test_a_moved_time_that_is_shown_in_another_zone_is_told_in_its_own() -> None:
    job = replace(CLOSE, trigger=Cron(expression="30 2 * * *", tz="America/New_York"))
    (moved,) = coming(job, at("2027-03-13T12:00:00", "UTC"), 1, voice("UTC", "2027-03-13T12:00:00"))
    assert moved.notes == ("02:30 America/New_York does not exist on that day: it runs at the end of the gap",)


def test_an_hourly_job_follows_real_time_and_is_told_of_no_gap() -> None:
    job = replace(CLOSE, trigger=Cron(expression="0 * * * *", tz="America/New_York"))
    here = voice("America/New_York", "2027-11-07T00:30:00")
    assert [len(one.notes) for one in coming(job, here.now, 3, here)] == [0, 1, 0], "the change of the offset alone"


def test_the_guard_and_a_pause_are_foreseen() -> None:
    job = replace(DIGEST, guardrails=Guardrails(allow_weekend=False))
    here = voice("Asia/Shanghai", "2026-11-28T12:00:00")
    saturday, sunday, monday = coming(job, here.now, 3, here)
    assert [saturday.would_run, sunday.would_run, monday.would_run] == [False, False, True]
    assert saturday.notes == ("Saturday: the guard will skip it",)
    paused = JobRow(name="digest", rule="", digest="", revision=1, effective_at=0, paused=True)
    assert not coming(job, monday.at - 1, 1, here, job_row=paused)[0].would_run


def test_a_list_of_times_ends_and_an_end_can_be_named() -> None:
    job = replace(CLOSE, trigger=At(moments=("2026-12-01T09:00:00",), tz="Asia/Shanghai"))
    here = voice("Asia/Shanghai", "2026-11-28T12:00:00")
    assert [one.local for one in coming(job, here.now, 5, here)] == ["Tue 2026-12-01 09:00"]
    assert len(coming(TICK, here.now, 100, here, until=here.now + 15 * 60 * 1_000_000)) == 3


@pytest.mark.parametrize(
    ("expression", "en", "zh"),
    [
        ("*/5 * * * *", "every 5 min", "每 5 分钟"),
        ("* * * * *", "every minute", "每分钟"),
        ("15 * * * *", "hourly at :15", "每小时 :15"),
        ("0 9 * * *", "09:00 daily", "每天 09:00"),
        ("30 18 * * mon-sat", "18:30 Mon–Sat", "周一至周六 18:30"),
        ("30 18 * * 1,3", "18:30 Mon, Wed", "周一、周三 18:30"),
        ("0 9 * * 7", "09:00 Sun", "周日 09:00"),
        ("0 9 ? * THU", "09:00 Thu", "周四 09:00"),
        ("@daily", "00:00 daily", "每天 00:00"),
        ("@hourly", "hourly at :00", "每小时 :00"),
        ("@monthly", "@monthly", "@monthly"),
        ("0 0 9 * * fri", "09:00 Fri", "周五 09:00"),
        ("0 0 13 * 5", "0 0 13 * 5", "0 0 13 * 5"),
        ("*/7 2-4 * * *", "*/7 2-4 * * *", "*/7 2-4 * * *"),
    ],
)
def test_a_cron_rule_is_said_in_words_or_as_it_was_written(expression: str, en: str, zh: str) -> None:
    assert cron_text(expression) == en
    assert cron_text(expression, "zh") == zh


def test_other_triggers_and_windows_have_words_too() -> None:
    assert trigger_text(Every(period=300_000_000)) == "every 5 min"
    assert trigger_text(OnEvent(name="run.done", delay=300_000_000)) == "5 min after event run.done"
    assert trigger_text(Manual(), "zh") == "由人或程序发起"
    assert window_text(Window(start="22:00", end="02:00", crosses_midnight=True)) == "22:00-02:00 (across midnight)"
    assert window_text(Window(length=7_200_000_000), "zh") == "到期后 2 小时内"
