"""``add``: identities and keys, and who holds a key against whom."""

from __future__ import annotations

from functools import partial
from typing import Any

from noonmark.core.model import Event, Origin, Query, State
from noonmark.testing.conformance.harness import Harness, is_refused

STORED_AS_GIVEN = (
    *("job", "subject", "identity", "key", "scheduled_for", "due_at", "nominal", "business_date", "params", "origin"),
    *("not_before", "not_after", "expires_at", "actor", "note", "worker", "queue", "priority", "revision"),
)


def a_new_row_is_stored_as_it_was_given(harness: Harness) -> None:
    new = harness.caller_row(
        at=60,
        subject="channel=ops",
        nominal="2026-11-28T09:00:00 Asia/Shanghai",
        business_date="2026-11-27",
        not_before=harness.at(50),
        not_after=harness.at(500),
        expires_at=harness.at(400),
        params='{"city": "上海"}',
        actor="ada",
        note="first time",
        worker="w7",
        queue="slow",
        priority=3,
        revision=4,
    )
    row = harness.row(harness.add_one(new, at=1))
    for name in STORED_AS_GIVEN:
        assert getattr(row, name) == getattr(new, name), name
    assert (row.state, row.attempt, row.takeovers, row.lost, row.fence) == (State.PENDING, 0, 0, 0, 0)
    assert (row.created_at, row.started_at, row.ended_at, row.holder) == (harness.at(1), None, None, "")
    assert (row.claimed, row.generation, row.duplicate_of) == (True, 0, None)


def ids_differ_and_follow_the_order_of_adding(harness: Harness) -> None:
    ids = [added.id for added in harness.add(*(harness.caller_row(str(n)) for n in range(5)))]
    assert ids == sorted(set(ids))


def adding_nothing_is_no_error(harness: Harness) -> None:
    assert harness.add() == []


def an_identity_that_is_there_is_answered_not_inserted(harness: Harness) -> None:
    first = harness.add_one(harness.caller_row())
    again = harness.add(harness.caller_row(key="another", params='{"n": 2}'))[0]
    assert (again.outcome, again.id) == ("duplicate_identity", first)
    assert harness.row(first).params == "{}"
    assert harness.store.facts(["key:another"])["key:another"].value is None


def an_identity_is_remembered_after_its_row_ended(harness: Harness) -> None:
    harness.activate()
    ended = harness.ended(Event.SUCCEED)
    assert harness.add(harness.caller_row())[0].outcome == "duplicate_identity"
    assert harness.row(ended.id).state is State.SUCCESS


def an_event_delivered_ten_times_is_one_occurrence(harness: Harness) -> None:
    answers = [harness.add(harness.caller_row(origin=Origin.EVENT, identity="e:17"))[0] for _ in range(10)]
    assert [answer.outcome for answer in answers] == ["added"] + ["duplicate_identity"] * 9
    assert len({answer.id for answer in answers}) == 1


def the_same_identity_twice_in_one_call_is_one_occurrence(harness: Harness) -> None:
    first, second = harness.add(harness.caller_row(), harness.caller_row())
    assert (first.outcome, second.outcome, second.id) == ("added", "duplicate_identity", first.id)


def an_identity_belongs_to_its_job_and_subject(harness: Harness) -> None:
    answers = harness.add(
        harness.caller_row(key="1"),
        harness.caller_row(key="2", subject="channel=ops"),
        harness.caller_row(key="3", job="other"),
    )
    assert [answer.outcome for answer in answers] == ["added"] * 3


def where_the_key_is_held_the_row_is_recorded_as_a_duplicate(harness: Harness) -> None:
    holder = harness.add_one(harness.caller_row("a", key="k"))
    added = harness.add(harness.caller_row("b", key="k"))[0]
    assert (added.outcome, added.duplicate_of) == ("duplicate_key", holder)
    row = harness.row(added.id)
    assert (row.state, row.verdict, row.duplicate_of) == (State.SKIPPED, "skip_duplicated", holder)
    assert (row.claimed, row.due_at, row.ended_at) == (False, None, harness.at(0))


def the_same_key_twice_in_one_call_is_claimed_once(harness: Harness) -> None:
    first, second = harness.add(harness.caller_row("a", key="k"), harness.caller_row("b", key="k"))
    assert (first.outcome, second.outcome, second.duplicate_of) == ("added", "duplicate_key", first.id)


def keys_hold_across_jobs(harness: Harness) -> None:
    holder = harness.add_one(harness.caller_row("a", key="k"))
    assert harness.add(harness.caller_row("b", job="other", key="k"))[0].duplicate_of == holder


