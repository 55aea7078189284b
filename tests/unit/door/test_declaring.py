"""Decorators say the same as rules files, and refuse the same mistakes in the same words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noonmark import (
    CatchUp,
    Context,
    ContextSync,
    Guardrails,
    ProblemList,
    Retry,
    Scheduler,
    Window,
    at,
    cron,
    every,
    manual,
    on_event,
    ready,
    succeeded,
)
from noonmark.core.codec import digest
from noonmark.rules import loader

BOTH: list[tuple[Any, dict[str, Any], str]] = [
    (
        lambda: cron("30 18 * * mon-sat", tz="Asia/Shanghai"),
        {
            "window": lambda: Window("18:30", "20:00"),
            "depends_on": lambda: [ready("corpus.index", date="{business_date}", reason="old"), succeeded("other")],
            "each": {"channel": ["ops", "sales"]},
            "key": "digest:{business_date}:{channel}",
            "lease": "60s",
            "timeout": timedelta(minutes=10),
            "retry": lambda: Retry(5, backoff="30s..10m"),
            "catch_up": lambda: CatchUp(max_delay="90m"),
        },
        """
        schedule: {cron: "30 18 * * mon-sat", tz: Asia/Shanghai}
        window: {start: "18:30", end: "20:00"}
        depends_on: [{flag: corpus.index, date: "{business_date}", reason: old}, {success: other}]
        each: {channel: [ops, sales]}
        dedupe_key: "digest:{business_date}:{channel}"
        lease: 1m
        timeout: 600s
        retry: {max: 5, backoff: 30s..10m}
        catch_up: {max_delay: 90m}
        """,
    ),
    (
        lambda: every("1h", anchor="2026-11-28T08:30:00+08:00", tz="UTC"),
        {
            "allow_weekend": False,
            "params": {"a": 1},
            "overlap": "queue_all",
            "owner": "ops",
            "business_date": "previous_day",
        },
        """
        schedule: {every: 60m, anchor: "2026-11-28T00:30Z", tz: UTC}
        guardrails: {allow_weekend: false}
        params: {a: 1}
        overlap: queue_all
        owner: ops
        business_date: previous_day
        """,
    ),
    (
        lambda: at("2027-01-02T09:00", datetime(2027, 1, 3, 9, tzinfo=UTC), tz="Asia/Shanghai"),
        {"window": lambda: Window(length="2h"), "guardrails": lambda: Guardrails(reason="x"), "max_takeovers": 1},
        """
        at: ["2027-01-02T09:00:00", "2027-01-03T09:00:00+00:00"]
        tz: Asia/Shanghai
        execution_window: 120m
        guardrails: {reason: x}
        max_takeovers: 1
        """,
    ),
    (
        lambda: on_event("order.created", delay="30m"),
        {"key": "unpaid:{order_id}", "retry": 2, "on_lost": "manual", "depends_on": ["a.ready"]},
        """
        event: order.created
        delay: 1800s
        key: "unpaid:{order_id}"
        retry: {max: 2}
        on_lost: manual
        depends_on: a.ready
        """,
    ),
    (
        lambda: every("1m"),
        {"scope": "each_worker", "catch_up": lambda: CatchUp("skip")},
        "every: 60s\nscope: each_worker\ncatch_up: {enabled: false}",
    ),
    (lambda: manual(tz="UTC"), {}, "manual: true\ntz: UTC"),
]


@pytest.mark.parametrize(("trigger", "words", "fields"), BOTH, ids=[row[2].split()[0] for row in BOTH])
def test_code_and_file_give_the_same_job(
    sched: Scheduler, trigger: Callable[[], Any], words: dict[str, Any], fields: str
) -> None:
    said = {name: value() if callable(value) else value for name, value in words.items()}

    @sched.job(trigger(), reason="why", **said)
    def digest_job(**params: Any) -> None: ...

    body = "\n".join("    " + line.strip() for line in fields.strip().splitlines())
    text = f"version: 1\njobs:\n  digest_job:\n{body}\n    reason: why\n"
    (from_file,) = loader.loads(text, known=["other"]).jobs
    from_code = digest_job._scheduler._code["digest_job"].job
    assert from_code is not None
    assert (from_code.source, from_file.source) == ("code", "file")
    assert digest(from_code) == digest(from_file)


MISTAKES: list[tuple[Callable[[], Any], dict[str, Any], list[str]]] = [
    (lambda: cron("0 9 * * *", tz=""), {"reason": "x"}, ["cron_without_tz"]),
    (lambda: cron("0 9 30 2 *", tz="UTC"), {"reason": "x"}, ["bad_cron"]),
    (lambda: every("5m"), {}, ["reason_missing"]),
    (lambda: every("5m"), {"reason": " "}, ["reason_missing"]),
    (lambda: every("5m"), {"reason": "x", "windo": None}, ["unknown_field"]),
    (lambda: every("5m"), {"reason": "x", "key": "fixed"}, ["key_without_time"]),
    (lambda: every("5m"), {"reason": "x", "key": "{nobody}:{date}"}, ["bad_key"]),
    (lambda: every("5m"), {"reason": "x", "overlap": "queue_one"}, ["later_value"]),
    (lambda: every("5m"), {"reason": "x", "overlap": "never"}, ["bad_choice"]),
    (lambda: every("5m"), {"reason": "x", "retry": "4"}, ["wrong_type"]),
    (lambda: every("5m"), {"reason": "x", "retry": True}, ["wrong_type"]),
    (lambda: every("5m"), {"reason": "x", "each": {"channel": "ops"}}, ["bad_each"]),
    (lambda: every("5m"), {"reason": "x", "depends_on": [7]}, ["bad_condition"]),
    (lambda: every("5m"), {"reason": "x", "timeout": 5}, ["duration_not_text"]),
    (lambda: every("5m"), {"reason": "x", "name": "a b"}, ["bad_job_name"]),
    (lambda: every("5m"), {"reason": "x", "scope": "each_worker", "depends_on": [succeeded("y")]},
     ["each_worker_waits"]),
    (lambda: "0 9 * * *", {"reason": "x"}, ["no_trigger"]),
    (lambda: at(), {"reason": "x"}, ["no_trigger"]),
    (lambda: every("5m"), {"reason": "x", "window": Window("18:30", "18:00")}, ["window_end_before_start"]),
    (lambda: every("5m"), {"reason": "x", "isolation": "process"}, ["process_needs_module"]),
    (lambda: cron("x", tz="Mars"), {"key": "k", "timeot": 1},
     ["unknown_field", "reason_missing", "bad_zone", "bad_cron", "key_without_time"]),
]  # fmt: skip


@pytest.mark.parametrize(("trigger", "words", "codes"), MISTAKES, ids=[str(row[2]) for row in MISTAKES])
def test_a_decorator_refuses_what_a_file_would(
    sched: Scheduler, trigger: Callable[[], Any], words: dict[str, Any], codes: list[str]
) -> None:
    with pytest.raises(ProblemList) as refused:

        @sched.job(trigger(), **words)
        def digest() -> None: ...

    assert [each.code for each in refused.value.problems] == codes
    place = refused.value.problems[0].place
    assert place.file == __file__
    assert place.line > 0
    assert sched._code == {}


def test_words_that_cannot_be_read_are_refused_where_they_stand() -> None:
    for say in (
        lambda: Retry(4, backoff="fast"),
        lambda: Retry(-1),
        lambda: CatchUp("most"),
        lambda: CatchUp(max_delay="5 apples"),
        lambda: Window(length="1 month"),
        lambda: every("5"),
        lambda: every("1ms"),
        lambda: at("2027-02-30T09:00", tz="UTC"),
        lambda: at("2027-02-03T09:00"),
        lambda: on_event("a", delay="-5m"),
    ):
        with pytest.raises(ProblemList) as refused:
            say()
        assert refused.value.problems[0].place.file == __file__


def test_a_function_that_needs_more_than_the_rule_gives_is_refused_at_once(sched: Scheduler) -> None:
    with pytest.raises(ProblemList) as refused:

        @sched.job(every("5m"), reason="x")
        def digest(ctx: ContextSync, channel: str, lang: str = "en") -> None: ...

    assert [each.code for each in refused.value.problems] == ["handler_needs"]
    assert '"channel"' in refused.value.problems[0].text()


def test_one_name_belongs_to_one_function(sched: Scheduler) -> None:
    @sched.job(every("5m"), reason="x")
    def a_b() -> None: ...

    with pytest.raises(ProblemList) as refused:

        @sched.job(every("5m"), name="a-b", reason="x")
        def other() -> None: ...

    assert [each.code for each in refused.value.problems] == ["declared_twice"]


def test_the_function_stays_callable_with_or_without_a_context(sched: Scheduler) -> None:
    @sched.job(manual(), reason="x")
    async def digest(ctx: Context, channel: str) -> str:
        return str(await ctx.step("make", lambda: f"{ctx.job} for {channel}"))

    @sched.job(manual(), reason="x")
    def rebuild(ctx: ContextSync, n: int = 2) -> int:
        ctx.progress(1, n)
        ctx.signal("built")
        return int(ctx.once("pay", lambda: n))

    @sched.job(manual(), reason="x")
    def plain(n: int) -> int:
        return n + 1

    assert asyncio.run(digest(channel="ops")) == "digest for ops"
    assert rebuild() == 2
    assert rebuild(n=5) == 5
    assert plain(1) == 2
    assert getattr(plain, "__name__", "") == "plain"
    assert plain.function(3) == 4


RULES = """version: 1
jobs:
  daily-digest:
    cron: "0 9 * * *"
    tz: UTC
    reason: from the file
  only-file:
    every: 5m
    run: tests.unit.door.test_declaring:nothing
    depends_on: [{success: only_code}]
    reason: x
  bound:
    manual: true
    reason: x
