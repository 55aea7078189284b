"""The worker's chain: what it sends with each batch, and what it does when the store remembers less."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noonmark.core import receipts, rollback
from noonmark.core.model import SECOND, Event, Job, Manual, Occurrence, Query, State, WorkerInfo
from noonmark.core.model.rollback import Claim, Epoch, Proof, Receipt
from noonmark.engine import mending, witnessing
from noonmark.engine.chain import ChainedStore
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.testimony import outcomes
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.memory import MemoryStore, proving
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end, make_worker
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import World
from noonmark.wiring import open_store

TTL = 30 * SECOND


class Desk:
    """One memory store, and workers that reach it by a chain."""

    def __init__(self, folder: Path | None = None) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore(self.clock)
        self.folder = StateFolder(folder)
        change = make_activation("job", effective_at=self.store.now())
        self.store.activate("a", [change], actor="ada")
        self._requests = 0

    def worker(
        self, name: str = "w1", folder: StateFolder | None = None, store: Any = None, row_of: Any = None
    ) -> ChainedStore:
        return ChainedStore(
            store or self.store,
            name,
            boot=self.clock.boot,
            ttl=TTL,
            row_of=row_of or (lambda id_: next(iter(self.store.occurrences(Query(ids=(id_,)))), None)),
            folder=folder,
        )

    def request(self) -> str:
        self._requests += 1
        return f"r{self._requests}"

    def add(self, name: str) -> None:
        self.store.add(self.request(), [make_caller_row(name, at=self.store.now() - 1)])

    def run(self, worker: ChainedStore, name: str = "w1") -> list[str]:
        """Take what is due and end it; return the keys."""
        taken = worker.take(self.request(), name, limit=10, runnable={"job": LEASE}, look_lease=SECOND)
        started = [row for row in taken.rows if not row.looking]
        if started:
            worker.settle(self.request(), name, [make_end(row, Event.SUCCEED) for row in started])
        return [row.key for row in started]

    def two_that_live(self) -> tuple[ChainedStore, ChainedStore]:
        """Return w1 and w2, who were heard of and have proved themselves."""
        first, second = self.worker("w1"), self.worker("w2")
        for name, worker in (("w1", first), ("w2", second)):
            worker.heartbeat(make_worker(name), TTL)
            self.run(worker, name)
        return first, second

    def forget(self) -> Callable[[], None]:
        """Return what puts the store back to how it is now."""
        kept, answers = copy.deepcopy(self.store._tables), dict(self.store._answers)

        def put_back() -> None:
            self.store._tables = copy.deepcopy(kept)
            self.store._answers = dict(answers)

        return put_back

    def head(self) -> int:
        return self.store.writers()[0].seq


def test_each_batch_is_one_link_and_idling_is_none() -> None:
    desk = Desk()
    worker = desk.worker()
    assert desk.run(worker) == []
    assert desk.head() == 0
    desk.add("a")
    desk.add("b")
    desk.run(worker)
    assert desk.head() == 2, "one take that started two rows, and one settle"


def test_a_rollback_is_found_by_the_very_next_batch_and_nothing_of_it_is_done() -> None:
    desk = Desk()
    worker = desk.worker()
    desk.add("a")
    desk.run(worker, "w1")
    put_back = desk.forget()
    desk.add("b")
    assert desk.run(worker) == ["key:b"]
    put_back()
    desk.add("c")
    assert desk.run(worker) == [], "what is due may have run: it is only looked at"
    assert worker.came_back_older()
    assert not worker.came_back_older()
    fact = desk.store.facts([rollback.FACT])[rollback.FACT]
    assert [epoch.number for epoch in rollback.epochs_of(fact.value)] == [1]


def test_an_answer_that_was_lost_is_no_rollback() -> None:
    class Deaf:
        """Carries verbs out and loses the next answer."""

        def __init__(self, store: MemoryStore) -> None:
            self._store, self.deaf = store, False

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def settle(self, *args: Any, **options: Any) -> Any:
            answer = self._store.settle(*args, **options)
            if self.deaf:
                self.deaf = False
                raise StoreUnreachable("the answer was lost")
            return answer

    desk = Desk()
    deaf = Deaf(desk.store)
    worker = desk.worker(store=deaf)
    desk.add("a")
    taken = worker.take("t", "w1", limit=10, runnable={"job": LEASE}, look_lease=SECOND)
    deaf.deaf = True
    items = [make_end(row, Event.SUCCEED) for row in taken.rows]
    with pytest.raises(StoreUnreachable):
        worker.settle("s", "w1", items)
    assert [answer.outcome for answer in worker.settle("s", "w1", items)] == ["applied"]
    desk.add("b")
    assert desk.run(worker) == ["key:b"]
    assert desk.head() == 4
    assert desk.store.facts([rollback.FACT])[rollback.FACT].version == 0


def test_a_write_that_landed_without_an_answer_is_adopted_after_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    worker = desk.worker(folder=desk.folder)
    desk.add("a")
    desk.run(worker)
    witness = worker._witness
    assert witness is not None
    assert witness.receipt is not None
    witness.keep(replace(witness.receipt, seq=1, hash=desk.store._tables.links[witness.writer][1]))
    worker.close_memory()
    again = desk.worker("w2", folder=desk.folder)
    desk.add("b")
    assert desk.run(again, "w2") == ["key:b"]
    assert (len(desk.store.writers()), desk.head()) == (1, 4)


def test_a_restart_finds_the_rollback_that_nobody_lived_through(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.add("a")
    put_back = desk.forget()
    worker = desk.worker(folder=desk.folder)
    assert desk.run(worker) == ["key:a"]
    worker.close_memory()
    put_back()
    again = desk.worker("w2", folder=desk.folder)
    assert desk.run(again, "w2") == []
    (told,) = outcomes(tmp_path, desk.store.store_id())
    assert (told["key"], told["outcome"]) == ("key:a", "success")


def test_a_run_that_was_cancelled_is_in_the_journal_as_cancelled(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    worker = desk.worker(folder=desk.folder)
    desk.add("a")
    (row,) = worker.take("t", "w1", limit=10, runnable={"job": LEASE}, look_lease=SECOND).rows
    assert worker.settle("s", "w1", [make_end(row, Event.CANCEL)])[0].outcome == "applied"
    (told,) = outcomes(tmp_path, desk.store.store_id())
    assert (told["key"], told["outcome"]) == ("key:a", "cancelled")


def test_the_writers_of_a_host_that_do_not_come_back_are_proved_by_those_that_do(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first, second = desk.worker("w1", folder=desk.folder), desk.worker("w2", folder=desk.folder)
    desk.add("a")
    desk.run(second, "w2")
    put_back = desk.forget()
    desk.add("b")
    desk.run(first)
    for worker in (first, second):
        worker.close_memory()
    put_back()
    desk.add("b")
    third = desk.worker("w3", folder=desk.folder)
    assert desk.run(third, "w3") == []
    assert third.came_back_older()


def test_writers_that_idle_keep_who_was_heard_of_when_others_prove_for_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    workers = {name: desk.worker(name, folder=desk.folder) for name in ("w1", "w2")}
    for name, worker in workers.items():
        worker.heartbeat(make_worker(name), TTL)
    for worker in workers.values():
        worker.close_memory()
    desk.worker("w3", folder=desk.folder).prove()
    written = [json.loads(path.read_text()) for path in tmp_path.glob("*/w-*/receipt.json")]
    assert sorted((each["worker"], each["beat"]) for each in written) == [
        ("w1", desk.store.now()),
        ("w2", desk.store.now()),
    ]
    assert sorted(writer.worker for writer in desk.store.writers())[0] in ("w1", "w2"), "the idle one's is not erased"


def test_a_worker_that_lost_nothing_reads_anew_what_is_held_since_another_lost_something() -> None:
    desk = Desk()
    first, second = desk.worker("w1"), desk.worker("w2")
    desk.run(second, "w2")
    desk.run(first)
    put_back = desk.forget()
    desk.add("a")
    assert desk.run(first) == ["key:a"]
    put_back()
    first.prove()
    assert first.came_back_older()
    assert not second.came_back_older()
    second.prove()
    assert second.is_older
    assert second.came_back_older()
    second.prove()
    assert not second.came_back_older(), "told once"


def test_a_heartbeat_puts_no_older_link_back() -> None:
    desk = Desk()
    worker = desk.worker()
    desk.run(worker)
    desk.add("a")
    witness = worker._witness
    assert witness is not None
    keep, settling = witness.keep, threading.Thread(target=lambda: desk.run(worker))

    def keep_slowly(receipt: Receipt) -> None:
        """As if the keeper's thread were put off between reading the receipt and writing it."""
        if receipt.beat and not settling.ident:
            settling.start()
            settling.join(0.2)
        keep(receipt)

    witness.keep = keep_slowly  # type: ignore[method-assign]
    worker.heartbeat(make_worker("w1"), TTL)
    settling.join(10)
    assert (worker._receipt.seq, worker._receipt.beat) == (desk.head(), desk.store.now())
    assert desk.head() == 2


