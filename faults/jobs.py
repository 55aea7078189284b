"""The jobs of the fault suite, as the peers were measured: a tick every 2 s, a long one with lines, ten delayed ones.

Rule of the file: declared through the public door, as a stranger would; every body leaves its effects out of the store's
reach.  Nothing here calls ``time.sleep``: under a false clock it fails on Python 3.11 and later.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import threading
from typing import Any

from faults.effects import leave
from noonmark import CatchUp, Context, ContextSync, LeaseLost, Scheduler, every, manual

PERIOD = 2
"""Seconds between ticks."""
LINES = 20
"""Lines of the long job, one each half second."""
POISON_LEASE = 1.0
"""Seconds of lease of the job that kills its worker."""
HUNGRY_LEASE = 2.0
"""Seconds of lease of the job that eats memory."""
FLAG = "fault_suite_goes_on"
"""A flag that is always set: what depends on it is looked at before it starts, instead of starting at once."""


def say(ctx: Context | ContextSync, phase: str) -> None:
    """Leave one effect of this run."""
    leave(phase, job=ctx.job, key=ctx.key, run_id=ctx.run_id, fence=ctx.fence, attempt=ctx.attempt)


def pause(seconds: float) -> None:
    """Sleep on the monotonic clock."""
    threading.Event().wait(seconds)


def lines(ctx: ContextSync, count: int) -> None:
    """Write progress as a copy that does not listen: after its lease is lost it goes on, and asks for every write."""
    for number in range(count):
        pause(0.5)
        say(ctx, "line")
        say(ctx, "asked")
        try:
            ctx.step(f"line-{ctx.fence}-{number}", lambda: None)
        except LeaseLost:
            say(ctx, "refused")
        else:
            say(ctx, "accepted")


def declare(sched: Scheduler, *, lease: str = "3s") -> None:
    """Declare every job of the suite but the ticks.

    Args:
        sched: where.
        lease: of the long job, whose takeover is measured; the others keep the product's default.
    """

    @sched.job(manual(), name="delayed", key="delayed:{n}", reason="One run, later.")
    def delayed(ctx: ContextSync, n: int) -> None:  # noqa: ARG001 - in the key
        say(ctx, "begin")
        say(ctx, "end")

    @sched.job(manual(), name="long", key="long:{n}", lease=lease, reason="Takes ten seconds, and says so.")
    def long(ctx: ContextSync, n: int) -> str:  # noqa: ARG001
        say(ctx, "begin")
        lines(ctx, LINES)
        say(ctx, "end")
        return f"attempt {ctx.attempt}"

    _declare_deadly(sched)
    _declare_victims(sched)


def declare_ticks(sched: Scheduler, *, size: int = 0) -> None:
    """Declare the schedules; each tick returns so many characters, to fill a disk with."""

    def body(ctx: ContextSync) -> str:
        say(ctx, "begin")
        say(ctx, "end")
        return secrets.token_hex(size // 2)  # not to be compressed

    for name, catch_up in (
        ("tick", CatchUp(missed="all", max_delay="60s")),
        ("latest", CatchUp(missed="latest", max_delay="60s")),
        ("skip", CatchUp(missed="skip", max_delay="2s")),
    ):
        word = sched.job(
            every(f"{PERIOD}s"),
            name=name,
            key=name + ":{scheduled_for}",
            overlap="allow",
            catch_up=catch_up,
            reason="A tick, as the peers had it.",
        )
        word(body)


def _declare_deadly(sched: Scheduler) -> None:
    @sched.job(manual(), name="poison", key="poison:{n}", lease=f"{POISON_LEASE:g}s", reason="Kills whoever takes it.")
    def poison(ctx: ContextSync, n: int) -> None:  # noqa: ARG001
        say(ctx, "begin")
        os.kill(os.getpid(), signal.SIGKILL)

    @sched.job(
        manual(), name="hungry", key="hungry:{n}", lease=f"{HUNGRY_LEASE:g}s", reason="Eats memory, the first time."
    )
    def hungry(ctx: ContextSync, n: int) -> None:  # noqa: ARG001
        say(ctx, "begin")
        eaten = []
        while ctx.attempt == 1:
            eaten.append(bytearray(os.urandom(1 << 20) * 8))
            pause(0.05)
        say(ctx, "end")


def _declare_victims(sched: Scheduler) -> None:
    """Jobs that pass the named points of the engine, each by a way of its own."""
    words: dict[str, Any] = {
        "lease": "1s",
        "max_takeovers": 50,
        "reason": "Passes the points at which a worker is struck.",
    }

    @sched.job(manual(), name="plain", key="plain:{n}", **words)
    def plain(ctx: ContextSync, n: str) -> None:  # noqa: ARG001
        say(ctx, "begin")
        say(ctx, "end")

    @sched.job(manual(), name="looked", key="looked:{n}", depends_on=[FLAG], **words)
    async def looked(ctx: Context, n: str) -> None:  # noqa: ARG001
        say(ctx, "begin")
        await asyncio.sleep(0.5)
        say(ctx, "end")

    @sched.job(manual(), name="locked", key="locked:{n}", lock={"name": "fault_suite", "ttl": "2s"}, **words)
    async def locked(ctx: Context, n: str) -> None:  # noqa: ARG001
        say(ctx, "begin")
        say(ctx, "end")

    @sched.job(manual(), name="steps", key="steps:{n}", **words)
    async def steps(ctx: Context, n: str) -> None:  # noqa: ARG001
        say(ctx, "begin")
        await ctx.once("pay", lambda: say(ctx, "paid"), check=lambda: True)
        await ctx.step("fetch", lambda: say(ctx, "fetched"))
        say(ctx, "end")

    @sched.job(manual(), name="slow", key="slow:{n}", **words)
    async def slow(ctx: Context, n: str) -> None:  # noqa: ARG001
        say(ctx, "begin")
        with contextlib.suppress(LeaseLost):
            await ctx.progress(1)
        if ctx.attempt == 1:
            await asyncio.sleep(3)
        say(ctx, "end")
