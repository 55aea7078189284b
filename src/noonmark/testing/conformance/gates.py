"""The gates of a start: what was seen is compared again, inside the transaction that starts the run."""

from __future__ import annotations

from noonmark.core.model import Event, Occurrence, Settled, State
from noonmark.testing.conformance.harness import Harness

SLOT = "slot:job:"


def _refused(harness: Harness, look: Occurrence, settled: Settled, outcome: str) -> None:
    """A refusal says so, starts nothing, and leaves the look lease in place."""
    assert settled.outcome == outcome, settled
    row = harness.row(look.id)
    assert (row.state, row.attempt, row.looking, row.holder) == (State.PENDING, 0, True, "w1")
    assert (row.fence, row.due_at) == (look.fence, look.due_at)


def a_start_with_an_older_revision_is_refused(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.activate(digest="digest-2", expected_revision=1)
    settled = harness.start(look, revision=1)
    _refused(harness, look, settled, "changed")
    assert any(name.startswith("revision") for name in settled.changed)


def a_start_of_a_job_the_store_does_not_know_is_refused(harness: Harness) -> None:
    look = harness.looked_at()
    _refused(harness, look, harness.start(look), "changed")


def a_start_takes_the_revision_it_was_decided_on(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.activate(digest="digest-2", expected_revision=1)
    assert harness.start(look, revision=2).outcome == "applied"
    assert harness.row(look.id).revision == 2


def a_start_after_a_pause_is_refused(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.act("pause", job="job")
    settled = harness.start(look)
    _refused(harness, look, settled, "changed")
    assert any(name.startswith("pause") for name in settled.changed)


def a_pause_that_came_and_went_is_noticed_too(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.act("pause", job="job")
    harness.act("resume", job="job")
    _refused(harness, look, harness.start(look), "changed")
    version = harness.store.jobs(["job"])[0].pause_version
    assert harness.start(look, pause_version=version).outcome == "applied"


def a_start_on_a_fact_that_moved_is_refused(harness: Harness) -> None:
    harness.activate()
    seen = harness.signal("flag:etl")
    look = harness.looked_at()
    harness.signal("flag:etl", None)
    settled = harness.start(look, facts={"flag:etl": seen, "flag:other": 0})
    _refused(harness, look, settled, "changed")
    assert settled.changed == ("flag:etl",)


def a_start_on_facts_as_seen_goes_through(harness: Harness) -> None:
    harness.activate()
    seen = harness.signal("flag:etl")
    look = harness.looked_at()
    harness.signal("flag:etl")
    assert harness.start(look, facts={"flag:etl": seen, "flag:never": 0}).outcome == "applied"


def the_pause_of_a_job_can_be_compared_as_a_fact(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    harness.act("pause", job="job")
    version = harness.store.jobs(["job"])[0].pause_version
    assert harness.start(look, pause_version=version, facts={"pause:job": version - 1}).outcome == "changed"
    assert harness.start(look, pause_version=version, facts={"pause:job": version}).outcome == "applied"


def a_start_before_the_window_is_refused(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(not_before=harness.at(3))
    assert harness.start(look, at=2.999999).outcome in ("changed", "closed")
    assert harness.row(look.id).state is State.PENDING
    assert harness.start(look, at=3).outcome == "applied"


def a_start_after_the_window_is_closed(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(not_after=harness.at(3))
    _refused(harness, look, harness.start(look, at=3), "closed")


def a_start_in_the_last_microsecond_of_the_window_goes_through(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(not_after=harness.at(3))
    assert harness.start(look, at=2.999999).outcome == "applied"


def a_persons_override_opens_the_window(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(not_after=harness.at(3))
    assert harness.start(look, at=4, ignore_window=True).outcome == "applied"


def a_first_start_past_its_limit_is_closed(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(expires_at=harness.at(3))
    _refused(harness, look, harness.start(look, at=3.000001), "closed")
    assert harness.start(look, at=3).outcome == "applied"


def the_limit_does_not_bind_a_later_start(harness: Harness) -> None:
    harness.activate()
    run = harness.running(expires_at=harness.at(3))
    harness.end(run, Event.FAIL_RETRY, due_at=harness.at(50))
    harness.act("pause", job="job")
    look = harness.take_one(at=50)
    assert harness.start(look, at=50, pause_version=1).outcome == "applied"


# --- the key -------------------------------------------------------------------------------------


def a_key_that_was_taken_meanwhile_makes_the_start_a_duplicate(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(key="k")
    holder = harness.add_one(harness.caller_row("b", key="k"))
    settled = harness.start(look)
    _refused(harness, look, settled, "duplicate")
    assert settled.holder == holder


def a_refused_duplicate_can_be_ended_under_the_same_look(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(key="k")
    holder = harness.add_one(harness.caller_row("b", key="k"))
    harness.start(look)
    settled = harness.end(look, Event.SKIP, verdict="skip_duplicated", code="key_held")
    assert (settled.outcome, settled.state) == ("applied", State.SKIPPED)
    row = harness.row(look.id)
    assert (row.claimed, row.duplicate_of) == (False, holder)


def a_start_claims_the_key(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(key="k")
    harness.start(look)
    row = harness.row(look.id)
    assert (row.claimed, row.generation) == (True, 0)
    assert harness.add(harness.caller_row("b", key="k"))[0].duplicate_of == look.id


def of_two_rows_of_a_schedule_with_one_key_only_one_starts(harness: Harness) -> None:
    harness.activate()
    harness.add(harness.series_row("a", key="k"), harness.series_row("b", key="k"))
    first, second = harness.take().rows
    assert harness.start(first).outcome == "applied"
    settled = harness.start(second)
    assert (settled.outcome, settled.holder) == ("duplicate", first.id)


def a_refused_start_claims_nothing(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(key="k", not_after=harness.at(3))
    harness.start(look, at=4)
    assert harness.add(harness.caller_row("b", key="k"))[0].outcome == "added"


def a_refused_start_adds_nothing(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at(not_after=harness.at(3))
    harness.start(look, at=4, slot=SLOT)
    assert harness.store.facts([SLOT])[SLOT].value is None
