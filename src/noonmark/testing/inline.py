"""The engine's surroundings without threads: a gate that calls the store at once, an executor on the caller's loop.

Rule of the file: nothing waits in real time, and every fault is asked for by name.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import ParamSpec, TypeVar

from noonmark.core.model import Micros
from noonmark.engine.callbacks import Callbacks
from noonmark.engine.errors import GateClosed
from noonmark.engine.executor import Inbox, execute_async, execute_sync, silent_end
from noonmark.engine.gate import Away, Outage, backoff
from noonmark.engine.points import Point, reach
from noonmark.engine.runs import Run
from noonmark.ports.clock import Clock
from noonmark.ports.store import StoreError, StoreUnreachable, StoreUnusable

P = ParamSpec("P")
T = TypeVar("T")


class DirectGate:
    """A gate without a thread: verbs are called at once, with a little virtual latency around them."""

    def __init__(self, clock: Clock, dice: random.Random, latency: Micros) -> None:
        self._dice = dice
        self.latency = latency
        self._outage = Outage(clock, None)
        self._before: dict[str, list[Callable[[], None]]] = defaultdict(list)
        self._failures = 0
        self._lost_replies = 0
        self.is_dead = False
        self.gives_way = True
        """False: a call that takes no time lets nothing else of its replica get in between, which costs less."""
        self.calls: list[str] = []

    @property
    def away_since(self) -> Micros | None:
        """Boot-clock moment since which the store does not answer, None while it does."""
        return self._outage.since

    def over(self) -> list[Away]:
        """Return, once each, the times when the store was away that are over."""
        return self._outage.over()

    def before(self, verb: str, act: Callable[[], None]) -> None:
        """Do something at the very moment before the next call of a verb."""
        self._before[verb].append(act)

    def fail(self, calls: int) -> None:
        """Let the next calls fail as if the store were away."""
        self._failures += calls

    def lose_replies(self, calls: int) -> None:
        """Let the next calls be carried out, but their answers be lost."""
        self._lost_replies += calls

    async def call(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out one verb, repeating it while the store is away."""
        failures = 0
        while True:
            await self._travel()
            self._outage.asks()
            try:
                answer = self._do(verb, *args, **kwargs)
            except StoreUnusable:
                raise
            except StoreError as error:
                self._outage.failed(error)
                await asyncio.sleep(backoff(failures, self._dice.random()))
                failures += 1
                continue
            self._outage.answered()
            await self._travel()
            return answer

    async def _travel(self) -> None:
        length = self._dice.random() * self.latency
        if length >= 1:
            await asyncio.sleep(length / 1e6)
        elif self.gives_way:
            await asyncio.sleep(0)

    def submit(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Carry out one verb for a job; the future is done."""
        future: Future[T] = Future()
        try:
            future.set_result(self._do(verb, *args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def _do(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.is_dead:
            raise GateClosed("this replica was killed")
        name = getattr(verb, "__name__", "?")
        self.calls.append(name)
        if self._before[name]:
            self._before[name].pop(0)()
        if self._failures:
            self._failures -= 1
            raise StoreUnreachable("the virtual store is away")
        answer = verb(*args, **kwargs)
        reach(Point.APPLIED)
        if self._lost_replies:
            self._lost_replies -= 1
            raise StoreUnreachable("the answer was lost")
        return answer


class InlineExecutor:
    """Runs jobs as tasks on the replica's own loop; a sync job takes no virtual time."""

    def __init__(self, inbox: Inbox, callbacks: Callbacks) -> None:
        self._inbox = inbox
        self._callbacks = callbacks

    def start(self, runs: Sequence[Run]) -> None:
        """Begin these runs."""
        for run in runs:
            run.handle = task = asyncio.get_running_loop().create_task(self._drive(run))
            task.add_done_callback(partial(self._ended, run))

    def _ended(self, run: Run, task: asyncio.Task[None]) -> None:
        finish = silent_end(run, task)
        if finish is not None:
            self._inbox.put(finish)
            self._inbox.flush()

    def stop(self, run: Run) -> None:
        """Cancel the run's task."""
        run.lost = run.lost or run.stop_reason == "lost"
        if run.handle is not None:
            run.handle.cancel()

    def close(self) -> None:
        """Nothing to give back."""

    async def _drive(self, run: Run) -> None:
        if run.handler.kind == "async":
            self._inbox.put(await execute_async(run, self._callbacks))
        else:
            self._inbox.put(execute_sync(run, self._callbacks))
        self._inbox.flush()