"""


def with_rules(tmp_path: Path, text: str = RULES) -> Scheduler:
    (tmp_path / "noonmark.yaml").write_text(text, encoding="utf-8")
    return Scheduler("memory://", rules=tmp_path / "noonmark.yaml")


def test_the_file_wins_and_the_code_lends_its_function(tmp_path: Path) -> None:
    with with_rules(tmp_path) as sched:

        @sched.job(every("1h"), reason="from the code")
        def daily_digest() -> str:
            return "ran"

        @sched.job(every("1h"), reason="x")
        def only_code() -> None: ...

        @sched.handler("bound")
        def anything() -> None: ...

        assert sorted(sched.jobs) == ["bound", "daily-digest", "only-file", "only_code"]
        assert daily_digest.job.reason == "from the file"
        assert daily_digest.job.source == "file"
        assert sched.rules.functions["daily-digest"]() == "ran"
        assert sched.rules.functions["bound"] is anything.function
        assert "only-file" not in sched.rules.functions


def test_a_job_of_the_file_that_nothing_runs_is_refused_with_its_place(tmp_path: Path) -> None:
    with with_rules(tmp_path) as sched, pytest.raises(ProblemList) as refused:
        assert sched.rules
    found = {(each.code, each.job, each.place.line) for each in refused.value.problems}
    assert found >= {("success_unknown_job", "only-file", 10)}
    text = RULES.replace("    depends_on: [{success: only_code}]\n", "")
    with with_rules(tmp_path, text) as sched, pytest.raises(ProblemList) as refused:
        assert sched.rules
    assert [(each.code, each.job) for each in refused.value.problems] == [
        ("nothing_to_run", "daily-digest"),
        ("nothing_to_run", "bound"),
    ]


def test_a_lent_function_without_a_rule_is_refused(tmp_path: Path) -> None:
    with with_rules(tmp_path, "version: 1\njobs: {}\n") as sched:

        @sched.handler()
        def lonely() -> None: ...

        with pytest.raises(ProblemList) as refused:
            sched.declare()
        assert [each.code for each in refused.value.problems] == ["no_trigger"]


def test_task_rules_bind_to_functions_by_name(tmp_path: Path) -> None:
    path = tmp_path / "rules.py"
    path.write_text('TASK_RULES = {"daily_report_agent": {"cron": "0 9 * * *", "timezone": "UTC"}}\n', encoding="utf-8")
    with Scheduler("memory://", rules=path) as sched:

        @sched.handler()
        def daily_report_agent() -> None: ...

        assert daily_report_agent.job.source == "task_rules"
        assert sched.declare()[0].name == "daily_report_agent"


def test_a_noonmark_yaml_beside_the_work_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noonmark.yaml").write_text(
        "version: 1\njobs:\n  a: {manual: true, run: 'm:f', reason: x}\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOONMARK_RULES", raising=False)
    with Scheduler("memory://") as sched:
        assert list(sched.jobs) == ["a"]
    with Scheduler("memory://", rules=False) as sched:
        assert list(sched.jobs) == []
    monkeypatch.setenv("NOONMARK_RULES", str(tmp_path / "other.yaml"))
    with Scheduler("memory://") as sched, pytest.raises(ProblemList, match="no such file"):
        assert sched.jobs


def test_a_namespace_is_refused_rather_than_ignored() -> None:
    with pytest.raises(ValueError, match="not in this version yet"):
        Scheduler("memory://", namespace="a")


def nothing() -> None:
    """Stand in for a job's function in the rules above."""
