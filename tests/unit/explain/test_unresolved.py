"""What was given up is told until a person has dealt with it, however much of the same job went well since."""

from __future__ import annotations

import pytest

from noonmark.core.model import Act, Manual, Occurrence, Retry, State
from noonmark.explain import unresolved
from noonmark.explain.why import why
from noonmark.testing.builders import make_job
from noonmark.testing.world import World


@pytest.fixture
def world(make_world: object) -> World:
    """A job of which order 5 failed for good, and then order 1 succeeded at its second try."""
    assert callable(make_world)
    made: World = make_world(replicas=1)
    job = make_job("order", trigger=Manual(), key="order:{params.n}", retry=Retry(max=1))

    first_time = [True]

    def pay(n: int) -> None:
        if n == 5 or first_time:
            if n == 1:
                first_time.clear()
            raise RuntimeError("card refused")

    made.job(job, pay)
    made.advance("1s")
    for n in (5, 1):
        made.later(job, n=n)
        made.advance("8s")
    return made


def rows(world: World) -> tuple[Occurrence, Occurrence]:
    failed, done = sorted(world.rows("order"), key=lambda row: row.id)
    assert (failed.state, done.state) == (State.FAILED_MANUAL, State.SUCCESS)
    return failed, done


@pytest.mark.parametrize(("lang", "says"), [("en", "Still for a person to deal with"), ("zh", "仍需人工处理")])
def test_why_of_a_job_names_what_still_needs_a_person(world: World, lang: str, says: str) -> None:
    failed, done = rows(world)
    (line,) = [line for line in why(world.store, "order", lang=lang).lines if says in line]
    assert f"r{failed.id} (order:5)" in line
    assert f"noonmark why r{failed.id}" in line
    for asked in (failed.id, done.id):  # whoever asks about one run is told of that one
        assert not [line for line in why(world.store, occurrence_id=asked, lang=lang).lines if says in line]


@pytest.mark.parametrize("kind", ["mark_handled", "cancel"])
def test_what_a_person_dealt_with_is_told_no_more(world: World, kind: str) -> None:
    failed, _ = rows(world)
    assert unresolved.by_job(world.store) == {"order": 1}
    world.store.act("r", Act(kind=kind, actor="mia", reason="paid by hand", occurrence_id=failed.id))
    assert unresolved.by_job(world.store) == {}
    assert not [line for line in why(world.store, "order").lines if "for a person" in line]


def test_an_urgent_alert_stays_open_until_its_own_occurrence_is_dealt_with(world: World) -> None:
    failed, done = rows(world)
    assert done.attempt == 2, "it failed, too, and its success says that all is well"
    assert [alert.occurrence_id for alert in world.store.tallies().open_alerts] == [failed.id]
