"""Every verb of a store on a server, cut off in each way: its outcome is one, whatever was lost on the wire.

The network store is reached through a proxy, a second store object directly; time is the server's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeVar

import pytest
from sites import KINDS, Kind, through

from noonmark.core.model import LOOK_LEASE, SECOND, Act, Event, Fact, Note, Occurrence, Query, Renewal, State
from noonmark.ports.store import Store, StoreError, StoreUnreachable
from noonmark.testing.builders import make_activation, make_caller_row, make_end, make_worker
from noonmark.testing.proxy import Proxy
from noonmark.testing.servers import Server
from noonmark.wiring import open_store

T = TypeVar("T")
BOUND = 30.0
"""Seconds within which a verb must end whatever the network does: five more than the most patient store waits."""
_numbers = count(1)


class Line:
    """A store behind a proxy, and the same one seen directly."""

    def __init__(self, kind: Kind, server: Server, proxy: Proxy) -> None:
        self.kind = kind
        self.proxy = proxy
        self.direct: Store = open_store(server.url)
        self.store: Store = open_store(through(server, proxy))
        self.direct.activate("activate", [make_activation(effective_at=self.direct.now())], actor="ada")

    def row(self, occurrence_id: int) -> Occurrence:
        return self.direct.occurrences(Query(ids=(occurrence_id,)))[0]

    def running(self) -> Occurrence:
        """Bring a new row to RUNNING for the worker w1."""
        self.added()
        return self.direct.take(name(), "w1", limit=1, runnable={"job": LONG}, look_lease=LOOK_LEASE).rows[0]

    def added(self) -> int:
        return self.direct.add(name(), [make_caller_row(name(), at=self.direct.now())])[0].id

    def close(self) -> None:
        self.store.close()
        self.direct.close()


LONG = 3600 * SECOND
"""A lease that outlives the file: a run left behind by one test must not become due in the middle of another."""


def name() -> str:
    return f"n{next(_numbers)}"


def persist(verb: Callable[[], T]) -> tuple[T, int]:
    """Repeat a verb as the engine does, and return its answer and how many tries failed."""
    for failures in range(20):
        try:
            return verb(), failures
        except StoreUnreachable:
            time.sleep(0.02)
    raise AssertionError("the store did not come back")


@pytest.fixture(scope="module", params=sorted(KINDS))
def served(request: pytest.FixtureRequest) -> Iterator[tuple[Kind, Server]]:
    """A server of each kind."""
    kind = KINDS[request.param]
    with kind.start() as server:
        yield kind, server


@pytest.fixture
def line(served: tuple[Kind, Server]) -> Iterator[Line]:
    """A line that works, with one call made on each connection there is."""
    kind, server = served
    with Proxy(server.port) as proxy:
        made = Line(kind, server, proxy)
        made.store.now()
        made.store.heartbeat(make_worker(), 30 * SECOND)
        yield made
        proxy.heal()
        proxy.accept()
        made.close()
        _empty(server)


def _empty(server: Server) -> None:
    store = open_store(server.url)
    try:
        while rows := store.take(name(), "w1", limit=1000, runnable={}, look_lease=LOOK_LEASE).rows:
            store.settle(name(), "w1", [make_end(row, Event.FAIL_MANUAL) for row in rows])
    finally:
        store.close()


# --- one function per verb: prepares, and returns the call and the proof that it took effect once ------


def an_add(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    request, row = name(), make_caller_row(name(), at=line.direct.now() + 3600 * SECOND)
    return (
        lambda: line.store.add(request, [row]),
        lambda answer: answer[0].outcome == "added" and line.row(answer[0].id).key == row.key,
    )


def a_take(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    request, id_ = name(), line.added()

    def take() -> Any:
        return line.store.take(request, "w1", limit=10, runnable={"job": LONG}, look_lease=LOOK_LEASE)

    def is_so(answer: Any) -> bool:
        row = line.row(id_)
        return [taken.id for taken in answer.rows] == [id_] and (row.attempt, row.fence) == (1, answer.rows[0].fence)

    return take, is_so


def a_settle(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    request, row = name(), line.running()
    return (
        lambda: line.store.settle(request, "w1", [make_end(row, result='"done"')]),
        lambda answer: answer[0].outcome == "applied" and line.row(row.id).state is State.SUCCESS,
    )


def a_renewal(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    row = line.running()
    wanted = [Renewal(occurrence_id=row.id, fence=row.fence, lease=LONG)]
    return (
        lambda: line.store.renew("w1", wanted),
        lambda answer: not answer.lost and (line.row(row.id).due_at or 0) > line.direct.now() + 3000 * SECOND,
    )


def a_signal(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    request, fact = name(), Fact(name=f"flag:{name()}", value=True, actor="ada")
    return (
        lambda: line.store.signal(request, [fact]),
        lambda answer: answer == [1] and line.direct.facts([fact.name])[fact.name].version == 1,
    )


def a_heartbeat(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    worker = make_worker(name())
    return (
        lambda: line.store.heartbeat(worker, 30 * SECOND),
        lambda answer: answer > 0 and worker.id in {known.id for known in line.direct.workers()},
    )


def an_activation(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    request, change = name(), make_activation(name(), effective_at=line.direct.now())
    return (
        lambda: line.store.activate(request, [change], actor="ada"),
        lambda answer: answer[0].revision == 1 and line.direct.jobs([change.name])[0].revision == 1,
    )


def an_act(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    request, act = name(), Act(kind="cancel", actor="ada", reason="because", key=name(), job="job")
    return (
        lambda: line.store.act(request, act),
        lambda answer: len(line.direct.occurrences(Query(key=act.key))) == 1 and answer.outcome == "done",
    )


def a_note(line: Line) -> tuple[Callable[[], Any], Callable[[Any], bool]]:
    row = line.running()
    note = Note(kind="step", name="fetch", value='"token"', fence=row.fence)

    def is_so(answer: Any) -> bool:
        story = line.direct.story(row.id)
        assert story is not None
        return answer is True and [(kept.name, kept.value) for kept in story.notes] == [("fetch", '"token"')]

    return lambda: line.store.note_if_held("w1", row.id, row.fence, note), is_so


VERBS = [an_add, a_take, a_settle, a_renewal, a_signal, a_heartbeat, an_activation, an_act, a_note]
READS: list[Callable[[Store], Any]] = [
    lambda store: store.now(),
    lambda store: store.facts(["flag:a"]),
    lambda store: store.occurrences(Query(limit=5)),
    lambda store: store.story(1),
    lambda store: store.jobs(),
    lambda store: store.workers(),
    lambda store: store.tallies(),
]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_verb_whose_reply_is_lost_after_its_effect_has_that_effect_once(verb: Any, line: Line) -> None:
    call, is_so = verb(line)
    line.proxy.drop_replies(b"fetch" if verb is a_note else line.kind.commits)  # a note may be one statement
    answer, _ = persist(call)
    assert line.proxy.dropped == 1, "no reply was lost: the test tested nothing"
    assert is_so(answer), answer


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_verb_on_connections_that_died_while_idle_does_not_notice(verb: Any, line: Line) -> None:
    call, is_so = verb(line)
    line.proxy.cut()
    answer, failures = persist(call)
    assert failures == 0, "a dead idle connection cost a failure"
    assert is_so(answer), answer


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_verb_that_finds_nobody_fails_at_once_and_serves_when_somebody_is_there(verb: Any, line: Line) -> None:
    call, is_so = verb(line)
    line.proxy.refuse()
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(StoreUnreachable) as caught:
            call()
        _is_clear(caught.value)
    assert time.monotonic() - began < 3
    line.proxy.accept()
    answer, failures = persist(call)
    assert failures == 0, "connections that were refused cost a failure after the return"
    assert is_so(answer), answer


def _is_clear(error: StoreError) -> None:
    text = str(error)
    assert "127.0.0.1" in text, text
    assert "Traceback" not in text


@pytest.mark.parametrize("read", READS, ids=["now", "facts", "occurrences", "story", "jobs", "workers", "tallies"])
def test_a_read_on_connections_that_died_while_idle_does_not_notice(read: Any, line: Line) -> None:
    line.proxy.cut()
    read(line.store)


@pytest.mark.parametrize("verb", [a_take, a_renewal], ids=lambda verb: verb.__name__)
def test_a_verb_into_a_black_hole_ends_in_bounded_time_and_has_one_outcome(verb: Any, line: Line) -> None:
    call, is_so = verb(line)
    line.proxy.blackhole()
    began = time.monotonic()
    with pytest.raises(StoreUnreachable):
        call()
    assert time.monotonic() - began < BOUND
    line.proxy.cut()
    line.proxy.heal()
    answer, _ = persist(call)
    assert is_so(answer), answer


def test_opening_a_store_behind_a_black_hole_ends_in_bounded_time(served: tuple[Kind, Server]) -> None:
    _, server = served
    with Proxy(server.port) as proxy:
        proxy.blackhole()
        began = time.monotonic()
        with pytest.raises(StoreUnreachable):
            open_store(through(server, proxy))
        assert time.monotonic() - began < BOUND
