"""Outcomes as a file: what is written is read, what is not as it was written is refused with its line."""

from __future__ import annotations

import io
import itertools
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.errors_zh import in_chinese
from noonmark.core.model import DAY, INDEX_LIMIT, SECOND, Act, Acted, Event, Origin, Query, State
from noonmark.engine import exports
from noonmark.engine.exports import LedgerBroken, checked, exported, outcomes
from noonmark.engine.importing import Importer, of_store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end, make_series_row, make_worker

OUTCOME: dict[str, Any] = {
    "occurrence": 7, "job": "job", "subject": "", "identity": "t:1", "key": "k1", "scheduled_for": SECOND,
    "business_date": "2026-11-29", "origin": "later", "outcome": "success", "fence": 9, "writer": "w-1",
}  # fmt: skip


def file_of(*plain: dict[str, Any], store: str = "s") -> io.StringIO:
    return io.StringIO("".join(f"{line}\n" for line in exported(store, plain)))


def refused(lines: io.StringIO) -> LedgerBroken:
    with pytest.raises(LedgerBroken) as broken:
        checked(lines)
    assert any("\u4e00" <= sign <= "\u9fff" for sign in in_chinese(str(broken.value)))
    return broken.value


def test_what_is_written_is_read_again() -> None:
    assert checked(file_of(OUTCOME, store="here")) == exports.Export(store="here", count=1)
    (read,) = outcomes(file_of(OUTCOME))
    assert {name: getattr(read, name) for name in OUTCOME} == OUTCOME
    assert checked(file_of()).count == 0


@pytest.mark.parametrize("name", [name for name in OUTCOME if name != "writer"])
def test_a_line_whose_hash_fits_and_that_lacks_a_field_is_refused_by_name(name: str) -> None:
    lacking = {key: value for key, value in OUTCOME.items() if key != name}
    broken = refused(file_of(OUTCOME, lacking))
    assert (broken.line, str(broken)) == (3, f'"{name}" is missing')


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("job", ""), ("job", None), ("job", "x" * 1025), ("job", ["a"]), ("identity", ""), ("key", "x" * 513),
        ("subject", 1), ("business_date", {}), ("writer", None), ("origin", "nowhere"), ("origin", ""),
        ("fence", -1), ("fence", "9"), ("fence", 2**53), ("occurrence", True), ("occurrence", 1.5),
        ("scheduled_for", None), ("scheduled_for", -(2**53)), ("scheduled_for", float("inf")), ("job", "half \ud83d"),
    ],
)  # fmt: skip
def test_a_value_that_no_store_could_keep_is_refused_by_the_name_of_its_field(name: str, value: Any) -> None:
    broken = refused(file_of({**OUTCOME, name: value}))
    assert broken.line == 2
    assert str(broken).startswith(f'"{name}" is no')


def test_a_line_is_read_up_to_its_limit_only() -> None:
    head, *rest = file_of(OUTCOME).getvalue().splitlines(keepends=True)
    long = '{"x": "' + "y" * exports.LINE_LIMIT
    broken = refused(io.StringIO(head + long + "".join(rest)))
    assert (broken.line, str(broken)) == (2, f"this line has more than {exports.LINE_LIMIT} characters")


def test_the_longest_names_fit_into_a_line() -> None:
    widest = dict.fromkeys(("subject", "identity"), "\x01" * 1024) | {"job": "\x01" * (INDEX_LIMIT - 2048)}
    assert checked(file_of({**OUTCOME, **widest, "key": "\x01" * 512, "writer": "\x01" * 1024})).count == 1


@pytest.mark.parametrize("name", ["identity", "business_date"])
def test_names_that_no_index_could_hold_together_are_refused(name: str) -> None:
    wide = {"job": "城" * 500, "subject": "市" * 300, name: "x" * 200}
    assert checked(file_of({**OUTCOME, **wide})).count == 1
    broken = refused(file_of({**OUTCOME, **wide, name: "x" * 201}))
    assert str(broken) == f'"job", "subject" and "{name}" have more than {INDEX_LIMIT} bytes together'


