"""Nothing without bounds gets into a store, whoever writes it: at the limit it is kept, one more is refused by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core import wellformed
from noonmark.core.conditions import success_fact
from noonmark.core.decide import slot_name
from noonmark.core.errors_zh import in_chinese
from noonmark.core.escalate import alerts_for
from noonmark.core.model import (
    CALL_LIMIT,
    COUNT_LIMIT,
    ERROR_LIMIT,
    JOBS_LIMIT,
    KEY_LIMIT,
    NAME_LIMIT,
    NOTE_LIMIT,
    PAYLOAD_LIMIT,
    RULE_LIMIT,
    SECOND,
    Act,
    Event,
    Fact,
    FactWrite,
    Gates,
    NewOccurrence,
    Note,
    Query,
    Settlement,
    State,
)
from noonmark.core.wellformed import TooLarge
from noonmark.ports.store import Store
from noonmark.testing.builders import make_activation, make_caller_row, make_end, make_job, make_worker

Write = Callable[[Store, int], object]
RULE_SHAPE = '{"x": ""}'


def payload(size: int) -> str:
    """Return JSON of exactly so many bytes, most of them in characters of three bytes."""
    signs, rest = divmod(size - len(RULE_SHAPE), 3)
    return '{"x": "' + "城" * signs + "a" * rest + '"}'


def add(**fields: Callable[[int], str]) -> Write:
    def write(store: Store, size: int) -> object:
        made = {name: make(size) for name, make in fields.items()}
        return store.add("r", [make_caller_row("a", at=1_000 * SECOND, **made)], at=1_000 * SECOND)

    return write


def act(**fields: Callable[[int], str]) -> Write:
    def write(store: Store, size: int) -> object:
        made: dict[str, Any] = {"actor": "ann", **{name: make(size) for name, make in fields.items()}}
        store.activate("j", [make_activation(made.get("job", "job"), effective_at=0)], actor="t", at=1_000 * SECOND)
        return store.act("r", Act(**{"kind": "pause", "job": "job", **made}), at=1_001 * SECOND)

    return write


def fact(**fields: Callable[[int], Any]) -> Write:
    def write(store: Store, size: int) -> object:
        made = {"name": "flag:x", "value": True, **{name: make(size) for name, make in fields.items()}}
        return store.signal("r", [Fact(**made)], at=1_000 * SECOND)

    return write


def started(store: Store) -> tuple[int, int]:
    store.activate("j", [make_activation("job", effective_at=0)], actor="t", at=999 * SECOND)
    store.heartbeat(make_worker("w1"), 60 * SECOND, at=999 * SECOND)
    store.add("a", [make_caller_row("a", at=1_000 * SECOND)], at=1_000 * SECOND)
    (row,) = store.take(
        "t", "w1", limit=1, runnable={"job": 60 * SECOND}, look_lease=5 * SECOND, at=1_000 * SECOND
    ).rows
    assert row.state is State.RUNNING
    return row.id, row.fence


def settle(event: Event, **fields: Callable[[int], str]) -> Write:
    def write(store: Store, size: int) -> object:
        number, fence = started(store)
        made: dict[str, Any] = {name: make(size) for name, make in fields.items()}
        item = Settlement(occurrence_id=number, fence=fence, event=event, verdict="should_run", code="x", **made)
        (answer,) = store.settle("s", "w1", [item], at=1_001 * SECOND)
        assert answer.outcome == "applied"
        (row,) = store.occurrences(Query(ids=(number,)))
        for name in {"result", "error"} & set(made):
            assert getattr(row, name) == made[name]
        return answer

    return write


def note(**fields: Callable[[int], str]) -> Write:
    def write(store: Store, size: int) -> object:
        number, fence = started(store)
        made = {"kind": "step", "name": "s", "value": "1", **{name: make(size) for name, make in fields.items()}}
        assert store.note_if_held("w1", number, fence, Note(**made), at=1_001 * SECOND)
        return None

    return write


def rule(store: Store, size: int) -> object:
    return store.activate("r", [make_activation("job", effective_at=0, rule="x" * size)], actor="t", at=SECOND)


def event_name(store: Store, size: int) -> object:
    return store.activate("r", [make_activation("job", effective_at=0, event="x" * size)], actor="t", at=SECOND)


def job_name(store: Store, size: int) -> object:
    return store.activate("r", [make_activation("x" * size, effective_at=0)], actor="t", at=SECOND)


def worker_name(store: Store, size: int) -> object:
    return store.heartbeat(replace(make_worker("w1"), host="x" * size), 60 * SECOND, at=SECOND)


def text(size: int) -> str:
    return "x" * size


WRITES: dict[str, tuple[int, Write]] = {
    "key": (KEY_LIMIT, add(key=text)),
    "params": (PAYLOAD_LIMIT, add(params=payload)),
    "note": (NOTE_LIMIT, add(note=text)),
    "actor": (NAME_LIMIT, add(actor=text)),
    "subject": (NAME_LIMIT, add(subject=text)),
    "event id": (NAME_LIMIT, add(identity=text)),
    "job of a row": (NAME_LIMIT, add(job=text)),
    "result": (PAYLOAD_LIMIT, settle(Event.SUCCEED, result=payload)),
    "error": (ERROR_LIMIT, settle(Event.FAIL_MANUAL, error=text)),
    "detail": (PAYLOAD_LIMIT, settle(Event.FAIL_MANUAL, detail=payload)),
    "step": (NAME_LIMIT, note(name=text)),
    "value of a step": (PAYLOAD_LIMIT, note(value=payload)),
    "flag": (NAME_LIMIT, fact(name=lambda size: f"flag:{'x' * (size - 5)}")),
    "value of a flag": (PAYLOAD_LIMIT, fact(value=lambda size: {"x": payload(size)[7:-2]})),
    "actor of a flag": (NAME_LIMIT, fact(actor=text)),
    "reason of an act": (NOTE_LIMIT, act(reason=text)),
    "actor of an act": (NAME_LIMIT, act(actor=text)),
    "job of an act": (NAME_LIMIT, act(job=text)),
    "key of an act": (KEY_LIMIT, lambda store, size: act(key=text, kind=lambda _: "cancel")(store, size)),
    "rule": (RULE_LIMIT, rule),
    "event name": (NAME_LIMIT, event_name),
    "job name": (NAME_LIMIT, job_name),
    "name of a worker": (NAME_LIMIT, worker_name),
}


@pytest.mark.parametrize("what", WRITES)
def test_every_store_keeps_what_is_at_the_limit(store: Store, what: str) -> None:
    limit, write = WRITES[what]
    write(store, limit)


@pytest.mark.parametrize("what", WRITES)
def test_every_store_refuses_one_more_and_says_how_much_is_allowed(store: Store, what: str) -> None:
    limit, write = WRITES[what]
    with pytest.raises(TooLarge, match=rf"more than {limit}") as refused:
        write(store, limit + 1)
    assert len(str(refused.value)) < 300
    assert any("\u4e00" <= sign <= "\u9fff" for sign in in_chinese(str(refused.value)))


def _drawn(dice: random.Random, most: int) -> str:
    """Return a text of some length, in signs of one to four bytes."""
    sign = dice.choice("x城é🦀")
    return sign * dice.choice((0, 1, dice.randrange(most), dice.randrange(most), most // len(sign.encode()), most))


def _accepted(dice: random.Random) -> NewOccurrence:
    """Return a row that every store accepts, as long as it may be more often than not."""
    while True:
        row = make_caller_row(
            "a",
            job=_drawn(dice, NAME_LIMIT) or "job",
            identity=_drawn(dice, NAME_LIMIT) or "i",
            subject=_drawn(dice, NAME_LIMIT),
            business_date=_drawn(dice, NAME_LIMIT),
            at=1_000 * SECOND,
        )
        try:
            wellformed.check_rows([row])
        except TooLarge:
            continue
        if len((row.job + row.subject + row.business_date).encode()) > NAME_LIMIT:
            return row


@pytest.mark.parametrize("seed", range(6))
def test_whatever_row_is_accepted_can_be_waited_for_and_can_succeed(store: Store, seed: int) -> None:
    new = _accepted(random.Random(seed))
    job = replace(make_job("job"), name=new.job)
    store.activate("j", [make_activation(new.job, effective_at=0)], actor="t", at=999 * SECOND)
    store.activate("k", [make_activation("after", effective_at=0)], actor="t", at=999 * SECOND)
    store.heartbeat(make_worker("w1"), 60 * SECOND, at=999 * SECOND)
    (added,) = store.add("a", [replace(new, gated=True)], at=1_000 * SECOND)
    store.add("b", [make_caller_row("b", job="after", gated=True, at=1_000 * SECOND)], at=1_000 * SECOND)
    runnable = {new.job: 60 * SECOND, "after": 60 * SECOND}
    rows = store.take("t", "w1", limit=2, runnable=runnable, look_lease=5 * SECOND, at=1_000 * SECOND).rows
    (row,) = (row for row in rows if row.id == added.id)
    (look,) = (row for row in rows if row.id != added.id)
    name = success_fact(job, row)
    waits = make_end(look, Event.PARK, due_at=9_000 * SECOND, gates=Gates(revision=1, facts={name: 0}), code="x")
    begins = make_end(row, Event.START, gates=Gates(revision=1, slot=slot_name(job, row)), lease=60 * SECOND, code="x")
    parked, begun = store.settle("p", "w1", [waits, begins], at=1_001 * SECOND)
    assert (parked.outcome, begun.outcome, begun.state) == ("applied", "applied", State.RUNNING)
    alerts = alerts_for(job, row, Event.SUCCEED, "succeeded", {}, is_open=True)
    facts = (FactWrite(name=name, value=True, actor=row.run_id),)
    ends = replace(make_end(row, Event.SUCCEED, facts=facts, alerts=alerts), fence=begun.fence or row.fence)
    (ended,) = store.settle("s", "w1", [ends], at=1_002 * SECOND)
    assert (ended.outcome, ended.state) == ("applied", State.SUCCESS)
    assert store.facts([name])[name].is_set
    woken = store.take("u", "w1", limit=2, runnable=runnable, look_lease=5 * SECOND, at=1_002 * SECOND).rows
    assert [row.id for row in woken] == [look.id]


def refused_by(store: Store, verb: str) -> None:
    many: Any = range(COUNT_LIMIT + 1)
    calls: dict[str, Callable[[], object]] = {
        "add": lambda: store.add("r", [make_caller_row("a", at=SECOND)] * len(many)),
        "signal": lambda: store.signal("r", [Fact(name="flag:x", value=True)] * len(many)),
        "settle": lambda: store.settle(
            "r", "w", [Settlement(occurrence_id=1, fence=1, event=Event.SUCCEED)] * len(many)
        ),
        "activate": lambda: store.activate("r", [make_activation("job", effective_at=0)] * len(many), actor="t"),
        "heartbeat": lambda: store.heartbeat(replace(make_worker("w1"), jobs=("j",) * (JOBS_LIMIT + 1)), SECOND),
    }
    calls[verb]()


@pytest.mark.parametrize("verb", ["add", "signal", "settle", "activate", "heartbeat"])
def test_every_store_refuses_one_too_many_in_a_call_before_it_writes(store: Store, verb: str) -> None:
    most, instead = (JOBS_LIMIT, "let workers") if verb == "heartbeat" else (COUNT_LIMIT, "use several calls")
    with pytest.raises(TooLarge, match=f"{most + 1} .* more than {most}.*; {instead}"):
        refused_by(store, verb)
    assert store.jobs() == []
    assert store.occurrences(Query()) == []
    assert store.workers() == []


def test_as_many_as_are_allowed_pass_the_check() -> None:
    wellformed.check_rows([make_caller_row("a", at=SECOND)] * COUNT_LIMIT)
    wellformed.check_worker(replace(make_worker("w1"), jobs=("j",) * JOBS_LIMIT))


def test_the_parameters_of_one_call_are_bounded_together() -> None:
    row = make_caller_row("a", at=SECOND, params=payload(PAYLOAD_LIMIT))
    fits = CALL_LIMIT // len(row.params)
    wellformed.check_rows([row] * fits)
    with pytest.raises(TooLarge, match="together"):
        wellformed.check_rows([row] * (fits + 1))
