"""The one loop: take what is due, decide, run, settle.

Promises: never early by the store's clock; one long job, one lost store or one broken rule delays nothing else;
whatever this loop was doing when it died, the rows it held become due again by themselves.

Rule of the file: every step is a small named function, and nothing here knows a policy (that is ``core``), a thread or
the machine's time (those come in as gate, executor and clock, so that the virtual world runs this very code).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, cast

from noonmark.core import wellformed
from noonmark.core.model import (
    FAR,
    LOOK_LEASE,
    SECOND,
    Micros,
    Taken,
    WorkerInfo,
)
from noonmark.engine.adopting import Adopter
from noonmark.engine.chain import ChainedStore
from noonmark.engine.errors import GateClosed
from noonmark.engine.executor import Executor, Inbox
from noonmark.engine.farewell import Farewell
from noonmark.engine.frontiers import Watchdog
from noonmark.engine.gate import Gate
from noonmark.engine.joblocks import Hold, JobLocks
from noonmark.engine.launching import Launcher
from noonmark.engine.leases import Book, Duty
from noonmark.engine.look import Looker
from noonmark.engine.outages import Outages
from noonmark.engine.pace import Pace
from noonmark.engine.points import Point, reach
from noonmark.engine.recording import Recorder
from noonmark.engine.registry import Registry
from noonmark.engine.roster import Roster
from noonmark.engine.rules import Rules
from noonmark.engine.runs import Finish, Run
from noonmark.engine.signals import Observer, Stopped, tell
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.tending import Tender
from noonmark.ports.clock import Clock
from noonmark.ports.lock import LockSource
from noonmark.ports.store import Capability, Store, StoreUnusable

BATCH = 1000
_LOG = logging.getLogger("noonmark.engine")


class Engine:
    """One worker's loop."""

    def __init__(
        self,
        store: Store,
        gate: Gate,
        registry: Registry,
        *,
        clock: Clock,
        info: WorkerInfo,
        concurrency: int,
        dice: Callable[[], float],
        is_alive: Callable[[Any, WorkerInfo, Micros], bool | None],
        observer: Observer | None = None,
        zone: str = "UTC",
        heartbeat_ttl: Micros = 30 * SECOND,
        expect_renewal: Callable[[Micros], None] = lambda _: None,
        lock_source: LockSource | None = None,
        inline_locks: bool = False,
        state: StateFolder | None = None,
    ) -> None:
        self.book = Book()
        self.chain = ChainedStore(
            store, info.id, boot=clock.boot, ttl=heartbeat_ttl, row_of=self.book.row_of, folder=state, wake=self.wake
        )
        self._store = store = cast("Store", self.chain)
        self._gate = gate
        self._clock = clock
        self._worker = info.id
        self._concurrency = concurrency
        self._observer = observer
        self._expect_renewal = expect_renewal
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pace = Pace(clock, dice, lambda: Capability.NOTIFY in store.capabilities, observer)
        self._finished = asyncio.Event()
        self._offset: Micros = 0  # store time minus boot clock
        self.inbox = Inbox(lambda: self._threadsafe(self._finished.set))
        self._roster = Roster(clock, self.inbox, concurrency=concurrency, observer=observer)
        self.rules = Rules(registry)
        self.duty = Duty(
            store,
            clock,
            info,
            self.book,
            on_lost=self._told_lost,
            on_cancel=self._told_cancel,
            ttl=heartbeat_ttl,
            dice=dice,
        )
        self.locks = JobLocks(
            lock_source, clock, on_lost=self._lost_lock, in_loop=self._threadsafe, inline=inline_locks
        )
        self._looker = self._make_looker(lambda fact, now: is_alive(fact, info, now))
        self._recorder = Recorder(
            store, gate, self.rules, worker=self._worker, store_now=self.store_now, dice=dice, observer=observer
        )
        self._farewell = Farewell(gate, self.duty, self._roster, self.inbox, self._recorder, clock, grace=30 * SECOND)
        self._outages = Outages(store, gate, self.duty, worker=self._worker, to_store=lambda at: self._offset + at)
        self._watchdog = Watchdog(store, gate, self.rules, registry, worker=self._worker)
        self._adopter = self._make_adopter(registry)
        self._launcher = self._make_launcher(zone)
        self._tender = Tender(gate, self.chain, self._watchdog, self._outages, self._pace, self._guarded, heartbeat_ttl)

    def _make_looker(self, is_alive: Callable[[Any, Micros], bool | None]) -> Looker:
        return Looker(
            self._store,
            self._gate,
            self.rules,
            worker=self._worker,
            store_now=self.store_now,
            boot=self._clock.boot,
            is_alive=is_alive,
            locks=self.locks,
            has_run=self.chain.has_run,
            observer=self._observer,
        )

    def _make_adopter(self, registry: Registry) -> Adopter:
        return Adopter(
            self._store,
            self._gate,
            self.chain,
            self.rules,
            registry,
            self._watchdog,
            worker=self._worker,
            version=self._rules_version,
        )

    def _make_launcher(self, zone: str) -> Launcher:
        return Launcher(
            self._store,
            self._gate,
            self.rules,
            self.book,
            self._roster,
            self.locks,
            clock=self._clock,
            worker=self._worker,
            store_now=self.store_now,
            has_run=self.chain.has_run,
            expect_renewal=self._expect_renewal,
            lock_lost=self._lost_lock,
            zone=zone,
            observer=self._observer,
        )

    # -- for everybody, from any thread ---------------------------------------------------------------

    def bind(self, executor: Executor) -> None:
        """Give the engine what runs its jobs."""
        self._roster.bind(executor)

    def store_now(self) -> Micros:
        """Return the store's time, reckoned forward from its last answer and so never ahead of it."""
        return self._offset + self._clock.boot()

    def wake(self) -> None:
        """Look for due rows now."""
        self._threadsafe(self._pace.wake)

    def stop(self, grace: Micros) -> None:
        """Take nothing more; give running jobs ``grace``, then hand them back.  A second call may shorten it."""
        self._threadsafe(self._stop, grace)

    def _stop(self, grace: Micros) -> None:
        self._farewell.want(grace)
        self._pace.wake()
        self._finished.set()

    def _threadsafe(self, callback: Callable[..., object], *args: Any) -> None:
        loop = self._loop
        if loop is None:
            callback(*args)
            return
        try:
            loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop is closed: there is nobody left to wake
            _LOG.debug("a call came after the engine had ended")

    def _told_lost(self, runs: Sequence[Run]) -> None:
        self._threadsafe(partial(self._roster.stop, runs, "lost", why="renewal"))

    def _told_cancel(self, runs: Sequence[Run]) -> None:
        self._threadsafe(self._roster.stop, runs, "cancelled")

    def _lost_lock(self, hold: Hold) -> None:
        if hold.run is not None:
            self._roster.stop([hold.run], "lock_lost", why=hold.name)

    # -- the life of the loop -------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until ``stop``.

        Raises:
            StoreUnusable: the store cannot serve until a person acts; the message says what to do.
        """
        self._loop = asyncio.get_running_loop()
        deaf = self._store.listen(lambda: self._threadsafe(self._pace.hint))
        tasks: list[asyncio.Task[None]] = []
        try:
            beginning = asyncio.create_task(self._begin())
            tasks.append(beginning)
            if not await self._farewell.lets_begin(beginning):
                await self._farewell.say_ended()
                return
            taking = asyncio.create_task(self._taking())
            slow = (self._tender.tending, self._tender.proving)
            steps = (self._settling, self._roster.watch, *slow, self._farewell.desert)
            others = [asyncio.create_task(step()) for step in steps]
            tasks += [taking, *others]
            done, _ = await asyncio.wait([taking, *others], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._farewell.wind_down()
        except GateClosed:
            _LOG.warning("stopped while the store was away; runs that were not settled become due by themselves")
        finally:
            deaf()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for run in self._roster.active:  # nobody waits for these any more, but they may still be at work
                if run.hold is not None:
                    run.abandoned = True
                    self.locks.free(run.hold)
            tell(self._observer, Stopped(handed_back=self._farewell.handed_back))

    async def _begin(self) -> None:
        """Say that we live, put our rules in force, see that every series has its frontier.

        Raises:
            TooLarge: these are more jobs than one worker may run: no store would ever answer a take.
        """
        wellformed.check_jobs(self.rules.runnable)
        self._reckon(await self._gate.call(self.duty.beat))
        self._expect_renewal(self.duty.beat_at)
        reach(Point.HEARD_OF)
        await self._adopter.declare()
        _LOG.info("worker %s runs %d jobs, %d at once", self._worker, len(self.rules.runnable), self._concurrency)

    async def _begin_anew(self) -> None:
        """Another store lies there, an empty one as a rule: be heard of in it, and declare what we run."""
        self._roster.disown()
        self.chain.came_to_another()
        self._reckon(await self._gate.call(self.duty.beat))
        await self._adopter.declare()

    # -- taking ---------------------------------------------------------------------------------------

    async def _taking(self) -> None:
        while not self._farewell.is_wanted:
            self._pace.begin()
            free = self._roster.free()
            if free <= 0:
                await self._pace.rest(FAR)
                continue
            await self._pace.rest(await self._guarded(self._round(free)))

    async def _guarded(self, step: Coroutine[Any, Any, Micros]) -> Micros:
        """A fault of ours costs one round, never the worker."""
        try:
            return await step
        except (StoreUnusable, GateClosed):
            raise
        except Exception:
            _LOG.exception("a round failed; what it held becomes due again by itself")
            return self._clock.boot() + SECOND

    async def _round(self, free: int) -> Micros:
        """Take once and bring every row on its way; return the boot-clock moment of the next round."""
        asked = self._pace.takes()
        taken = await self._take(min(free, BATCH))
        received = self._clock.boot()
        self._reckon(taken.now)
        reach(Point.TAKEN)
        if taken.rules_version < self.rules.version:
            await self._gate.call(self.chain.prove)  # no store's rules go back in time by themselves
        if self.chain.is_another:
            await self._begin_anew()
            return received
        if self.chain.came_back_older():
            await self._adopter.declare()  # an older store may have older rules, and series that had moved on
        if self.duty.came_back():
            await self._watchdog.check_own()  # others may have taken us for gone and ended our own series
        if taken.rules_version != self.rules.version:
            await self._adopter.adopt(taken.rules_version)
        started = [row for row in taken.rows if not row.looking]
        if started:
            await self._launcher.start_taken(started, asked, taken.now)
        if len(started) < len(taken.rows):
            await self._launcher.launch(await self._looker.look([row for row in taken.rows if row.looking]))
        await self._outages.write_down()
        return self._pace.next_round(taken, received)

    async def _take(self, limit: int) -> Taken:
        request_id = secrets.token_hex(8)
        reach(Point.TAKE_ASKED)

        def take() -> Taken:
            # After a long outage our own rows are those of a worker that nobody has heard of: be heard of first.
            if self.duty.is_silent:
                self.duty.beat()
            return self._store.take(
                request_id, self._worker, limit=limit, runnable=self.rules.runnable, look_lease=LOOK_LEASE
            )

        return await self._gate.call(take)

    async def _rules_version(self) -> int:
        return (await self._take(0)).rules_version  # of no row, but with what a take proves

    def _reckon(self, store_now: Micros) -> None:
        """Remember the store's time.  It was read before it reached us, so reckoning from now is never ahead of it."""
        self._offset = store_now - self._clock.boot()

    # -- settling -------------------------------------------------------------------------------------

    async def _settling(self) -> None:
        while True:
            await self._finished.wait()
            self._finished.clear()
            while batch := self.inbox.drain(BATCH):
                was_full = self._roster.free() <= 0
                ours, late = self._roster.ended(batch)
                if was_full:
                    self._pace.wake()  # slots are free before the outcomes are stored: take and settle overlap
                if await self._record([finish for finish in ours if not finish.run.foreign]):
                    self._pace.wake()  # something of ours became due earlier than the loop knows
                await self._record_late(late)
                await self._write_down_former([*ours, *late])
                for finish in ours:
                    self.book.drop(finish.run)
                    if finish.run.hold is not None:
                        self.locks.free(finish.run.hold)

    async def _record_late(self, late: Sequence[Finish]) -> None:
        late = [finish for finish in late if not finish.run.foreign]
        unknown = [finish for finish in late if not finish.is_on_record]
        with self.book.reporting(finish.run for finish in unknown):
            await self._record(unknown)
        await self._recorder.write_down_late([finish.run for finish in late if finish.is_on_record])

    async def _write_down_former(self, finished: Sequence[Finish]) -> None:
        """What was done for a store that lies there no more is known to its journal, and to nothing else."""
        runs = [finish.run for finish in finished if finish.run.foreign and finish.is_success]
        if runs:
            await self._gate.call(self.chain.remember_former, [(run.row, run.fence) for run in runs])

    async def _record(self, finished: Sequence[Finish]) -> bool:
        """A fault of ours costs these outcomes (their leases lapse, and they are tried again), never the worker."""
        try:
            return await self._recorder.record(finished)
        except (StoreUnusable, GateClosed):
            raise
        except Exception:
            _LOG.exception("%d outcomes could not be recorded; their leases will lapse", len(finished))
            return False
