"""One store lies where another lay, and the worker that finds it cannot finish asking: under which name, and who is told."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from noonmark.core import former
from noonmark.core.model import SECOND, Event, Query
from noonmark.engine import mending
from noonmark.engine.chain import ChainedStore
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.testimony import outcomes
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.memory import MemoryStore
from noonmark.stores.memory.tables import Tables
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end, make_worker
from noonmark.testing.clock import VirtualClock


class Place:
    """An address at which now one store lies and now another, and the state folder of the machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = VirtualClock()
        self.store = MemoryStore(self.clock)
        self._numbers = iter(range(1000))
        self._declare()

    def _declare(self) -> None:
        self.store.activate(self.request(), [make_activation("job", effective_at=self.store.now())], actor="ada")

    def request(self) -> str:
        return f"r{next(self._numbers)}"

    def worker(self, name: str = "w1") -> ChainedStore:
        return ChainedStore(
            self.store,
            name,
            boot=self.clock.boot,
            ttl=30 * SECOND,
            row_of=lambda id_: next(iter(self.store.occurrences(Query(ids=(id_,)))), None),
            folder=StateFolder(self.root),
        )

    def kept(self) -> Callable[[], None]:
        """Return what puts the store there again that lies there now."""
        tables, answers, name = self.store._tables, self.store._answers, self.store._id

        def put_back() -> None:
            self.store._tables, self.store._answers, self.store._id = tables, answers, name

        return put_back

    def make_anew(self) -> None:
        """Put an empty store there."""
        self.store._tables, self.store._answers, self.store._id = Tables(), {}, uuid.uuid4().hex

    @contextmanager
    def answering(self, proofs: int) -> Iterator[None]:
        """Answer that many proofs, and then none."""
        prove, left = self.store.prove, iter(range(proofs))

        def fail(*args: Any, **named: Any) -> Any:
            if next(left, None) is None:
                raise StoreUnreachable("it does not answer")
            return prove(*args, **named)

        self.store.prove = fail  # type: ignore[method-assign]
        with pytest.raises(StoreUnreachable):
            yield
        self.store.prove = prove  # type: ignore[method-assign]

    def run(self, worker: ChainedStore, key: str, name: str = "w1") -> None:
        self.store.add(self.request(), [make_caller_row(key, at=self.store.now() - 1)])
        taken = worker.take(self.request(), name, limit=10, runnable={"job": LEASE}, look_lease=SECOND)
        ended = worker.settle(self.request(), name, [make_end(row, Event.SUCCEED) for row in taken.rows])
        assert [each.outcome for each in ended] == ["applied"]

    def writers(self) -> list[str]:
        return [writer.id for writer in self.store.writers()]

    def former(self) -> str:
        told = former.former_of(self.store.facts([former.FACT])[former.FACT])
        return "" if told is None else told.store


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("is_alive", [False, True], ids=["found at a start", "found by one at work"])
def test_another_store_is_told_by_the_next_worker_where_the_one_that_found_it_died_before_it_could(
    place: Place, is_alive: bool
) -> None:
    before = place.store.store_id()
    worker = place.worker()
    worker.prove()
    if not is_alive:
        worker.close_memory()
        worker = place.worker("w2")
    place.make_anew()
    with place.answering(1 if is_alive else 0):
        worker.prove()
    worker.close_memory()  # it dies, and others may be its writers
    assert place.former() == ""
    place.worker("w3").prove()
    assert place.former() == before
    (alert,) = place.store.tallies().open_alerts
    assert (alert.code, alert.level) == (former.CODE, 3)


def test_a_store_that_comes_back_before_the_other_one_was_asked_is_asked_by_the_writer_that_it_knows(
    place: Place,
) -> None:
    first, worker = place.kept(), place.worker()
    worker.prove()
    place.run(worker, "a")
    (writer,) = place.writers()
    place.make_anew()
    other = place.kept()
    with place.answering(1):
        worker.prove()
    first()
    worker.prove()
    assert not worker.came_to_another(), "nothing was done in the other one, so nothing begins anew"
    place.run(worker, "b")
    assert (place.writers(), place.former(), worker.store) == ([writer], "", place.store.store_id())
    told = [each["key"] for each in outcomes(place.root, place.store.store_id())]
    assert told == ["key:a", "key:b"]
    other()
    worker.prove()
    assert worker.came_to_another()
    first()
    worker.prove()
    assert worker.came_to_another()
    place.run(worker, "c")
    assert [each["key"] for each in outcomes(place.root, place.store.store_id())] == ["key:a", "key:b", "key:c"]


def test_a_store_that_comes_back_older_before_the_other_one_was_asked_is_found_to_have_lost_something(
    place: Place,
) -> None:
    worker = place.worker()
    worker.prove()
    older = place.kept()
    place.store._tables = copy.deepcopy(place.store._tables)
    place.run(worker, "a")
    place.make_anew()
    with place.answering(1):
        worker.prove()
    older()
    worker.prove()
    assert len(mending.epochs(place.store)) == 1


def test_a_store_made_anew_while_the_first_question_was_open_is_asked_by_a_writer_of_its_own(place: Place) -> None:
    before = place.store.store_id()
    worker = place.worker()
    with place.answering(0):
        worker.prove()
    place.make_anew()
    place._declare()
    worker.prove()
    place.run(worker, "a")
    now = place.store.store_id()
    assert [path.name for path in (place.root / now).glob("w-*")] == place.writers()
    assert [each["key"] for each in outcomes(place.root, now)] == ["key:a"]
    assert list(outcomes(place.root, before)) == []


def test_nobody_is_heard_of_in_a_store_that_has_not_answered_yet(place: Place) -> None:
    first, worker = place.kept(), place.worker()
    worker.heartbeat(make_worker("w1"), 30 * SECOND)
    place.make_anew()
    with place.answering(1):
        worker.prove()
    with place.answering(0):
        worker.heartbeat(make_worker("w1"), 30 * SECOND)
    assert place.store.workers() == []
    place.clock.advance(60 * SECOND)
    first()
    worker.prove()
    assert mending.epochs(place.store) == ()


def test_a_memory_that_was_given_back_is_asked_about_by_nobody_but_who_takes_it_up_anew(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, worker = place.kept(), place.worker()
    with place.answering(0):
        worker.prove()
    place.make_anew()
    answers = iter([place.store.store_id()])

    def once() -> str:
        for answer in answers:
            return answer
        raise StoreUnreachable("it does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(place.store, "store_id", once)
        with pytest.raises(StoreUnreachable):
            worker.prove()
    first()
    other = place.worker("w2")
    other.prove()
    worker.prove()
    assert len(set(place.writers())) == 2, "two processes are two writers"
