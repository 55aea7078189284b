"""What people bring from other schedulers: read where it means one thing, else refused with what to write here."""

from __future__ import annotations

import pytest

from noonmark.core import cron, times
from noonmark.core.cronfields import ALIASES
from noonmark.core.errors_zh import in_chinese

NOON = times.parse_instant("2026-11-29T12:00Z", None)


def following(expression: str, zone: str = "UTC", count: int = 3) -> list[str]:
    rule, moment, found = cron.parse_cron(expression, zone), NOON, []
    for _ in range(count):
        coming = rule.next_after(moment)
        assert coming is not None
        found.append(times.to_datetime(coming).strftime("%Y-%m-%dT%H:%M:%S"))
        moment = coming
    return found


def refusal(expression: str) -> str:
    with pytest.raises(cron.CronError) as refused:
        cron.parse_cron(expression, "UTC")
    return str(refused.value)


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("0 9 ? * THU", "0 9 * * THU"),
        ("0 9 * * ?", "0 9 * * *"),
        ("0 9 ? * ?", "0 9 * * *"),
        ("0 9 1 * ?", "0 9 1 * *"),
        ("0 9 ? * 1-5", "0 9 * * 1-5"),
        ("30 0 9 ? * MON-FRI", "30 0 9 * * MON-FRI"),
        ("0 15 10 ? * *", "0 15 10 * * *"),
        ("0 0 12 1/5 * ?", "0 0 12 1/5 * *"),
        ("0 0 12 ? * 0", "0 0 12 * * SUN"),
        ("0 9 * * FRIL", "0 9 * * 5L"),
        ("0 9 * * SUNL,WED", "0 9 * * 7L,3"),
        ("5-5/15 * * * *", "5 * * * *"),
        ("0 9 * * MON-MON/2", "0 9 * * MON"),
        ("0 9 * * 1-1/7", "0 9 * * 1"),
        ("0 9,9-9/5 * * *", "0 9 * * *"),
    ],
)
def test_one_meaning_in_other_words_is_read(written: str, same: str) -> None:
    assert following(written, count=40) == following(same, count=40)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("cron(30 16 ? * SUN *)", "30 16 * * SUN"),
        ("cron(30 2 * * ? *)", "30 2 * * *"),
        ("CRON( 0 10 ? * 2-6 * )", "0 10 * * MON-FRI"),
        ("cron(0 9 ? * 6#3 *)", "0 9 * * FRI#3"),
        ("cron(0 9 ? * 6L *)", "0 9 * * FRIL"),
        ("cron(0 9 ? * L *)", "0 9 * * SAT"),
        ("cron(0 9 L * ? *)", "0 9 L * *"),
        ("30 16 ? * SUN *", "30 16 * * SUN"),
        ("15 12 * * ? *", "15 12 * * *"),
        ("0 18 ? * MON-FRI *", "0 18 * * MON-FRI"),
        ("0 18 ? * 2 *", "0 18 * * MON"),
        ("0 9 * * MON-FRI *", "0 9 * * MON-FRI"),
        ("0 9 * * * # the morning", "0 9 * * *"),
        ("*/5 * * * * # often", "*/5 * * * *"),
        ("0 9 * * MON-FRI root /usr/bin/report --all", "0 9 * * MON-FRI"),
        ("*/5 * * * * /usr/local/bin/poll", "*/5 * * * *"),
        ("0 2 * * * backup", "0 2 * * *"),
        ("cron(0/30 20-2 ? * MON-FRI *)", "0/30 20-23,0-2 * * MON-FRI"),
        ("cron(0 22-4/2 * * ? *)", "0 22,0,2,4 * * *"),
        ("cron(0 9 ? * 6-2 *)", "0 9 * * FRI-SAT,SUN-MON"),
        ("cron(0 9 ? * 2/2 *)", "0 9 * * MON,WED,FRI"),
        ("cron(0 9 ? * 6/1 *)", "0 9 * * FRI,SAT"),
        ("cron(0 9 ? * 2-6/2 *)", "0 9 * * MON,WED,FRI"),
        ("0 0 9 ? * 2#1 *", "0 0 9 * * MON#1"),
        ("0 0 9 ? * 2-6 *", "0 0 9 * * MON-FRI"),
        ("@daily /usr/bin/backup", "@daily"),
        ("@hourly root run-parts /etc/cron.hourly", "@hourly"),
        ("@noon", "0 12 * * *"),
        ("@quarterly", "0 0 1 */3 *"),
        ("@every_minute", "* * * * *"),
        ("@minutely", "* * * * *"),
    ],
)
def test_a_form_of_another_scheduler_is_refused_with_the_expression_that_means_the_same(
    written: str, meant: str
) -> None:
    text = refusal(written)
    assert meant in text
    assert len(set(following(meant))) == 3, "what is told to write can be written"
    assert in_chinese(text) != text
    assert meant in in_chinese(text)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("cron(0 17 8-14 * ? SUN)", "not right there either"),
        ("cron(0 17 8-14 * SUN *)", "not right there either"),
        ("cron(0 9 ? * 9 *)", "not right there either"),
        ("cron(0 9)", "not right there either"),
        ("cron(0 9 1 1 ? 2027)", "list single moments with at:"),
        ("0 9 1 1 * 2027", "list single moments with at:"),
        ("0 9 * * 1-5 2027-2030", "list single moments with at:"),
        ("0 15 10 * * ? 2026", "list single moments with at:"),
        ("0 15 10 * * ? *", "the second first"),
        ("0 9 * * 1 2 3 4 5", "has 9 fields; write the five of the schedule"),
        ("rate(5 minutes)", "write every: 5m"),
        ("rate(1 day)", "write every: 1d"),
        ("at(2026-12-01T09:00:00)", 'write at: "2026-12-01T09:00:00"'),
        ("@reboot", "write manual: true"),
        ("@once", "write at:"),
        ("@reboot sleep 60 && /usr/bin/agent", "write manual: true"),
        ("@continuous", "manual: true"),
        ("@daily Europe/Berlin", "tz: Europe/Berlin"),
        ("@every 5 minutes", "write every: 5m"),
        ("@every PT5M", "write every: 5m"),
        ("@every 5", "write every: with a length, for example 5m"),
        ("@every 0s", "write every: with a length, for example 5m"),
        ("rate(1.5 hours)", "write every: 1h30m"),
        ("rate(2 weeks)", "write every: 2w"),
        ("rate(5)", "write every: with a length, for example 5m"),
        ("at(2027-01-01)", 'write at: "2027-01-01T09:00:00"'),
        ("at(tomorrow)", 'write at: "2026-12-01T09:00:00"'),
        ("2027-01-01", 'write at: "2027-01-01T09:00:00"'),
        ("R/2027-01-01T00:00:00Z/PT1H", 'write every: PT1H with anchor: "2027-01-01T00:00:00Z"'),
        ("TZ=:Europe/Paris 0 4 * * *", "tz: Europe/Paris"),
        ("0 9 * * 1-5 CET", "tz: CET"),
        ("0 0 9 * * 1-5 Europe/Berlin", "tz: Europe/Berlin"),
        ("0 25 * * * /usr/bin/poll", 'the hour field "25"'),
        ("#*/5 * * * * /usr/bin/poll", 'the minute field "#*/5"'),
        ("cron(0 9 3W * ? *)", "nearest weekday"),
        ("cron(0 9 31 2 ? *)", "never occurs"),
        ("cron(0 25 * * ? *)", 'the hour field "25"'),
        ("0 9 * * * | 0 18 * * *", "holds 2 schedules; write one rule for each"),
        ("*/3 * * * * + */2 * * * *", "holds 2 schedules; write one rule for each"),
        ("- cron: '0 9 * * *'", "write 0 9 * * * alone"),
        ("0 0 9 ? * L", "write SAT instead of L"),
        ("0 0 9 ? * 2/2", "(MON,WED,FRI), or cron's, where 1 is Monday (TUE,THU,SAT)"),
        ("0 9 * * 7-1", "write SUN-MON"),
        ("0 9 * * 7-5", "write SUN-FRI"),
        ("0 9 * * FRI-MON/2", "FRI-MON/2 runs backwards; write FRI,SUN"),
        ("0 22-4/2 * * *", "22-4/2 runs backwards; write 22,0,2,4"),
        ("0 9 * * tues,thurs", "write TUE instead of TUES"),
        ("@weekdays", "0 0 * * MON-FRI"),
        ("@every 1h30m", "write every: 1h30m"),
        ("30m", "write every: 30m"),
        ("every 90 minutes", "write every: 1h30m"),
        ("9:05", "write 5 9 * * *"),
        ("2026-12-01T09:00", 'write at: "2026-12-01T09:00"'),
        ("0 0 12 ? * 2-6", r"(MON-FRI), or cron's, where 1 is Monday (TUE-SAT); write the names"),
        ("0 15 10 ? * 6L", "(FRIL)"),
        ("0 15 10 ? * 6#3", "(SAT#3)"),
        ("0 9 * * * UTC", "tz: UTC"),
        ("0 9 * * MON-FRI Europe/Berlin", "tz: Europe/Berlin"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "tz: Asia/Tokyo"),
        ("TZ='Asia/Tokyo' 0 9 * * *", "tz: Asia/Tokyo"),
        ("0 9 * * Monday", "write MON instead of MONDAY"),
        ("0 9 1 January *", "write JAN instead of JANUARY"),
        ("0 9 * * Tuesday,Thursday", "write TUE instead of TUESDAY"),
        ("0 9am * * *", "write 9 instead of 9AM"),
        ("0 12PM * * *", "write 12 instead of 12PM"),
        ("0 12am * * *", "write 0 instead of 12AM"),
        ("0 24 * * *", "write 0 instead of 24"),
        ("H 9 * * *", "write a number of your own"),
        ("H/15 * * * *", "write a number of your own"),
        ("H(0-7) 9 * * *", "write a number of your own"),
        ("~ 9 * * *", "write one of your own"),
        ("0~30 9 * * *", "write one of your own"),
        ("0 9 15W * *", "nearest weekday"),
        ("0 9 L-3 * *", "days before the last"),
        ("0 9 L/2 * *", "there is one last day"),
        ("0 9 20-L * *", "write 20-31 instead of 20-L"),
        ("0 9 * * L", "write SAT instead of L, or 6L"),
        ("0 9 * * 5-1", "write FRI-SAT,SUN-MON"),
        ("0 22-4 * * *", "write 22-23,0-4"),
        ("0 9 * NOV-FEB *", "write NOV-DEC,JAN-FEB"),
    ],
)
def test_what_has_no_meaning_here_is_refused_with_what_to_do(written: str, says: str) -> None:
    text = refusal(written)
    assert says in text
    assert any("\u4e00" <= character <= "\u9fff" for character in in_chinese(text)), text


