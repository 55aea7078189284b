"""The jobs that the benchmarks run.  ``NOONMARK_URL`` says where, ``BENCH_STARTS`` where to note each start."""

from __future__ import annotations

import os
import time
from typing import Any

from noonmark import Scheduler, every, manual
from noonmark.engine import chain, loop
from noonmark.ports.store import Store


class _Unproved(chain.ChainedStore):
    """The same store without the guard against rollbacks, to measure what the guard costs."""

    def __init__(self, store: Store, *args: Any, **more: Any) -> None:
        super().__init__(store, *args, **more)
        self._proves = False


if os.environ.get("BENCH_NO_GUARD"):
    vars(loop)["ChainedStore"] = _Unproved
sched = Scheduler()
_starts = os.environ.get("BENCH_STARTS")
_out = os.open(_starts, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if _starts else None


@sched.job(manual(), reason="A body that does nothing, to measure everything around it.")
async def noop() -> None:
    """Do nothing."""


@sched.job(manual(), reason="Notes when it started, to measure lateness.")
async def stamp(due: int) -> None:
    """Append the due moment and the moment of the start, both in wall-clock microseconds."""
    if _out is not None:
        os.write(_out, f"{due} {time.time_ns() // 1000}\n".encode())


for _number in range(int(os.environ.get("BENCH_SCHEDULES", "0"))):

    def _daily() -> None:
        """Be registered."""

    sched.job(every("1d"), name=f"daily-{_number}", reason="One of very many schedules that have nothing to do.")(
        _daily
    )
