"""Overlap slots: one occurrence at a time is in one, until it ends, and then the oldest that waits for it."""

from __future__ import annotations

from noonmark.core.model import Event, Gates, Occurrence
from noonmark.testing.builders import LEASE, make_end
from noonmark.testing.conformance.harness import Harness

SLOT = "slot:job:"


def _occupied(harness: Harness) -> Occurrence:
    """Return a run that occupies the slot."""
    harness.activate()
    look = harness.looked_at("occupant")
    assert harness.start(look, slot=SLOT).outcome == "applied"
    return harness.row(look.id)


def _is_free(harness: Harness) -> bool:
    return harness.store.facts([SLOT])[SLOT].value is None


def a_slot_that_another_occupies_refuses_the_start(harness: Harness) -> None:
    occupant = _occupied(harness)
    look = harness.looked_at("second", at=1)
    settled = harness.start(look, at=1, slot=SLOT)
    assert (settled.outcome, settled.changed) == ("changed", (SLOT,))
    row = harness.row(look.id)
    assert (row.state, row.attempt, row.looking, row.fence) == ("PENDING", 0, True, look.fence), "it may decide again"
    assert harness.store.facts([SLOT])[SLOT].value["occurrence_id"] == occupant.id


def another_slot_is_another_matter(harness: Harness) -> None:
    _occupied(harness)
    look = harness.looked_at("second", at=1)
    assert harness.start(look, at=1, slot="slot:job:channel=ops").outcome == "applied"


def a_start_without_a_slot_does_not_care(harness: Harness) -> None:
    _occupied(harness)
    look = harness.looked_at("second", at=1)
    assert harness.start(look, at=1).outcome == "applied"


def only_one_of_two_looks_gets_the_slot(harness: Harness) -> None:
    harness.activate()
    harness.add(harness.series_row("a"), harness.series_row("b"))
    first, second = harness.take().rows
    assert harness.start(first, slot=SLOT).outcome == "applied"
    assert harness.start(second, slot=SLOT).outcome == "changed"


def the_slot_is_kept_through_a_retry(harness: Harness) -> None:
    occupant = _occupied(harness)
    harness.end(occupant, Event.FAIL_RETRY, due_at=harness.at(60))
    look = harness.looked_at("second", at=1)
    assert harness.start(look, at=1, slot=SLOT).outcome == "changed"
    harness.end(look, Event.SKIP, at=1, verdict="skip_overlap")
    again = harness.take_one(at=60)
    assert harness.start(again, at=60, slot=SLOT).outcome == "applied"


def the_slot_is_kept_through_a_takeover(harness: Harness) -> None:
    occupant = _occupied(harness)
    lapsed = harness.take_one("w2", at=LEASE / 1_000_000)
    assert lapsed.id == occupant.id
    settled = harness.start(lapsed, worker="w2", at=31, event=Event.TAKEOVER, slot=SLOT)
    assert settled.outcome == "applied"
    assert harness.store.facts([SLOT])[SLOT].value["occurrence_id"] == occupant.id


def a_second_slot_is_refused_and_the_first_is_kept_to_the_end(harness: Harness) -> None:
    occupant = _occupied(harness)
    harness.end(occupant, Event.FAIL_RETRY, due_at=harness.at(1))
    again = harness.take_one(at=1)
    second = harness.start(again, at=1, slot="slot:other:")
    assert (second.outcome, second.changed) == ("changed", (SLOT,))
    slots = harness.store.facts([SLOT, "slot:other:"])
    assert slots[SLOT].value["occurrence_id"] == occupant.id
    assert slots["slot:other:"].value is None
    assert harness.start(again, at=1, slot=SLOT).outcome == "applied"
    harness.end(again, at=1)
    assert _is_free(harness)


def the_slot_is_kept_when_the_run_is_handed_back(harness: Harness) -> None:
    harness.end(_occupied(harness), Event.HAND_BACK, due_at=harness.at(0))
    assert not _is_free(harness)