def test_outcomes_are_counted_up_to_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "OUTCOMES_LIMIT", 2)
    assert checked(file_of(OUTCOME, OUTCOME)).count == 2
    assert str(refused(file_of(OUTCOME, OUTCOME, OUTCOME))) == "there are more than 2 outcomes"


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda lines: lines[:-1], 3),  # the end is missing
        (lambda lines: lines[1:], 1),  # the beginning
        (lambda lines: [lines[0], *lines[2:]], 2),  # one of the middle
        (lambda lines: [*lines, lines[-1]], 5),  # something follows
        (lambda lines: [lines[0], lines[1].replace("k1", "k2"), *lines[2:]], 2),
        (lambda lines: [*lines[:-1], "[" * 30_000 + "\n"], 4),  # nested deeper than anybody reads
        (lambda lines: [*lines[:-1], "9" * 5_000 + "\n"], 4),
        (lambda lines: ["\n", *lines], 1),
        (lambda _lines: [], 1),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_refused_with_the_line(spoil: Any, line: int) -> None:
    lines = file_of(OUTCOME, {**OUTCOME, "identity": "t:2"}).getvalue().splitlines(keepends=True)
    assert refused(io.StringIO("".join(spoil(lines)))).line == line


def test_a_chain_that_goes_on_behind_its_end_is_refused() -> None:
    whole = list(exported("s", [OUTCOME, {"end": 1}, OUTCOME]))
    assert str(refused(io.StringIO("\n".join(whole)))) == "something follows the end"


# -- the trial run says what is done -----------------------------------------------------------------------


