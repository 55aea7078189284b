"""Facts: their versions, and waking whoever waits for them without losing a wake-up."""

from __future__ import annotations

import threading
from dataclasses import replace

from noonmark.core.model import Event, Fact, FactWrite, Gates, Occurrence, State
from noonmark.testing.builders import make_end
from noonmark.testing.conformance.harness import Harness

FLAG = "flag:daily_etl.finished:2026-11-28"


def _park(harness: Harness, look: Occurrence, version: int, *, at: float = 0, until: float = 3600) -> None:
    gates = Gates(revision=1, facts={FLAG: version})
    settled = harness.end(look, Event.PARK, at=at, due_at=harness.at(until), gates=gates, verdict="skip_dep")
    assert settled.outcome == "applied"


def a_fact_that_was_never_set_has_version_zero(harness: Harness) -> None:
    fact = harness.store.facts([FLAG])[FLAG]
    assert (fact.name, fact.version, fact.value, fact.is_set) == (FLAG, 0, None, False)


def setting_a_fact_gives_its_version(harness: Harness) -> None:
    assert harness.signal(FLAG, {"rows": 7}, at=3) == 1
    fact = harness.store.facts([FLAG])[FLAG]
    assert (fact.version, fact.value, fact.set_at, fact.actor) == (1, {"rows": 7}, harness.at(3), "ada")
    assert fact.is_set


def the_same_value_again_keeps_the_version(harness: Harness) -> None:
    assert [harness.signal(FLAG, {"a": 1, "b": 2}) for _ in range(3)] == [1, 1, 1]
    assert harness.signal(FLAG, {"b": 2, "a": 1}) == 1


def the_same_value_again_changes_nothing(harness: Harness) -> None:
    harness.signal(FLAG, 1, at=3)
    harness.signal(FLAG, 1, at=9)
    assert harness.store.facts([FLAG])[FLAG].set_at == harness.at(3)


def another_value_grows_the_version(harness: Harness) -> None:
    assert [harness.signal(FLAG, value) for value in (1, 2, 1)] == [1, 2, 3]


def clearing_grows_the_version_too(harness: Harness) -> None:
    harness.signal(FLAG)
    assert harness.signal(FLAG, None) == 2
    assert not harness.store.facts([FLAG])[FLAG].is_set
    assert harness.signal(FLAG) == 3


def clearing_what_was_never_set_changes_nothing(harness: Harness) -> None:
    assert harness.signal(FLAG, None) == 0
    assert harness.version(FLAG) == 0


def several_facts_are_answered_in_order(harness: Harness) -> None:
    harness.signal("flag:b")
    facts = [Fact(name="flag:a", value=1), Fact(name="flag:b", value=2), Fact(name="flag:a", value=2)]
    assert harness.store.signal(harness.request(), facts, at=harness.at(1)) == [1, 2, 2]


def facts_do_not_touch_each_other(harness: Harness) -> None:
    harness.signal("flag:a")
    facts = harness.store.facts(["flag:a", "flag:a:b", "flag:A"])
    assert {name: fact.version for name, fact in facts.items()} == {"flag:a": 1, "flag:a:b": 0, "flag:A": 0}


