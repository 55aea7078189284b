"""Reads of more rows than one page holds give what the model gives, whatever is asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.model import SECOND, Act, AlertWrite, Event, Fact, Gates, Origin, Query, State
from noonmark.core.model.rollback import Claim
from noonmark.stores.memory import MemoryStore
from noonmark.stores.redis import RedisStore, reading
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end, make_start, make_worker
from noonmark.testing.servers import Redis
from noonmark.testing.twins import Twin, assert_same

ROWS, JOBS, STATES = 2_600, ("job", "other"), tuple(State)


def _fill(store: MemoryStore | RedisStore, t0: int) -> None:
    """Two and a half thousand rows of two jobs in every state, some at the same moment, some ranges."""
    dice = random.Random(7)
    store.activate("a", [make_activation(job, effective_at=t0) for job in JOBS], actor="ada", at=t0)
    rows = []
    for n in range(ROWS):
        moment = t0 + dice.randint(-60, 60) * SECOND
        fields: dict[str, Any] = {
            "job": dice.choice(JOBS),
            "subject": dice.choice(("", "a", "b")),
            "key": f"k{n % 900}",
        }
        if n % 50 == 0:
            fields |= {
                "state": State.SKIPPED, "due_at": None, "verdict": "skip_superseded", "key": "",
                "range_until": moment + dice.randint(0, 30) * SECOND, "origin": Origin.SCHEDULE,
            }  # fmt: skip
        elif n % 7 == 0:
            fields |= {"origin": Origin.SCHEDULE, "claim": False, "frontier": n % 3 == 0}
        elif n % 11 == 0:
            fields |= {"worker": "w1"}
        rows.append(make_caller_row(str(n), at=moment, **fields))
    store.add("b", rows, at=t0)
    taken = store.take("c", "w1", limit=900, runnable={"job": LEASE}, look_lease=LEASE, at=t0)
    events = (Event.SUCCEED, Event.FAIL_MANUAL, Event.FAIL_RETRY, Event.SKIP, Event.PARK, Event.CANCEL)
    items = [
        make_end(row, dice.choice(events), due_at=t0 + dice.randint(1, 90) * SECOND) for row in taken.rows if row.id % 3
    ]
    store.settle("d", "w1", items, at=t0)


def _draw(dice: random.Random, t0: int, ids: list[int]) -> dict[str, Any]:
    def some(value: Any, chance: int = 3) -> Any:
        return value if dice.randrange(chance) == 0 else None

    begin = t0 + dice.randint(-70, 60) * SECOND
    return {
        "ids": tuple(dice.sample(ids, 5)) if dice.randrange(9) == 0 else (),
        "job": some(dice.choice((*JOBS, "nobody")), 2),
        "subject": some(dice.choice(("", "a"))),
        "key": some(dice.choice(("k1", "k7", "", "nobody")), 6),
        "identity": some(f"l:{dice.randrange(ROWS)}", 9),
        "states": some(frozenset(dice.sample(STATES, dice.randint(1, 3)))),
        "open_only": dice.randrange(4) == 0,
        "frontier_only": dice.randrange(6) == 0,
        "scheduled_from": some(begin),
        "scheduled_until": some(begin + dice.randint(0, 60) * SECOND),
        "after_id": some(dice.choice((0, 17, ROWS // 2)), 4),
        "oldest_first": dice.choice((True, False)),
        "limit": dice.choice((1, 2, 10, 600, 5_000)),
    }


def test_every_query_answers_what_the_model_answers(reopen: Callable[..., RedisStore]) -> None:
    redis, model = reopen(), MemoryStore()
    t0 = redis.now()
    _fill(model, t0)
    _fill(redis, t0)
    twins = Twin(model), Twin(redis)
    for twin in twins:
        twin.read()
    assert len(twins[0].rows) == ROWS
    dice = random.Random(11)
    ids = [row.id for row in twins[0].rows.values()]
    sizes = set()
    for _ in range(300):
        fields = _draw(dice, t0, ids)
        ours, theirs = (twin.store.occurrences(Query(**fields)) for twin in twins)
        assert [row.id for row in theirs] == [row.id for row in ours], fields
        assert_same(twins[0].plain(ours), twins[1].plain(theirs), str(fields))
        sizes.add(len(ours))
    assert {0, 1, 2, 10} <= sizes
    assert max(sizes) > reading.SMALL


def test_a_negative_limit_reads_nothing(store: RedisStore) -> None:
    store.add("a", [make_caller_row("a", at=store.now())])
    assert store.occurrences(Query(limit=0)) == []


def test_states_that_no_row_can_have_match_nothing(store: RedisStore) -> None:
    store.add("a", [make_caller_row("a", at=store.now())])
    assert store.occurrences(Query(states=frozenset())) == []


def test_many_jobs_are_read_whole_and_in_order(store: RedisStore) -> None:
    now = store.now()
    names = [f"job-{n:04d}" for n in range(1_200)] + ["中", "a\x00b", ""]
    for first in range(0, len(names), 400):
        changes = [
            make_activation(name, effective_at=now, event="e" if name == "中" else "")
            for name in names[first : first + 400]
        ]
        store.activate(f"r{first}", changes, actor="ada")
    assert [job.name for job in store.jobs()] == sorted(names)
    assert [job.name for job in store.jobs(event="e")] == ["中"]
    assert len(store.jobs(event="")) == len(names) - 1
    assert len(store.tallies(revisions=True).revisions) == len(names)
    assert store.jobs(["job-0007"])[0].rule == '{"name": "job-0007"}'


def test_very_many_facts_that_moved_are_worked_off_in_steps(store: RedisStore) -> None:
    """Each with somebody who waits for it: no take does more than its share, and nobody is forgotten."""
    now, crowd = store.now(), 2_500
    store.activate("r", [make_activation(effective_at=now)], actor="ada")
    store.add("a", [make_caller_row(str(n), at=now, gated=True) for n in range(crowd)], at=now)
    looks = store.take("t", "w", limit=crowd, runnable={}, look_lease=LEASE, at=now).rows
    parks = [
        make_end(look, Event.PARK, due_at=now + 3_600 * SECOND, gates=Gates(revision=1, facts={f"flag:{look.id}": 0}))
        for look in looks
    ]
    store.settle("s", "w", parks, at=now)
    store.signal("f", [Fact(name=f"flag:{look.id}", value=1) for look in looks], at=now)
    woken: list[int] = []
    for n in range(3):
        taken = store.take(f"t{n}", "w", limit=crowd, runnable={}, look_lease=LEASE, at=now + n)
        assert len(taken.rows) <= 1_000
        woken += [row.id for row in taken.rows]
        assert (taken.next_due == now + n) == (n < 2), "whoever is still to be woken must not be slept over"
    assert sorted(woken) == sorted(look.id for look in looks)


def test_a_proof_of_an_idle_worker_looks_through_no_list_of_all_that_ever_were(
    server: Redis, store: RedisStore
) -> None:
    for number in range(50):
        store.heartbeat(make_worker(f"w{number}", ended_at=1), 30 * SECOND)
    proof = store.prove(Claim(writer="p", worker="w1", receipt=None))
    beat = store.workers()[0].seen_at
    assert 0 < proof.serving.as_of <= beat, "who is waited for is told by the last that was heard"
    server.command("CONFIG", "RESETSTAT")
    again = store.prove(Claim(writer="p", worker="w1", receipt=proof.receipt))
    assert (again.outcome, again.serving) == ("present", proof.serving)
    told = str(server.command("INFO", "commandstats"))
    assert "cmdstat_hget:" in told
    assert not {name for name in ("hgetall", "hvals") if f"cmdstat_{name}:" in told}


def test_an_alert_goes_on_past_more_newer_failures_of_others_than_one_page_holds(
    reopen: Callable[..., RedisStore],
) -> None:
    store = reopen()
    t0 = store.now()
    store.activate("a", [make_activation(job, effective_at=t0) for job in JOBS], actor="ada", at=t0)
    rows = [make_caller_row("old", at=t0 - 2 * SECOND), make_caller_row("new", at=t0)]
    rows += [make_caller_row(f"{n}", job="other", at=t0 - SECOND) for n in range(1_001)]
    old, new, *_ = [added.id for added in store.add("b", rows, at=t0)]
    taken = store.take("c", "w1", limit=2_000, runnable=dict.fromkeys(JOBS, LEASE), look_lease=LEASE, at=t0).rows
    alert = AlertWrite(job="job", kind="failing", level=3, code="x", occurrence_id=new)
    ends = [
        make_end(row, Event.FAIL_MANUAL, verdict="should_run", alerts=(alert,) if row.id == new else ())
        for row in taken
    ]
    assert {done.outcome for done in store.settle("d", "w1", ends, at=t0)} == {"applied"}
    store.act("e", Act(kind="mark_handled", actor="ada", reason="why", occurrence_id=new), at=t0)
    assert [alert.occurrence_id for alert in store.tallies().open_alerts] == [old]


SERIES: dict[str, Any] = {"origin": Origin.SCHEDULE, "frontier": True, "claim": False}


def _begin_series(store: RedisStore) -> int:
    """Declare a job, make its first moment due, and return the store's time."""
    now = store.now()
    store.activate("a", [make_activation("job", effective_at=now)], actor="ada")
    store.add("first", [make_caller_row("first", at=now - 1, **SERIES)])
    return now


