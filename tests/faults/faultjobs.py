"""Jobs that misbehave, and the worker process that runs them: ``python faultjobs.py URL [--grace SECONDS]``."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from noonmark.core.model import SECOND, Every, Job, Manual, Retry
from noonmark.engine.context import Context, ContextSync
from noonmark.engine.registry import Registry
from noonmark.engine.worker import Worker
from noonmark.wiring import open_store

LEASE = 1_500_000


def job(name: str, **fields: Any) -> Job:
    """Make a manual job with a short lease."""
    return Job(**{"name": name, "trigger": Manual(), "reason": "a test", "lease": LEASE, **fields})


def effect(name: str) -> None:
    """Leave a trace that survives every kind of death."""
    with open(os.environ["EFFECTS"], "a", encoding="utf-8") as log:
        log.write(f"{name} {os.getpid()}\n")


def count(name: str) -> int:
    """Return how often something was traced."""
    return Path(os.environ["EFFECTS"]).read_text(encoding="utf-8").count(name)


async def steps(ctx: Context) -> str:
    """Fetch once, then take long the first time."""
    token = await ctx.step("fetch", lambda: [effect("fetch"), "token"][1])
    effect("working")
    if ctx.attempt == 1:
        await asyncio.sleep(60)
    effect("sent")
    return str(token)


def stuck(ctx: ContextSync) -> str:
    """Sleep through the own lease and return a result all the same (the first attempt only)."""
    effect(f"begin-{ctx.attempt}")
    if ctx.attempt == 1:
        time.sleep(1.0)
    effect(f"end-{ctx.attempt}")
    return f"attempt {ctx.attempt}"


async def blocker() -> None:
    """Block the loop of the jobs for longer than a lease."""
    effect("block")
    time.sleep(3.5)  # noqa: ASYNC251 - this is the fault
    effect("unblock")


def quick() -> None:
    """Be done at once."""
    effect("quick")


async def long() -> None:
    """Take long, unless it was begun before."""
    effect("long")
    if count("long") == 1:
        await asyncio.sleep(60)


async def attentive() -> None:
    """Say when the run is cancelled; be quick the second time."""
    effect("attentive")
    if count("attentive") == 1:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            effect("cancelled")
            raise


def family() -> None:
    """Have a child that would outlive us."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", stubborn])
    effect(f"child {child.pid}")
    child.wait()


JOBS: list[tuple[Job, Any]] = [
    (job("steps"), steps),
    (job("stuck"), stuck),
    (job("blocker"), blocker),
    (job("quick"), quick),
    (job("long"), long),
    (job("attentive"), attentive),
    (job("family", isolation="process", retry=Retry(max=0)), family),
    (job("tick", trigger=Every(period=SECOND)), quick),
]


def main() -> None:
    """Run a worker until it is told to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--grace", type=float, default=0.5)
    parser.add_argument("--jobs", default="steps,stuck,blocker,quick,long,attentive,family")
    options = parser.parse_args()
    registry = Registry()
    for declared, fn in JOBS:
        if declared.name in options.jobs.split(","):
            registry.add(declared, fn)
    store = open_store(options.url)
    try:
        Worker(store, registry, concurrency=options.concurrency, grace=int(options.grace * SECOND)).run()
    finally:
        store.close()


if __name__ == "__main__":
    main()
