"""What is too long for a store costs no run and no row beside it: it is recorded with less, or waits with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from noonmark.core.model import FACT_LIMIT, Every, FlagSet, Job, LockRule, Settled, Settlement, State
from noonmark.core.model import SECOND as S
from noonmark.core.wellformed import TooLarge
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

MakeWorld = Callable[..., World]
LONG = "x" * 3_000
NEEDS = FlagSet(flag="done:{url}", reason="a page is read once")


def ran(world: World, name: str) -> Callable[[], Any]:
    def job() -> None:
        world.effect(name)

    return job


def declared(world: World, name: str, **fields: Any) -> Job:
    job: Job = make_job(name, **fields)
    world.job(job, ran(world, name))
    return job


def test_a_flag_s_name_that_is_too_long_parks_its_own_row_with_the_reason(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    picky = declared(world, "picky", depends_on=(NEEDS,))
    plain = declared(world, "plain", depends_on=(FlagSet(flag="set", reason="a test needs it"),))
    world.advance("100ms")
    world.signal("set")
    stuck, free = world.later(picky, "1s", url=LONG), world.later(plain, "1s")
    world.advance("1500ms")
    assert world.row(free).state is State.SUCCESS, "it was looked at beside the other"
    row = world.row(stuck)
    assert (row.state, row.code) == (State.PENDING, "rule_unreadable")
    line = world.store.story(stuck).ledger[-1]  # type: ignore[union-attr]
    assert f"more than {FACT_LIMIT}" in line.detail


def test_a_lock_s_name_that_is_too_long_costs_no_other_row_its_round(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    needs = (FlagSet(flag="set", reason="a test needs it"),)
    picky = declared(world, "picky", depends_on=needs, lock=LockRule(name="page:{url}"))
    plain = declared(world, "plain", depends_on=needs)
    world.advance("100ms")
    world.signal("set")
    stuck, free = world.later(picky, "1s", url=LONG), world.later(plain, "1s")
    world.advance("1500ms")
    assert world.row(free).state is State.SUCCESS
    assert (world.row(stuck).state, world.row(stuck).code) == (State.PENDING, "rule_unreadable")


def test_what_a_store_refuses_of_a_look_costs_that_row_only(any_world: MakeWorld) -> None:
    """So many names that are each short enough are together more than a reason may hold."""
    world = any_world(replicas=1)
    many = tuple(FlagSet(flag=f"{number}:{{url}}", reason="a test needs it") for number in range(400))
    picky = declared(world, "picky", depends_on=many)
    plain = declared(world, "plain", depends_on=(FlagSet(flag="set", reason="a test needs it"),))
    world.advance("100ms")
    world.signal("set")
    stuck, free = world.later(picky, "1s", url="x" * 1_000), world.later(plain, "1s")
    world.advance("1500ms")
    assert world.row(free).state is State.SUCCESS
    row = world.row(stuck)
    assert (row.state, row.code) == (State.PENDING, "rule_unreadable")
    assert "TooLarge" in world.store.story(stuck).ledger[-1].detail  # type: ignore[union-attr]


def test_a_success_whose_result_grew_too_large_is_recorded_without_it_and_runs_once(any_world: MakeWorld) -> None:
    world = any_world(replicas=1)
    job: Job = make_job("work", trigger=Every(period=3_600 * S))

    def work() -> str:
        world.effect("ran")
        return "\ud800" * 60_000  # kept with its halves escaped, which takes twice the room

    world.job(job, work)
    world.advance("100ms")
    id_ = world.later(job, "1s")
    world.until(lambda: world.row(id_).state is State.SUCCESS, at_most="5m")
    assert world.effect_names() == ["ran"]
    row = world.row(id_)
    assert (row.code, row.result, row.takeovers) == ("result_not_stored", None, 0)
    fact = f"success:work::{row.business_date}"
    assert world.store.facts([fact])[fact].is_set, "what waits for it must not wait for ever"


@pytest.mark.parametrize("ok", [True, False])
def test_the_least_of_an_outcome_is_recorded_when_a_store_refuses_all_else(
    any_world: MakeWorld, monkeypatch: pytest.MonkeyPatch, ok: bool
) -> None:
    world = any_world(replicas=1)

    def work() -> None:
        world.effect("ran")
        if not ok:
            raise OSError("upstream is down")

    job: Job = make_job("work", trigger=Every(period=3_600 * S))
    world.job(job, work)
    world.advance("100ms")
    settle = world.store.settle

    def fussy(request_id: str, worker: str, items: list[Settlement], **rest: Any) -> list[Settled]:
        if any(item.facts or item.alerts or item.due_at is not None for item in items if item.lease == 0):
            raise TooLarge("a test refuses it")
        return list(settle(request_id, worker, items, **rest))

    monkeypatch.setattr(world.store, "settle", fussy)
    id_ = world.later(job, "1s")
    world.advance("3s")
    assert world.effect_names() == ["ran"]
    row = world.row(id_)
    assert row.state is (State.SUCCESS if ok else State.FAILED_MANUAL)
    assert row.takeovers == 0
