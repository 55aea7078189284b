"""Every accepted spelling of a field gives the same job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    At,
    CatchUp,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    Manual,
    OnEvent,
    Retry,
    Succeeded,
    Window,
)
from noonmark.rules import loader

JobOf = Callable[[str], Job]
SHANGHAI = "Asia/Shanghai"


def test_the_whole_example_loads_as_it_reads() -> None:
    text = """
# yaml-language-server: $schema=noonmark.schema.json
version: 1
defaults: {tz: Asia/Shanghai, retry: {max: 5, backoff: 30s..10m}, lease: 60s, owner: ops}
jobs:
  daily-digest:
    run: myapp.jobs:daily_digest
    schedule: {cron: "30 18 * * mon-sat"}
    window: {start: "18:30", end: "20:00", reason: after that it is noise}
    guardrails: {allow_weekend: false, reason: nobody reads it}
    depends_on:
      - flag: corpus.index
        date: "{business_date}"
        reason: an old index gives an old digest
      - success: rebuild-index
    each: {channel: [ops, sales]}
    dedupe_key: "digest:{business_date}:{channel}"
    timeout: 10m
    catch_up: {enabled: true, max_delay: 90m, only_if_data_ready: true, recheck: 5m, missed: latest}
    overlap: skip
    reason: Ops reads it at 19:00; after 20:00 it is noise.
  rebuild-index: {every: 5m, run: "myapp.jobs:rebuild", reason: Search must be fresh., tz: UTC, retry: {max: 1}}
"""
    digest, rebuild = loader.loads(text).jobs
    assert digest == Job(
        name="daily-digest",
        trigger=Cron(expression="30 18 * * mon-sat", tz=SHANGHAI),
        reason="Ops reads it at 19:00; after 20:00 it is noise.",
        key="digest:{business_date}:{channel}",
        owner="ops",
        run="myapp.jobs:daily_digest",
        each={"channel": ("ops", "sales")},
        window=Window(start="18:30", end="20:00", reason="after that it is noise"),
        guardrails=Guardrails(allow_weekend=False, reason="nobody reads it"),
        depends_on=(
            FlagSet(flag="corpus.index:{business_date}", reason="an old index gives an old digest"),
            Succeeded(job="rebuild-index"),
        ),
        catch_up=CatchUp(max_delay=90 * MINUTE),
        retry=Retry(max=5, base=30 * SECOND, cap=10 * MINUTE),
        timeout=10 * MINUTE,
        lease=60 * SECOND,
        overlap="skip",
        source="file",
    )
    assert rebuild.retry == Retry(max=1, base=30 * SECOND, cap=10 * MINUTE)
    assert rebuild.trigger == Every(period=5 * MINUTE, tz="UTC")


SAME = [
    ("cron: '0 9 * * *'\ntz: UTC", "schedule: {cron: '0 9 * * *', tz: UTC}"),
    ("cron: '0 9 * * *'\ntimezone: UTC", "schedule: {cron: '0 9 * * *', timezone: UTC}"),
    ("schedule: {cron: '0 9 * * *'}\ntz: UTC", "cron: '0 9 * * *'\ntz: UTC"),
    ("event: a.b\ndelay: 30m", "schedule: {event: a.b, delay: 1800s}"),
    ("manual: true", "schedule: manual"),
    ("at: '2027-01-02T09:00'\ntz: UTC", "schedule: {at: ['2027-01-02T09:00:00'], tz: UTC}"),
    ("window_start: '09:00'\nwindow_end: '12:00'", "window: {start: '09:00', end: '12:00'}"),
    ("execution_window: 2h", "window: {length: 2h}"),
    ("guardrails: {execution_window: 2h}", "window: {length: 120m}"),
    ("dedupe_key: 'a:{date}'", "key: 'a:{date}'"),
    ("catchup: {max_delay_min: 120}", "catch_up: {max_delay: 2h}"),
    ("max_delay_min: 120", "catch_up: {max_delay: 2h}"),
    ("catch_up: {enabled: false}", "catch_up: {missed: skip}"),
    ("catch_up: {enabled: true}", "catch_up: {}"),
    ("retry: {max_attempts: 3}", "retry: {max: 3}"),
    ("retry: 3", "retry: {max: 3}"),
    ("allow_weekend: false", "guardrails: {allow_weekend: false}"),
    ("retry: {backoff: 2s..3m}", "retry: {base: 2s, cap: 3m}"),
    ("depends_on: a.ready", "depends_on: [a.ready]"),
    ("depends_on: [a.ready]", "depends_on: [{flag: a.ready}]"),
    ("depends_on: {flag: a}", "depends_on: [{flag: a}]"),
    ("depends_on: [{flag: 'a:{date}'}]", "depends_on: [{flag: a, date: '{date}'}]"),
    ("window: null", "timeout: 30m"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_are_one_rule(job_of: JobOf, one: str, other: str) -> None:
    assert job_of(one) == job_of(other)


def test_times_that_yaml_could_take_for_numbers_stay_text(job_of: JobOf) -> None:
    job = job_of('window: {start: "09:30", end: "12:30"}\nparams: {account: "0123", on: yes, off: "no"}')
    assert job.window == Window(start="09:30", end="12:30")
    assert job.params == {"account": "0123", "on": "yes", "off": "no"}


def test_a_window_over_midnight_says_so(job_of: JobOf) -> None:
    job = job_of('window: {start: "22:00", end: "02:00", crosses_midnight: true}')
    assert job.window == Window(start="22:00", end="02:00", crosses_midnight=True)


def test_an_anchor_is_an_instant_of_its_zone(job_of: JobOf) -> None:
    job = job_of('schedule: {every: 1h, anchor: "2026-11-28T08:30", tz: Asia/Shanghai}')
    assert job.trigger == Every(period=HOUR, anchor=1_795_825_800 * SECOND, tz=SHANGHAI)


def test_moments_keep_their_zone_instead_of_becoming_instants(job_of: JobOf) -> None:
    job = job_of('at: ["2027-03-28T02:30", "2027-03-28T02:30:00+08:00"]\ntz: Europe/Berlin')
    assert job.trigger == At(moments=("2027-03-28T02:30:00", "2027-03-27T18:30:00Z"), tz="Europe/Berlin")


def test_defaults_fill_in_and_never_override() -> None:
    text = """version: 1
