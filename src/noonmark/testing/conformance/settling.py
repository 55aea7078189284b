"""``settle``: outcomes, the fences that guard them, and what an end leaves behind."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from noonmark.core.model import AlertWrite, Event, FactWrite, State
from noonmark.testing.builders import LEASE, make_end, make_start
from noonmark.testing.conformance.harness import Harness, is_refused


def a_start_makes_the_looked_at_row_run(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    settled = harness.start(look, at=1)
    assert (settled.outcome, settled.state) == ("applied", State.RUNNING)
    assert settled.lease_until == harness.at(1) + LEASE
    row = harness.row(look.id)
    assert (row.state, row.looking, row.holder, row.attempt) == (State.RUNNING, False, "w1", 1)
    assert (row.fence, row.due_at, row.claimed) == (settled.fence, settled.lease_until, True)
    assert (row.started_at, row.first_started_at) == (harness.at(1), harness.at(1))
    assert row.verdict == "should_run"


def a_success_ends_the_row_with_its_result(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    settled = harness.end(row, at=3, result='{"n": 1}', code="succeeded", detail='{"took": 3}')
    assert (settled.outcome, settled.state) == ("applied", State.SUCCESS)
    ended = harness.row(row.id)
    assert (ended.state, ended.due_at, ended.ended_at) == (State.SUCCESS, None, harness.at(3))
    assert (ended.result, ended.code, ended.detail, ended.claimed) == ('{"n": 1}', "succeeded", '{"took": 3}', True)
    (attempt,) = harness.story(row.id).attempts
    assert (attempt.outcome, attempt.worker, attempt.number) == ("success", "w1", 1)
    assert (attempt.started_at, attempt.ended_at) == (harness.at(0), harness.at(3))


def a_run_that_was_started_by_a_settlement_succeeds_under_its_fence(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    run = replace(look, fence=harness.start(look).fence)
    assert harness.end(run, at=2).state is State.SUCCESS
    assert [attempt.outcome for attempt in harness.story(look.id).attempts] == ["success"]


def a_failure_that_may_be_retried_waits_as_a_row(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    settled = harness.end(row, Event.FAIL_RETRY, at=3, due_at=harness.at(4), error="boom", code="failed_retry")
    assert settled.state is State.FAILED_RETRYING
    waiting = harness.row(row.id)
    assert (waiting.due_at, waiting.ended_at, waiting.error) == (harness.at(4), None, "boom")
    assert (waiting.attempt, waiting.code) == (1, "failed_retry")
    (attempt,) = harness.story(row.id).attempts
    assert (attempt.outcome, attempt.error, attempt.ended_at) == ("failed", "boom", harness.at(3))


def a_final_failure_asks_a_person(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row, Event.FAIL_MANUAL, at=3, error="boom")
    ended = harness.row(row.id)
    assert (ended.state, ended.due_at, ended.error) == (State.FAILED_MANUAL, None, "boom")
    (attempt,) = harness.story(row.id).attempts
    assert (attempt.outcome, attempt.error) == ("failed", "boom")


def every_try_is_told_in_order(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row, Event.FAIL_RETRY, at=1, due_at=harness.at(2), error="one")
    second = harness.take_one("w2", at=2)
    harness.end(second, Event.FAIL_RETRY, worker="w2", at=3, due_at=harness.at(4), error="two")
    third = harness.take_one("w3", at=4)
    harness.end(third, worker="w3", at=5)
    attempts = harness.story(row.id).attempts
    assert [(a.number, a.worker, a.outcome, a.error) for a in attempts] == [
        (1, "w1", "failed", "one"),
        (2, "w2", "failed", "two"),
        (3, "w3", "success", None),
    ]
    assert [a.fence for a in attempts] == [row.fence, second.fence, third.fence]


def a_running_retry_is_not_told_with_the_error_of_the_try_before(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row, Event.FAIL_RETRY, at=1, due_at=harness.at(2), error="boom")
    harness.take_one("w2", at=2)
    assert [(a.outcome, a.error) for a in harness.story(row.id).attempts] == [("failed", "boom"), ("running", None)]


def a_run_that_is_handed_back_does_not_count(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    settled = harness.end(row, Event.HAND_BACK, at=3, due_at=harness.at(3))
    assert settled.state is State.PENDING
    back = harness.row(row.id)
    assert (back.attempt, back.takeovers, back.lost, back.due_at) == (0, 0, 0, harness.at(3))
    assert [attempt.outcome for attempt in harness.story(row.id).attempts] == ["handed_back"]
    again = harness.take_one("w2", at=4)
    assert (again.id, again.attempt) == (row.id, 1)


def a_park_says_when_to_look_again(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    settled = harness.end(look, Event.PARK, at=1, due_at=harness.at(60), verdict="skip_dep", code="flag_missing")
    assert (settled.outcome, settled.state) == ("applied", State.PENDING)
    row = harness.row(look.id)
    assert (row.due_at, row.holder, row.verdict, row.code) == (harness.at(60), "", "skip_dep", "flag_missing")
    assert (row.attempt, row.lost) == (0, 0)
    assert harness.take_ids(at=59) == []
    assert harness.take_ids(at=60) == [look.id]


def a_parked_retry_stays_a_retry(harness: Harness) -> None:
    harness.activate()
    row = harness.running(not_after=harness.at(1000))
    harness.end(row, Event.FAIL_RETRY, due_at=harness.at(10))
    harness.act("pause", job="job", at=5)
    look = harness.take_one(at=10)
    assert harness.end(look, Event.PARK, at=10, due_at=harness.at(20)).state is State.FAILED_RETRYING


def the_first_look_claims_the_key_even_if_it_parks(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(key="k")
    harness.end(look, Event.PARK, due_at=harness.at(60), verdict="skip_dep")
    assert harness.row(look.id).claimed
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == look.id


def a_park_leaves_a_key_alone_that_somebody_else_holds(harness: Harness) -> None:
    harness.activate()
    holder = harness.add_one(harness.caller_row("b", key="k", at=3600))
    look = harness.looked_at(key="k")
    assert harness.end(look, Event.PARK, due_at=harness.at(60)).outcome == "applied"
    assert not harness.row(look.id).claimed
    assert harness.store.facts(["key:k"])["key:k"].value["occurrence_id"] == holder


def a_skip_ends_what_the_rule_excludes(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    settled = harness.end(look, Event.SKIP, at=1, verdict="skip_guard", code="weekend", detail='{"day": "Sat"}')
    assert settled.state is State.SKIPPED
    row = harness.row(look.id)
    assert (row.due_at, row.ended_at, row.verdict, row.code) == (None, harness.at(1), "skip_guard", "weekend")
    assert harness.story(look.id).attempts == ()


def a_miss_asks_a_person(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    settled = harness.end(look, Event.MISS, at=1, verdict="skip_window", code="window_closed")
    assert settled.state is State.FAILED_MANUAL
    assert harness.row(look.id).due_at is None
    assert harness.story(look.id).attempts == ()


def an_old_fence_is_refused_and_counted(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    before = harness.store.tallies().stale_refused
    assert harness.end(replace(row, fence=row.fence - 1)).outcome == "stale"
    assert harness.store.tallies().stale_refused == before + 1
    assert harness.row(row.id).state is State.RUNNING


def a_fence_that_was_never_given_is_refused(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    assert harness.end(replace(row, fence=row.fence + 1)).outcome == "stale"
    assert harness.row(row.id).state is State.RUNNING


def an_occurrence_that_never_was_is_refused(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    assert harness.end(replace(row, id=row.id + 1000)).outcome == "stale"


def a_row_that_was_never_taken_cannot_be_settled(harness: Harness) -> None:
    row = harness.row(harness.add_one(harness.caller_row()))
    assert harness.end(row).outcome == "stale"
    assert harness.row(row.id).state is State.PENDING


def an_answered_success_is_applied_again_without_effect(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    fact = FactWrite(name="success:job::2026-11-28", value=1)
    alert = AlertWrite(job="job", kind="failing", level=1, code="failed_retry")
    harness.end(row, at=1, result='"first"', facts=(fact,), alerts=(alert,))
    again = harness.end(
        row, at=2, result='"second"', facts=(replace(fact, value=2),), alerts=(alert,), adds=(harness.caller_row("x"),)
    )
    assert (again.outcome, again.state) == ("applied", State.SUCCESS)
    ended = harness.row(row.id)
    assert (ended.result, ended.ended_at) == ('"first"', harness.at(1))
    assert harness.version(fact.name) == 1
    assert harness.store.tallies().open_alerts[0].count == 1
    assert harness.add(harness.caller_row("x", at=60))[0].outcome == "added"
    assert len(harness.story(row.id).attempts) == 1


def an_answered_success_is_not_undone_by_a_late_failure(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row)
    assert harness.end(row, Event.FAIL_RETRY, due_at=harness.at(5)).outcome == "applied"
    assert harness.row(row.id).state is State.SUCCESS


def an_answered_failure_is_applied_again_without_effect(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row, Event.FAIL_RETRY, at=1, due_at=harness.at(5))
    assert harness.end(row, Event.FAIL_RETRY, at=2, due_at=harness.at(50)).outcome == "applied"
    assert harness.row(row.id).due_at == harness.at(5)
    assert len(harness.story(row.id).attempts) == 1


def an_answered_start_is_applied_again_without_effect(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    first = harness.start(look, at=1)
    again = harness.start(look, at=2)
    assert (again.outcome, again.fence) == ("applied", first.fence)
    row = harness.row(look.id)
    assert (row.attempt, row.started_at) == (1, harness.at(1))


def an_answered_park_is_applied_again_without_effect(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.end(look, Event.PARK, due_at=harness.at(60))
    assert harness.end(look, Event.PARK, due_at=harness.at(90)).outcome == "applied"
    assert harness.row(look.id).due_at == harness.at(60)


def an_answered_failure_does_not_touch_the_next_run(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(row, Event.FAIL_RETRY, due_at=harness.at(5))
    second = harness.take_one("w2", at=5)
    harness.end(row, at=6)
    assert harness.row(row.id) == second


def items_of_one_call_are_judged_one_by_one(harness: Harness) -> None:
    harness.activate()
    good, other = harness.running("a"), harness.running("b")
    bad = replace(other, fence=other.fence - 1)
    answers = harness.settle(make_end(bad), make_end(good))
    assert [answer.outcome for answer in answers] == ["stale", "applied"]
    assert harness.row(good.id).state is State.SUCCESS
    assert harness.row(other.id).state is State.RUNNING


def many_rows_are_started_and_ended_in_one_call_each(harness: Harness) -> None:
    harness.activate()
    harness.add(*(harness.series_row(str(n)) for n in range(200)))
    looks = harness.take(limit=500).rows
    started = harness.settle(*(make_start(row) for row in looks))
    runs = [replace(row, fence=answer.fence) for row, answer in zip(looks, started, strict=True)]
    ended = harness.settle(*(make_end(row) for row in runs), at=1)
    assert {answer.outcome for answer in started} == {answer.outcome for answer in ended} == {"applied"}
    assert harness.store.tallies().by_state.get(State.SUCCESS) == 200


def settling_nothing_is_no_error(harness: Harness) -> None:
    assert harness.settle() == []


def an_outcome_of_another_state_changes_nothing(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    assert harness.end(look, Event.SUCCEED).outcome != "applied"
    assert harness.row(look.id).state is State.PENDING


def a_success_raises_its_fact_in_the_same_step(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    name = "success:job::2026-11-28"
    harness.end(row, at=4, facts=(FactWrite(name=name, value={"id": row.id}, actor="w1"),))
    fact = harness.store.facts([name])[name]
    assert (fact.version, fact.value, fact.set_at, fact.is_set) == (1, {"id": row.id}, harness.at(4), True)


def a_refused_outcome_leaves_no_facts_adds_or_alerts(harness: Harness) -> None:
    harness.activate()
    row = harness.running()
    harness.end(
        replace(row, fence=row.fence - 1),
        facts=(FactWrite(name="flag:x", value=1),),
        adds=(harness.caller_row("b", at=60),),
        alerts=(AlertWrite(job="job", kind="failing", level=1, code="failed_retry"),),
    )
    assert harness.version("flag:x") == 0
    assert harness.store.tallies().open_alerts == ()
    assert harness.add(harness.caller_row("b", at=60))[0].outcome == "added"


def there_is_one_open_alert_per_job_and_kind_and_it_only_grows(harness: Harness) -> None:
    harness.activate()
    row = harness.running()

    def write(level: int, kind: str = "failing") -> AlertWrite:
        return AlertWrite(job="job", kind=kind, level=level, code=f"code-{level}", occurrence_id=row.id)

    harness.end(row, Event.FAIL_RETRY, at=1, due_at=harness.at(2), alerts=(write(1),))
    harness.end(harness.take_one(at=2), Event.FAIL_MANUAL, at=3, alerts=(write(3), write(3, "poison")))
    alerts = {alert.kind: alert for alert in harness.store.tallies().open_alerts}
    assert set(alerts) == {"failing", "poison"}
    failing = alerts["failing"]
    assert (failing.level, failing.count, failing.code, failing.occurrence_id) == (3, 2, "code-3", row.id)
    assert (failing.opened_at, failing.updated_at) == (harness.at(1), harness.at(3))
    assert {alert.kind for alert in harness.story(row.id).alerts} == {"failing", "poison"}


def an_all_clear_closes_the_alert_and_the_next_one_is_new(harness: Harness) -> None:
    harness.activate()
    alert = AlertWrite(job="job", kind="failing", level=2, code="failed_retry")
    harness.end(harness.running("a"), alerts=(alert,))
    harness.end(harness.running("b"), alerts=(replace(alert, clear=True),))
    assert harness.store.tallies().open_alerts == ()
    harness.end(harness.running("c"), alerts=(replace(alert, level=1),))
    (fresh,) = harness.store.tallies().open_alerts
    assert (fresh.level, fresh.count) == (1, 1)


def an_all_clear_without_an_alert_is_nothing(harness: Harness) -> None:
    harness.activate()
    alert = AlertWrite(job="job", kind="failing", level=1, code="succeeded", clear=True)
    assert harness.end(harness.running(), alerts=(alert,)).outcome == "applied"
    assert harness.store.tallies().open_alerts == ()


def a_settlement_leaves_a_ledger_line(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    checks = '[{"name": "window", "passed": false}]'
    words = {"verdict": "skip_window", "code": "window_not_open", "checks": checks}
    harness.end(look, Event.PARK, at=1, due_at=harness.at(9), **words)
    line = harness.story(look.id).ledger[-1]
    assert (line.event, line.verdict, line.code, line.checks) == ("park", "skip_window", "window_not_open", checks)
    assert (line.at, line.worker, line.job, line.count, line.occurrence_id) == (harness.at(1), "w1", "job", 1, look.id)


def equal_looks_one_after_the_other_are_folded(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.series_row())
    for at in (0, 10, 20):
        look = harness.take_one(at=at)
        harness.end(look, Event.PARK, at=at, due_at=harness.at(at + 10), verdict="skip_dep", code="flag_missing")
    (line,) = harness.story(row_id).ledger
    assert (line.count, line.at, line.last_at) == (3, harness.at(0), harness.at(20))


def looks_that_say_different_things_are_not_folded(harness: Harness) -> None:
    harness.activate()
    row_id = harness.add_one(harness.series_row())
    for at, code in ((0, "flag_missing"), (10, "dependency_missing"), (20, "flag_missing")):
        look = harness.take_one(at=at)
        harness.end(look, Event.PARK, at=at, due_at=harness.at(at + 10), verdict="skip_dep", code=code)
    lines = harness.story(row_id).ledger
    assert [line.code for line in lines] == ["flag_missing", "dependency_missing", "flag_missing"]
    assert [line.seq for line in lines] == sorted({line.seq for line in lines})


def a_settlement_may_leave_no_ledger_line(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.end(look, Event.PARK, due_at=harness.at(9), ledger=False)
    assert harness.story(look.id).ledger == ()


def a_batch_with_an_outcome_that_says_too_little_applies_nothing(harness: Harness) -> None:
    harness.activate()
    run, other = harness.running("a"), harness.running("b")
    for event in (Event.START, Event.PARK, Event.FAIL_RETRY, Event.HAND_BACK, Event.MARK_DONE):
        assert is_refused(partial(harness.settle, make_end(run), make_end(other, event))), event
    assert [harness.row(each.id).state for each in (run, other)] == [State.RUNNING, State.RUNNING]