def test_what_is_acknowledged_while_a_proof_is_under_way_is_not_forgotten_for_it() -> None:
    class Slow:
        """Answers a claim only after something else was acknowledged."""

        def __init__(self, store: MemoryStore) -> None:
            self._store = store
            self.meanwhile: Callable[[], object] | None = None

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def prove(self, claim: Claim) -> Proof:
            proof, meanwhile = self._store.prove(claim), self.meanwhile
            self.meanwhile = None
            if meanwhile is not None:
                meanwhile()
            return proof

    desk = Desk()
    slow = Slow(desk.store)
    worker = desk.worker(store=slow)
    desk.run(worker)
    for name, seq in (("a", 2), ("b", 4)):
        desk.add(name)
        slow.meanwhile = lambda: (desk.run(worker), worker.heartbeat(make_worker("w1"), TTL))
        worker.prove()
        assert (worker._receipt.seq, worker._receipt.beat) == (seq, desk.store.now())
    assert desk.head() == 4


def test_a_heartbeat_that_was_heard_before_a_rollback_proves_no_second_one() -> None:
    class Forgetful:
        """Goes back in time between carrying a heartbeat out and answering it."""

        def __init__(self, store: MemoryStore) -> None:
            self._store = store
            self.meanwhile: Callable[[], object] = lambda: None

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def heartbeat(self, worker: WorkerInfo, ttl: int) -> int:
            now = self._store.heartbeat(worker, ttl)
            self.meanwhile()
            return now

    desk = Desk()
    forgetful = Forgetful(desk.store)
    worker = desk.worker(store=forgetful)
    worker.heartbeat(make_worker("w1"), TTL)
    put_back = desk.forget()
    desk.clock.advance(2 * TTL)
    desk.add("a")
    desk.run(worker)

    def go_back() -> None:
        put_back()
        worker.prove()

    forgetful.meanwhile = go_back
    worker.heartbeat(make_worker("w1"), TTL)
    worker.prove()
    fact = desk.store.facts([rollback.FACT])[rollback.FACT]
    assert [epoch.number for epoch in rollback.epochs_of(fact.value)] == [1]