defaults:
  timezone: Asia/Shanghai
  timeout: 5m
  window: {start: "09:00", end: "12:00"}
  catchup: {max_delay_min: 60, recheck: 1m}
jobs:
  a: {cron: "0 9 * * *", reason: x}
  b: {cron: "0 9 * * *", tz: UTC, timeout: 6m, window: null, catch_up: {max_delay: 2h, missed: all}, reason: x}
  c: {schedule: {event: e}, reason: x}
"""
    a, b, c = loader.loads(text).jobs
    assert (a.tz, a.timeout, a.window) == (SHANGHAI, 5 * MINUTE, Window(start="09:00", end="12:00"))
    assert a.catch_up == CatchUp(max_delay=HOUR, recheck=MINUTE)
    assert (b.tz, b.timeout, b.window) == ("UTC", 6 * MINUTE, None)
    assert b.catch_up == CatchUp(max_delay=2 * HOUR, missed="all", recheck=MINUTE)
    assert c.trigger == OnEvent(name="e", tz=SHANGHAI)


def test_anchors_and_merges_of_yaml_work_and_what_is_written_stands() -> None:
    text = """version: 1
x-usual: &usual {every: 5m, reason: x, timeout: 5m}
jobs:
  a: *usual
  b: {<<: *usual, timeout: 6m}
  c: *usual
"""
    a, b, c = loader.loads(text).jobs
    assert (a.timeout, b.timeout, c.timeout) == (5 * MINUTE, 6 * MINUTE, 5 * MINUTE)


def test_non_ascii_works_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "规则.yaml"
    path.write_text(
        "\ufeffversion: 1\njobs:\n  日报:\n    cron: '0 9 * * *'\n    tz: Asia/Shanghai\n"
        "    key: '日报:{business_date}'\n    depends_on: ['数据就绪:{date}']\n"
        "    params: {渠道: 运营 🚀}\n    reason: 运营九点看日报。\n",
        encoding="utf-8",
    )
    (job,) = loader.load(path).jobs
    assert (job.name, job.key, job.params) == ("日报", "日报:{business_date}", {"渠道": "运营 🚀"})
    assert job.depends_on == (FlagSet(flag="数据就绪:{date}"),)


def test_json_is_yaml() -> None:
    text = '{"version": 1, "jobs": {"a": {"schedule": {"every": "5m"}, "window": {"length": "2h"}, "reason": "x"}}}'
    (job,) = loader.loads(text).jobs
    assert job.window == Window(length=2 * HOUR)


def test_signs_that_json_writes_in_two_halves_are_one(job_of: JobOf) -> None:
    assert job_of('params: {a: "\\ud83d\\ude80"}').params == {"a": "🚀"}


def test_no_jobs_at_all_is_said_by_an_empty_mapping() -> None:
    assert loader.loads("version: 1\njobs: {}\n").jobs == ()


def test_the_place_of_a_field_can_be_asked_for_later() -> None:
    loaded = loader.loads(
        "version: 1\njobs:\n  a:\n    every: 5m\n    dedupe_key: 'a:{date}'\n    reason: x\n", name="r.yaml"
    )
    place, path = loaded.place("a", "key")
    assert (str(place), path) == ("r.yaml:5:17", "jobs.a.dedupe_key")
    assert str(loaded.place("a")[0]) == "r.yaml:3:3"


def test_a_job_may_be_manual_and_name_no_function(job_of: JobOf) -> None:
    job = job_of("manual: true")
    assert (job.trigger, job.run, job.command) == (Manual(), "", ())


def test_two_megabytes_of_rules_are_read_in_bounded_time() -> None:
    text = "version: 1\njobs:\n" + "".join(f"  j{n}: {{every: 5m, reason: x}}\n" for n in range(1000))
    assert len(loader.loads(text).jobs) == 1000
