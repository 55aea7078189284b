"""``missed: all`` with ``overlap: queue_all``: every round runs, oldest first, one at a time, however many wait."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, Act, CatchUp, Every, FlagSet, Job, Query, State
from noonmark.explain.why import why
from noonmark.testing.builders import make_job
from noonmark.testing.clock import START
from noonmark.testing.world import World, sleeping


def bill(**fields: Any) -> Job:
    usual: dict[str, Any] = {
        "trigger": Every(period=5 * SECOND),
        "key": "bill:{subject}:{scheduled_for}",
        "catch_up": CatchUp(missed="all", max_delay=HOUR),
    }
    return make_job("bill", **(usual | fields))


def ran(world: World, subject: str = "") -> list[int]:
    """Return the scheduled moments that succeeded, in the order of their starts."""
    done = [row for row in world.rows("bill") if row.state is State.SUCCESS and row.subject == subject]
    return [row.scheduled_for for row in sorted(done, key=lambda row: row.started_at or 0)]


def overlapping(world: World, subject: str = "") -> list[int]:
    """Return the rows that began while another of their subject was in progress."""
    rows = [row for row in world.rows("bill") if row.subject == subject and row.started_at is not None]
    rows.sort(key=lambda row: row.started_at or 0)
    return [late.id for early, late in pairwise(rows) if (early.ended_at or 0) > (late.started_at or 0)]


def down(world: World, length: str) -> None:
    """Let nobody be awake for a while."""
    for number in range(len(world.replicas)):
        world.kill(number)
    world.advance(length)
    for number in range(len(world.replicas)):
        world.restart(number)


@pytest.mark.parametrize("replicas", [1, 3])
def test_every_missed_round_runs_once_oldest_first_and_one_at_a_time(replicas: int) -> None:
    with World(replicas=replicas) as world:
        world.job(bill(), sleeping(world, "bill", "300ms"))
        world.advance("8s")
        down(world, "65s")
        world.advance("20s")
        expected = [START + n * 5 * SECOND for n in range(1, 19)]
        assert ran(world) == expected
        assert overlapping(world) == []
        assert world.effect_names().count("bill") == len(expected), "each of them ran once"
        assert not [row for row in world.rows("bill") if row.state in (State.SKIPPED, State.FAILED_MANUAL)]


def test_each_subject_has_a_queue_of_its_own() -> None:
    with World(replicas=2) as world:
        job = bill(
            each={"tenant": ("a", "b", "c")},
            trigger=Every(period=MINUTE),
            catch_up=CatchUp(missed="all", max_delay=10 * MINUTE),
        )
        world.job(job, sleeping(world, "bill", "2s"))
        world.advance("65s")
        down(world, "24m")
        world.advance("2m")
        for subject in ("tenant=a", "tenant=b", "tenant=c"):
            done = ran(world, subject)
            assert done == sorted(done)
            assert len([at for at in done if at > START + 2 * MINUTE]) >= 10, "all that were within the limit"
            assert overlapping(world, subject) == []
        late = [row for row in world.rows("bill") if row.code == "limit_passed"]
        assert {row.state for row in late} == {State.FAILED_MANUAL}
        assert len(late) + len([row for row in world.rows("bill") if row.state is State.SUCCESS]) == len(
            [row for row in world.rows("bill") if not row.frontier]
        )


def test_a_round_that_lasts_longer_than_its_period_delays_the_others_and_skips_none() -> None:
    with World(replicas=2) as world:
        world.job(bill(), sleeping(world, "bill", "7s"))
        world.advance("61s")
        assert ran(world) == [START + n * 5 * SECOND for n in range(1, 1 + len(ran(world)))]
        assert len(ran(world)) == 7
        assert overlapping(world) == []
        waiting = [row for row in world.rows("bill") if row.code == "slot_wait"]
        assert {row.state for row in waiting} == {State.PENDING}
        assert len([row for row in world.rows("bill") if row.frontier]) == 1, "the series goes on meanwhile"


def test_a_round_whose_turn_never_came_does_not_go_on_by_itself() -> None:
    with World(replicas=2) as world:
        world.job(bill(catch_up=CatchUp(missed="all", max_delay=12 * SECOND)), sleeping(world, "bill", "8s"))
        world.advance("61s")
        late = [row for row in world.rows("bill") if row.code == "limit_passed"]
        assert late
        for told in (why(world.store, occurrence_id=row.id) for row in late):
            assert (
                "waited for the rounds before it to end, and had not had its turn when its catch-up limit ended"
                in told.sentence
            )
            assert "goes on by itself" not in told.remedy
            assert "noonmark" in told.remedy


def test_a_hundred_rounds_that_wait_are_not_looked_at_over_and_over() -> None:
    with World(replicas=1) as world:
        world.job(bill(catch_up=CatchUp(missed="all", max_delay=24 * HOUR)), sleeping(world, "bill", "4s"))
        world.advance("6s")
        down(world, "500s")
        world.advance("200s")
        rows = world.rows("bill")
        looks = sum(line.count for row in rows for line in _story(world, row.id) if line.event in ("park", "start"))
        assert len([row for row in rows if row.code == "slot_wait"]) > 50
        assert looks < 3 * len(rows), "one look when it is due, one when its turn comes, hardly any between"


def _story(world: World, row_id: int) -> tuple[Any, ...]:
    story = world.store.story(row_id)
    assert story is not None
    return tuple(story.ledger)


def test_a_round_whose_turn_never_comes_within_its_limit_is_missed_and_the_next_in_the_queue_runs() -> None:
    with World(replicas=1) as world:
        catch_up = CatchUp(missed="all", max_delay=12 * SECOND)
        world.job(bill(catch_up=catch_up), sleeping(world, "bill", "11s"))
        world.advance("120s")
        missed = [row for row in world.rows("bill") if row.code == "limit_passed"]
        assert missed
        done = sorted(row.ended_at or 0 for row in world.rows("bill") if row.state is State.SUCCESS)
        starts = sorted(row.started_at or 0 for row in world.rows("bill") if row.started_at is not None)
        for end in done[:-1]:
            assert min(at - end for at in starts if at >= end) < SECOND, "somebody follows at once"


def test_three_rounds_that_wait_for_one_flag_run_oldest_first() -> None:
    with World(replicas=1) as world:
        job = bill(trigger=Every(period=MINUTE), depends_on=(FlagSet(flag="data"),))
        world.job(job, sleeping(world, "bill", "2s"))
        world.advance("3m10s")
        world.signal("data")
        world.advance("15s")
        assert ran(world) == [START + n * MINUTE for n in (1, 2, 3)]


def test_the_newest_of_three_that_wait_for_one_flag_runs_where_only_the_latest_is_wanted() -> None:
    with World(replicas=1) as world:
        job = bill(
            trigger=Every(period=MINUTE),
            depends_on=(FlagSet(flag="data"),),
            catch_up=CatchUp(missed="latest", max_delay=HOUR),
        )
        world.job(job, sleeping(world, "bill", "2s"))
        world.advance("3m10s")
        world.signal("data")
        world.advance("15s")
        assert ran(world) == [START + 3 * MINUTE]
        assert [row.code for row in world.rows("bill") if row.state is State.SKIPPED] == ["slot_taken", "slot_taken"]


def test_a_row_that_waits_for_its_turn_can_be_cancelled_and_holds_nobody_up() -> None:
    with World(replicas=1) as world:
        world.job(bill(), sleeping(world, "bill", "12s"))
        world.advance("16s")
        waiting = [row for row in world.rows("bill") if row.code == "slot_wait"]
        assert len(waiting) == 2
        world.store.act("cancel", Act(kind="cancel", actor="mia", reason="not this one", occurrence_id=waiting[0].id))
        world.advance("5s")
        (running,) = world.store.occurrences(Query(job="bill", states=frozenset({State.RUNNING})))
        assert running.id == waiting[1].id