def test_after_a_change_of_server_nobody_starts_anything_before_all_who_lived_have_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    first, second = desk.two_that_live()
    monkeypatch.setattr(proving, "SERVING", "another server")
    desk.add("a")
    assert desk.run(second, "w2") == []
    assert desk.run(first, "w1") == ["key:a"], "the last to prove itself finds that all have"
    desk.add("b")
    desk.clock.advance(SECOND)
    assert desk.run(second, "w2") == ["key:b"]


def test_what_was_granted_without_an_answer_is_heard_of_although_others_have_to_prove_themselves_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The keeper's thread may have proved itself before the take is asked again; the lease would be nobody's."""
    desk = Desk()
    _, second = desk.two_that_live()
    desk.add("a")
    desk.clock.advance(SECOND)
    granted: list[Any] = []
    take = desk.store.take

    def lose_the_reply(*args: Any, **kwargs: Any) -> Any:
        granted.append(take(*args, **kwargs))
        raise StoreUnreachable("the reply was lost")

    def ask() -> list[str]:
        taken = second.take("asked", "w2", limit=10, runnable={"job": LEASE}, look_lease=SECOND)
        return [row.key for row in taken.rows]

    with monkeypatch.context() as patch:
        patch.setattr(desk.store, "take", lose_the_reply)
        with pytest.raises(StoreUnreachable):
            ask()
    assert [row.key for row in granted[0].rows] == ["key:a"]
    monkeypatch.setattr(proving, "SERVING", "another server")
    second.prove()
    desk.add("b")
    assert ask() == ["key:a"], "its own, and nothing new before the others have proved themselves"
    assert desk.run(second, "w2") == []


def test_who_does_not_come_back_is_not_waited_for_longer_than_it_takes_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    first, second = desk.worker("w1"), desk.worker("w2")
    for name, worker in (("w1", first), ("w2", second)):
        worker.heartbeat(make_worker(name), TTL)
    desk.clock.advance(SECOND)
    monkeypatch.setattr(proving, "SERVING", "another server")
    desk.add("a")
    assert desk.run(second, "w2") == []
    desk.clock.advance(receipts.COMING_BACK)
    assert desk.run(second, "w2") == ["key:a"]


def test_who_came_back_and_proves_nothing_is_waited_for_one_ttl_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    first, second = desk.worker("w1"), desk.worker("w2")
    for name, worker in (("w1", first), ("w2", second)):
        worker.heartbeat(make_worker(name), TTL)
    monkeypatch.setattr(proving, "SERVING", "another server")
    desk.add("a")
    assert desk.run(second, "w2") == []
    desk.store.heartbeat(make_worker("w1"), TTL)
    desk.clock.advance(TTL - SECOND)
    assert desk.run(second, "w2") == []
    desk.clock.advance(SECOND)
    assert desk.run(second, "w2") == ["key:a"]


def test_a_worker_alone_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    worker = desk.worker()
    worker.heartbeat(make_worker("w1"), TTL)
    monkeypatch.setattr(proving, "SERVING", "another server")
    desk.add("a")
    assert desk.run(worker) == ["key:a"]


@pytest.mark.parametrize("seed", range(3))
def test_in_a_world_of_two_replicas_nothing_that_ran_runs_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(name="mail", trigger=Manual(tz="UTC"), reason="test", key="mail:{n}")
    with World(replicas=2, seed=seed) as world:
        sent: list[int] = []
        world.job(job, lambda n: sent.append(n))
        world.advance("1s")
        for n in range(10):
            world.later(job, n=n)
        kept = copy.deepcopy(world.store._tables)  # type: ignore[attr-defined]
        world.advance("5s")
        assert sorted(sent) == list(range(10))
        monkeypatch.setattr(proving, "SERVING", "the server that was started on the copy")
        world.store._tables = kept  # type: ignore[attr-defined]
        world.store._answers.clear()  # type: ignore[attr-defined]
        for tell in list(world.store._listeners):  # type: ignore[attr-defined]
            tell()  # whoever listened to a server that is gone looks when there is one again
        world.advance("120s")
        assert sorted(sent) == list(range(10)), "held, not repeated"
        rows = world.store.occurrences(Query(job="mail", open_only=True))
        assert {row.code for row in rows} == {"held_rollback"}
        assert {row.state for row in rows} <= {State.PENDING, State.RUNNING}
        fact = world.store.facts([rollback.FACT])[rollback.FACT]
        assert [epoch.number for epoch in rollback.epochs_of(fact.value)] == [1]


# -- a receipt that is damaged ------------------------------------------------------------------------------


def damage(folder: Path, text: str = "\x00garbage") -> None:
    for receipt in folder.glob("*/*/receipt.json"):
        receipt.write_text(text, encoding="utf-8")


def epochs(desk: Desk) -> list[int]:
    return [each.number for each in rollback.epochs_of(desk.store.facts([rollback.FACT])[rollback.FACT].value)]


@pytest.mark.parametrize("text", ["", "\x00garbage", "[" * 100_000, '{"store": "s"}', "[]", "null"])
def test_a_rollback_is_found_with_a_damaged_receipt_by_the_journal_beside_it(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    put_back = desk.forget()
    worker = desk.worker("w1", StateFolder(tmp_path))
    desk.add("a")
    desk.run(worker, "w1")
    worker.close_memory()
    put_back()
    damage(tmp_path, text)
    again = desk.worker("w2", StateFolder(tmp_path))
    desk.run(again, "w2")
    assert epochs(desk) == [1]
    assert "cannot be read" in caplog.text
    assert "taken from the journal beside it" in caplog.text


def test_a_damaged_receipt_without_a_journal_is_told_and_mended_by_the_next_proof(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    worker = desk.worker("w1", StateFolder(tmp_path))
    desk.run(worker, "w1")
    worker.close_memory()
    damage(tmp_path)
    again = desk.worker("w2", StateFolder(tmp_path))
    desk.run(again, "w2")
    again.close_memory()
    assert "until now it is blind" in caplog.text
    caplog.clear()
    desk.run(desk.worker("w3", StateFolder(tmp_path)), "w3")
    assert "cannot be read" not in caplog.text
    assert epochs(desk) == []


@pytest.mark.parametrize("is_asked_by_another", [False, True])
def test_a_journal_from_before_two_rollbacks_that_are_known_alarms_nobody(
    tmp_path: Path, is_asked_by_another: bool
) -> None:
    desk = Desk()
    put_back = desk.forget()
    worker = desk.worker("w1", StateFolder(tmp_path))
    desk.add("a")
    desk.run(worker, "w1")
    for _ in range(2):
        put_back()
        worker.prove()  # the chain goes on behind the rollback, and nothing of that is in the journal
        desk.clock.advance(SECOND)
    assert epochs(desk) == [2]
    assert mending.release(desk.store, desk.request, actor="ada", reason="looked") is not None
    worker.close_memory()
    damage(tmp_path)
    if is_asked_by_another:
        kept = StateFolder(tmp_path).open(desk.store.store_id(), "x")
        desk.run(desk.worker("w2", StateFolder(tmp_path)), "w2")
        kept.close()
        desk.run(desk.worker("w3", StateFolder(tmp_path)), "w3")
    desk.run(desk.worker("w4", StateFolder(tmp_path)), "w4")
    assert epochs(desk) == [2]


def test_two_stores_of_one_relative_path_in_two_folders_are_no_alarm_and_one_made_anew_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path / "state")

    def work(folder: str, name: str = "noonmark.db") -> None:
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        store = open_store(f"sqlite:///{name}")
        worker = desk.worker(store=store, folder=desk.folder)
        worker.prove()
        worker.close_memory()
        store.close()

    for folder in ("one", "two", "one", "two"):
        work(folder)
    work("two", "../one/noonmark.db")
    work("two", str(tmp_path / "one" / "noonmark.db"))
    assert "another store lies" not in caplog.text
    (tmp_path / "one" / "noonmark.db").unlink()
    work("one")
    assert caplog.text.count("another store lies") == 1
    assert f"sqlite:///{tmp_path}/one/noonmark.db" in caplog.text


def test_what_an_older_worker_wrote_down_about_a_relative_path_is_no_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path / "state")
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///noonmark.db")
    desk.folder.lies_at(store.url, "a store of another folder")
    worker = desk.worker(store=store, folder=desk.folder)
    worker.prove()
    worker.close_memory()
    store.close()
    assert "another store lies" not in caplog.text


@pytest.mark.parametrize("is_new", [False, True], ids=["the row survived", "the row is gone as well"])
def test_a_run_that_ends_over_a_rollback_is_known_to_have_run(tmp_path: Path, is_new: bool) -> None:
    desk = Desk(tmp_path)
    under_way: dict[int, Occurrence] = {}
    worker = desk.worker(folder=desk.folder, row_of=under_way.get)
    worker.heartbeat(make_worker("w1"), TTL)
    put_back = desk.forget()
    if not is_new:
        desk.add("a")
        put_back = desk.forget()
    else:
        desk.add("a")
    desk.clock.advance(SECOND)
    taken = worker.take(desk.request(), "w1", limit=10, runnable={"job": LEASE}, look_lease=SECOND)
    (run,) = taken.rows
    under_way[run.id] = run
    desk.clock.advance(SECOND)
    put_back()
    desk.clock.advance(SECOND)
    worker.prove()
    worker.recall()
    other = desk.worker("w2", folder=desk.folder)
    other.prove()
    other.recall()
    desk.clock.advance(5 * SECOND)
    assert [each.outcome for each in worker.settle(desk.request(), "w1", [make_end(run)])] == ["stale"]
    epochs = mending.epochs(desk.store)
    (told,) = outcomes(tmp_path, desk.store.store_id())
    assert told["at"] > epochs[0].lost_until, "it ended after the store was back"
    known = witnessing.lost_successes([tmp_path], desk.store.store_id(), epochs)
    assert [(found.at, found.begun) for found in known.values()] == [(told["at"], run.started_at)]
    desk.add("a")
    again = next(row for row in desk.store.occurrences(Query(job="job")) if row.key == run.key)
    other.take(desk.request(), "w2", limit=0, runnable={"job": LEASE}, look_lease=SECOND)
    assert not other.has_run(again), "it read the journals before the run had ended"
    for each, name in ((other, "w2"), (worker, "w1")):
        desk.add(f"b{name}")
        assert each.take(desk.request(), name, limit=10, runnable={"job": LEASE}, look_lease=SECOND).rows
        assert each.has_run(again), "both hear of it before they start anything"
    assert not witnessing.lost_successes([tmp_path], desk.store.store_id(), [replace(epochs[0], detected_at=0)])


def test_a_run_that_was_begun_after_a_rollback_and_is_refused_is_no_success_that_it_lost(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    under_way: dict[int, Occurrence] = {}
    worker = desk.worker(folder=desk.folder, row_of=under_way.get)
    worker.heartbeat(make_worker("w1"), TTL)
    put_back = desk.forget()
    desk.add("a")
    desk.run(worker)
    put_back()
    desk.clock.advance(SECOND)
    worker.prove()
    desk.clock.advance(SECOND)
    desk.add("b")
    (run,) = worker.take(desk.request(), "w1", limit=10, runnable={"job": LEASE}, look_lease=SECOND).rows
    under_way[run.id] = run
    desk.clock.advance(SECOND)
    late = replace(make_end(run), fence=run.fence - 1)
    assert [each.outcome for each in worker.settle(desk.request(), "w1", [late])] == ["stale"]
    known = witnessing.lost_successes([tmp_path], desk.store.store_id(), mending.epochs(desk.store))
    assert ("job", run.key) not in known


@pytest.mark.parametrize("first", [10, 90])
def test_of_several_writers_successes_of_a_key_the_last_one_counts(tmp_path: Path, first: int) -> None:
    memories = [StateFolder(tmp_path).open("s", "w") for _ in range(2)]
    for at, memory in zip((first, 100 - first), sorted(memories, key=lambda each: each.writer), strict=True):
        memory.record(1, "h", at, [(7, "mail", "", "l:1", "k", 1, "d", "later", "success", at)])
        memory.close()
    epoch = Epoch(number=1, lost_from=0, lost_until=100, detected_at=100)
    (known,) = witnessing.lost_successes([tmp_path], "s", [epoch]).values()
    assert (known.at, known.fence) == (90, 90)


@pytest.mark.parametrize("is_new", [False, True], ids=["a writer of before the copy", "one that came since"])
def test_what_living_workers_write_into_a_store_that_came_back_has_not_survived(tmp_path: Path, is_new: bool) -> None:
    desk = Desk(tmp_path)
    worker, other = desk.worker(folder=desk.folder), desk.worker("w2")
    for name, each in (("w2", other), ("w1", worker))[: 1 if is_new else 2]:
        each.heartbeat(make_worker(name), TTL)
    desk.clock.advance(3 * SECOND)
    put_back, kept_at = desk.forget(), desk.store.now()
    desk.clock.advance(SECOND)
    desk.add("a")
    assert desk.run(worker) == ["key:a"]
    desk.clock.advance(SECOND)
    put_back()
    for _ in range(2):  # nothing is due, so nobody takes anything: they only say that they live
        desk.clock.advance(5 * SECOND)
        worker.heartbeat(make_worker("w1"), TTL)
        other.heartbeat(make_worker("w2"), TTL)
    other.prove()
    worker.prove()
    worker.recall()
    (epoch,) = mending.epochs(desk.store)
    assert epoch.lost_from <= kept_at
    assert epoch.lost_from >= kept_at - 3 * SECOND, "what is told is no longer than it must be"
    desk.add("a")
    (row,) = desk.store.occurrences(Query(job="job"))
    assert worker.has_run(row), "the journal knows"


def test_what_a_journal_tells_is_never_earlier_than_the_stores_own_time_however_slow_our_clock_is(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    worker = desk.worker(folder=desk.folder)
    worker._boot = lambda: desk.clock.boot() // 2
    worker.prove()
    desk.clock.advance(60 * SECOND)
    desk.add("a")
    assert desk.run(worker) == ["key:a"]
    (told,) = outcomes(tmp_path, desk.store.store_id())
    assert told["at"] == desk.store.now()


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_proof_that_the_store_does_not_take_is_asked_again_by_the_same_writer_with_what_it_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_lost: bool
) -> None:
    desk = Desk(tmp_path)
    first, put_back = desk.worker(folder=desk.folder), desk.forget()
    if is_lost:
        desk.add("a")
        desk.run(first)
        first.close_memory()
        put_back()
    worker, prove = desk.worker("w2", folder=desk.folder), desk.store.prove
    monkeypatch.setattr(desk.store, "prove", refuse)
    for _ in range(3):
        with pytest.raises(StoreUnreachable):
            worker.prove()
    monkeypatch.setattr(desk.store, "prove", prove)
    worker.prove()
    assert [writer.id for writer in desk.store.writers()] == [place.name for place in tmp_path.glob("*/w-*")]
    assert len(mending.epochs(desk.store)) == is_lost
    worker.close_memory()


def refuse(*_: Any, **__: Any) -> Any:
    raise StoreUnreachable("no room")