@pytest.mark.parametrize("asked", [{"open_only": True}, {"frontier_only": True}, {"open_only": True, "job": "job"}])
@pytest.mark.parametrize("page", [{}, {"after_id": 0}], ids=["by moment", "by number"])
def test_what_moves_on_while_it_is_read_leaves_no_gap(
    reopen: Callable[..., RedisStore], asked: dict[str, Any], page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A series has one open row at any moment; a reader who comes between its end and the next one's id saw none."""
    store, other = reopen(), reopen()
    now = _begin_series(store)
    read, has_moved = store.read, False

    def slow(script: str, about: object) -> Any:
        nonlocal has_moved
        if script == "rows" and not has_moved:
            has_moved = True
            (row,) = other.take("t", "w1", limit=1, runnable={}, look_lease=LEASE).rows
            other.settle("s", "w1", [make_end(row, Event.SKIP)])
            other.add("second", [make_caller_row("second", at=now, **SERIES)])
        return read(script, about)

    monkeypatch.setattr(store, "read", slow)
    assert [row.key for row in store.occurrences(Query(**asked, **page))] == ["key:second"]
    assert has_moved


def test_a_frontier_that_is_handed_on_while_it_is_read_is_no_second_one(
    reopen: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row that was the next moment of its series is open still; its successor is the next moment now."""
    store, other = reopen(), reopen()
    now = _begin_series(store)
    read, has_moved = store.read, False

    def slow(script: str, about: object) -> Any:
        nonlocal has_moved
        found = read(script, about)
        if script == "rows" and not has_moved:
            has_moved = True
            (row,) = other.take("t", "w1", limit=1, runnable={}, look_lease=LEASE).rows
            begins = replace(make_start(row), adds=(make_caller_row("second", at=now, **SERIES),))
            assert [done.outcome for done in other.settle("s", "w1", [begins])] == ["applied"]
        return found

    monkeypatch.setattr(store, "read", slow)
    found = store.occurrences(Query(job="job", frontier_only=True, open_only=True))
    assert [row.key for row in found] == ["key:second"]
    assert has_moved


def test_rows_that_come_faster_than_they_are_read_keep_no_reader_for_ever(
    reopen: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time that the rows are read another one has come."""
    store, other = reopen(), reopen()
    now = store.now()
    store.add("0", [make_caller_row("0", at=now)])
    read, count = store.read, 0

    def slow(script: str, about: object) -> Any:
        nonlocal count
        found = read(script, about)
        if script == "rows" and count < 100:
            count += 1
            other.add(str(count), [make_caller_row(str(count), at=now)])
        return found

    monkeypatch.setattr(store, "read", slow)
    assert len(store.occurrences(Query(open_only=True))) >= 1
    assert count < 10
