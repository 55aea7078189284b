"""A scheduler's workers: in this process, or beside a web server.

Rule of the file: assembly only; how to work is the engine's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import noonmark
from noonmark import wiring
from noonmark.door.words import micros
from noonmark.engine.registry import Registry
from noonmark.engine.signals import Observer
from noonmark.engine.statefolder import root_of
from noonmark.engine.worker import Worker
from noonmark.ports.store import StoreUnreachable
from noonmark.rules.parts import Length

if TYPE_CHECKING:
    from noonmark.door.scheduler import Scheduler


def make_registry(scheduler: Scheduler) -> Registry:
    """Return which function runs which job: the code's, where it lends one, else what the file names."""
    registry, rules = Registry(), scheduler.rules
    for name, job in rules.jobs.items():
        function = rules.functions.get(name)
        if function is None:
            registry.declare(job)
        else:
            registry.add(job, function)
    return registry


def make_worker(
    scheduler: Scheduler,
    *,
    concurrency: int,
    name: str,
    grace: Length,
    observer: Observer | None,
    state: str | os.PathLike[str] | None = None,
) -> Worker:
    """Return a worker for every job of the scheduler, on the scheduler's store.

    A store that cannot serve is told at once; one that is away is the worker's to wait for.
    """
    with contextlib.suppress(StoreUnreachable):
        _ = scheduler.store
    return Worker(
        lambda: scheduler.store,
        make_registry(scheduler),
        clock=scheduler.clock,
        name=name,
        concurrency=concurrency,
        grace=micros(grace, "grace"),
        observer=observer,
        version=noonmark.__version__,
        lock_source=wiring.lock_source(scheduler.url),
        state=None if scheduler.url.startswith("memory:") else root_of(state),
    )


@asynccontextmanager
async def lifespan(scheduler: Scheduler, grace: Length) -> AsyncIterator[None]:
    """Run a worker for as long as the web application lives, in threads of its own: no request waits for a job."""
    worker = scheduler.worker(grace=grace)
    worker.start()
    try:
        yield
    finally:
        await asyncio.to_thread(worker.stop)
        scheduler.close()