class World:
    """A store with rows in every state, and outcomes that fit them in every way."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.store: Any = MemoryStore()
        self.now = self.store.now()
        self.numbers = itertools.count()
        self.store.activate(self.request(), [make_activation("job", effective_at=0)], actor="t")
        self.store.heartbeat(make_worker("w1"), DAY)
        for number in range(12):
            self.populate(number)

    def request(self) -> str:
        return f"r{next(self.numbers)}"

    def populate(self, number: int) -> None:
        name, key = f"n{number}", f"k{self.dice.randrange(8)}"
        make = self.dice.choice((make_caller_row, make_series_row))
        origin = self.dice.choice((Origin.SCHEDULE, Origin.LATER, Origin.MANUAL))
        (added,) = self.store.add(self.request(), [make(name, at=self.now - SECOND, key=key, origin=origin)])
        what = self.dice.choice(("leave", "run", "succeed", "fail", "retry", "skip", "cancel"))
        if added.outcome != "added" or what == "leave":
            return
        if what in ("skip", "cancel"):
            kind = "mark_skip" if what == "skip" else "cancel"
            self.store.act(self.request(), Act(kind=kind, actor="t", occurrence_id=added.id))
            return
        for row in self.store.take(self.request(), "w1", limit=99, runnable={"job": LEASE}, look_lease=SECOND).rows:
            if row.state is not State.RUNNING or what == "run":
                continue
            event = {"succeed": Event.SUCCEED, "fail": Event.FAIL_MANUAL, "retry": Event.FAIL_RETRY}[what]
            due = {"due_at": self.now + DAY} if event is Event.FAIL_RETRY else {}
            self.store.settle(self.request(), "w1", [make_end(row, event, **due)])

    def outcomes(self) -> Iterator[dict[str, Any]]:
        for _ in range(25):
            number = self.dice.randrange(18)
            origin = self.dice.choice(list(Origin)).value
            result = self.dice.choice(("success", "success", "success", "failed"))
            key = self.dice.choice((f"k{self.dice.randrange(10)}", ""))
            yield {
                **OUTCOME,
                "identity": f"{self.dice.choice('tl')}:n{number}",
                "key": key,
                "origin": origin,
                "outcome": result,
            }


@pytest.mark.parametrize("seed", range(60))
def test_a_trial_run_says_what_is_done_and_a_second_import_does_nothing(seed: int) -> None:
    world = World(seed)
    file = file_of(*world.outcomes()).getvalue()

    def read() -> Iterator[exports.Outcome]:
        return outcomes(io.StringIO(file))

    before = {row.id: row for row in world.store.occurrences(Query(limit=1000))}
    said = Importer(world.store, "s").plan(read())
    assert {row.id: row for row in world.store.occurrences(Query(limit=1000))} == before
    done = Importer(world.store, "s").carry_out(read(), world.request, actor="ann")
    assert done == said
    after = {row.id: row for row in world.store.occurrences(Query(limit=1000))}
    successes = {number for number, row in before.items() if row.state is State.SUCCESS}
    assert {number: after[number] for number in successes} == {number: before[number] for number in successes}
    made = [row for number, row in after.items() if number not in before]
    assert Counter(row.state for row in made) == ({State.SUCCESS: said["make"]} if said["make"] else {})
    again = Importer(world.store, "s").carry_out(read(), world.request, actor="ann")
    assert {"mark", "make"} & set(again) == set()


def test_the_worlds_of_the_trial_runs_have_every_answer() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        world = World(seed)
        seen += Importer(world.store, "s").plan(outcomes(file_of(*world.outcomes())))
    assert set(seen) == {"mark", "make", "there", "twice", "kept", "no_success"}


@pytest.mark.parametrize("end", [Event.FAIL_MANUAL, None])
def test_a_key_that_another_row_needs_a_person_for_is_kept_and_said_so_before(end: Event | None) -> None:
    store: Any = MemoryStore()
    store.activate("j", [make_activation("job", effective_at=0)], actor="t")
    store.add("a", [make_caller_row("other", at=store.now() - SECOND, key="k1")])
    (row,) = store.take("t", "w1", limit=1, runnable={"job": LEASE}, look_lease=SECOND).rows
    if end is not None:
        store.settle("s", "w1", [make_end(row, end)])
    assert Importer(store, "s").plan(outcomes(file_of(OUTCOME))) == {"kept": 1}
    assert Importer(store, "s").carry_out(outcomes(file_of(OUTCOME)), lambda: "i", actor="ann") == {"kept": 1}
    assert len(store.occurrences(Query())) == 1, "what is kept leaves no row behind"


def test_a_row_that_a_rollback_holds_is_let_go_and_marked() -> None:
    store: Any = MemoryStore()
    store.activate("j", [make_activation("job", effective_at=0)], actor="t")
    store.add("a", [make_caller_row("x", at=store.now() - SECOND, key="k1", identity="t:1")])
    look = store.take("t", "w1", limit=1, runnable={}, look_lease=SECOND).rows[0]
    park = make_end(look, Event.PARK, due_at=store.now() + DAY, code="held_rollback")
    assert store.settle("p", "w1", [park])[0].outcome == "applied"
    numbers = itertools.count()
    read = outcomes(file_of(OUTCOME, store="before"))
    assert Importer(store, "before").carry_out(read, lambda: f"i{next(numbers)}", actor="ann") == {"mark": 1}
    (row,) = store.occurrences(Query())
    assert row.state is State.SUCCESS
    story = store.story(row.id)
    assert "as the journal of w-1 of store before has it" in json.loads(story.ledger[-1].detail)["reason"]


def test_a_row_that_was_asked_for_again_is_done_by_the_success_of_its_key() -> None:
    store: Any = MemoryStore()
    store.activate("j", [make_activation("job", effective_at=0)], actor="t")
    store.add("a", [make_caller_row("again", at=store.now() - SECOND, key="k1")])
    look = store.take("t", "w1", limit=1, runnable={}, look_lease=SECOND).rows[0]
    park = make_end(look, Event.PARK, due_at=store.now() + DAY, code="held_rollback")
    assert store.settle("p", "w1", [park])[0].outcome == "applied"
    numbers = itertools.count()
    assert Importer(store, "s").plan(outcomes(file_of(OUTCOME, OUTCOME))) == {"mark": 1, "there": 1}
    read = outcomes(file_of(OUTCOME, OUTCOME))
    assert Importer(store, "s").carry_out(read, lambda: f"i{next(numbers)}", actor="ann") == {"mark": 1, "there": 1}
    (row,) = store.occurrences(Query())
    assert (row.state, row.identity) == (State.SUCCESS, "l:again")


def test_a_row_of_that_key_that_was_asked_for_again_on_purpose_is_kept() -> None:
    store: Any = MemoryStore()
    store.activate("j", [make_activation("job", effective_at=0)], actor="t")
    (first,) = store.add("a", [make_caller_row("first", at=store.now() + DAY, key="k1", origin=Origin.MANUAL)])
    store.act("b", Act(kind="cancel", actor="t", occurrence_id=first.id))
    store.add("c", [make_caller_row("again", at=store.now() + DAY, key="k1", origin=Origin.MANUAL)])
    assert Importer(store, "s").plan(outcomes(file_of(OUTCOME))) == {"kept": 1}


def test_a_key_that_succeeded_here_by_a_run_of_its_own_ran_twice() -> None:
    store: Any = MemoryStore()
    store.activate("j", [make_activation("job", effective_at=0)], actor="t")
    store.add("a", [make_caller_row("again", at=store.now() - SECOND, key="k1")])
    (row,) = store.take("t", "w1", limit=1, runnable={"job": LEASE}, look_lease=SECOND).rows
    store.settle("s", "w1", [make_end(row)])
    assert Importer(store, "s").plan(outcomes(file_of(OUTCOME))) == {"twice": 1}
    assert Importer(store, "s").plan(outcomes(file_of({**OUTCOME, "fence": row.fence}))) == {"there": 1}
    by_store = {**OUTCOME, "writer": ""}
    assert Importer(store, "s").plan(outcomes(file_of(by_store))) == {"there": 1}, "an export of the same store"


def test_a_store_writes_its_successes_and_reads_none_of_them_in_twice() -> None:
    store: Any = MemoryStore()
    store.activate("j", [make_activation("job", effective_at=0)], actor="t")
    store.add("a", [make_caller_row("x", at=store.now() - SECOND, key="k1")])
    (row,) = store.take("t", "w1", limit=1, runnable={"job": LEASE}, look_lease=SECOND).rows
    store.settle("s", "w1", [make_end(row)])
    file = file_of(*of_store(store))
    assert Importer(store, "s").plan(outcomes(file)) == {"there": 1}


def test_what_was_not_entered_is_tried_again_when_the_file_says_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    store, numbers, refusals = MemoryStore(), itertools.count(), iter(["busy"])
    act = store.act

    def busy_at_first(request_id: str, wish: Act, **rest: Any) -> Any:
        outcome = next(refusals, None)
        return act(request_id, wish, **rest) if outcome is None else Acted(outcome=outcome)

    monkeypatch.setattr(store, "act", busy_at_first)
    twice = outcomes(file_of(OUTCOME, OUTCOME))
    assert Importer(store, "s").carry_out(twice, lambda: f"i{next(numbers)}", actor="ann") == {"kept": 1, "mark": 1}
    assert [row.state for row in store.occurrences(Query())] == [State.SUCCESS]


def test_a_trial_run_keeps_nothing_of_a_long_ledger_in_memory() -> None:
    count, importer = 10_000, Importer(MemoryStore(), "s")
    (one,) = outcomes(file_of(OUTCOME))
    importer.plan([one])
    many = (replace(one, identity=f"t:{number}", key=f"k{number}") for number in range(count))
    tracemalloc.start()
    try:
        counts = importer.plan(many)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counts == {"make": count}
    assert peak < 500_000, peak
