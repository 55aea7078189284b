"""What is longer than its limit is refused with ``TooLarge`` before anything is written; at the limit it is kept.

Rule of the file: what a caller chooses besides the rows themselves: request ids, workers' names, lists, links.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from noonmark.core.model import (
    COUNT_LIMIT,
    FACT_LIMIT,
    INDEX_LIMIT,
    JOBS_LIMIT,
    LOOK_LEASE,
    NAME_LIMIT,
    REQUEST_LIMIT,
    Act,
    AlertWrite,
    Event,
    Fact,
    Gates,
    Note,
    Query,
    Renewal,
    Settlement,
    State,
)
from noonmark.core.model.rollback import ChainLink, Claim, Receipt
from noonmark.core.wellformed import TooLarge
from noonmark.ports.store import Capability
from noonmark.testing.builders import LEASE, make_activation, make_end, make_worker
from noonmark.testing.conformance.harness import Harness


def _refuses(limit: int, call: Callable[[], object]) -> None:
    said = "nothing was refused"
    try:
        call()
    except TooLarge as refused:
        said = str(refused)
    assert f"more than {limit}" in said, said


def a_request_id_at_its_limit_is_remembered(harness: Harness) -> None:
    name = "r" * REQUEST_LIMIT
    rows = [harness.caller_row(key="k")]
    assert harness.store.add(name, rows, at=harness.at(0)) == harness.store.add(name, rows, at=harness.at(1))
    act = Act(kind="cancel", actor="ada", key="unknown", job="job")
    first = harness.store.act(name, act, at=harness.at(2))
    assert harness.store.act(name, act, at=harness.at(3)) == first


def a_request_id_that_is_too_long_is_refused_by_every_verb(harness: Harness) -> None:
    store, name, now = harness.store, "r" * (REQUEST_LIMIT + 1), harness.at(0)
    for call in (
        lambda: store.add(name, [harness.caller_row()], at=now),
        lambda: store.take(name, "w1", limit=1, runnable={}, look_lease=LOOK_LEASE, at=now),
        lambda: store.settle(name, "w1", [Settlement(occurrence_id=1, fence=1, event=Event.SUCCEED)], at=now),
        lambda: store.signal(name, [Fact(name="flag:x", value=True)], at=now),
        lambda: store.activate(name, [make_activation("job", effective_at=now)], actor="ada", at=now),
        lambda: store.act(name, Act(kind="cancel", actor="ada", key="k", job="job"), at=now),
    ):
        _refuses(REQUEST_LIMIT, call)
    assert store.occurrences(Query()) == []
    assert store.jobs() == []
    assert store.facts(["flag:x"])["flag:x"].version == 0


def the_name_of_a_worker_is_kept_at_its_limit_and_refused_beyond(harness: Harness) -> None:
    harness.activate()
    longest = "w" * NAME_LIMIT
    harness.add(harness.caller_row())
    run = harness.take_one(longest)
    lease = Renewal(occurrence_id=run.id, fence=run.fence, lease=LEASE)
    assert harness.store.renew(longest, [lease], at=harness.at(1)).lost == frozenset()
    note = Note(kind="step", name="s", value="1")
    assert harness.store.note_if_held(longest, run.id, run.fence, note, at=harness.at(1))
    longer, end = f"{longest}w", make_end(run, Event.SUCCEED)
    for call in (
        lambda: harness.take(longer, at=2),
        lambda: harness.store.settle("s", longer, [end], at=harness.at(2)),
        lambda: harness.store.renew(longer, [lease], at=harness.at(2)),
        lambda: harness.store.note_if_held(longer, run.id, run.fence, note, at=harness.at(2)),
    ):
        _refuses(NAME_LIMIT, call)
    assert harness.row(run.id).state is State.RUNNING


def kind_and_name_of_a_step_are_kept_at_their_limit_in_bytes_and_refused_beyond(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    wide = "\N{CJK UNIFIED IDEOGRAPH-51C6}" * ((INDEX_LIMIT - 5) // 3)
    longest = wide + "x" * (INDEX_LIMIT - 4 - len(wide.encode()))
    assert len(longest) <= NAME_LIMIT

    def keep(name: str) -> bool:
        note = Note(kind="step", name=name, value="1")
        return harness.store.note_if_held("w1", run.id, run.fence, note, at=harness.at(1))

    assert keep(longest)
    _refuses(INDEX_LIMIT, lambda: keep(f"{longest}x"))
    assert [note.name for note in harness.story(run.id).notes] == [longest]


def too_many_leases_or_jobs_in_one_call_are_refused(harness: Harness) -> None:
    leases = [Renewal(occurrence_id=1, fence=1, lease=LEASE)] * (COUNT_LIMIT + 1)
    _refuses(COUNT_LIMIT, lambda: harness.store.renew("w1", leases, at=harness.at(0)))
    runnable = {str(number): LEASE for number in range(JOBS_LIMIT + 1)}
    _refuses(JOBS_LIMIT, lambda: harness.take(runnable=runnable))


def alerts_are_refused_when_they_are_too_many_or_too_long(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    alert = AlertWrite(job="job", kind="failing", level=1, code="failed")

    def end(*alerts: AlertWrite) -> object:
        item = make_end(run, Event.FAIL_MANUAL, alerts=alerts)
        return harness.store.settle(harness.request(), "w1", [item], at=harness.at(1))

    _refuses(COUNT_LIMIT, lambda: end(*[alert] * (COUNT_LIMIT + 1)))
    long = "x" * (NAME_LIMIT + 1)
    _refuses(NAME_LIMIT, lambda: end(AlertWrite(job=long, kind="failing", level=1, code="failed")))
    _refuses(NAME_LIMIT, lambda: end(AlertWrite(job="job", kind=long, level=1, code="failed")))
    _refuses(NAME_LIMIT, lambda: end(AlertWrite(job="job", kind="failing", level=1, code=long)))
    assert harness.row(run.id).state is State.RUNNING
    end(AlertWrite(job="x" * NAME_LIMIT, kind="y" * NAME_LIMIT, level=1, code="z" * NAME_LIMIT))
    assert len(harness.store.tallies().open_alerts) == 1


def what_a_row_waits_for_is_refused_when_it_is_too_long(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()

    def park(gates: Gates) -> object:
        item = Settlement(
            occurrence_id=look.id, fence=look.fence, event=Event.PARK, due_at=harness.at(60), gates=gates, code="x"
        )
        return harness.store.settle(harness.request(), "w1", [item], at=harness.at(1))

    long = "x" * (FACT_LIMIT + 1)
    _refuses(FACT_LIMIT, lambda: park(Gates(revision=1, facts={long: 0})))
    _refuses(FACT_LIMIT, lambda: park(Gates(revision=1, slot=long)))
    assert harness.row(look.id).due_at == look.due_at
    park(Gates(revision=1, facts={long[1:]: 0}))
    assert harness.row(look.id).due_at == harness.at(60)


def links_and_claims_are_refused_when_they_are_too_long(harness: Harness) -> None:
    if Capability.PROVES not in harness.store.capabilities:
        return
    long = "x" * (NAME_LIMIT + 1)
    guard: Any = harness.store
    fits = {"writer": "w", "before": "a", "hash": "b"}
    for name in ("writer", "before", "hash", "serving"):
        link = ChainLink(**{**fits, name: long}, seq=1)
        _refuses(NAME_LIMIT, partial(guard.settle, "s", "w1", [], at=harness.at(0), link=link))
        _refuses(
            NAME_LIMIT,
            partial(guard.take, "t", "w1", limit=1, runnable={}, look_lease=LOOK_LEASE, at=harness.at(0), link=link),
        )
    for claim in (
        Claim(writer=long, worker="w1", receipt=None),
        Claim(writer="w", worker=long, receipt=None),
        Claim(writer="w", worker="w1", receipt=Receipt(store=long, writer="w")),
        Claim(writer="w", worker="w1", receipt=Receipt(store="s", writer="w", hash=long)),
    ):
        _refuses(NAME_LIMIT, partial(guard.prove, claim))
    assert guard.writers() == []


def _noise(count: int) -> str:
    """Text in signs of three bytes that nothing can press together."""
    dice = random.Random(count)
    return "".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(count))


def _written_out(size: int) -> str:
    """Text of so many bytes, or up to six fewer, many of whose signs are kept as more bytes than they have in UTF-8."""
    dice, count = random.Random(size), size // 7
    return "".join(f"{dice.choice(_HEAVY)}{chr(dice.randrange(0x4E00, 0x9FFF))}" for _ in range(count))


_HEAVY = ("\0", "\ue000")


def names_are_kept_up_to_their_bytes_and_refused_beyond(harness: Harness) -> None:
    store, fits = harness.store, _noise(INDEX_LIMIT // 3)
    long = f"{fits}城"
    flag = _noise(INDEX_LIMIT // 3 - 2)
    store.signal("f", [Fact(name=f"flag:{flag}", value=True)], at=harness.at(0))
    assert store.facts([f"flag:{flag}"])[f"flag:{flag}"].value is True
    harness.activate(job=fits)
    store.heartbeat(make_worker(fits), LEASE, at=harness.at(0))
    harness.add(harness.caller_row(job=fits, identity="i", worker=fits))
    assert harness.take_one(fits, runnable={fits: LEASE}).job == fits
    heavy = _written_out(INDEX_LIMIT - 10)
    store.signal("h", [Fact(name=f"flag:{heavy}", value=True)], at=harness.at(0))
    assert store.facts([f"flag:{heavy}"])[f"flag:{heavy}"].value is True
    harness.add(harness.caller_row("heavy", worker=heavy))
    store.heartbeat(make_worker(heavy), LEASE, at=harness.at(0))
    _refuses(INDEX_LIMIT, lambda: store.signal("i", [Fact(name=f"{heavy}{heavy[:14]}")], at=harness.at(1)))
    _refuses(INDEX_LIMIT, lambda: store.heartbeat(make_worker(f"{heavy}{heavy[:14]}"), LEASE, at=harness.at(1)))
    for call in (
        lambda: store.signal("g", [Fact(name=f"flag:{long}", value=True)], at=harness.at(1)),
        lambda: harness.activate(job=long),
        lambda: store.heartbeat(make_worker(long), LEASE, at=harness.at(1)),
        lambda: harness.add(harness.caller_row(worker=long)),
        lambda: harness.take(long),
    ):
        _refuses(INDEX_LIMIT, call)


def what_a_row_is_found_by_is_kept_up_to_its_bytes_and_refused_beyond(harness: Harness) -> None:
    job, subject, rest = _noise(300), _noise(301), _noise((INDEX_LIMIT - 3 * 601) // 3)
    added = harness.add_one(harness.caller_row(job=job, subject=subject, identity=rest, business_date=rest))
    act = Act(kind="mark_done", actor="ada", occurrence_id=added)  # its success is a fact of that name
    assert harness.store.act(harness.request(), act, at=harness.at(1)).outcome == "done"
    row = harness.caller_row("b", job=job, subject=subject)
    _refuses(INDEX_LIMIT, lambda: harness.add(replace(row, identity=f"{rest}城")))
    _refuses(INDEX_LIMIT, lambda: harness.add(replace(row, business_date=f"{rest}城")))
    assert len(harness.store.occurrences(Query())) == 1
    heavy = [_written_out(size) for size in (860, 861, 862)]
    added = harness.add_one(
        harness.caller_row("heavy", job=heavy[0], subject=heavy[1], identity=heavy[2], business_date=heavy[2])
    )
    act = Act(kind="mark_done", actor="ada", occurrence_id=added)
    assert harness.store.act(harness.request(), act, at=harness.at(1)).outcome == "done"
    row = harness.caller_row("c", job=heavy[0], subject=heavy[1])
    _refuses(INDEX_LIMIT, lambda: harness.add(replace(row, identity=f"{heavy[2]}{heavy[1]}")))
