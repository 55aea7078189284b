"""An urgent alert is about the occurrence that needs a person, and about nobody else."""

from __future__ import annotations

from dataclasses import replace

from noonmark.core.model import Alert, AlertWrite, Event, Occurrence
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
