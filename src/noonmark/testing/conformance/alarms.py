"""An urgent alert is about the occurrence that needs a person, and about nobody else."""

from __future__ import annotations

import json
from dataclasses import replace

from noonmark.core.model import SECOND, Alert, AlertWrite, Event, Occurrence
from noonmark.testing.builders import LEASE, make_end, make_worker
from noonmark.testing.conformance.harness import Harness


def _about(row: Occurrence, level: int, **fields: object) -> AlertWrite:
    write = AlertWrite(job="job", kind="failing", level=level, code=f"code-{level}", occurrence_id=row.id)
    return replace(write, detail={"run": row.run_id}, **fields)  # type: ignore[arg-type]


def _failed(harness: Harness) -> Occurrence:
    """Return a row that needs a person, with an urgent alert."""
    harness.activate()
    run = harness.running("a")
    harness.end(run, Event.FAIL_MANUAL, at=1, alerts=(_about(run, 3),))
    return run


def _open(harness: Harness) -> Alert:
    (alert,) = harness.store.tallies().open_alerts
    return alert


def an_urgent_alert_is_not_closed_by_what_another_occurrence_did_well(harness: Harness) -> None:
    failed = _failed(harness)
    other = harness.running("b", at=2)
    harness.end(other, at=3, alerts=(_about(other, 0, clear=True),))
    assert (_open(harness).occurrence_id, _open(harness).level) == (failed.id, 3)
    harness.act("mark_handled", occurrence_id=failed.id, at=4)
    assert harness.store.tallies().open_alerts == ()


def an_urgent_alert_is_closed_by_its_own_occurrence_after_a_retry(harness: Harness) -> None:
    failed = _failed(harness)
    harness.act("retry", occurrence_id=failed.id, at=2)
    assert _open(harness).occurrence_id == failed.id, "it has not gone well yet"
    again = harness.take_one(at=2)
    assert harness.start(again, at=2).outcome == "applied"
    harness.end(again, at=3, alerts=(_about(again, 0, clear=True),))
    assert harness.store.tallies().open_alerts == ()


def a_milder_failure_of_another_only_counts_in_an_urgent_alert(harness: Harness) -> None:
    failed = _failed(harness)
    other = harness.running("b", at=2)
    harness.end(other, Event.FAIL_RETRY, at=3, due_at=harness.at(4), alerts=(_about(other, 1),))
    alert = _open(harness)
    assert (alert.occurrence_id, alert.level, alert.code) == (failed.id, 3, "code-3")
    assert failed.run_id in alert.detail
    assert (alert.count, alert.updated_at) == (2, harness.at(3))
    again = harness.take_one(at=4)
    assert harness.start(again, at=4).outcome == "applied"
    harness.end(again, at=5, alerts=(_about(again, 0, clear=True),))
    assert _open(harness).occurrence_id == failed.id


def an_urgent_alert_is_about_the_newest_that_needs_a_person(harness: Harness) -> None:
    _failed(harness)
    other = harness.running("b", at=2)
    harness.end(other, Event.FAIL_MANUAL, at=3, alerts=(_about(other, 3),))
    assert (_open(harness).occurrence_id, _open(harness).count) == (other.id, 2)


def an_urgent_alert_goes_on_to_the_next_that_needs_a_person(harness: Harness) -> None:
    harness.activate()
    first = harness.running("a", key='a "key" \\ of\tà')
    harness.end(first, Event.FAIL_MANUAL, at=1, code="boom", detail='{"error": "x"}', alerts=(_about(first, 3),))
    second = harness.running("b", at=2)
    told = replace(_about(second, 3), detail={"run": second.run_id, "owner": 'ada "of" \\ Ω'})
    harness.end(second, Event.FAIL_MANUAL, at=3, alerts=(told,))
    opened = _open(harness)
    harness.act("mark_handled", occurrence_id=second.id, at=4)
    alert = _open(harness)
    assert (alert.id, alert.occurrence_id, alert.level, alert.code) == (opened.id, first.id, 3, "boom")
    assert (alert.opened_at, alert.updated_at, alert.count) == (opened.opened_at, harness.at(4), opened.count)
    assert json.loads(alert.detail) == {
        "run": first.run_id, "key": first.key, "attempt": 1, "owner": 'ada "of" \\ Ω', "error": "x",
    }  # fmt: skip
    assert [each.id for each in harness.story(first.id).alerts] == [alert.id]
    assert harness.story(second.id).alerts == ()
    harness.act("mark_handled", occurrence_id=first.id, at=5)
    assert harness.store.tallies().open_alerts == ()


