"""What loads but may not be meant is told at its line and column, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from noonmark.core.times import parse_instant
from noonmark.rules import loader
from noonmark.rules.findings import findings
from noonmark.rules.problems import Problem


def found(fields: str) -> list[Problem]:
    lines = "".join(f"    {line}\n" for line in ["reason: a test", *fields.split("\n"), 'command: ["true"]'])
    return findings(loader.loads(f"version: 1\njobs:\n  digest:\n{lines}"))


@pytest.mark.parametrize(
    ("fields", "code", "column", "says"),
    [
        ('cron: "*/40 * * * *"\ntz: UTC', "cron_reading", 11, "not every 40 minutes"),
        ('cron: "0 0 13 * 5"\ntz: UTC', "cron_reading", 11, "day-of-month 13 OR on day-of-week 5"),
        ('schedule: {cron: "*/30 2 * * *", tz: America/New_York}', "cron_reading", 22, "2026-03-08, 2027-03-14"),
        ('cron: "0 0 31 * *"\ntz: UTC', "cron_reading", 11, "write L"),
        ('key: "d:{business_date}"\ncron: "0 9,18 * * *"\ntz: UTC', "key_same_twice", 10, "add {scheduled_for}"),
        ('key: "d:{business_date:%Y%m}"\ncron: "0 9 * * *"\ntz: UTC', "key_same_twice", 10, "d:2026"),
        ('key: "d:{scheduled_for:%Y-%m-%d}"\nevery: 6h', "key_same_twice", 10, "T06:00:00 UTC"),
        ('tz: EST\ncron: "0 9 * * *"', "zone_without_summer", 9, "write America/New_York"),
        ('tz: Etc/GMT+8\ncron: "0 9 * * *"', "zone_counts_west", 9, "is UTC-08:00"),
        ("every: 1d\ntz: Europe/Berlin", "every_day_in_real_time", 12, "every 1d is real time"),
        ('at: ["2027-01-04T09:00", "2027-01-04T09:00Z"]\ntz: UTC', "moments_meet", 30, "same instant"),
        ('at: ["2027-03-14T02:30", "2027-03-14T03:00"]\ntz: America/New_York', "moments_meet", 30, "same instant"),
        ('guardrails: {allow_weekend: false}\ncron: "0 9 * * SAT,SUN"\ntz: UTC', "weekends_only", 33, "never runs"),
        (
            'window: {start: "18:30", end: "20:00"}\ncron: "0 9 * * *"\ntz: UTC',
            "always_before_window",
            21,
            "waits 9 h 30 min",
        ),
        (
            'window: {start: "09:00", end: "17:00"}\ncron: "0 21 * * *"\ntz: UTC',
            "always_before_window",
            21,
            "waits 12 h",
        ),
        ("overlap: skip\nevery: 1h\ncatch_up: {missed: all}", "rounds_skipped", 14, "leave overlap out"),
        ("catch_up: {max_delay: 5s}\nevery: 1h", "limit_of_seconds", 27, "5s"),
        ("retry: {jitter: 0s}\nevery: 1h", "retry_in_step", 21, "together"),
        ('key: "d:{date}"\nat: ["2027-01-04T09:00", "2027-01-04T10:00"]\ntz: UTC', "key_same_twice", 10, "2027-01-04"),
    ],
)
def test_what_may_not_be_meant_is_found_where_it_is_written(fields: str, code: str, column: int, says: str) -> None:
    (problem,) = found(fields)
    assert (problem.code, problem.place.line, problem.place.column) == (code, 5, column)
    assert says in problem.text()
    chinese = problem.text("zh").split(": ", 1)[1]
    assert any("\u4e00" <= character <= "\u9fff" for character in chinese)


@pytest.mark.parametrize(
    "fields",
    [
        'key: "d:{business_date}"\ncron: "0 9 * * *"\ntz: Asia/Shanghai',
        'key: "d:{scheduled_for}"\ncron: "*/5 * * * *"\ntz: Asia/Shanghai',
        'key: "d:{business_date}:{scheduled_for:%Y%H%M}"\ncron: "0,30 * * * *"\ntz: Asia/Shanghai',
        'key: "d:{business_date}:{channel}"\ncron: "0 9 * * *"\ntz: UTC\neach: {channel: [ops, sales]}',
        'key: "d:{params.n}"\nmanual: true',
        'cron: "0 9 ? * THU"\ntz: UTC',
        "every: 1d",
        "every: 1h\nretry: {jitter: 0s, max: 0}",
        "every: 1h\ncatch_up: {max_delay: 10s}",
        "every: 1h\ncatch_up: {missed: all}",
        'guardrails: {allow_weekend: false}\ncron: "0 9 * * *"\ntz: UTC',
        'window: {start: "09:00", end: "17:00"}\ncron: "0 */3 * * *"\ntz: UTC',
        'window: {start: "22:00", end: "02:00", crosses_midnight: true}\ncron: "30 1 * * *"\ntz: UTC',
        'window: {start: "02:00", end: "02:45"}\ncron: "15 2 * * *"\ntz: America/New_York',
        "every: 1d\ntz: Asia/Shanghai",
        "every: 6h\ntz: Europe/Berlin",
        'cron: "0 9 * * *"\ntz: Etc/GMT',
    ],
)
def test_what_is_plain_has_no_finding(fields: str) -> None:
    assert found(fields) == []


def test_a_success_of_a_job_in_another_zone_is_told_with_both_zones() -> None:
    def rules(zone: str) -> str:
        return (
            "version: 1\njobs:\n"
            '  etl: {reason: a test, cron: "0 1 * * *", tz: Asia/Shanghai, command: [x]}\n'
            f'  report: {{reason: a test, cron: "0 18 * * *", tz: {zone}, depends_on: [{{success: etl}}], command: [x]}}\n'
        )

    (problem,) = findings(loader.loads(rules("UTC")))
    assert (problem.code, problem.job, problem.place.line) == ("success_in_another_zone", "report", 4)
    assert "Asia/Shanghai" in problem.text()
    assert findings(loader.loads(rules("Asia/Shanghai"))) == []


def test_a_list_of_moments_that_is_over_is_told_where_the_time_is_known() -> None:
    text = 'version: 1\njobs:\n  once:\n    reason: a test\n    at: ["2026-06-13T00:00", "2026-06-12T00:00"]\n    tz: UTC\n'
    loaded, now = loader.loads(text), parse_instant("2026-11-28T00:00Z", None)
    (problem,) = findings(loaded, now=now)
    assert (problem.code, problem.place.line, problem.place.column) == ("moments_over", 5, 9)
    assert "168 d ago" in problem.text()
    assert findings(loaded, now=parse_instant("2026-06-13T00:00Z", None)) == findings(loaded) == []


def test_the_rules_that_init_writes_have_no_finding(tmp_path: Path) -> None:
    from noonmark.faces.cli import init

    texts = [value for value in vars(init).values() if isinstance(value, str) and value.lstrip().startswith("# Rules")]
    assert texts
    for text in texts:
        (tmp_path / "noonmark.yaml").write_text(text, encoding="utf-8")
        assert findings(loader.load(tmp_path / "noonmark.yaml")) == []
