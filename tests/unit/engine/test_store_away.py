"""A worker whose store is away: at its start, in its work, at its end."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from noonmark.core.model import MINUTE, SECOND, Fact, Origin, Query, State
from noonmark.core.series import row_for_call
from noonmark.engine import gate as gate_module
from noonmark.engine.activate import declare
from noonmark.engine.gate import Away, StoreGate
from noonmark.engine.journal import Journal
from noonmark.engine.registry import Registry, handler_for
from noonmark.engine.runs import Run
from noonmark.engine.signals import Happening, Idle, StoreAway, StoreBack
from noonmark.engine.worker import Worker
from noonmark.ports.clock import SystemClock
from noonmark.ports.store import StoreFull, StoreUnreachable, StoreUnusable
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job
from noonmark.testing.clock import VirtualClock

JOB = make_job("work")


class AwayStore(MemoryStore):
    """A memory store that may be away: its takes and heartbeats fail then."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.failed = threading.Event()

    def take(self, *args: object, **options: object) -> object:  # type: ignore[override]
        self._fail()
        return super().take(*args, **options)  # type: ignore[arg-type]

    def heartbeat(self, *args: object, **options: object) -> int:  # type: ignore[override]
        self._fail()
        return super().heartbeat(*args, **options)  # type: ignore[arg-type]

    def _fail(self) -> None:
        if self.error is not None:
            self.failed.set()
            raise self.error


def registry(done: threading.Event) -> Registry:
    made = Registry()
    made.add(JOB, done.set)
    return made


def watched(store: MemoryStore, done: threading.Event) -> tuple[Worker, threading.Event]:
    """Return a worker, and the event of its first rest: by then the store has served it."""
    idle = threading.Event()
    return Worker(store, registry(done), observer=lambda told: idle.set() if isinstance(told, Idle) else None), idle


def ask(store: MemoryStore) -> None:
    declare(store, [JOB], actor="test")
    now = store.now()
    row = row_for_call(JOB, request_id="r", due_at=now, params={}, key=None, revision=1, now=now, origin=Origin.LATER)
    store.add("r", [row])


def test_a_worker_begins_when_its_store_comes_and_says_once_that_it_waits(caplog: pytest.LogCaptureFixture) -> None:
    store, done, tries = MemoryStore(), threading.Event(), []
    ask(store)

    def open_it() -> MemoryStore:
        tries.append(1)
        if len(tries) < 4:
            raise StoreUnreachable("nobody listens at 127.0.0.1:1")
        return store

    worker = Worker(open_it, registry(done))
    worker.start()
    try:
        assert done.wait(10)
    finally:
        worker.stop()
    said = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert [text.partition(" (")[0].partition(",")[0] for text in said] == [
        "the store does not answer",
        "the store answers again",
    ]
    store.close()


def test_a_worker_that_is_told_to_stop_before_its_store_came_stops_at_once() -> None:
    tried = threading.Event()

    def open_it() -> MemoryStore:
        tried.set()
        raise StoreUnreachable("nobody listens")

    worker = Worker(open_it, registry(threading.Event()))
    worker.start()
    assert tried.wait(10)
    began = time.monotonic()
    worker.stop()
    assert time.monotonic() - began < 2
    assert not worker.is_running


def test_a_store_that_cannot_serve_ends_the_worker_before_it_begins() -> None:
    def open_it() -> MemoryStore:
        raise StoreUnusable("the password is wrong. Mend the URL.")

    worker = Worker(open_it, registry(threading.Event()))
    worker.start()
    with pytest.raises(StoreUnusable, match="Mend the URL"):
        worker.join(10)


def test_an_idle_worker_whose_store_is_away_ends_soon_when_told_to() -> None:
    store, done = AwayStore(), threading.Event()
    ask(store)
    worker = Worker(store, registry(done))
    worker.start()
    assert done.wait(10)
    store.error = StoreUnreachable("cut off")
    worker.wake()
    assert store.failed.wait(10)
    began = time.monotonic()
    worker.stop()
    assert time.monotonic() - began < 4, "the default grace is 30 s, and there is nothing to wait for"
    store.close()


def test_a_worker_outlives_a_refusal_that_somebody_mends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "RETRY_UNUSABLE", 0.3)
    store, done = AwayStore(), threading.Event()
    worker, idle = watched(store, done)
    worker.start()
    try:
        assert idle.wait(10)
        store.error = StoreUnusable("the role may not log in")
        worker.wake()
        assert store.failed.wait(10)
        time.sleep(0.1)
        assert worker.is_running
        store.error = None
        ask(store)
        worker.wake()
        assert done.wait(10)
    finally:
        worker.stop()
    (row,) = store.occurrences(Query(job="work"))
    assert row.state is State.SUCCESS
    store.close()


