"""The worker program of the fault suite: the public door's worker, and what is to befall it.

``python -m faults.worker URL [--name N] [--lease 3s] [--clock PLAN] [--strike POINT=KIND]``

A clock plan sets this process's wall clock wrong: ``-300`` · ``0@0,300@4,-300@8`` (offset from so many seconds on) ·
``drift:0.02`` (seconds per second).  Rule of the file: it may not use what an earlier version of noonmark lacks, unless
it is asked to.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence

from faults import jobs
from noonmark import Scheduler


def load() -> None:
    """Import what every worker needs, so that forks need not."""
    import noonmark.door.running
    import noonmark.stores.postgres
    import noonmark.stores.redis
    import noonmark.stores.sqlite  # noqa: F401


def main(argv: Sequence[str] | None = None) -> int:
    """Run a worker until it is told to stop; return its exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--name", default="")
    parser.add_argument("--lease", default="3s")
    parser.add_argument("--grace", default="1s")
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--no-ticks", action="store_true")
    parser.add_argument("--clock", default="")
    parser.add_argument("--strike", default="")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(levelname)s %(message)s")
    logging.getLogger("noonmark.run").setLevel(logging.WARNING)
    faulthandler.register(signal.SIGUSR2, all_threads=True)  # a cell asks where we are when we do not come
    if "FAKETIME_DONT_FAKE_MONOTONIC" in os.environ:
        setattr(time, "sleep", jobs.pause)  # noqa: B010 - libfaketime breaks it on Python 3.11 and later; waiting for an event it leaves alone
    if options.clock:
        set_wrong(options.clock)
    if options.strike:
        point, _, kind = options.strike.partition("=")
        strike(point, kind)
    sched = Scheduler(options.url, rules=False)
    jobs.declare(sched, lease=options.lease)
    if not options.no_ticks:
        jobs.declare_ticks(sched, size=options.size)
    try:
        sched.worker(concurrency=options.concurrency, name=options.name, grace=options.grace).run()
    finally:
        sched.close()
    return 0


def set_wrong(plan: str) -> None:
    """Set this process's wall clock wrong, for every Python code in it."""
    right, right_ns, began = time.time, time.time_ns, time.monotonic()  # noqa: TID251 - what is to be wrong
    offset = read_plan(plan)
    time.time = lambda: right() + offset(time.monotonic() - began)  # noqa: TID251
    time.time_ns = lambda: right_ns() + int(offset(time.monotonic() - began) * 1e9)


def read_plan(plan: str) -> Callable[[float], float]:
    """Return the offset, in seconds, as a function of the seconds since the beginning."""
    if plan.startswith("drift:"):
        rate = float(plan.partition(":")[2])
        return lambda age: age * rate
    steps = [(float(at or 0), float(by)) for by, _, at in (step.partition("@") for step in plan.split(","))]
    return lambda age: next(by for at, by in reversed([(0.0, 0.0), *steps]) if age >= at)


def strike(wanted: str, kind: str) -> None:
    """Have this process struck when it first passes a named point of the engine: ``kill`` or ``term``."""
    from noonmark.engine import points

    number = {"kill": signal.SIGKILL, "term": signal.SIGTERM}[kind]
    struck: list[str] = []

    def strikes(point: points.Point) -> None:
        if point.value == wanted and not struck:
            struck.append(wanted)
            os.kill(os.getpid(), number)

    points.install(strikes)


if __name__ == "__main__":
    raise SystemExit(main())
