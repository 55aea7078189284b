"""Workers: who lives, and what becomes of rows that only a worker which is gone could take."""

from __future__ import annotations

from noonmark.core.model import SECOND, Event, State, WorkerInfo
from noonmark.testing.builders import make_worker
from noonmark.testing.conformance.harness import Harness

TTL = 30 * SECOND


def _beat(harness: Harness, worker: str = "w1", *, at: float = 0, ttl: int = TTL, **fields: object) -> int:
    return harness.store.heartbeat(make_worker(worker, **fields), ttl, at=harness.at(at))


def _card(harness: Harness, worker: str = "w1") -> WorkerInfo:
    return next(info for info in harness.store.workers() if info.id == worker)


def a_heartbeat_tells_the_stores_time(harness: Harness) -> None:
    assert _beat(harness, at=7) == harness.at(7)


def a_worker_is_remembered_with_its_card(harness: Harness) -> None:
    _beat(harness, at=7, host="berlin", pid=12, jobs=("a", "b"), tzdata="2026.1", wall_offset=-250)
    info = _card(harness)
    assert (info.name, info.host, info.pid, info.process_started) == ("w1", "berlin", 12, "12345")
    assert (info.boot_id, info.jobs, info.tzdata, info.wall_offset) == ("boot-1", ("a", "b"), "2026.1", -250)
    assert (info.seen_at, info.until, info.ended_at) == (harness.at(7), harness.at(37), None)


def a_later_heartbeat_moves_until_and_keeps_the_start(harness: Harness) -> None:
    _beat(harness, at=0)
    started_at = _card(harness).started_at
    _beat(harness, at=10)
    info = _card(harness)
    assert (info.started_at, info.seen_at, info.until) == (started_at, harness.at(10), harness.at(40))
    assert len(harness.store.workers()) == 1


def a_worker_that_stops_says_so(harness: Harness) -> None:
    _beat(harness, at=0)
    _beat(harness, at=10, ended_at=harness.at(10))
    assert _card(harness).ended_at is not None


def workers_are_read_newest_first(harness: Harness) -> None:
    for n, worker in enumerate(("a", "b", "c")):
        _beat(harness, worker, at=n, started_at=harness.at(n))
    assert [info.id for info in harness.store.workers()] == ["c", "b", "a"]


def a_worker_can_be_read_as_a_fact(harness: Harness) -> None:
    _beat(harness, at=7, host="berlin")
    facts = harness.store.facts(["worker:w1", "worker:w9"])
    value = facts["worker:w1"].value
    assert (value["host"], value["pid"], value["process_started"]) == ("berlin", 4711, "12345")
    assert (value["boot_id"], value["until"], value["ended_at"]) == ("boot-1", harness.at(37), None)
    assert facts["worker:w9"].value is None


def rows_of_a_worker_that_is_gone_are_cancelled(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    row_id = harness.add_one(harness.frontier_row(at=100, worker="w9", subject="w9"))
    assert harness.take_ids("w1", at=29) == []
    assert harness.row(row_id).state is State.PENDING
    assert harness.take_ids("w1", at=31) == []
    row = harness.row(row_id)
    assert (row.state, row.code, row.due_at) == (State.CANCELLED, "worker_gone", None)
    assert harness.take_ids("w9", at=200) == []


def a_worker_is_gone_at_the_very_moment_it_named(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    row_id = harness.add_one(harness.series_row(at=100, worker="w9"))
    harness.take("w1", at=29.999999)
    assert harness.row(row_id).state is State.PENDING
    harness.take("w1", at=30)
    assert harness.row(row_id).state is State.CANCELLED


def rows_of_a_worker_that_lives_are_left_alone(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    row_id = harness.add_one(harness.series_row(at=40, worker="w9"))
    _beat(harness, "w9", at=20)
    harness.take("w1", at=45)
    assert harness.row(row_id).state is State.PENDING
    assert harness.take_ids("w9", at=45) == [row_id]


def rows_of_a_worker_that_stopped_by_itself_are_cancelled_at_once(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    row_id = harness.add_one(harness.series_row(at=40, worker="w9"))
    _beat(harness, "w9", at=5, ended_at=harness.at(5))
    harness.take("w1", at=6)
    assert harness.row(row_id).state is State.CANCELLED


def waiting_retries_of_a_worker_that_is_gone_are_cancelled(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    harness.add_one(harness.caller_row(worker="w9"))
    run = harness.take_one("w9")
    harness.end(run, Event.FAIL_RETRY, worker="w9", due_at=harness.at(500))
    harness.take("w1", at=31)
    assert harness.row(run.id).state is State.CANCELLED


def ended_rows_of_a_worker_that_is_gone_are_left_alone(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    harness.add_one(harness.caller_row(worker="w9"))
    run = harness.take_one("w9")
    harness.end(run, worker="w9")
    harness.take("w1", at=31)
    assert harness.row(run.id).state is State.SUCCESS


def next_due_counts_the_moment_at_which_a_worker_would_be_gone(harness: Harness) -> None:
    _beat(harness, "w9")
    harness.add_one(harness.series_row(at=3600, worker="w9"))
    next_due = harness.take("w1", at=1).next_due
    assert next_due is not None
    assert next_due <= harness.at(30), "else nobody wakes to cancel what only w9 could take"


def common_rows_of_a_worker_that_is_gone_go_to_others(harness: Harness) -> None:
    harness.activate()
    _beat(harness, "w9")
    row_id = harness.add_one(harness.caller_row())
    harness.take_one("w9")
    assert harness.take_ids("w1", at=31) == [row_id]


def rows_of_a_worker_never_heard_of_wait(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(worker="w9"))
    harness.take("w1", at=1000)
    assert harness.row(row_id).state is State.PENDING
