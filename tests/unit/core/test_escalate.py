"""Alerts: exactly three for a failing occurrence, and an all-clear when it ends well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.decide import decide
from noonmark.core.escalate import alerts_for, kind_of
from noonmark.core.lapsed import Holder, judge
from noonmark.core.model import AlertWrite, Decision, Event, Fact, Job, Manual, Occurrence, State
from noonmark.testing.builders import make_row

JOB = Job(name="digest", trigger=Manual(), reason="a test needs it", owner="ops")


def alerts(row: Occurrence, event: Event, code: str = "x", *, is_open: bool = False) -> tuple[AlertWrite, ...]:
    return alerts_for(JOB, row, event, code, {"error": "boom"}, is_open=is_open)


def test_five_failures_are_a_notice_a_raised_alert_updates_and_an_urgent_one() -> None:
    told = [alerts(make_row(attempt=attempt), Event.FAIL_RETRY)[0] for attempt in range(1, 5)]
    told += alerts(make_row(attempt=5), Event.FAIL_MANUAL)
    assert [alert.level for alert in told] == [1, 2, 2, 2, 3]
    assert [bool(alert.detail.get("update")) for alert in told] == [False, False, True, True, False]
    assert {alert.kind for alert in told} == {"failing"}


def test_lost_attempts_do_not_make_an_alert_louder() -> None:
    assert alerts(make_row(attempt=4, takeovers=3), Event.FAIL_RETRY)[0].level == 1


def test_an_alert_carries_run_key_attempt_owner_error_and_reason() -> None:
    (alert,) = alerts(make_row(7, attempt=1), Event.FAIL_RETRY, "failed_retry")
    assert alert.detail == {"run": "r7", "key": "key:7", "attempt": 1, "owner": "ops", "error": "boom"}
    assert (alert.job, alert.code, alert.occurrence_id, alert.clear) == ("digest", "failed_retry", 7, False)


def test_a_missed_occurrence_is_urgent_and_of_its_own_kind() -> None:
    assert [(alert.kind, alert.level) for alert in alerts(make_row(), Event.MISS)] == [("missed", 3)]


def test_a_run_that_keeps_killing_workers_is_urgent_and_of_its_own_kind() -> None:
    (alert,) = alerts(make_row(attempt=4, takeovers=4), Event.FAIL_MANUAL, "poison")
    assert (alert.kind, alert.level) == ("poison", 3)


def test_a_success_after_a_failure_is_one_all_clear_for_every_kind() -> None:
    cleared = alerts(make_row(attempt=2), Event.SUCCEED)
    assert {alert.kind for alert in cleared} == {"failing", "poison", "missed"}
    assert all(alert.clear for alert in cleared)


def test_a_persons_retry_that_succeeds_closes_the_alert_although_its_attempts_are_fresh() -> None:
    assert alerts(make_row(attempt=1, actor="ann"), Event.SUCCEED)


def test_a_plain_success_writes_nothing_unless_an_alert_is_known_to_be_open() -> None:
    assert alerts(make_row(attempt=1), Event.SUCCEED) == ()
    assert alerts(make_row(attempt=2, takeovers=1), Event.SUCCEED) == ()
    assert alerts(make_row(attempt=1), Event.SUCCEED, is_open=True)


def test_what_is_no_failure_tells_nobody() -> None:
    for event in (Event.START, Event.PARK, Event.SKIP, Event.TAKEOVER, Event.HAND_BACK, Event.RETRY, Event.REOPEN):
        assert alerts(make_row(attempt=3), event) == ()


def test_a_cancel_of_a_failing_occurrence_closes_its_alert() -> None:
    assert all(alert.clear for alert in alerts(make_row(attempt=3), Event.CANCEL))
    assert alerts(make_row(attempt=3), Event.CANCEL)


def looked_at_too_late(**fields: Any) -> Decision:
    going = {"pause:digest": Fact(name="pause:digest", version=1), "key:key:1": Fact(name="key:key:1", version=0)}
    return decide(JOB, make_row(at=0, **fields), going, 10)


def lapsed(job: Job = JOB, **fields: Any) -> Decision:
    return judge(job, make_row(at=0, state=State.RUNNING, **fields), Holder(), {}, 10**12)


@pytest.mark.parametrize(
    "decision",
    [
        looked_at_too_late(not_after=5),
        looked_at_too_late(expires_at=5),
        lapsed(not_after=5),
        lapsed(takeovers=4),
        lapsed(replace(JOB, on_lost="manual")),
        lapsed(replace(JOB, on_lost="wait"), started_at=0),
    ],
    ids=lambda decision: decision.code,
)
def test_a_row_that_waits_for_a_person_says_of_which_kind_its_alert_is(decision: Decision) -> None:
    (alert,) = alerts(make_row(), decision.event, decision.code)
    assert alert.level == 3
    assert kind_of(decision.verdict, decision.code) == alert.kind