def a_success_releases_the_slot(harness: Harness) -> None:
    harness.end(_occupied(harness))
    assert _is_free(harness)
    look = harness.looked_at("second", at=1)
    assert harness.start(look, at=1, slot=SLOT).outcome == "applied"


def a_final_failure_releases_the_slot(harness: Harness) -> None:
    harness.end(_occupied(harness), Event.FAIL_MANUAL)
    assert _is_free(harness)


def a_cancelled_run_releases_the_slot(harness: Harness) -> None:
    occupant = _occupied(harness)
    harness.act("cancel", occurrence_id=occupant.id)
    assert not _is_free(harness)
    harness.end(occupant, Event.CANCEL)
    assert _is_free(harness)


def cancelling_a_waiting_retry_releases_the_slot(harness: Harness) -> None:
    occupant = _occupied(harness)
    harness.end(occupant, Event.FAIL_RETRY, due_at=harness.at(60))
    harness.act("cancel", occurrence_id=occupant.id)
    assert _is_free(harness)


def _parked_on_the_slot(harness: Harness, name: str, *, scheduled: float, own: str = "") -> Occurrence:
    """Return a row that waits for the slot, for a minute if nobody wakes it."""
    identity = harness.series_row(name, at=scheduled, due_at=harness.at(2), worker=own)
    harness.add(identity, at=2)
    (look,) = harness.take("w1", at=2).rows
    seen = Gates(revision=1, facts={SLOT: harness.store.facts([SLOT])[SLOT].version})
    park = harness.end(
        look, Event.PARK, at=2, due_at=harness.at(62), gates=seen, verdict="skip_overlap", code="slot_wait"
    )
    assert park.outcome == "applied"
    return harness.row(look.id)


def who_leaves_a_slot_wakes_the_oldest_that_waits_for_it(harness: Harness) -> None:
    occupant = _occupied(harness)
    younger = _parked_on_the_slot(harness, "younger", scheduled=1)
    older = _parked_on_the_slot(harness, "older", scheduled=0.5)
    assert (younger.due_at, older.due_at) == (harness.at(62), harness.at(62))
    harness.end(occupant, at=3)
    assert harness.row(older.id).due_at == harness.at(3)
    assert harness.row(younger.id).due_at == harness.at(62), "one slot, one that is woken"
    again = harness.take_one(at=3)
    assert again.id == older.id
    assert harness.start(again, at=3, slot=SLOT).outcome == "applied"
    harness.end(again, at=4)
    assert harness.take_one(at=4).id == younger.id


def of_more_than_a_thousand_that_wait_for_a_slot_the_oldest_is_handed_it_wherever_it_stands(harness: Harness) -> None:
    occupant = _occupied(harness)
    harness.add(*(harness.series_row(f"n{n}", at=2 - n / 1000, due_at=harness.at(2)) for n in range(1002)), at=2)
    looks = harness.take("w1", at=2, limit=1100).rows
    seen = Gates(revision=1, facts={SLOT: harness.store.facts([SLOT])[SLOT].version})
    parks = [
        make_end(row, Event.PARK, due_at=harness.at(62), gates=seen, verdict="skip_overlap", code="slot_wait")
        for row in looks
    ]
    assert {answer.outcome for answer in harness.settle(*parks, at=2)} == {"applied"}
    oldest, next_one, *_ = sorted(looks, key=lambda row: row.scheduled_for)
    assert oldest.id > next_one.id, "the last to come: a date that a person filled in, say"
    harness.end(occupant, at=3)
    assert harness.take_one(at=3).id == oldest.id
    harness.act("cancel", at=4, occurrence_id=oldest.id)
    harness.end(harness.row(oldest.id), Event.CANCEL, at=4)
    assert harness.take_one(at=4).id == next_one.id


def who_leaves_a_slot_hands_it_to_the_oldest_so_that_nobody_comes_between(harness: Harness) -> None:
    occupant = _occupied(harness)
    waiting = _parked_on_the_slot(harness, "waiting", scheduled=1)
    newcomer = harness.looked_at("newcomer", at=2)
    harness.end(occupant, at=3)
    assert harness.store.facts([SLOT])[SLOT].value == {"occurrence_id": waiting.id, "since": harness.at(3)}
    assert harness.start(newcomer, at=3, slot=SLOT).changed == (SLOT,)
    assert harness.start(harness.take_one(at=3), at=3, slot=SLOT).outcome == "applied"