@pytest.mark.parametrize("alias", [*ALIASES, *(name.lower() for name in ALIASES)])
def test_every_alias_is_read(alias: str) -> None:
    assert following(alias) == following(ALIASES[alias.upper()])


@pytest.mark.parametrize(
    ("written", "warning"),
    [
        ("*/45 * * * *", "not every 45 minutes"),
        ("0 */5 * * *", "not every 5 hours"),
        ("0 0 */2 * *", "not every 2 days"),
        ("0 0 1-31/2 * *", "not every 2 days"),
        ("0 0 1 */5 *", "not every 5 months"),
        ("0 0 * * */2", "not every 2 days of the week"),
        ("0 0 * * 1/2", "goes on to 7, which is Sunday"),
        ("0 0 * * MON/3", "goes on to 7, which is Sunday"),
        ("10,*/45 * * * *", "*/45 in the minute field"),
        ("10-20/30 * * * *", "only 10 is left of it"),
        ("0 8-18/12 * * *", "only 8 is left of it"),
        ("0 0 13 * 5", "day-of-month 13 OR on day-of-week 5"),
        ("0 0 */2 * MON", "AND"),
        ("0 0 1-7 * */7", "AND"),
        ("0 0 31 * *", "day 31 does not exist in Feb, Apr, Jun, Sep, Nov"),
        ("0 0 30 * *", "day 30 does not exist in Feb"),
        ("0 0 29 * *", "leap years only"),
        ("0 0 30,31 1-4 *", "day 30,31 does not exist in Feb"),
        ("* */6 * * *", "every minute of hour */6"),
        ("* 9 * * *", "every minute of hour 9"),
        ("0 9 * * 1 *", "month 1, weekday *"),
        ("*/5 * * * * 0", "second */5, minute *"),
    ],
)
def test_what_is_often_misread_is_warned_of(written: str, warning: str) -> None:
    found = cron.parse_cron(written, "UTC").warnings
    assert any(warning in text for text in found), found
    for text in found:
        assert in_chinese(text) != text, text


@pytest.mark.parametrize(
    "written",
    ["0 9 * * MON-FRI", "*/15 9-17 * * 1-5", "* 9-17 * * *", "0 0 1 */3 *", "0 0 28 * *", "0 0 L * *", "*/20 * * * * *",
     "0 30 9 * * MON", "0 9 29-30 12 *", "59/2 * * * *", "0 0 1,31 * *", "@hourly", "0 9 ? * THU", "* * * * *",
     "0 0 * * 2/2"],
)  # fmt: skip
def test_what_means_what_it_says_has_no_warning(written: str) -> None:
    assert cron.parse_cron(written, "UTC").warnings == ()


def test_the_warnings_of_a_zone_have_their_chinese() -> None:
    (text,) = cron.parse_cron("*/30 2 * * *", "America/New_York").warnings
    assert "2026-03-08, 2027-03-14" in in_chinese(text)
    assert in_chinese(text) != text