def an_urgent_alert_whose_run_went_well_after_all_goes_on_to_the_next(harness: Harness) -> None:
    first = _failed(harness)
    newer = harness.running("b", at=2)
    harness.end(newer, Event.FAIL_MANUAL, at=3, alerts=(_about(newer, 3),))
    newest = harness.running("c", at=4)
    harness.end(newest, Event.FAIL_MANUAL, at=5, alerts=(_about(newest, 3),))
    harness.act("retry", occurrence_id=newest.id, at=6)
    again = harness.take_one(at=6)
    assert harness.start(again, at=6).outcome == "applied"
    harness.end(again, at=7, alerts=(_about(again, 0, clear=True),))
    assert _open(harness).occurrence_id == newer.id, "the newest of those that are left"
    harness.act("retry", occurrence_id=first.id, at=8)  # by a person already: it needs none
    harness.act("mark_done", occurrence_id=newer.id, at=9)
    assert harness.store.tallies().open_alerts == ()


def an_urgent_alert_goes_on_to_a_row_whose_detail_says_nothing(harness: Harness) -> None:
    harness.activate()
    for name, detail in (("a", ""), ("b", "[1]"), ("c", "null"), ("d", "{}")):
        row = harness.running(name, at=1)
        harness.end(row, Event.FAIL_MANUAL, at=1, code="boom", detail=detail, alerts=(_about(row, 3),))
    for _ in range(3):
        harness.act("mark_handled", occurrence_id=_open(harness).occurrence_id, at=2)
        about = _open(harness)
        assert json.loads(about.detail)["run"] == f"r{about.occurrence_id}"


def an_urgent_alert_does_not_go_on_to_what_fails_later_in_the_same_batch(harness: Harness) -> None:
    failed = _failed(harness)
    harness.act("retry", occurrence_id=failed.id, at=2)
    again = harness.take_one(at=2)
    assert harness.start(again, at=2).outcome == "applied"
    other = harness.running("b", at=3)
    over, new = _open(harness), make_end(other, Event.FAIL_MANUAL, alerts=(_about(other, 3),))
    harness.settle(make_end(again, alerts=(_about(again, 0, clear=True),)), new, at=4)
    alert = _open(harness)
    assert alert.id != over.id
    assert (alert.occurrence_id, alert.count, alert.opened_at) == (other.id, 1, harness.at(4))


def an_urgent_alert_goes_on_to_none_of_another_job_or_kind(harness: Harness) -> None:
    harness.activate(job="other")
    harness.add_one(harness.caller_row("z", job="other"))
    elsewhere = harness.take_one(runnable={"other": LEASE})
    harness.end(elsewhere, Event.FAIL_MANUAL, at=1, alerts=(replace(_about(elsewhere, 3), job="other"),))
    failed = _failed_next_to(harness)
    harness.act("mark_handled", occurrence_id=failed.id, at=4)
    assert {(alert.job, alert.kind) for alert in harness.store.tallies().open_alerts} == {
        ("other", "failing"), ("job", "missed"),
    }  # fmt: skip


def _failed_next_to(harness: Harness) -> Occurrence:
    """Return a failed row, beside which one has missed its moment and another has lost its workers too often."""
    harness.activate()
    look = harness.looked_at("m", at=1, gated=True)
    missed = replace(_about(look, 3), kind="missed")
    harness.end(look, Event.MISS, at=1, verdict="skip_window", code="window_closed", alerts=(missed,))
    poisoned = harness.running("p", at=2)
    harness.end(poisoned, Event.FAIL_MANUAL, at=2, verdict="skip_lease", code="poison")
    failed = harness.running("f", at=3)
    harness.end(failed, Event.FAIL_MANUAL, at=3, alerts=(_about(failed, 3),))
    return failed


def an_urgent_alert_closes_where_one_act_deals_with_all_that_need_a_person(harness: Harness) -> None:
    harness.activate()
    for name in ("a", "b"):
        row = harness.running(name, at=1, key="k", again=name == "b")
        harness.end(row, Event.FAIL_MANUAL, at=2, alerts=(_about(row, 3),))
    acted = harness.act("cancel", key="k", at=3)
    assert (acted.outcome, len(acted.ids)) == ("done", 2)
    assert harness.store.tallies().open_alerts == ()


def what_was_tried_again_and_then_left_out_leaves_no_alert_about_itself(harness: Harness) -> None:
    failed, other = _failed(harness), harness.running("b", at=2)
    harness.end(other, Event.FAIL_MANUAL, at=3, alerts=(_about(other, 3),))
    for row, left in ((other, [failed.id]), (failed, [])):
        harness.act("retry", occurrence_id=row.id, at=4)
        harness.end(harness.take_one(at=4), Event.SKIP, at=5, verdict="skip_overlap", code="slot_taken")
        assert [alert.occurrence_id for alert in harness.store.tallies().open_alerts] == left


def what_only_a_worker_that_is_gone_could_try_again_leaves_no_alert_about_itself(harness: Harness) -> None:
    harness.activate()
    harness.store.heartbeat(make_worker("w1"), 10 * SECOND, at=harness.at(0))
    harness.add_one(harness.caller_row(worker="w1"))
    run = harness.take_one("w1")
    harness.end(run, Event.FAIL_RETRY, at=1, due_at=harness.at(9), alerts=(_about(run, 1),))
    harness.take("w2", at=11)
    assert (harness.row(run.id).code, harness.store.tallies().open_alerts) == ("worker_gone", ())
