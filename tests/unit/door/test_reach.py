"""Callers whose store is away: asked again for a while, then told, and never held up for ever."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from noonmark import Scheduler, StoreUnreachable, StoreUnusable, every, manual
from noonmark.door import scheduler as scheduler_module
from noonmark.door.reach import Reach
from noonmark.ports.store import StoreFull
from noonmark.stores.memory import MemoryStore


class Flaky(MemoryStore):
    """A memory store whose verbs fail when told to, before or after their effect."""

    def __init__(self) -> None:
        super().__init__()
        self.lost_replies = 0
        self.is_away = False
        self.asked: list[str] = []

    def add(self, request_id: str, rows: Any, **options: Any) -> Any:
        self.asked.append(request_id)
        self._fail()
        answer = super().add(request_id, rows, **options)
        if self.lost_replies:
            self.lost_replies -= 1
            raise StoreUnreachable("the reply was lost")
        return answer

    def now(self) -> int:
        self._fail()
        return super().now()

    def _fail(self) -> None:
        if self.is_away:
            raise StoreUnreachable("nobody listens at 127.0.0.1:1. Start the server.")


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


@pytest.fixture
def sched(flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    monkeypatch.setattr(scheduler_module, "open_store", lambda *_, **__: flaky)
    with Scheduler("memory://", rules=False, patience="300ms") as made:

        @made.job(manual(), name="work", key="work:{params.n}", reason="x")
        def work(n: int) -> None: ...

        made.declare()
        yield made


def test_a_request_whose_reply_was_lost_is_repeated_under_its_id_and_counts_once(
    sched: Scheduler, flaky: Flaky
) -> None:
    flaky.lost_replies = 2
    asked = sched.jobs["work"].later("0s")(n=1)
    assert not asked.duplicate, "the first answer, not a second request that met the first"
    assert len(flaky.asked) == 3
    assert len(set(flaky.asked)) == 1
    assert len(sched.occurrences("work")) == 1


def test_a_store_that_comes_back_within_the_patience_is_not_noticed_by_the_caller(
    sched: Scheduler, flaky: Flaky
) -> None:
    flaky.is_away = True
    threading.Timer(0.1, lambda: setattr(flaky, "is_away", False)).start()
    assert not sched.jobs["work"].later("0s")(n=1).duplicate


def test_a_store_that_stays_away_is_told_within_the_patience_and_then_at_once(sched: Scheduler, flaky: Flaky) -> None:
    flaky.is_away = True
    began = time.monotonic()
    with pytest.raises(StoreUnreachable, match=r"Start the server. It has been away for 0\.\d s\."):
        sched.jobs["work"].later("0s")(n=1)
    first = time.monotonic() - began
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(StoreUnreachable):
            sched.jobs["work"].later("0s")(n=1)
    rest = time.monotonic() - began

    assert first < 0.3 + 0.7, "the patience and one more attempt"
    assert rest < 0.2, "whoever comes later does not wait again for what is known to be away"
    flaky.is_away = False
    assert not sched.jobs["work"].later("0s")(n=1).duplicate


def test_an_answer_begins_the_patience_anew(sched: Scheduler, flaky: Flaky) -> None:
    flaky.is_away = True
    with pytest.raises(StoreUnreachable):
        sched.workers()
    flaky.is_away = False
    sched.workers()
    flaky.is_away = True
    threading.Timer(0.1, lambda: setattr(flaky, "is_away", False)).start()
    sched.workers()


def test_a_write_that_is_given_up_says_that_its_outcome_is_unknown(sched: Scheduler, flaky: Flaky) -> None:
    flaky.lost_replies = 1000
    with pytest.raises(StoreUnreachable, match="asking again with the same key or id is safe"):
        sched.jobs["work"].later("0s")(n=1)
    flaky.lost_replies = 0
    again = sched.jobs["work"].later("0s")(n=1)
    assert again.duplicate, "it had taken effect, and the key says so"


def test_what_a_person_must_mend_is_told_at_once() -> None:
    opened: list[int] = []

    def opener() -> MemoryStore:
        opened.append(1)
        raise StoreUnusable("the password is wrong")

    with pytest.raises(StoreUnusable):
        Reach(opener).patiently().now()
    assert opened == [1]


def test_a_store_without_room_is_waited_for_like_one_that_is_away_and_told_as_what_it_is() -> None:
    opened: list[int] = []

    def opener() -> MemoryStore:
        opened.append(1)
        raise StoreFull("the disk is full. Free some space")

    with pytest.raises(StoreFull, match="the disk is full"):
        Reach(opener, patience=100_000).patiently().now()
    assert len(opened) > 1


def test_a_store_that_cannot_be_opened_yet_is_tried_again() -> None:
    opened: list[int] = []

    def opener() -> MemoryStore:
        opened.append(1)
        if len(opened) < 3:
            raise StoreUnreachable("starting up")
        return MemoryStore()

    reach = Reach(opener)
    reach.patiently().now()
    reach.patiently().now()
    assert opened == [1, 1, 1]
    reach.close()


def test_a_web_application_starts_while_its_store_is_away_and_its_worker_begins_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, tries, ran = MemoryStore(), [], threading.Event()

    def open_store(*_: object, **__: object) -> MemoryStore:
        tries.append(1)
        if len(tries) < 4:
            raise StoreUnreachable("starting up")
        return store

    monkeypatch.setattr(scheduler_module, "open_store", open_store)
    sched = Scheduler("memory://", rules=False)

    @sched.job(every("1s"), reason="x")
    def tick() -> None:
        ran.set()

    async def serve() -> bool:
        async with sched.lifespan(object()):
            return await asyncio.to_thread(ran.wait, 20)

    assert asyncio.run(serve())


def test_a_web_application_whose_store_wants_another_password_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_store(*_: object, **__: object) -> MemoryStore:
        raise StoreUnusable("the password is wrong")

    monkeypatch.setattr(scheduler_module, "open_store", open_store)
    sched = Scheduler("memory://", rules=False)

    async def serve() -> None:
        async with sched.lifespan(object()):
            raise AssertionError("it began to serve")

    with pytest.raises(StoreUnusable):
        asyncio.run(serve())


def test_callers_that_wait_for_one_attempt_to_open_share_its_outcome() -> None:
    opened: list[int] = []
    answers: list[str] = []
    enter, leave = threading.Event(), threading.Event()

    def opener() -> MemoryStore:
        opened.append(1)
        enter.set()
        leave.wait(10)
        raise StoreUnreachable("no answer in time")

    reach = Reach(opener, patience=0)

    def ask() -> None:
        try:
            reach.store()
        except StoreUnreachable as error:
            answers.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    threads[0].start()
    assert enter.wait(10)
    for thread in threads[1:]:
        thread.start()
    time.sleep(0.1)  # the seven ask, and wait for the first one's turn to end
    leave.set()
    for thread in threads:
        thread.join(10)
    assert answers == ["no answer in time"] * 8
    assert len(opened) == 1