def a_signal_wakes_the_row_that_waits(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    _park(harness, look, 0)
    assert harness.take_ids(at=5) == []
    harness.signal(FLAG, at=6)
    assert harness.take_ids(at=6) == [look.id]


def a_woken_row_is_looked_at_and_counts_no_loss(harness: Harness) -> None:
    harness.activate()
    _park(harness, harness.looked_at(), 0)
    harness.signal(FLAG, at=6)
    row = harness.take_one(at=6)
    assert (row.looking, row.state, row.lost, row.attempt) == (True, State.PENDING, 0, 0)


def clearing_wakes_as_well(harness: Harness) -> None:
    harness.activate()
    harness.signal(FLAG)
    look = harness.looked_at()
    _park(harness, look, 1)
    harness.signal(FLAG, None, at=6)
    assert harness.take_ids(at=6) == [look.id]


def a_signal_that_changes_nothing_wakes_nobody(harness: Harness) -> None:
    harness.activate()
    harness.signal(FLAG)
    _park(harness, harness.looked_at(), 1)
    harness.signal(FLAG, at=6)
    assert harness.take_ids(at=6) == []


def a_signal_wakes_only_those_who_wait_for_that_fact(harness: Harness) -> None:
    harness.activate()
    _park(harness, harness.looked_at(), 0)
    harness.signal("flag:another", at=6)
    assert harness.take_ids(at=6) == []


def a_row_may_wait_for_several_facts(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    gates = Gates(revision=1, facts={FLAG: 0, "success:index::2026-11-28": 0})
    harness.end(look, Event.PARK, due_at=harness.at(3600), gates=gates)
    harness.signal("success:index::2026-11-28", at=6)
    assert harness.take_ids(at=6) == [look.id]


def a_fact_set_between_the_decision_and_the_park_is_not_lost(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.signal(FLAG, at=1)
    _park(harness, look, 0, at=2)
    assert harness.row(look.id).due_at == harness.at(2)
    assert harness.take_ids(at=2) == [look.id]


def a_fact_cleared_between_the_decision_and_the_park_is_not_lost(harness: Harness) -> None:
    harness.activate()
    version = harness.signal(FLAG)
    look = harness.looked_at()
    harness.signal(FLAG, None, at=1)
    _park(harness, look, version, at=2)
    assert harness.take_ids(at=2) == [look.id]


def a_fact_that_came_and_went_before_the_park_is_noticed(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.signal(FLAG, at=1)
    harness.signal(FLAG, None, at=1)
    _park(harness, look, 0, at=2)
    assert harness.take_ids(at=2) == [look.id]


def a_success_that_a_run_raises_wakes_the_waiting(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at("dependent")
    _park(harness, look, 0)
    harness.end(harness.running("upstream"), at=4, facts=(FactWrite(name=FLAG, value=True),))
    assert harness.take_ids(at=4) == [look.id]


def a_row_that_ended_meanwhile_is_not_woken(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    _park(harness, look, 0)
    harness.act("cancel", occurrence_id=look.id)
    harness.signal(FLAG, at=6)
    assert harness.take_ids(at=6) == []
    assert harness.row(look.id).state is State.CANCELLED


def a_row_that_went_on_to_run_is_not_disturbed_by_an_old_wait(harness: Harness) -> None:
    harness.activate()
    _park(harness, harness.looked_at(), 0, until=10)
    look = harness.take_one(at=10)
    harness.start(look, at=10)
    harness.signal(FLAG, at=11)
    assert harness.take_ids("w2", at=11) == []
    assert harness.row(look.id).due_at == harness.at(40)


def a_signal_during_a_look_does_not_break_the_look(harness: Harness) -> None:
    harness.activate()
    _park(harness, harness.looked_at(), 0, until=10)
    look = harness.take_one(at=10)
    harness.signal(FLAG, at=11)
    assert harness.take_ids("w2", at=11) == []
    assert harness.start(look, at=11, facts={FLAG: 1}).outcome == "applied"


def a_signal_never_delays_a_row(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    _park(harness, look, 0, until=5)
    harness.signal(FLAG, at=60)
    assert harness.take_ids(at=60) == [look.id]


def _parked_crowd(harness: Harness, size: int) -> set[int]:
    harness.activate()
    harness.add(*(harness.series_row(str(n)) for n in range(size)))
    looks = harness.take(limit=2 * size).rows
    _park_all(harness, looks, 0, at=0)
    return {row.id for row in looks}


def _park_all(harness: Harness, looks: tuple[Occurrence, ...], version: int, *, at: float) -> None:
    gates = Gates(revision=1, facts={FLAG: version})
    parks = tuple(make_end(look, Event.PARK, due_at=harness.at(3600), gates=gates, ledger=False) for look in looks)
    assert all(answer.outcome == "applied" for answer in harness.settle(*parks, at=at))


def one_call_wakes_at_most_a_thousand(harness: Harness) -> None:
    crowd = _parked_crowd(harness, 1100)
    harness.signal(FLAG, at=6)
    first = harness.take(at=6, limit=5000)
    assert 0 < len(first.rows) <= 1000
    assert first.next_due is not None
    assert first.next_due <= harness.at(6), "whoever is still to be woken must not be slept over"
    rest = harness.take_ids(at=6, limit=5000)
    assert {row.id for row in first.rows} | set(rest) == crowd
    assert len(first.rows) + len(rest) == len(crowd)


def who_parks_again_does_not_push_back_those_still_to_be_woken(harness: Harness) -> None:
    crowd = _parked_crowd(harness, 1100)
    harness.signal(FLAG, at=6)
    woken: set[int] = set()
    for _ in range(3):
        looks = harness.take(at=6, limit=5000).rows
        woken |= {look.id for look in looks}
        _park_all(harness, looks, 1, at=6)
    assert woken == crowd
    assert harness.take_ids(at=6, limit=5000) == [], "everybody has seen the new version"


def a_woken_row_keeps_its_place_by_scheduled_time_and_key(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(key="k")
    _park(harness, look, 0)
    harness.signal(FLAG, at=6)
    row = harness.take_one(at=6)
    assert (row.scheduled_for, row.key, row.identity) == (look.scheduled_for, "k", look.identity)
    assert harness.start(replace(row), at=6, facts={FLAG: 1}).outcome == "applied"


def a_listener_hears_of_what_became_due(harness: Harness) -> None:
    heard = threading.Event()
    stop = harness.store.listen(heard.set)
    try:
        harness.store.add(harness.request(), [harness.caller_row(at=-1)])
        assert heard.wait(5), "nobody was told of a row that is due"
    finally:
        stop()
