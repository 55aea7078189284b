"""One subject of a job, named as the tables print it."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import MINUTE, Every, Job

TENANTS = Job(
    name="per_tenant",
    trigger=Every(period=5 * MINUTE, tz="Asia/Shanghai"),
    each={"tenant": ("北京", "上海")},
    key="bill:{tenant}:{scheduled_for}",
    overlap="allow",
    reason="Each pays for itself.",
)


@pytest.fixture
def tenants(desk: Desk) -> dict[str, int]:
    """Both were due at 12:05; one ran, the other one failed."""
    for name in ("tick", "digest"):
        desk.act("end_job", job=name)
    desk.register(TENANTS)
    desk.until("2026-11-27T12:05:00")
    desk.beat()
    ids = {}
    for row in desk.take():
        ids[row.subject] = row.id
    return ids


def test_why_takes_the_subject_as_history_prints_it(tenants: dict[str, int], noonmark: Noonmark) -> None:
    for subject, number in tenants.items():
        printed = f"per_tenant[{subject}]"
        assert printed in noonmark("history", "per_tenant", "--all").out
        assert noonmark("why", printed, "--json").plain["id"] == number
        assert noonmark("why", printed, "--at", "2026-11-27T12:05", "--json").plain["id"] == number


def test_history_takes_it_too(tenants: dict[str, int], noonmark: Noonmark) -> None:
    for subject, number in tenants.items():
        rows = noonmark("history", f"per_tenant[{subject}]", "--json").plain["occurrences"]
        assert [row["id"] for row in rows] == [number]


@pytest.mark.usefixtures("tenants")
def test_a_subject_or_a_job_that_is_not_there_is_said_not_to_be(noonmark: Noonmark) -> None:
    for command in ("why", "history"):
        answer = noonmark(command, "per_tenant[tenant=广州]")
        assert answer.code == 5
        assert "per_tenant has no 'tenant=广州'" in answer.err
        assert "it has tenant=北京, tenant=上海" in answer.err
        assert noonmark(command, "per_tenant[x]", "--json").code == 5
    assert noonmark("why", "nothing[tenant=a]").code == 5
    assert noonmark("history", "nothing[tenant=a]").code == 5


def test_a_subject_of_the_rule_of_which_nothing_is_recorded_yet_is_no_mistake(
    tenants: dict[str, int], desk: Desk, noonmark: Noonmark
) -> None:
    desk.register(replace(TENANTS, each={"tenant": ("北京", "广州")}))
    answer = noonmark("history", "per_tenant[tenant=广州]", "--all", "--json")
    assert answer.code == 0
    gone = noonmark("history", "per_tenant[tenant=上海]", "--json").plain["occurrences"]
    assert [row["id"] for row in gone] == [tenants["tenant=上海"]], "a rule that no longer has it leaves its records"


def test_a_job_whose_own_name_has_brackets_is_meant_as_a_whole(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(Job(name="a", trigger=Every(period=MINUTE), key="a:{scheduled_for}", reason="x"))
    desk.until("2026-11-27T12:01:00")
    assert noonmark("why", "a").code == 0
    assert noonmark("why", "a[b]").code == 5


@pytest.mark.usefixtures("tenants")
@pytest.mark.parametrize("name", ["[" * 50_000, "a[" * 25_000, "[" * 50_000 + "]", "a[]", "[]", "]", "[", "a["])
def test_any_number_of_brackets_is_read_at_once(noonmark: Noonmark, name: str) -> None:
    began = time.process_time()
    assert noonmark("why", "--", name).code == 5
    assert time.process_time() - began < 2, "a pattern that tries each bracket anew takes seven seconds"
