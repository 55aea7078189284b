"""Who writes a rule in another scheduler's words is told the words that say it here, at the line and column."""

from __future__ import annotations

import re

import pytest

from noonmark.rules import loader
from noonmark.rules.problems import Problem, ProblemList


def refused(fields: str) -> Problem:
    lines = "".join(f"    {line}\n" for line in ["reason: a test", *fields.split("\n")])
    with pytest.raises(ProblemList) as problems:
        loader.loads(f"version: 1\njobs:\n  digest:\n{lines}")
    return next(problem for problem in problems.value.problems if problem.place.line > 4)


@pytest.mark.parametrize(
    ("fields", "column", "says"),
    [
        ('schedule: "30m"', 15, 'write {every: 30m}; for once, ask in code: later("30m")'),
        ('schedule: "every 90 minutes"', 15, "write {every: 1h30m}."),
        ('schedule: "PT90M"', 15, "write {every: 1h30m}"),
        ('schedule: "1 month"', 15, '{cron: "0 9 * * MON-FRI", tz: ..}, {every: 5m}'),
        ('schedule: "500ms"', 15, '{cron: "0 9 * * MON-FRI", tz: ..}, {every: 5m}'),
        ('schedule: "2 mondays"', 15, '{cron: "0 9 * * MON-FRI", tz: ..}, {every: 5m}'),
        ('schedule: "1.5 hours"', 15, "write {every: 1h30m}"),
        ('schedule: "daily at 9am"', 15, 'write {cron: "0 9 * * *", tz: ..}'),
        ("schedule: crontab(minute=0)", 15, 'write {cron: "0 * * * *", tz: ..}'),
        ('schedule: "@daily"', 15, 'write {cron: "@daily", tz: ..}'),
        ('schedule: "2026-12-01T09:00"', 15, 'write {at: "2026-12-01T09:00", tz: ..}'),
        ('schedule: "next Monday"', 15, "{every: 5m}"),
        ("schedule: 30", 15, "write {every: 30s} or {every: 30m}"),
        ('schedule: ["0 9 * * *", "0 18 * * *"]', 15, "write one rule for each"),
        ('cron: ["0 9 * * *", "0 18 * * *"]', 11, "write one rule for each"),
        ("every: 1h\ncatchup: false", 14, "write {enabled: false}"),
        ("every: 1h\nretry: true", 12, "write {max: 4}"),
        ("every: 1h\nwindow: 09:00-17:30", 13, 'write {start: "09:00", end: "17:30"}'),
        ('every: 1h\nwindow: ["9:00", "17:30"]', 13, 'write {start: "09:00", end: "17:30"}'),
        (
            "every: 1h\nwindow: 22:00-06:00",
            13,
            'write {start: "22:00", end: "06:00", crosses_midnight: true}',
        ),
        ("every: 1h\nwindow: 2h", 13, "write {length: 2h}"),
        ("every: 1h\noverlap: Forbid", 14, 'did you mean "skip"?'),
        ("every: 1h\noverlap: true", 14, 'did you mean "allow"?'),
        ("every: 1h\noverlap: queue", 14, 'did you mean "queue_all"?'),
        ("every: 1h\nbusiness_date: yesterday", 20, 'did you mean "previous_day"?'),
        ("every: 1h\ncatch_up: {missed: last}", 24, 'did you mean "latest"?'),
        ("every: 1h\nconcurrencyPolicy: Forbid", 5, "write overlap: skip"),
        ("every: 1h\nmax_instances: 1", 5, "write overlap: skip"),
        ("every: 1h\nstartingDeadlineSeconds: 100", 5, "write catch_up: {max_delay: ..}"),
        ("every: 1h\nmisfire_grace_time: 100", 5, "write catch_up: {max_delay: ..}"),
        ("every: 1h\ncoalesce: true", 5, "write catch_up: {missed: latest}"),
        ("every: 1h\nactiveDeadlineSeconds: 60", 5, "write timeout: 10m"),
        ("every: 1h\nbackoffLimit: 1", 5, "write retry: {max: ..}"),
        ("every: 1h\nsuspend: true", 5, "noonmark pause"),
        ("every: 1h\nend_date: 2026-12-31", 5, "noonmark end"),
        ("every: 1h\nstart_date: 2026-01-01", 5, "never runs its past"),
        ("interval: 5m", 5, "write every: 5m"),
        ("day_of_week: mon", 5, "write cron:"),
        ("at: 1764580000", 9, 'write "2026-12-01T09:00", with tz:'),
        ('every: 1h\ncommand: "echo a"', 14, 'write ["echo", "a"]'),
        ('every: 1h\ncommand: "a | b"', 14, 'write ["sh", "-c", "a | b"]'),
        ('every: 1h\ncommand: "echo a\\n* * * * * evil"', 14, r'write ["sh", "-c", "echo a\n* * * * * evil"]'),
        ('every: 1h\ntz: "+05:30"', 9, "did you mean Asia/Kolkata?"),
        ("every: 1h\ntz: UTC+0330", 9, "did you mean Asia/Tehran?"),
        ("every: 1h\ntz: UTC+20", 9, "use an IANA name"),
        ("every: 1h\ntz: 9", 9, "write Etc/GMT-9, or the name of a city such as Asia/Shanghai"),
        ("every: 1h\ntz: AEST", 9, "did you mean Australia/Sydney?"),
        ('at: "2027-01-01T09:00 Europe/Rome"', 9, "the zone goes into its own field, tz: Europe/Rome"),
        ("schedule: {onCalendar: daily}", 16, "write cron:"),
        ("schedules: []", 5, "each is a rule of its own"),
        ("every: 1h\ntz: Z", 9, "did you mean UTC?"),
        ("every: 1h\ntz: Pacific Standard Time", 9, "did you mean America/Los_Angeles?"),
    ],
)
def test_the_words_of_another_scheduler_are_refused_with_the_words_that_say_it_here(
    fields: str, column: int, says: str
) -> None:
    problem = refused(fields)
    assert says in problem.text()
    assert (problem.place.line, problem.place.column) == (5 + fields.count("\n"), column)
    chinese = problem.text("zh").split(": ", 1)[1]
    assert any("\u4e00" <= character <= "\u9fff" for character in chinese)