def test_a_refusal_that_nobody_mends_ends_the_worker_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "MENDING", SECOND // 10)
    monkeypatch.setattr(gate_module, "RETRY_UNUSABLE", 0.06)
    store = AwayStore()
    worker, idle = watched(store, threading.Event())
    worker.start()
    assert idle.wait(10)
    store.error = StoreUnusable("the role may not log in. Grant it.")
    worker.wake()
    with pytest.raises(StoreUnusable, match="Grant it"):
        worker.join(10)
    store.error = None
    store.close()


@pytest.mark.parametrize("has_served", [True, False])
def test_a_full_disk_is_waited_out_however_long_and_found_to_have_room_within_half_a_second(
    caplog: pytest.LogCaptureFixture, *, has_served: bool
) -> None:
    clock, told = VirtualClock(), list[Happening]()
    gate = StoreGate(clock, lambda: 1.0, told.append)
    gate._closing.wait = lambda seconds=None: clock.advance(round((seconds or 0.0) * SECOND))  # type: ignore[assignment,return-value,func-returns-value]
    if has_served:
        gate.submit(int).result(10)
    began, room_at = clock.boot(), clock.boot() + 10 * MINUTE

    def verb() -> int:
        if clock.boot() < room_at:
            raise StoreFull("the disk is full. Free some space")
        return clock.boot()

    answered = gate.submit(verb).result(60)
    gate.close()
    assert answered - room_at <= SECOND // 2
    assert gate.over() == [Away(start=began, end=answered)], "it goes on record like any other outage"
    assert [type(happening) for happening in told] == [StoreAway, StoreBack]
    loud = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert 9 <= len(loud) <= 10, "once a minute, so that nobody overlooks it"
    assert all("until somebody makes room" in line for line in loud)


def test_an_outage_that_turns_out_to_be_a_full_disk_is_said_loudly_at_once(caplog: pytest.LogCaptureFixture) -> None:
    gate = StoreGate(VirtualClock(), lambda: 1.0)
    gate._closing.wait = lambda *_: None  # type: ignore[assignment,misc]
    errors = [StoreUnreachable("the server ended"), StoreFull("the disk is full"), StoreFull("the disk is full")]

    def verb() -> str:
        if errors:
            raise errors.pop(0)
        return "answered"

    assert gate.submit(verb).result(10) == "answered"
    gate.close()
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR", "WARNING"]


def test_who_may_not_log_in_is_not_locked_out_for_asking_often() -> None:
    waited: list[float] = []
    gate = StoreGate(_Stepping(), lambda: 1.0)
    gate._closing.wait = lambda seconds=None: waited.append(seconds or 0.0)  # type: ignore[assignment,return-value,func-returns-value]
    gate.submit(int).result(10)
    refusals = [StoreUnusable("the role may not log in")]

    def verb() -> str:
        if refusals:
            raise refusals.pop(0)
        return "answered"

    assert gate.submit(verb).result(10) == "answered"
    gate.close()
    assert waited == [3.0]


def test_a_refusal_between_two_outages_begins_its_patience_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "RETRY_UNUSABLE", 0.01)
    monkeypatch.setattr(gate_module, "RETRY_LONGEST", 0.01)
    clock = _Stepping()
    gate = StoreGate(clock, lambda: 0.0)
    gate.submit(int).result(10)
    errors = [StoreUnusable("no such database"), StoreUnreachable("restarting")] * 20

    def verb() -> str:
        clock.step(20 * SECOND)
        if errors:
            raise errors.pop(0)
        return "answered"

    assert gate.submit(verb).result(10) == "answered"
    gate.close()


def test_a_flag_whose_reply_was_lost_is_not_raised_again_over_somebody_s_clearing() -> None:
    store = MemoryStore()
    ask(store)
    row = store.take("t", "w1", limit=1, runnable={"work": 30 * SECOND}, look_lease=SECOND).rows[0]
    run = Run(row=row, job=JOB, handler=handler_for(JOB, print), fence=row.fence, lease=30 * SECOND, asked=0)
    call = Journal(store, "w1", run).call("flag", "data", True)
    assert call() is True  # and the answer is lost on its way
    store.signal("clear", [Fact(name="flag:data", value=None, actor="ann")])
    assert call() is True
    assert not store.facts(["flag:data"])["flag:data"].is_set
    store.close()


class _Stepping(SystemClock):
    _ahead = 0

    def step(self, length: int) -> None:
        self._ahead += length

    def boot(self) -> int:
        return super().boot() + self._ahead
