"""Schedules as other schedulers' files have them: written into a rules file, and asked for with ``noonmark next``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cases"))

from as_written import NOON, SPANS, WRITTEN
from calling import Noonmark

from noonmark.core.times import parse_instant, to_datetime


def rules(tmp_path: Path, *schedules: str) -> str:
    jobs = "".join(
        f"  job{number}:\n    reason: a test\n    command: [x]\n{schedule}" for number, schedule in enumerate(schedules)
    )
    path = tmp_path / "noonmark.yaml"
    path.write_text(f"version: 1\njobs:\n{jobs}", encoding="utf-8")
    return str(path)


def cron(expression: str, zone: str) -> str:
    return f"    cron: {json.dumps(expression)}\n    tz: {zone}\n"


def coming(noonmark: Noonmark, path: str, after: str, count: int, job: str = "job0") -> list[str]:
    """Return the moments after an instant; ``--from`` names the first that may come."""
    start = to_datetime(parse_instant(after, None) + 1).isoformat()
    answer = noonmark("next", job, "--app", path, "--json", "-n", str(count), "--from", start)
    assert answer.code == 0, answer.err
    found = [parse_instant(one["utc"], None) for one in answer.plain["next"]]
    return [to_datetime(at).strftime("%Y-%m-%dT%H:%MZ") for at in found]


@pytest.mark.parametrize(("expression", "zone", "moments"), WRITTEN)
def test_next_tells_of_a_rules_file_what_its_writer_meant(
    noonmark: Noonmark, tmp_path: Path, expression: str, zone: str, moments: str
) -> None:
    path = rules(tmp_path, cron(expression, zone))
    assert noonmark("rules", "check", path).code == 0
    assert coming(noonmark, path, NOON, 3) == moments.split()


@pytest.mark.parametrize(("expression", "zone", "after", "moments"), SPANS)
def test_next_goes_through_a_change_of_the_clocks(
    noonmark: Noonmark, tmp_path: Path, expression: str, zone: str, after: str, moments: str
) -> None:
    found = coming(noonmark, rules(tmp_path, cron(expression, zone)), after, len(moments.split()))
    assert [moment[-6:] for moment in found] == moments.split()


def test_several_crons_of_one_workflow_are_jobs_that_are_told_together(noonmark: Noonmark, tmp_path: Path) -> None:
    zone = "America/Los_Angeles"
    path = rules(tmp_path, cron("*/3 * * * *", zone), cron("*/2 * * * *", zone))
    answer = noonmark("next", "--app", path, "--json", "-n", "4", "--from", "2026-11-29T12:00:01Z")
    assert [one["utc"][11:16] for one in answer.plain["next"]] == ["12:02", "12:03", "12:04", "12:06"]


def test_an_interval_of_a_minute_and_seconds_that_begin_anew_each_minute(noonmark: Noonmark, tmp_path: Path) -> None:
    path = rules(tmp_path, "    every: 60s\n    tz: America/New_York\n", cron("*/7 * * * * *", "UTC"))
    assert coming(noonmark, path, NOON, 3) == [f"2026-11-29T12:0{minute}Z" for minute in (1, 2, 3)]
    answer = noonmark("next", "job1", "--app", path, "--json", "-n", "3", "--from", "2026-11-29T12:00:50Z")
    assert [one["utc"][11:19] for one in answer.plain["next"]] == ["12:00:56", "12:01:00", "12:01:07"]


def test_once_is_a_moment_that_does_not_come_back(noonmark: Noonmark, tmp_path: Path) -> None:
    path = rules(tmp_path, '    at: "2015-06-01T00:00Z"\n')
    assert coming(noonmark, path, "2015-05-31T12:00Z", 3) == ["2015-06-01T00:00Z"]
    assert coming(noonmark, path, NOON, 3) == []
    check = noonmark("rules", "check", path)
    assert "nothing of it is to come" in check.out
    assert check.code == 0


def test_a_line_that_is_wrong_is_refused_by_its_number_with_what_may_stand_there(
    noonmark: Noonmark, tmp_path: Path
) -> None:
    path = rules(tmp_path, cron("0 3 * * *", "UTC"), cron("99 * * * *", "UTC"))
    answer = noonmark("rules", "check", path)
    assert answer.code == 1
    assert f"{path}:11:11" in answer.err
    assert "minute" in answer.err
    assert "0-59" in answer.err
    chinese = noonmark("--lang", "zh", "rules", "check", path)
    assert f"{path}:11:11" in chinese.err
    assert "无法读取" in chinese.err


def test_what_is_often_misread_is_told_by_rules_check(noonmark: Noonmark, tmp_path: Path) -> None:
    path = rules(tmp_path, cron("* */6 * * *", "UTC"), cron("0 21 1,15 * 1", "UTC"), cron("0 0 29 2 *", "UTC"))
    told = noonmark("rules", "check", path, "--json").plain["findings"]
    assert [(one["job"], one["line"], one["column"]) for one in told] == [
        ("job0", 6, 11),
        ("job1", 11, 11),
        ("job2", 16, 11),
    ]
    for one, says in zip(told, ("every minute of hour */6", "OR on day-of-week 1", "leap years"), strict=True):
        assert says in one["text"]