def a_duplicate_never_claims_so_a_third_row_names_the_first(harness: Harness) -> None:
    holder = harness.add_one(harness.caller_row("a", key="k"))
    harness.add(harness.caller_row("b", key="k"))
    assert harness.add(harness.caller_row("c", key="k"))[0].duplicate_of == holder


def a_row_that_does_not_claim_leaves_the_key_free(harness: Harness) -> None:
    harness.add_one(harness.series_row("a", at=60, key="k"))
    assert harness.add(harness.caller_row("b", key="k"))[0].outcome == "added"


def a_row_that_does_not_claim_is_no_duplicate_yet(harness: Harness) -> None:
    harness.add_one(harness.caller_row("a", key="k"))
    row = harness.row(harness.add_one(harness.series_row("b", at=60, key="k")))
    assert (row.state, row.claimed) == (State.PENDING, False)


def _held_against(harness: Harness, origin: Origin, holder: int) -> bool:
    added = harness.add(harness.caller_row(f"try-{origin}", key="k", origin=origin))[0]
    if added.outcome == "added":
        assert harness.row(added.id).generation == harness.row(holder).generation + 1
        return False
    assert (added.outcome, added.duplicate_of) == ("duplicate_key", holder)
    return True


def a_pending_row_holds_its_key_against_everybody(harness: Harness) -> None:
    holder = harness.add_one(harness.caller_row(at=60, key="k"))
    assert all(_held_against(harness, origin, holder) for origin in Origin)


def a_running_row_holds_its_key_against_everybody(harness: Harness) -> None:
    harness.activate()
    holder = harness.running(key="k")
    assert all(_held_against(harness, origin, holder.id) for origin in Origin)


def a_row_that_waits_for_its_retry_holds_its_key_against_everybody(harness: Harness) -> None:
    harness.activate()
    row = harness.running(key="k")
    harness.end(row, Event.FAIL_RETRY, due_at=harness.at(60))
    assert all(_held_against(harness, origin, row.id) for origin in Origin)


def a_failed_row_holds_its_key_against_everybody(harness: Harness) -> None:
    harness.activate()
    holder = harness.ended(Event.FAIL_MANUAL, key="k")
    assert holder.state is State.FAILED_MANUAL
    assert all(_held_against(harness, origin, holder.id) for origin in Origin)


def a_success_holds_its_key_against_everybody(harness: Harness) -> None:
    harness.activate()
    holder = harness.ended(Event.SUCCEED, key="k")
    assert all(_held_against(harness, origin, holder.id) for origin in Origin)


def a_skipped_row_holds_its_key_against_all_but_persons(harness: Harness) -> None:
    harness.activate()
    holder = harness.ended(Event.SKIP, key="k")
    assert holder.state is State.SKIPPED
    for origin in (Origin.SCHEDULE, Origin.EVENT, Origin.LATER):
        assert _held_against(harness, origin, holder.id), origin
    assert not _held_against(harness, Origin.MANUAL, holder.id)


def a_cancelled_row_holds_its_key_against_all_but_persons(harness: Harness) -> None:
    harness.add_one(harness.caller_row(at=60, key="k"))
    holder = harness.act("cancel", key="k").ids[0]
    for origin in (Origin.SCHEDULE, Origin.EVENT, Origin.LATER):
        assert _held_against(harness, origin, holder), origin
    assert not _held_against(harness, Origin.BACKFILL, holder)


def a_key_that_a_person_took_over_is_held_by_the_new_generation(harness: Harness) -> None:
    harness.add_one(harness.caller_row(at=60, key="k"))
    harness.act("cancel", key="k")
    taken_over = harness.add_one(harness.caller_row("b", key="k", origin=Origin.MANUAL))
    assert harness.add(harness.caller_row("c", key="k", origin=Origin.MANUAL))[0].duplicate_of == taken_over
    assert harness.store.facts(["key:k"])["key:k"].value["occurrence_id"] == taken_over


def a_key_that_is_given_back_is_held_by_the_newest_of_the_generations_before(harness: Harness) -> None:
    harness.activate()
    again: dict[str, Any] = {"key": "k", "origin": Origin.MANUAL, "again": True}
    harness.ended(Event.SUCCEED, "first", key="k")
    second = harness.ended(Event.SUCCEED, "second", **again)
    third = harness.add_one(harness.series_row("third", claim=True, **again))
    assert [harness.row(row_id).generation for row_id in (second.id, third)] == [1, 2]
    look = harness.take_one()
    assert harness.end(look, Event.SKIP, verdict="skip_superseded").outcome == "applied"
    assert harness.store.facts(["key:k"])["key:k"].value["occurrence_id"] == second.id
    assert harness.add(harness.caller_row("fourth", key="k"))[0].duplicate_of == second.id


