"""The outside locks of jobs: asked for when nothing else stands in the way of a start, held until the run has ended.

Promises: a run of a job with a lock starts only while this worker holds that lock; a lock that was taken for a start that
did not happen is given back; a lock service that is slow or away delays other jobs by at most ``PATIENCE``, and then not
again for a while.

Rule of the file: belongs to the engine's loop; what blocks runs on threads of its own (or, in the virtual world, at once).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from noonmark.core.conditions import lock_name
from noonmark.core.model import SECOND, Fact, Job, LockRule, Micros, Occurrence
from noonmark.engine.points import Point, reach
from noonmark.engine.registry import Handler
from noonmark.engine.runs import Run
from noonmark.ports.clock import Clock
from noonmark.ports.lock import KeptLock, LockError, LockSource

T = TypeVar("T")

PATIENCE: Micros = SECOND
"""How long a look waits for a lock service; the rest of its batch waits with it."""
MUTE: Micros = 5 * SECOND
"""How long a service that did not answer in time is not asked again."""
_THREADS = 8
_NO_SOURCE = "this worker was started without a way to outside locks"
_LOG = logging.getLogger("noonmark.engine")


class Hold:
    """One lock that was taken for one row; ``run`` is set when the row's run begins."""

    __slots__ = ("kept", "name", "run", "was_lost")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kept: KeptLock | None = None
        self.run: Run | None = None
        self.was_lost = False

    @property
    def is_ours(self) -> bool:
        """True while a run may start, or go on, under it."""
        return self.kept is not None and not self.was_lost and not self.kept.lost

    @property
    def fence(self) -> int:
        """The lock's fence."""
        return self.kept.fence if self.kept is not None else 0


class Wish(Protocol):
    """A looked row that needs its job's lock."""

    row: Occurrence
    job: Job | None
    hold: Hold | None
    known: dict[str, Fact]
    handler: Handler | None

    @property
    def lock_fact(self) -> str:
        """The fact that stands for the lock."""
        ...


