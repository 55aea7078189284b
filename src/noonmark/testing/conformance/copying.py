"""Cases: what a copy leaves behind, be its source written to meanwhile or not."""

from __future__ import annotations

from typing import Any

from noonmark.core.model import AlertWrite, Event
from noonmark.ports.archive import Page, Record
from noonmark.testing.archives import Archives, copy, make_busy, read_all
from noonmark.testing.conformance.harness import Harness


def a_waiter_whose_row_did_not_come_along_stops_nobody(archives: Archives) -> None:
    """The source was written to between two pages."""
    target = archives.fresh()
    fact = {"name": "flag:x", "version": 1, "value": 1, "set_at": 1, "actor": "ada"}
    waiter = {"fact": "flag:x", "version": 1, "occurrence_id": 7}
    records = (Record(kind="fact", fields=fact), Record(kind="waiter", fields=waiter))
    target.import_page("elsewhere", Page(records=records, cursor=None))
    assert target.count_records()["waiter"] == 0
    harness = Harness(target)
    harness.activate()
    harness.signal("flag:x", 2)
    row = harness.add_one(harness.caller_row())
    taken = harness.take()
    assert [each.id for each in taken.rows] == [row]
    assert taken.next_due != harness.at(0)


def new_rows_get_no_id_that_anything_copied_speaks_of(archives: Archives) -> None:
    """The source was written to between two pages: a claim, an attempt or a line came along whose row did not."""
    spoken_of: dict[str, dict[str, Any]] = {
        "claim": {"key": "key:late", "generation": 0},
        "slot": {"name": "slot:late:", "since": 1},
        "waiter": {"fact": "flag:x", "version": 0},
        "attempt": {
            "fence": 5, "number": 1, "worker": "w1", "started_at": 1, "ended_at": 2, "outcome": "failed", "error": None
        },
        "outcome": {"fence": 5},
        "note": {"kind": "step", "name": "a", "value": "1", "fence": 5, "at": 1},
        "alert": {
            "id": 1, "job": "job", "kind": "failing", "level": 1, "code": "failed", "detail": "{}", "opened_at": 1,
            "updated_at": 1, "count": 1, "closed_at": None,
        },
        "ledger": {
            "seq": 1, "job": "job", "at": 1, "last_at": 1, "count": 1, "event": "fail_retry", "verdict": "", "code": "",
            "detail": "{}", "checks": "[]", "worker": "w1", "fence": 5, "revision": 1, "actor": "",
        },
    }  # fmt: skip
    for number, (kind, fields) in enumerate(spoken_of.items(), start=70):
        target = archives.fresh()
        record = Record(kind=kind, fields={**fields, "occurrence_id": number})
        target.import_page("elsewhere", Page(records=(record,), cursor="more"))
        target.import_page("elsewhere", Page(records=(), cursor=None))
        harness = Harness(target)
        harness.activate()
        first, second = (harness.add_one(harness.caller_row(name)) for name in ("a", "b"))
        assert first > number, f"the new row got the id of what a {kind} speaks of"
        assert second > first
        story = target.story(first)
        assert story is not None
        assert (story.attempts, story.notes, story.alerts) == ((), (), ()), kind


def numbers_of_every_kind_go_on_after_a_copy(archives: Archives) -> None:
    busy = make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    before = read_all(target)
    highest = {
        (kind, name): max(record.fields[name] for record in before if record.kind == kind)
        for kind, name in (("occurrence", "id"), ("alert", "id"), ("ledger", "seq"))
    }
    harness = Harness(target)
    harness.t0 = busy.t0
    run = harness.running("new", at=38, revision=2)
    alert = AlertWrite(job="job", kind="missed", level=1, code="failed", occurrence_id=run.id)
    harness.end(run, Event.FAIL_MANUAL, at=38, alerts=(alert,))
    story = target.story(run.id)
    assert story is not None
    assert run.id > highest["occurrence", "id"]
    assert [each.id > highest["alert", "id"] for each in story.alerts] == [True]
    assert all(line.seq > highest["ledger", "seq"] for line in story.ledger)
    assert run.fence > max(record.fields["fence"] for record in before if record.kind in ("occurrence", "attempt"))
