"""The reads: occurrences, stories, jobs, and facts that are not stored as such."""

from __future__ import annotations

from noonmark.core.model import Event, Query, State
from noonmark.testing.conformance.harness import Harness


def _ids(harness: Harness, **fields: object) -> list[int]:
    return [row.id for row in harness.store.occurrences(Query(**fields))]  # type: ignore[arg-type]


def occurrences_come_newest_scheduled_first(harness: Harness) -> None:
    a, b, c = (harness.add_one(harness.caller_row(str(at), at=at)) for at in (20, 30, 10))
    assert _ids(harness) == [b, a, c]
    assert _ids(harness, oldest_first=True) == [c, a, b]


def a_limit_cuts_the_answer(harness: Harness) -> None:
    a, b, c = (harness.add_one(harness.caller_row(str(at), at=at)) for at in (10, 20, 30))
    assert _ids(harness, limit=2) == [c, b]
    assert _ids(harness, limit=2, oldest_first=True) == [a, b]


def every_field_narrows(harness: Harness) -> None:
    a = harness.add_one(harness.caller_row("a", subject="s", key="k"))
    b = harness.add_one(harness.caller_row("b", at=10, job="other"))
    c = harness.add_one(harness.frontier_row("c", at=20))
    harness.act("cancel", occurrence_id=b)
    assert _ids(harness, ids=(a, c)) == [c, a]
    assert _ids(harness, job="other") == [b]
    assert _ids(harness, subject="s") == [a]
    assert _ids(harness, subject="") == [c, b]
    assert _ids(harness, key="k") == [a]
    assert _ids(harness, identity="t:c") == [c]
    assert _ids(harness, states=frozenset({State.CANCELLED})) == [b]
    assert _ids(harness, states=frozenset({State.CANCELLED, State.PENDING})) == [c, b, a]
    assert _ids(harness, open_only=True) == [c, a]
    assert _ids(harness, frontier_only=True) == [c]
    assert _ids(harness, job="job", open_only=True, subject="s") == [a]
    assert _ids(harness, job="job", key="other") == []


def a_span_includes_its_start_and_excludes_its_end(harness: Harness) -> None:
    _, b, c, _ = (harness.add_one(harness.caller_row(str(at), at=at)) for at in (9.999999, 10, 19.999999, 20))
    assert _ids(harness, scheduled_from=harness.at(10), scheduled_until=harness.at(20)) == [c, b]


def a_range_record_matches_when_it_reaches_into_the_span(harness: Harness) -> None:
    record = harness.add_one(
        harness.series_row(
            at=10, key="", state=State.SKIPPED, due_at=None, verdict="skip_superseded", range_until=harness.at(50)
        )
    )
    assert _ids(harness, scheduled_from=harness.at(30)) == [record]
    assert _ids(harness, scheduled_from=harness.at(50)) == [record]
    assert _ids(harness, scheduled_from=harness.at(50.000001)) == []
    assert _ids(harness, scheduled_until=harness.at(10)) == []


def paging_by_id_sees_every_row_once(harness: Harness) -> None:
    ids = [harness.add_one(harness.caller_row(str(n), at=100 - n)) for n in range(7)]
    seen: list[int] = []
    last = 0
    while page := _ids(harness, after_id=last, limit=3):
        seen += page
        last = page[-1]
    assert seen == ids


def no_match_is_an_empty_list(harness: Harness) -> None:
    assert harness.store.occurrences(Query(key="nobody")) == []


def the_story_of_an_occurrence_that_never_was_is_none(harness: Harness) -> None:
    assert harness.store.story(9999) is None


def a_story_belongs_to_one_occurrence(harness: Harness) -> None:
    harness.activate()
    first, second = harness.running("a"), harness.running("b")
    harness.end(first, Event.FAIL_MANUAL, error="boom")
    story = harness.story(second.id)
    assert story.occurrence == harness.row(second.id)
    assert [attempt.outcome for attempt in story.attempts] == ["running"]
    assert all(line.occurrence_id == second.id for line in story.ledger)


def jobs_are_read_by_name_and_by_event(harness: Harness) -> None:
    harness.activate(job="a")
    harness.activate(job="b", event="run.finished")
    harness.activate(job="c", event="run.finished")
    assert {job.name for job in harness.store.jobs()} == {"a", "b", "c"}
    assert [job.name for job in harness.store.jobs(["b"])] == ["b"]
    assert harness.store.jobs(["nobody"]) == []
    assert harness.store.jobs([]) == []
    assert {job.name for job in harness.store.jobs(event="run.finished")} == {"b", "c"}
    assert harness.store.jobs(event="another") == []


def a_key_can_be_read_as_a_fact(harness: Harness) -> None:
    harness.activate()
    run = harness.running(key="k")
    value = harness.store.facts(["key:k"])["key:k"].value
    assert (value["occurrence_id"], value["state"], value["generation"]) == (run.id, "RUNNING", 0)
    assert (value["origin"], value["job"], value["ended_at"]) == ("later", "job", None)
    harness.end(run, at=3)
    value = harness.store.facts(["key:k"])["key:k"].value
    assert (value["state"], value["ended_at"]) == ("SUCCESS", harness.at(3))


def a_free_key_has_no_value(harness: Harness) -> None:
    harness.add_one(harness.series_row(at=60, key="k"))
    fact = harness.store.facts(["key:k"])["key:k"]
    assert (fact.value, fact.version, fact.is_set) == (None, 0, False)


def a_key_with_colons_is_read_as_a_whole(harness: Harness) -> None:
    row_id = harness.add_one(harness.caller_row(key="report:2026-11-28:ops"))
    name = "key:report:2026-11-28:ops"
    assert harness.store.facts([name])[name].value["occurrence_id"] == row_id


def a_slot_can_be_read_as_a_fact(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.start(look, slot="slot:job:channel=ops")
    facts = harness.store.facts(["slot:job:channel=ops", "slot:job:"])
    assert facts["slot:job:channel=ops"].value == {"occurrence_id": look.id, "since": harness.at(0)}
    assert facts["slot:job:"].value is None


def a_fact_is_answered_for_every_name(harness: Harness) -> None:
    harness.signal("flag:b")
    names = ["flag:a", "flag:b", "success:job::2026-11-28", "key:k", "slot:job:", "worker:w"]
    facts = harness.store.facts(names)
    assert set(facts) == set(names)
    assert {name: fact.name for name, fact in facts.items()} == {name: name for name in names}
    assert {name for name, fact in facts.items() if fact.is_set} == {"flag:b"}
    assert harness.store.facts([]) == {}


def the_store_says_where_it_is_and_what_it_can(harness: Harness) -> None:
    assert harness.store.url
    assert all(isinstance(capability, str) for capability in harness.store.capabilities)


def the_stores_time_does_not_run_backwards(harness: Harness) -> None:
    assert harness.t0 <= harness.store.now() <= harness.store.now()


def an_instant_of_a_test_does_not_move_the_stores_clock(harness: Harness) -> None:
    harness.add_one(harness.caller_row(at=10_000_000), at=10_000_000)
    harness.take(at=10_000_000)
    assert harness.store.now() < harness.at(9_000_000)


def closing_twice_does_no_harm(harness: Harness) -> None:
    harness.store.close()
    harness.store.close()