class JobLocks:
    """Asks for the locks of looked rows and gives them back.

    Args:
        source: where locks come from, None where there is no way to any.
        on_lost: told, on the engine's loop, of a hold that was lost.
        in_loop: how to get from any thread to the engine's loop.
        inline: call the source at once, on the loop itself.
    """

    def __init__(
        self,
        source: LockSource | None,
        clock: Clock,
        *,
        on_lost: Callable[[Hold], None],
        in_loop: Callable[..., None],
        inline: bool = False,
    ) -> None:
        self._source = source
        self._clock = clock
        self._on_lost = on_lost
        self._in_loop = in_loop
        self._inline = inline
        self._pool: ThreadPoolExecutor | None = None
        self._mute: dict[tuple[str, str], Micros] = {}  # where -> boot clock

    async def ask_for(self, wishes: Sequence[Wish], stored: Mapping[str, Fact]) -> None:
        """Ask for the locks of these rows; rows that want the same one ask one after the other, the oldest first.

        Args:
            stored: the facts of these names as the store had them before; whoever finds a lock taken waits for theirs to
                move.
        """
        rows: dict[str, list[Wish]] = {}
        for wish in sorted(wishes, key=lambda wish: (wish.row.scheduled_for, wish.row.id)):
            rows.setdefault(wish.lock_fact, []).append(wish)
        await asyncio.gather(*(self._ask_in_turn(turn, stored.get(name)) for name, turn in rows.items()))

    async def _ask_in_turn(self, wishes: Sequence[Wish], freed: Fact | None) -> None:
        for wish in wishes:
            if wish.handler is None:  # it cannot start here, so nobody outside is kept waiting for it
                wish.known[wish.lock_fact] = Fact(name=wish.lock_fact)
            elif wish.job is not None and wish.job.lock is not None:
                fact, wish.hold = await self.ask(wish.job.lock, wish.lock_fact, wish.hold)
                version, set_at = (0, None) if freed is None else (freed.version, freed.set_at)
                wish.known[fact.name] = replace(fact, version=version, set_at=set_at)

    async def ask(self, rule: LockRule, fact: str, before: Hold | None) -> tuple[Fact, Hold | None]:
        """Return the fact that ``decide`` wants, and the lock if it is ours now.

        Args:
            rule: the job's lock.
            fact: its name, see ``core/conditions.py``.
            before: what an earlier round of the same look took; it is kept if it is still ours.
        """
        if self._source is None:
            return _away(fact, "", _NO_SOURCE), None
        at = self._source.place(rule)
        if before is not None and before.is_ours:
            return _ours(fact, at, before), before
        if before is not None:
            self.free(before)
        where = (rule.kind, rule.at)
        if self._clock.boot() < self._mute.get(where, 0):
            return _away(fact, at, "it did not answer in time and is asked again in a few seconds"), None
        hold, source = Hold(lock_name(fact)), self._source
        future = self._submit(lambda: source.keep(rule, hold.name, lambda: self._in_loop(self._lost, hold)))
        try:
            hold.kept = await self._answer(future)
        except TimeoutError:
            self._mute[where] = self._clock.boot() + MUTE
            if not future.cancel():  # it was begun
                future.add_done_callback(_give_back_late)
            return _away(fact, at, f"no answer within {PATIENCE / 1e6:g} s"), None
        except LockError as error:
            return _away(fact, at, str(error)), None
        except asyncio.CancelledError:
            future.add_done_callback(_give_back_late)
            raise
        except Exception as error:  # a fault of a driver: the row waits, with the reason, and nothing else does
            _LOG.exception("the lock %s could not be asked for", hold.name)
            return _away(fact, at, f"{type(error).__name__}: {error}"), None
        if hold.kept is None:
            return Fact(name=fact, value={"state": "taken", "at": at}), None
        try:
            reach(Point.LOCK_HELD)
            return _ours(fact, at, hold), hold
        except Exception:  # whoever asked hears of no lock, so nobody else would give it back
            self.free(hold)
            raise

    def free(self, hold: Hold) -> None:
        """Give a lock back, some time soon: after its run, or because no run came of it."""
        kept, hold.kept = hold.kept, None
        if kept is None:
            return
        if hold.run is not None and hold.run.abandoned:
            # Its code may still be at work: the lock is left to its ttl.
            self._submit(kept.abandon)
            return
        name = hold.name
        self._submit(kept.release).add_done_callback(lambda done: _say_freed(name, done))

    def close(self) -> None:
        """Wait for what is being given back, and end the threads."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    # -- the way to the source ------------------------------------------------------------------------

    def _lost(self, hold: Hold) -> None:
        hold.was_lost = True
        if hold.kept is not None:
            self._on_lost(hold)

    def _submit(self, call: Callable[[], T]) -> Future[T]:
        if not self._inline:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="noonmark-job-locks")
            return self._pool.submit(call)
        future: Future[T] = Future()
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)
        return future

    async def _answer(self, future: Future[T]) -> T:
        if future.done():
            return future.result()
        # Not cancelled when the time is over: what it still brings is given back.
        wrapped = asyncio.wrap_future(future)
        wrapped.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody may be waiting by then
        return await asyncio.wait_for(asyncio.shield(wrapped), PATIENCE / 1e6)


def _ours(fact: str, at: str, hold: Hold) -> Fact:
    return Fact(name=fact, value={"state": "ours", "at": at, "fence": hold.fence})


def _away(fact: str, at: str, error: str) -> Fact:
    return Fact(name=fact, value={"state": "away", "at": at, "error": error[:300]})


def _give_back_late(done: Future[Any]) -> None:
    """Free what came after nobody waited for it any more; called where it came, which may block."""
    if done.cancelled() or done.exception() is not None or done.result() is None:
        return
    try:
        done.result().release()
    except LockError as error:
        _LOG.warning("a lock that came too late could not be given back (%s); it frees itself", error)


def _say_freed(name: str, done: Future[Any]) -> None:
    error = done.exception() if not done.cancelled() else None
    if error is not None:
        _LOG.warning("the lock %s could not be given back (%s); it frees itself within its ttl", name, error)
