"""Who waits for an overlap slot is woken when it is left, and does not ask in vain until then."""

from __future__ import annotations

from noonmark.core.model import HOUR, MINUTE, SECOND, Act, Every, Query, Retry, State
from noonmark.testing.builders import make_job
from noonmark.testing.world import World, sleeping


def test_a_retried_round_starts_the_moment_the_round_in_its_way_ends() -> None:
    with World(replicas=2, start=1_800_000_000 * SECOND // HOUR * HOUR) as world:
        job = make_job(
            "round", trigger=Every(period=10 * MINUTE), key="round:{scheduled_for}", overlap="skip", retry=Retry(max=0)
        )
        fails = [True]
        run = sleeping(world, "round", "123.4s")

        async def first_fails() -> None:
            if fails:
                fails.clear()
                raise RuntimeError("boom")
            await run()

        world.job(job, first_fails)
        world.advance("10m10s")
        (failed,) = world.store.occurrences(Query(job="round", states=frozenset({State.FAILED_MANUAL})))
        world.until(lambda: any(row.state is State.RUNNING for row in world.rows("round")))
        (occupant,) = [row for row in world.rows("round") if row.state is State.RUNNING]
        world.store.act("retry", Act(kind="retry", actor="mia", reason="mended", occurrence_id=failed.id))
        world.advance("20s")
        waiting = world.row(failed.id)
        assert (waiting.state, waiting.code) == (State.PENDING, "slot_wait")
        world.until(lambda: world.row(occupant.id).state is State.SUCCESS)
        world.advance("1s")
        started, left = world.row(failed.id).started_at, world.row(occupant.id).ended_at
        assert started is not None
        assert left is not None
        assert 0 <= started - left < SECOND // 2
