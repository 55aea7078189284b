"""What the jobs of a world do when they run: they write to the effect ledger, take their time, fail, hang or kill.

Rule of the file: a body behaves by dice that depend on the seed, its key and its attempt only, so that a replay with
fewer faults meets the same body; it knows of noonmark only its context.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from noonmark.core.model import HOUR, SECOND
from noonmark.engine.context import Context
from noonmark.sim.history import Effect
from noonmark.sim.zoo import Specimen

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld


PROBES_AWAY, PROBES_LIE = 0.1, 0.2
"""Shares of the questions whether an effect came about."""


def body_of(world: SimWorld, specimen: Specimen) -> Callable[..., Any]:
    """Return the function that a world's workers run for a job."""
    body = specimen.body

    async def job(ctx: Context) -> None:
        dice = random.Random(f"{world.seed} {ctx.key} {ctx.attempt}")
        ledger = _Pen(world, ctx)
        ledger.write("start")
        ledger.register()
        length = dice.randrange(body.shortest, max(body.longest, body.shortest + 1))
        try:
            for number in range(body.steps):
                await ctx.step(f"step-{number}", lambda number=number: ledger.write(f"step:{number}"))
            if dice.random() < body.kills:
                world.die_here()
            await asyncio.sleep((HOUR if dice.random() < body.hangs else length) / SECOND)
            if body.has_once:
                await ctx.once("letter", lambda: ledger.write("once:letter"), check=lambda: ledger.probe("once:letter"))
            if dice.random() < body.fails:
                raise RuntimeError("the dice said so")
        except asyncio.CancelledError:
            ledger.write("stop")
            raise
        except RuntimeError:
            ledger.write("fail")
            raise
        ledger.change()
        ledger.write("end")

    return job


class _Pen:
    """One attempt's way to the outside: the effect ledger, and a thing that checks fences."""

    def __init__(self, world: SimWorld, ctx: Context) -> None:
        self._world = world
        self._ctx = ctx
        here = world.here
        self._who = "?" if here is None else here.info.id

    def write(self, phase: str, *, accepted: bool = True) -> None:
        """Write a line."""
        ctx = self._ctx
        self._world.record(
            Effect(
                at=self._world.store.now(),
                who=self._who,
                job=ctx.job,
                key=ctx.key,
                occurrence_id=int(ctx.run_id[1:]),
                fence=ctx.fence,
                attempt=ctx.attempt,
                phase=phase,
                accepted=accepted,
            )
        )

    def probe(self, phase: str) -> bool:
        """Ask the outside whether an effect was caused, by whichever attempt; it may not answer, and it may lie."""
        drawn = random.Random(f"{self._world.seed} probe {self._ctx.key} {self._ctx.attempt}").random()
        is_there = any(effect.key == self._ctx.key and effect.phase == phase for effect in self._world.history.effects)
        if drawn < PROBES_AWAY:
            self._world.struck("probe away")
            raise RuntimeError("the outside does not answer")
        if drawn < PROBES_AWAY + PROBES_LIE:
            self._world.struck("probe lied")
            return not is_there
        return is_there

    def register(self) -> None:
        """Read the thing outside, which remembers the highest fence it has seen."""
        fences = self._world.fences
        fences[self._ctx.run_id] = max(fences.get(self._ctx.run_id, 0), self._ctx.fence)

    def change(self) -> None:
        """Write to the thing outside, which refuses fences that are old."""
        self.write("write", accepted=self._ctx.fence >= self._world.fences[self._ctx.run_id])