def a_row_whose_next_look_is_due_is_handed_the_slot_all_the_same(harness: Harness) -> None:
    occupant = _occupied(harness)
    older = _parked_on_the_slot(harness, "older", scheduled=1)
    _parked_on_the_slot(harness, "younger", scheduled=1.5)
    harness.end(occupant, at=63)
    assert harness.row(older.id).due_at == harness.at(62), "it was to look again a second ago"
    assert harness.store.facts([SLOT])[SLOT].value["occurrence_id"] == older.id


def who_was_handed_a_slot_and_waits_for_something_else_passes_it_on(harness: Harness) -> None:
    occupant = _occupied(harness)
    older = _parked_on_the_slot(harness, "older", scheduled=0.5)
    younger = _parked_on_the_slot(harness, "younger", scheduled=1)
    harness.end(occupant, at=3)
    look = harness.take_one(at=3)
    harness.end(look, Event.PARK, at=3, due_at=harness.at(600), verdict="skip_dep", code="flag_missing")
    assert harness.store.facts([SLOT])[SLOT].value["occurrence_id"] == younger.id
    assert harness.row(younger.id).due_at == harness.at(3)
    harness.start(harness.take_one(at=3), at=3, slot=SLOT)
    harness.end(harness.row(younger.id), at=4)
    assert _is_free(harness)
    assert harness.row(older.id).due_at == harness.at(600), "it waits for something else"


def who_was_handed_a_slot_and_ends_without_a_start_passes_it_on(harness: Harness) -> None:
    occupant = _occupied(harness)
    first = _parked_on_the_slot(harness, "first", scheduled=0.5)
    second = _parked_on_the_slot(harness, "second", scheduled=1)
    third = _parked_on_the_slot(harness, "third", scheduled=1.5)
    harness.end(occupant, at=3)
    harness.end(harness.take_one(at=3), Event.MISS, at=3, code="limit_passed")
    assert harness.store.facts([SLOT])[SLOT].value["occurrence_id"] == second.id
    harness.act("cancel", at=3, occurrence_id=second.id)
    assert harness.store.facts([SLOT])[SLOT].value["occurrence_id"] == third.id
    assert [harness.row(row.id).state for row in (first, second)] == ["FAILED_MANUAL", "CANCELLED"]
    assert harness.take_one(at=3).id == third.id


def a_slot_that_is_left_before_a_row_parks_on_it_lets_that_row_be_due_at_once(harness: Harness) -> None:
    occupant = _occupied(harness)
    look = harness.looked_at("second", at=1)
    seen = Gates(revision=1, facts={SLOT: harness.store.facts([SLOT])[SLOT].version})
    harness.end(occupant, at=2)
    harness.end(look, Event.PARK, at=2, due_at=harness.at(62), gates=seen, verdict="skip_overlap", code="slot_wait")
    assert harness.row(look.id).due_at == harness.at(2)


def cancelling_the_occupant_wakes_who_waits_for_its_slot(harness: Harness) -> None:
    occupant = _occupied(harness)
    waiting = _parked_on_the_slot(harness, "waiting", scheduled=1, own="w1")
    harness.end(occupant, Event.FAIL_RETRY, at=2, due_at=harness.at(60))
    assert harness.row(waiting.id).due_at == harness.at(62), "it is its slot still"
    harness.act("cancel", at=3, occurrence_id=occupant.id)
    assert harness.row(waiting.id).due_at == harness.at(3)
    assert harness.take_one("w1", at=3).id == waiting.id


def a_refused_end_does_not_release_the_slot(harness: Harness) -> None:
    occupant = _occupied(harness)
    harness.take_one("w2", at=LEASE / 1_000_000)
    assert harness.end(occupant, at=31).outcome == "stale"
    assert not _is_free(harness)
