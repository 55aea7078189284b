"""An effect whose outcome nobody knew is caused again when a person says so, once for each time that he says it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from noonmark.core.model import SECOND, Act, Job, Retry, State
from noonmark.engine.context import Context
from noonmark.engine.journal import intended, intent_name
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

MakeWorld = Callable[..., World]
JOB = make_job("pay", lease=10 * SECOND, timeout=1200 * SECOND, retry=Retry(max=2, base=SECOND, jitter=0))


class Paying:
    """A job that charges a card once; its worker dies in the middle of the first ``hangs`` charges."""

    def __init__(self, world: World, *, check: Callable[[], Any] | None = None, hangs: int = 1) -> None:
        self.world, self.left = world, hangs

        async def charge() -> str:
            world.effect("charge")
            self.left -= 1
            if self.left >= 0:
                await asyncio.sleep(600)
            return "receipt"

        async def pay(ctx: Context) -> Any:
            return await ctx.once("charge", charge, check=check)

        job: Job = JOB
        world.job(job, pay)
        world.advance("100ms")
        self.id = world.later(job, "1s")
        world.until(lambda: self.charges == 1, at_most="1m")

    @property
    def charges(self) -> int:
        return self.world.effect_names().count("charge")

    @property
    def state(self) -> State:
        return self.world.row(self.id).state

    def die(self) -> None:
        """Kill whoever charges, and wait until a person is asked."""
        before, victim = self.charges, self.world.effects[-1].replica
        self.world.kill(victim)
        self.world.restart(victim)
        self.world.until(lambda: self.state is State.FAILED_MANUAL, at_most="3m")
        assert self.world.row(self.id).code == "effect_unknown"
        assert self.charges == before, "nobody had answered for it"

    def retry(self) -> None:
        act = Act(kind="retry", actor="ann", reason="the bank knows nothing of it", occurrence_id=self.id)
        assert self.world.store.act(f"again-{self.charges}", act).outcome == "done"


def test_a_persons_retry_causes_it_once_more(any_world: MakeWorld) -> None:
    paying = Paying(any_world(replicas=2))
    paying.die()
    paying.retry()
    paying.world.until(lambda: paying.state is State.SUCCESS, at_most="1m")
    assert paying.charges == 2
    assert paying.world.row(paying.id).result == '"receipt"'


def test_one_answer_is_for_one_try_if_that_dies_too_a_person_is_asked_again(any_world: MakeWorld) -> None:
    paying = Paying(any_world(replicas=2), hangs=3)
    for charges in (2, 3):
        paying.die()
        paying.retry()
        paying.world.until(lambda charges=charges: paying.charges == charges, at_most="1m")  # type: ignore[misc]
    paying.die()
    assert paying.charges == 3
    paying.retry()
    paying.world.until(lambda: paying.state is State.SUCCESS, at_most="1m")
    assert paying.charges == 4


def test_a_check_is_asked_first_for_it_may_have_come_about_since(make_world: MakeWorld) -> None:
    found: list[str] = []
    paying = Paying(make_world(replicas=2), check=lambda: found[0] if found else None)
    paying.die()
    found.append("came late")
    paying.retry()
    paying.world.until(lambda: paying.state is State.SUCCESS, at_most="1m")
    assert (paying.charges, paying.world.row(paying.id).result) == (1, '"came late"')


def test_a_check_that_finds_nothing_does_not_outdo_the_person(make_world: MakeWorld) -> None:
    paying = Paying(make_world(replicas=2), check=lambda: None)
    paying.die()
    paying.retry()
    paying.world.until(lambda: paying.state is State.SUCCESS, at_most="1m")
    assert paying.charges == 2


def test_a_retry_after_another_failure_is_no_answer(make_world: MakeWorld) -> None:
    world = make_world(replicas=1)

    async def pay(ctx: Context) -> None:
        async def charge() -> None:
            world.effect("charge")
            raise OSError("the line went dead")

        await ctx.once("charge", charge)

    job = make_job("pay", lease=10 * SECOND, retry=Retry(max=0))
    world.job(job, pay)
    world.advance("100ms")
    row_id = world.later(job, "1s")
    world.until(lambda: world.row(row_id).state is State.FAILED_MANUAL, at_most="1m")
    assert world.row(row_id).code == "failed_final", "nobody was told of the effect"
    world.store.act("again", Act(kind="retry", actor="ann", reason="", occurrence_id=row_id))
    world.until(lambda: world.row(row_id).code == "effect_unknown", at_most="1m")
    assert world.effect_names() == ["charge"]


@pytest.mark.parametrize("effect", ["pay", "", "a\x1f", "a\x1fb", "付款"])
def test_the_intents_of_an_effect_are_told_apart_and_belong_to_it(effect: str) -> None:
    names = [intent_name(effect, answers) for answers in range(3)]
    assert names[0] == effect, "as it was kept before there were answers"
    assert [intended(name) for name in names] == [(effect, 0), (effect, 1), (effect, 2)]


def test_an_effect_that_is_named_as_the_intent_of_another_is_told_apart_from_it() -> None:
    effect = intent_name("pay", 1)
    assert [intended(intent_name(effect, answers)) for answers in range(2)] == [(effect, 0), (effect, 1)]
