"""Jobs that leave a trace with a time, and the worker process that runs them: ``python awayjobs.py URL``.

A trace is one line ``name key fence pid moment``; the moment is of the monotonic clock, which all processes of one
machine share and no fault of a store or a wall clock can touch.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import time
from typing import Any

from noonmark.core.model import MINUTE, SECOND, CatchUp, Every, Job, Manual
from noonmark.engine.context import Context, ContextSync
from noonmark.engine.registry import Registry
from noonmark.engine.worker import Worker
from noonmark.ports.store import Store
from noonmark.wiring import open_store

LEASE = int(os.environ.get("LEASE", 30 * SECOND))
"""Longer than every outage of the tests, so that a second effect can only be a fault."""


def skew(seconds: float) -> None:
    """Set this process's wall clock wrong, for every Python code in it."""
    right, right_ns = time.time, time.time_ns  # noqa: TID251 - what is to be wrong
    time.time = lambda: right() + seconds  # noqa: TID251
    time.time_ns = lambda: right_ns() + int(seconds * 1e9)


def trace(name: str, ctx: Context | ContextSync) -> None:
    """Leave a line that no store can touch; one write, so that lines of several processes do not mix."""
    line = f"{name} {ctx.key} {ctx.fence} {os.getpid()} {time.monotonic():.4f}\n"
    log = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND)
    os.write(log, line.encode())
    os.close(log)


def beat(ctx: ContextSync) -> None:
    """Come every second."""
    trace("beat", ctx)


def once(ctx: ContextSync) -> None:
    """Come once, later."""
    trace("once", ctx)


def own(ctx: ContextSync) -> None:
    """Come every second on every worker."""
    trace("own", ctx)


async def long(ctx: Context, seconds: float) -> None:
    """Take longer than an outage."""
    trace("begin", ctx)
    await asyncio.sleep(seconds)
    trace("end", ctx)


def job(name: str, **fields: Any) -> Job:
    """Make a job."""
    return Job(**{"name": name, "trigger": Manual(), "reason": "a test", "lease": LEASE, **fields})


BEAT = job("beat", trigger=Every(period=SECOND), key="beat:{scheduled_for}", catch_up=CatchUp(max_delay=MINUTE))
ONCE = job("once", key="once:{params.n}")
LONG = job("long", key="long:{params.n}")
OWN = job("own", trigger=Every(period=SECOND), scope="each_worker", key="own:{worker}:{scheduled_for}")


def main() -> None:
    """Run a worker until it is told to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--jobs", default="beat,once,long")
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--ttl", type=float, default=30.0)
    parser.add_argument("--skew", type=float, default=0.0)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(levelname)s %(message)s")
    logging.getLogger("noonmark.run").setLevel(logging.WARNING)
    registry = Registry()
    for declared, fn in ((BEAT, beat), (ONCE, once), (LONG, long), (OWN, own)):
        if declared.name in options.jobs.split(","):
            registry.add(declared, fn)
    skew(options.skew)
    opened: list[Store] = []

    def open_it() -> Store:
        opened.append(open_store(options.url))
        return opened[-1]

    try:
        Worker(
            open_it,
            registry,
            concurrency=options.concurrency,
            grace=SECOND // 2,
            heartbeat_ttl=int(options.ttl * SECOND),
        ).run()
    finally:
        for store in opened:
            store.close()


if __name__ == "__main__":
    main()