@pytest.mark.parametrize(
    ("moment", "zone"),
    [("2027-01-01 09:00 PM", ""), ("2027-01-01T09:00 Uhr", ""), ("2027-01-01 09:00 JST", "Asia/Tokyo")],
)
def test_what_stands_behind_a_moment_is_told_as_its_zone_only_where_it_is_one(moment: str, zone: str) -> None:
    said = refused(f'at: "{moment}"\ntz: UTC').text()
    assert ("goes into its own field" in said) is bool(zone)
    assert f"tz: {zone}" in said if zone else "tz: " not in said


@pytest.mark.parametrize(
    "schedule",
    ["crontab(minute=0, hour='22-4')", "R/2026-01-01T00:00:00Z/PT1H", "Mon..Fri 09:00 Europe/Berlin", "every 5 minutes",
     "CronTrigger(month=2, day=30)", "crontab(minute=90)"],
)  # fmt: skip
def test_a_schedule_that_is_told_can_be_written(schedule: str) -> None:
    told = re.search(r"; write (\{.*?\})(?:\.$|, \{every)", refused(f'schedule: "{schedule}"').text())
    assert told is not None
    fields = told[1].replace("tz: ..", "tz: UTC")
    (job,) = loader.loads(
        f"version: 1\njobs:\n  tool:\n    reason: a test\n    command: [x]\n    schedule: {fields}\n"
    ).jobs
    assert job.is_series


def test_a_file_with_the_line_ends_of_windows_is_the_same_file() -> None:
    text = (
        "version: 1\ndefaults: {tz: Europe/Berlin}\njobs:\n  backup:\n    reason: a test\n    cron: 0 3 * * *\n"
        '    command: [backup, --all]\n  sync:\n    reason: a test\n    cron: "*/5 * * * 1-5"\n    command:\n'
        "      - sync\n      - |\n        two\n        lines\n"
    )
    assert loader.loads(text.replace("\n", "\r\n")).jobs == loader.loads(text).jobs


def test_a_line_break_in_a_command_stays_inside_its_one_argument() -> None:
    (job,) = loader.loads(
        "version: 1\njobs:\n  tool:\n    reason: a test\n    cron: 0 9 * * *\n    tz: UTC\n"
        '    command: [echo, "a\\n* * * * * evil"]\n'
    ).jobs
    assert job.command == ("echo", "a\n* * * * * evil")


def test_each_bad_job_is_told_and_the_others_are_there() -> None:
    loaded = loader.loads(
        "version: 1\njobs:\n  late:\n    reason: a test\n    cron: 99 * * * *\n    tz: UTC\n    command: [x]\n"
        "  good:\n    reason: a test\n    cron: 0 3 * * *\n    tz: UTC\n    command: [x]\n",
        keep_good=True,
    )
    assert [job.name for job in loaded.jobs] == ["good"]
    assert [(problem.job, problem.place.line) for problem in loaded.problems] == [("late", 5)]


@pytest.mark.parametrize(
    "fields",
    ["every: 1h\nretry: {max: 1001}", "every: 1h\nretry: {factor: .inf}", 'event: ""', "every: 1h\nparams: {a: .inf}",
     'at: "2026-02-30T09:00"\ntz: UTC', 'at: "2026-12-01T24:00"\ntz: UTC', 'at: "tomorrow at 9"\ntz: UTC',
     "every: 1h\ncatch_up: {max_delay: 0s}", "every: 1h\nisolation: thread"],
)  # fmt: skip
def test_what_a_library_says_of_a_value_is_told_in_chinese_alone(fields: str) -> None:
    sentence = refused(fields).text("zh").split("  ", 1)[1].split(": ", 1)[1]
    words = re.findall(r"[A-Za-z]{3,} [A-Za-z]{2,} [A-Za-z]{2,}", sentence)
    assert words == [], sentence
