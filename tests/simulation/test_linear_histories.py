"""Histories of real stores are ones that a single register could have told, and those of broken stores are not."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noonmark.core.model import LOOK_LEASE, SECOND, Event, Note, Renewal, Settlement
from noonmark.ports.store import Store
from noonmark.sim.exhaustive.mutants import BUGS, put_in
from noonmark.sim.linear import LONGEST, Op, check, is_linearizable
from noonmark.stores.memory import MemoryStore
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_activation, make_caller_row, make_start
from noonmark.testing.clock import START, VirtualClock

KEYS = 3
LEASE = 3 * SECOND


class Caller:
    """One worker that takes rows, writes under what it holds, and does not notice when that is over."""

    def __init__(self, store: Store, clock: VirtualClock, name: str, dice: random.Random) -> None:
        self.store, self.clock, self.name, self.dice = store, clock, name, dice
        self.held: dict[int, int] = {}  # occurrence -> fence
        self.history: list[Op] = []
        self.count = self.steps = 0

    def step(self) -> None:
        """Do one thing."""
        self.steps += 1
        self.clock.advance(self.dice.choice((1, SECOND // 2, SECOND, SECOND, 4 * SECOND)))
        if not self.held or self.dice.random() < 0.3:
            self.take()
            return
        row_id, fence = self.dice.choice(sorted(self.held.items()))
        self.dice.choice((self.renew, self.renew, self.note, self.note, self.fail, self.succeed))(row_id, fence)

    def take(self) -> None:
        called = time.monotonic_ns()
        taken = self.store.take(self.request(), self.name, limit=1, runnable={}, look_lease=LOOK_LEASE)
        returned = time.monotonic_ns()
        for row in taken.rows:
            self.record("grant", row.id, row.fence, called, returned, at=taken.now, lease=LOOK_LEASE)
            event = Event.TAKEOVER if row.is_lapsed else Event.START
            start = make_start(row, lease=LEASE, event=event)
            called = time.monotonic_ns()
            (answer,) = self.store.settle(self.request(), self.name, [start])
            ok = answer.outcome == "applied"
            at = answer.lease_until - LEASE
            self.record("renew", row.id, row.fence, called, time.monotonic_ns(), ok=ok, at=at, lease=LEASE)
            if ok:
                self.held[row.id] = row.fence

    def renew(self, row_id: int, fence: int) -> None:
        called = time.monotonic_ns()
        wanted = Renewal(occurrence_id=row_id, fence=fence, lease=LEASE)
        answer = self.store.renew(self.name, [wanted])
        ok = row_id not in answer.lost
        self.record("renew", row_id, fence, called, time.monotonic_ns(), ok=ok, at=answer.now, lease=LEASE)

    def note(self, row_id: int, fence: int) -> None:
        called = time.monotonic_ns()
        ok = self.store.note_if_held(self.name, row_id, fence, Note(kind="progress", name="p", value="1"))
        self.record("note", row_id, fence, called, time.monotonic_ns(), ok=ok)

    def fail(self, row_id: int, fence: int) -> None:
        self.settle("write", row_id, fence, Event.FAIL_RETRY, due_at=self.store.now())

    def succeed(self, row_id: int, fence: int) -> None:
        if self.steps > 25:  # before, the history would soon be over
            self.settle("succeed", row_id, fence, Event.SUCCEED)

    def settle(self, kind: str, row_id: int, fence: int, event: Event, due_at: int | None = None) -> None:
        del self.held[row_id]
        item = Settlement(occurrence_id=row_id, fence=fence, event=event, due_at=due_at, code="said")
        called = time.monotonic_ns()
        (answer,) = self.store.settle(self.request(), self.name, [item])
        ok = answer.outcome == "applied"
        self.record(kind, row_id, fence, called, time.monotonic_ns(), ok=ok)

    def request(self) -> str:
        self.count += 1
        return f"{self.name}-{self.count}"

    def record(
        self,
        kind: str,
        row_id: int,
        fence: int,
        called: int,
        returned: int,
        *,
        ok: bool = True,
        at: int = 0,
        lease: int = 0,
    ) -> None:
        self.history.append(
            Op(
                kind=kind,
                key=f"r{row_id}",
                caller=self.name,
                called=called,
                returned=returned,
                fence=fence,
                ok=ok,
                at=at,
                lease=lease,
            )
        )


def prepared(store: Store) -> Store:
    store.activate("begin", [make_activation(effective_at=START)], actor="ann")
    store.add("begin", [make_caller_row(f"c{number}", at=START, gated=True) for number in range(KEYS)])
    return store


def taking_turns(store: Store, clock: VirtualClock, seed: int, steps: int = 150) -> list[Op]:
    dice = random.Random(seed)
    callers = [Caller(store, clock, name, dice) for name in ("w1", "w2", "w3")]
    for _ in range(steps):
        dice.choice(callers).step()
    return [op for caller in callers for op in caller.history]


def at_once(callers: list[Caller], steps: int) -> list[Op]:
    gate, errors = threading.Barrier(len(callers)), list[BaseException]()

    def work(caller: Caller) -> None:
        try:
            gate.wait()
            for _ in range(steps):
                caller.step()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(caller,)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [op for caller in callers for op in caller.history]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_several_threads_see_what_one_register_could_have_told(kind: str, seed: int, tmp_path: Path) -> None:
    clock = VirtualClock()
    memory = MemoryStore(clock)

    def opened() -> Store:
        return memory if kind == "memory" else SqliteStore(tmp_path / "l.db", clock=clock, synchronous="OFF")

    stores = [prepared(opened()), opened(), opened()]
    callers = [Caller(store, clock, f"w{n}", random.Random(f"{seed}/{n}")) for n, store in enumerate(stores)]
    history = at_once(callers, steps=50)
    for store in stores:
        store.close()
    assert len(history) > 20
    refuted = check(history)
    assert refuted is None, refuted.text()


@pytest.mark.parametrize("seed", range(20))
def test_an_honest_store_is_never_refuted_and_refuses_some_stale_writes(seed: int) -> None:
    clock = VirtualClock()
    history = taking_turns(prepared(MemoryStore(clock)), clock, seed)
    assert check(history) is None
    assert any(not op.ok for op in history), "nothing stale was tried, so nothing was shown"


BROKEN = [mutant for mutant in BUGS if mutant.name in (
    "settle without a look at the fence",
    "take grants a lease under the old fence",
    "a lease that another has is renewed",
)]  # fmt: skip


@pytest.mark.parametrize("mutant", BROKEN, ids=lambda each: each.name)
def test_a_store_that_lets_stale_writes_in_is_refuted_on_every_seed(mutant: object) -> None:
    found = 0
    with put_in(mutant):  # type: ignore[arg-type]
        for seed in range(20):
            clock = VirtualClock()
            found += check(taking_turns(prepared(MemoryStore(clock)), clock, seed)) is not None
    assert found == 20
    assert len(BROKEN) == 3


def op(kind: str, caller: str, called: int, returned: int | None, **fields: object) -> Op:
    return Op(kind=kind, key="k", caller=caller, called=called, returned=returned, **fields)  # type: ignore[arg-type]


FIRST = op("grant", "a", 0, 1, fence=1, at=0, lease=10)
SECOND_GRANT = op("grant", "b", 20, 21, fence=2, at=20, lease=10)
HISTORIES: list[tuple[str, bool, list[Op]]] = [
    ("nothing at all", True, []),
    ("a write under the newest fence", True, [FIRST, op("succeed", "a", 2, 3, fence=1)]),
    ("a late write that nobody came before", True, [FIRST, op("succeed", "a", 50, 51, fence=1)]),
    ("a stale write that is refused", True, [FIRST, SECOND_GRANT, op("succeed", "a", 30, 31, fence=1, ok=False)]),
    ("a stale write that is accepted", False, [FIRST, SECOND_GRANT, op("succeed", "a", 30, 31, fence=1)]),
    ("a stale write that was on its way before", True, [FIRST, SECOND_GRANT, op("note", "a", 15, 31, fence=1)]),
    ("a good write that is refused", False, [FIRST, op("note", "a", 2, 3, fence=1, ok=False)]),
    ("two leases at one time", False, [FIRST, replace(SECOND_GRANT, called=5, returned=6, at=5)]),
    ("a lease that was given back early", True,
     [FIRST, op("write", "a", 2, 3, fence=1), replace(SECOND_GRANT, called=5, returned=6, at=5)]),
    ("a fence that is granted twice", False, [FIRST, replace(SECOND_GRANT, fence=1)]),
    ("a second success", False,
     [FIRST, op("succeed", "a", 2, 30, fence=1), SECOND_GRANT, op("succeed", "b", 31, 32, fence=2)]),
    ("a write whose answer was lost, and which happened", True,
     [FIRST, op("succeed", "a", 2, None, fence=1), op("grant", "b", 20, 21, ok=False)]),
    ("a write whose answer was lost, and which did not happen", True,
     [FIRST, op("succeed", "a", 2, None, fence=1), SECOND_GRANT]),
    ("a grant whose answer was lost", True,
     [FIRST, op("grant", "b", 12, None), op("note", "a", 20, 21, fence=1, ok=False)]),
    ("an end of a lease that is observed too early", False, [FIRST, op("expire", "", 5, 6, at=5)]),
    ("an end of a lease that is observed", True, [FIRST, op("expire", "", 15, 16, at=15), SECOND_GRANT]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "is_true", "ops"), HISTORIES, ids=[what for what, _, _ in HISTORIES])
def test_a_history_is_told_apart_from_a_lie(what: str, is_true: bool, ops: list[Op]) -> None:
    assert is_linearizable(ops) is is_true, what
    shuffled = random.Random(what).sample(ops, len(ops))
    assert (check(shuffled) is None) is is_true


def test_a_refutation_shows_the_shortest_beginning_that_is_a_lie() -> None:
    lie = op("note", "a", 30, 31, fence=1)
    after = [op("note", "b", 40 + n, 41 + n, fence=2) for n in range(5)]
    refuted = check([FIRST, SECOND_GRANT, lie, *after])
    assert refuted is not None
    assert refuted.ops[-1] == lie
    assert "a note fence 1: accepted" in refuted.text().splitlines()[-1]


def test_many_operations_at_once_are_judged_and_too_many_are_refused() -> None:
    crowd = [op("note", f"w{n}", 2, 1000, fence=1, ok=False) for n in range(LONGEST - 1)]
    assert check([FIRST, *crowd]) is None
    with pytest.raises(ValueError, match="more than 200"):
        check([FIRST, *crowd, *crowd])
