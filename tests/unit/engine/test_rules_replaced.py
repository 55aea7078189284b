"""A worker whose rule takes the place of another one says so; of one that comes back, louder."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

import pytest

from noonmark.core.codec import digest
from noonmark.core.model import DAY, MINUTE, SECOND, Every, JobRow, Tallies
from noonmark.core.returned import replaced
from noonmark.engine.activate import declare, end, put_in_force
from noonmark.explain.returning import returning
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job
from noonmark.testing.clock import VirtualClock

OLD = make_job("tick", trigger=Every(period=3 * SECOND))
NEW = replace(OLD, trigger=Every(period=5 * SECOND))
OTHER = make_job("other", trigger=Every(period=MINUTE))


@pytest.fixture
def store(caplog: pytest.LogCaptureFixture) -> MemoryStore:
    caplog.set_level(logging.INFO, logger="noonmark.engine")
    return MemoryStore(VirtualClock())


def test_a_worker_with_older_code_is_told_of_in_the_log(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    for number, job in enumerate((OLD, NEW, OLD), start=1):
        put_in_force(store, [job, OTHER], actor=f"w{number}")
    first, second = caplog.records
    assert (first.levelname, first.message) == ("INFO", "rule of tick replaced: revision 1 by w1, now revision 2")
    assert second.levelname == "WARNING"
    assert second.message == (
        "rule of tick replaced: revision 2 by w2, now revision 3, which says what revision 1 said; "
        "is older code still being started?"
    )


def test_a_worker_that_brings_an_ended_job_back_says_who_ended_it(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    put_in_force(store, [OLD], actor="w1")
    end(store, "tick", actor="ada", reason="no more")
    put_in_force(store, [OLD], actor="w2")
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "job tick was ended (revision 2 by ada) and is in force again" in record.message


def test_nothing_is_said_where_nothing_was_replaced(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    put_in_force(store, [OLD, OTHER], actor="w1")
    put_in_force(store, [OLD, OTHER], actor="w2")
    assert caplog.records == []


def test_a_person_who_applies_rules_is_not_told_of_it_by_the_log(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    for job in (OLD, NEW, OLD):
        declare(store, [job], actor="ada")
    assert caplog.records == []


def test_many_replaced_rules_are_named_up_to_a_bound(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    for period in (3, 5):
        jobs = [make_job(f"job{number:02}", trigger=Every(period=period * SECOND)) for number in range(23)]
        put_in_force(store, jobs, actor="w")
    assert len(caplog.records) == 21
    assert caplog.records[-1].message == "3 more rules replaced"


def test_a_worker_with_changed_rules_reads_the_history_of_those_it_names_and_of_no_other_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read: list[int] = []

    class Counting(MemoryStore):
        def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
            told = super().tallies(revisions=revisions)
            read.append(len(told.revisions))
            return told

    caplog.set_level(logging.INFO, logger="noonmark.engine")
    store = Counting(VirtualClock())
    for period in (3, 5, 7):
        jobs = [make_job(f"job{number:02}", trigger=Every(period=period * SECOND)) for number in range(30)]
        declare(store, jobs, actor="w")
    put_in_force(store, [OLD], actor="w1")
    assert read == [], "nothing was replaced"
    put_in_force(store, [NEW, *jobs], actor="w2")
    assert read == [2]
    put_in_force(store, [replace(job, trigger=Every(period=9 * SECOND)) for job in jobs], actor="w2")
    assert read == [2, 20 * 4], "twenty are named, the rest is counted"
    assert caplog.records[-1].message == "10 more rules replaced"


def test_the_doctor_names_a_rule_that_came_back_for_a_day() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    put_in_force(store, [OLD], actor="w1")
    put_in_force(store, [NEW], actor="w2")
    assert list(returning(store, store.now())) == []
    put_in_force(store, [OLD], actor="w1")
    (finding,) = returning(store, store.now())
    assert finding.level == "warn"
    assert finding.sentence == (
        "The rule of tick went back: revision 3 by w1 says what revision 1 said, and took the place of revision 2 by w2."
    )
    clock.advance(DAY + SECOND)
    assert list(returning(store, store.now())) == []


def test_a_rule_that_returns_after_its_end_did_not_take_the_place_of_another() -> None:
    def row(revision: int, rule: str) -> JobRow:
        return JobRow(name="tick", rule=rule, digest=rule, revision=revision, effective_at=revision)

    found = replaced([row(1, "a"), row(2, ""), row(3, "a")])["tick"]
    assert (found.before.rule, found.as_in) == ("", 1)
    assert replaced([row(1, "a"), row(2, "b"), row(3, "")])["tick"].as_in == 0, "an end says nothing"
    assert replaced([row(1, "a"), row(2, "")])["tick"].as_in == 0
    assert replaced([row(1, "a")]) == {}
    assert digest(OLD) != digest(NEW)
