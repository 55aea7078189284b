"""Request ids: a verb that is repeated gives its first answer and changes nothing."""

from __future__ import annotations

from typing import Any

from noonmark.core.model import LOOK_LEASE, SECOND, Act, Event, Fact, Query, State
from noonmark.core.wellformed import NEED_DUE_AT
from noonmark.testing.builders import LEASE, make_activation, make_end
from noonmark.testing.conformance.harness import Harness


def a_repeated_add_gives_the_first_answer(harness: Harness) -> None:
    rows = [harness.caller_row("a", key="k"), harness.caller_row("b", key="k")]
    first = harness.store.add("same", rows, at=harness.at(0))
    assert [answer.outcome for answer in first] == ["added", "duplicate_key"]
    assert harness.store.add("same", rows, at=harness.at(5)) == first
    assert len(harness.store.occurrences(Query())) == 2


def a_repeated_add_counts_no_refusal(harness: Harness) -> None:
    rows = [harness.caller_row()]
    harness.store.add("same", rows, at=harness.at(0))
    harness.store.add("same", rows, at=harness.at(5))
    assert harness.store.tallies().duplicates_refused == 0


def a_repeated_take_gives_the_same_rows_and_fences(harness: Harness) -> None:
    harness.activate()
    harness.add(harness.caller_row("a"), harness.series_row("b"))

    def take(at: float) -> object:
        return harness.store.take(
            "same", "w1", limit=10, runnable={"job": LEASE}, look_lease=LOOK_LEASE, at=harness.at(at)
        )

    first = take(0)
    later = harness.add_one(harness.caller_row("c", at=1))
    assert take(2) == first
    assert harness.take_ids("w2", at=2) == [later]


def a_repeated_take_never_gives_its_own_worker_a_row_under_the_fence_of_a_later_take(harness: Harness) -> None:
    harness.activate()
    harness.add(harness.caller_row("a"), harness.series_row("b"))
    over = LEASE / SECOND

    def take(name: str, at: float) -> list[tuple[int, int]]:
        taken = harness.store.take(name, "w1", limit=10, runnable={"job": LEASE}, look_lease=LEASE, at=harness.at(at))
        return [(row.id, row.fence) for row in taken.rows]

    first = take("first", 0)
    assert len(first) == 2
    (again,) = take("second", over)
    assert again[0] in dict(first)
    repeated = take("first", over + 1)  # a store may leave out what is under another fence by now
    assert [pair for pair in first if pair[0] != again[0]] == [pair for pair in repeated if pair[0] != again[0]]
    assert set(repeated) <= set(first), "else the run of one fence would begin twice"


def a_repeated_empty_take_is_empty_again(harness: Harness) -> None:
    def take(at: float) -> object:
        return harness.store.take("same", "w1", limit=10, runnable={}, look_lease=LOOK_LEASE, at=harness.at(at)).rows

    assert take(0) == ()
    row_id = harness.add_one(harness.caller_row())
    assert take(1) == ()
    assert harness.take_ids(at=1) == [row_id]


def a_repeated_settle_gives_the_first_answer(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    item = make_end(run, Event.FAIL_RETRY, due_at=harness.at(5))
    first = harness.store.settle("same", "w1", [item], at=harness.at(1))
    assert first[0].state is State.FAILED_RETRYING
    second = harness.take_one("w2", at=5)
    assert harness.store.settle("same", "w1", [item], at=harness.at(6)) == first
    assert harness.row(run.id) == second


def a_repeated_settle_is_answered_before_its_fence_is_judged(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    first = harness.store.settle("same", "w1", [make_end(run)], at=harness.at(1))
    before = harness.store.tallies().stale_refused
    assert harness.store.settle("same", "w1", [make_end(run)], at=harness.at(2)) == first
    assert harness.store.tallies().stale_refused == before


def a_repeated_refusal_stays_a_refusal(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    item = make_end(look, Event.PARK, due_at=harness.at(1))
    harness.take_one("w2", at=10)
    first = harness.store.settle("same", "w1", [item], at=harness.at(11))
    assert first[0].outcome == "stale"
    refused = harness.store.tallies().stale_refused
    assert harness.store.settle("same", "w1", [item], at=harness.at(12)) == first
    assert harness.store.tallies().stale_refused == refused


def a_repeated_signal_gives_the_first_version(harness: Harness) -> None:
    facts = [Fact(name="flag:x", value=1)]
    assert harness.store.signal("same", facts, at=harness.at(0)) == [1]
    harness.signal("flag:x", None, at=1)
    assert harness.store.signal("same", facts, at=harness.at(2)) == [1]
    assert harness.version("flag:x") == 2
    assert not harness.store.facts(["flag:x"])["flag:x"].is_set


def a_repeated_activation_gives_the_first_answer(harness: Harness) -> None:
    change = make_activation(effective_at=harness.at(0), frontiers=(harness.frontier_row("1", at=60),))
    first = harness.store.activate("same", [change], actor="ada", at=harness.at(0))
    harness.activate(at=1, digest="digest-2", expected_revision=1)
    assert harness.store.activate("same", [change], actor="ada", at=harness.at(2)) == first
    assert harness.store.jobs()[0].revision == 2


def a_repeated_act_gives_the_first_answer(harness: Harness) -> None:
    harness.activate()
    row = harness.ended(Event.FAIL_MANUAL)
    wish = Act(kind="retry", actor="ada", occurrence_id=row.id)
    first = harness.store.act("same", wish, at=harness.at(1))
    assert first.outcome == "done"
    assert harness.store.act("same", wish, at=harness.at(2)) == first
    assert harness.row(row.id).due_at == harness.at(1)


def a_repeated_pause_does_not_pause_again(harness: Harness) -> None:
    harness.activate()
    wish = Act(kind="pause", actor="ada", job="job")
    first = harness.store.act("same", wish, at=harness.at(1))
    harness.act("resume", job="job", at=2)
    assert harness.store.act("same", wish, at=harness.at(3)) == first
    assert not harness.store.jobs()[0].paused


def a_request_is_remembered_for_most_of_an_hour(harness: Harness) -> None:
    facts = [Fact(name="flag:x", value=1)]
    harness.store.signal("same", facts, at=harness.at(0))
    harness.signal("flag:x", None, at=1)
    assert harness.store.signal("same", facts, at=harness.at(3500)) == [1]
    assert harness.version("flag:x") == 2


def the_answer_is_remembered_even_if_what_is_asked_differs(harness: Harness) -> None:
    first = harness.store.add("same", [harness.caller_row("a")], at=harness.at(0))
    assert harness.store.add("same", [harness.caller_row("b")], at=harness.at(0)) == first
    assert len(harness.store.occurrences(Query())) == 1


def an_outcome_that_is_told_again_gets_the_answer_of_the_first_time(harness: Harness) -> None:
    """By another request: the first one's answer was lost, and so was the worker that had asked."""
    harness.activate()
    for name, event in (
        ("a", Event.FAIL_RETRY),
        ("b", Event.HAND_BACK),
        ("c", Event.FAIL_MANUAL),
        ("d", Event.SUCCEED),
    ):
        run = harness.running(name)
        fields: dict[str, Any] = {"due_at": harness.at(3600)} if event in NEED_DUE_AT else {}
        first = harness.end(run, event, **fields)
        assert (first.outcome, first.lease_until) == ("applied", 0), event
        assert harness.end(run, event, at=1, **fields) == first, event
    assert harness.store.tallies().stale_refused == 0
