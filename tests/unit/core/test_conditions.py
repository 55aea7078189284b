"""Conditions and the facts that answer them: one spelling on both sides."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from noonmark.core import conditions
from noonmark.core.errors_zh import in_chinese
from noonmark.core.keys import TemplateProblem
from noonmark.core.model import (
    FACT_LIMIT,
    NAME_LIMIT,
    Cron,
    FlagSet,
    Job,
    LockRule,
    Occurrence,
    OnEvent,
    Succeeded,
)
from noonmark.testing.builders import make_row

JOB = Job(name="report", trigger=Cron(expression="0 9 * * *", tz="Asia/Shanghai"), reason="read at nine")
ROW = make_row(job="report", business_date="2026-11-28")


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("corpus.index", "flag:corpus.index"),
        ("daily_etl.finished_{business_date}", "flag:daily_etl.finished_2026-11-28"),
        ("etl:{date}", "flag:etl:2026-11-28"),
        ("etl:{business_date:%Y%m%d}", "flag:etl:20261128"),
        ("准备好:{job}", "flag:准备好:report"),
    ],
)
def test_a_flags_name_is_exactly_what_the_upstream_announces(flag: str, name: str) -> None:
    assert conditions.fact_name(FlagSet(flag=flag), JOB, ROW) == name


def test_values_in_a_flags_name_are_not_escaped() -> None:
    job = replace(JOB, each={"source": ("a:b%",)})
    row = replace(ROW, subject="source=a:b%")
    assert conditions.fact_name(FlagSet(flag="ready:{source}"), job, row) == "flag:ready:a:b%"


@pytest.mark.parametrize(
    ("each", "subject"),
    [
        ({"channel": ("ops", "sales")}, "channel=ops"),
        ({"region": ("eu", "us"), "channel": ("ops", "sales")}, "region=us,channel=ops"),
    ],
)
def test_the_values_of_the_subject_are_known(each: dict[str, tuple[str, ...]], subject: str) -> None:
    row = replace(ROW, subject=subject)
    assert conditions.fact_name(FlagSet(flag="{channel}"), replace(JOB, each=each), row) == "flag:ops"


def test_params_and_the_events_fields_are_known() -> None:
    row = replace(ROW, params='{"order_id": 42}')
    assert conditions.fact_name(FlagSet(flag="paid:{order_id}"), JOB, row) == "flag:paid:42"
    job = replace(JOB, trigger=OnEvent(name="order.created"))
    assert conditions.fact_name(FlagSet(flag="paid:{event.order_id}"), job, row) == "flag:paid:42"


def test_a_name_that_nothing_binds_is_refused_except_in_task_rules() -> None:
    with pytest.raises(TemplateProblem, match="nothing binds"):
        conditions.fact_name(FlagSet(flag="x:{channel}"), JOB, ROW)
    rules = replace(JOB, source="task_rules")
    assert conditions.fact_name(FlagSet(flag="x:{channel}"), rules, ROW) == "flag:x:default"


def test_the_fact_that_a_success_raises_is_the_one_that_a_condition_waits_for() -> None:
    index = replace(JOB, name="index")
    assert conditions.success_fact(index, ROW) == conditions.fact_name(Succeeded(job="index"), JOB, ROW)
    assert conditions.success_fact(index, ROW) == "success:index::2026-11-28"


def test_a_condition_may_name_a_subject_of_the_other_job() -> None:
    digest, row = replace(JOB, name="digest"), replace(ROW, subject="channel=a:b")
    waited = conditions.fact_name(Succeeded(job="digest[channel=a:b]"), JOB, ROW)
    assert waited == conditions.success_fact(digest, row) == "success:digest:channel=a:b:2026-11-28"
    same = conditions.fact_name(Succeeded(job="digest[{subject}]"), replace(JOB, each={"channel": ("a:b",)}), row)
    assert same == waited


def test_a_condition_may_name_another_date() -> None:
    assert conditions.fact_name(Succeeded(job="x", date="2026-01-01"), JOB, ROW) == "success:x::2026-01-01"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flag:etl:2026-11-28", "flag etl:2026-11-28"),
        ("success:index::2026-11-28", "index succeeded for 2026-11-28"),
        ("success:digest:channel=a:b:2026-11-28", "digest[channel=a:b] succeeded for 2026-11-28"),
        ("slot:x:", "slot:x:"),
    ],
)
def test_facts_read_as_words(name: str, text: str) -> None:
    assert conditions.wanted_text(name) == text


def test_each_kind_of_condition_has_its_reason() -> None:
    assert conditions.missing_code(FlagSet(flag="x")) == "flag_missing"
    assert conditions.missing_code(Succeeded(job="x")) == "dependency_missing"


def test_which_job_a_condition_waits_for() -> None:
    assert conditions.upstream_job(Succeeded(job="digest[channel=ops]")) == ("digest", "channel=ops")
    assert conditions.upstream_job(FlagSet(flag="x")) == ("", "")


def _with_url(url: str) -> tuple[Job, Occurrence]:
    job = replace(JOB, trigger=OnEvent(name="page.found"), lock=LockRule(kind="file", at="", name="{event.url}"))
    return job, replace(ROW, params=json.dumps({"url": url}))


@pytest.mark.parametrize("url", ["x" * (FACT_LIMIT + 1), "城" * (FACT_LIMIT // 3 + 1)])
def test_a_name_that_no_store_keeps_is_refused_where_it_is_made(url: str) -> None:
    job, row = _with_url(url)
    for asked in (
        lambda: conditions.fact_name(FlagSet(flag="done:{event.url}"), job, row),
        lambda: conditions.fact_name(Succeeded(job="fetch[{event.url}]"), job, row),
        lambda: conditions.lock_fact(job, row),
    ):
        with pytest.raises(TemplateProblem, match=rf"\d+ bytes, more than {FACT_LIMIT}") as refused:
            asked()
        assert len(str(refused.value)) < 300
        assert any("\u4e00" <= sign <= "\u9fff" for sign in in_chinese(str(refused.value)))


def test_a_flag_that_nobody_could_set_is_refused_and_the_longest_that_can_be_set_is_not() -> None:
    job, row = _with_url("x" * (NAME_LIMIT - len("flag:")))
    assert len(conditions.fact_name(FlagSet(flag="{event.url}"), job, row)) == NAME_LIMIT
    with pytest.raises(TemplateProblem, match=f"{NAME_LIMIT + 1} characters, more than {NAME_LIMIT}") as refused:
        conditions.fact_name(FlagSet(flag="{event.url}!"), job, row)
    assert any("\u4e00" <= sign <= "\u9fff" for sign in in_chinese(str(refused.value)))


def test_a_lock_without_a_name_is_refused_for_nobody_would_ask_for_it() -> None:
    job, row = _with_url("")
    with pytest.raises(TemplateProblem, match="gives no name for a lock here") as refused:
        conditions.lock_fact(job, row)
    assert any("\u4e00" <= sign <= "\u9fff" for sign in in_chinese(str(refused.value)))