def again_takes_over_a_success_as_the_next_generation(harness: Harness) -> None:
    harness.activate()
    first = harness.ended(Event.SUCCEED, key="k")
    second = harness.row(harness.add_one(harness.caller_row("b", key="k", origin=Origin.MANUAL, again=True)))
    assert (second.generation, second.claimed, second.state) == (1, True, State.PENDING)
    assert harness.row(first.id).state is State.SUCCESS


def again_takes_over_a_failed_row(harness: Harness) -> None:
    harness.activate()
    harness.ended(Event.FAIL_MANUAL, key="k")
    second = harness.row(harness.add_one(harness.caller_row("b", key="k", origin=Origin.MANUAL, again=True)))
    assert second.generation == 1


def again_does_not_take_over_an_open_row(harness: Harness) -> None:
    holder = harness.add_one(harness.caller_row("a", at=60, key="k"))
    added = harness.add(harness.caller_row("b", key="k", origin=Origin.MANUAL, again=True))[0]
    assert (added.outcome, added.duplicate_of) == ("duplicate_key", holder)


def again_twice_makes_generation_two(harness: Harness) -> None:
    harness.activate()
    harness.ended(Event.SUCCEED, "a", key="k")
    harness.ended(Event.SUCCEED, "b", key="k", origin=Origin.MANUAL, again=True)
    third = harness.add_one(harness.caller_row("c", key="k", origin=Origin.MANUAL, again=True))
    assert harness.row(third).generation == 2


def again_on_a_free_key_is_generation_zero(harness: Harness) -> None:
    assert harness.row(harness.add_one(harness.caller_row(origin=Origin.MANUAL, again=True))).generation == 0


def superseding_releases_the_key(harness: Harness) -> None:
    harness.activate()
    row = harness.looked_at(key="k")
    assert harness.end(row, Event.SKIP, verdict="skip_superseded", code="superseded").outcome == "applied"
    assert harness.row(row.id).claimed is False
    added = harness.row(harness.add_one(harness.caller_row("b", key="k", origin=Origin.EVENT)))
    assert added.generation == 0


def superseding_a_row_that_claimed_releases_the_key_too(harness: Harness) -> None:
    harness.activate()
    harness.add_one(harness.caller_row("a", key="k", gated=True))
    harness.end(harness.take_one(), Event.SKIP, verdict="skip_superseded", code="superseded")
    assert harness.add(harness.caller_row("b", key="k"))[0].outcome == "added"


def a_range_record_ends_at_once_and_holds_no_key(harness: Harness) -> None:
    row = harness.row(
        harness.add_one(
            harness.series_row(
                identity="g:1",
                key="",
                state=State.SKIPPED,
                due_at=None,
                verdict="skip_superseded",
                code="range_superseded",
                range_until=harness.at(600),
                range_count=7,
            )
        )
    )
    assert (row.state, row.due_at, row.claimed) == (State.SKIPPED, None, False)
    assert (row.verdict, row.code, row.range_until, row.range_count) == (
        "skip_superseded",
        "range_superseded",
        harness.at(600),
        7,
    )
    assert harness.take_ids(at=1000) == []


def two_range_records_without_a_key_do_not_meet(harness: Harness) -> None:
    fields: dict[str, Any] = {"key": "", "state": State.SKIPPED, "due_at": None, "verdict": "skip_superseded"}
    answers = harness.add(harness.series_row("1", **fields), harness.series_row("2", **fields))
    assert [answer.outcome for answer in answers] == ["added", "added"]


def text_of_every_script_comes_back_as_it_was(harness: Harness) -> None:
    key, params = "report:早安:☕", '{"q": "¿qué?\\u0000", "r": "准点"}'
    row = harness.row(harness.add_one(harness.caller_row(key=key, params=params, subject="渠道=运维")))
    assert (row.key, row.params, row.subject) == (key, params, "渠道=运维")


def a_batch_with_a_row_that_makes_no_sense_adds_nothing(harness: Harness) -> None:
    wrongs: tuple[dict[str, Any], ...] = ({"state": State.RUNNING}, {"identity": ""}, {"job": ""})
    for wrong in wrongs:
        assert is_refused(partial(harness.add, harness.caller_row("a"), harness.caller_row("b", **wrong))), wrong
    assert harness.store.occurrences(Query()) == []
