"""A worker: the engine with real threads, real clocks and real signals around it.

Promises: ``run`` ends by SIGTERM or SIGINT with nothing lost (runs end within the grace, the rest is handed back; a
second signal hands back at once); the same worker can be started inside another program and stopped from any thread.

Rule of the file: assembly only.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from noonmark.core.model import SECOND, Micros, WorkerInfo
from noonmark.core.times import tzdata_version
from noonmark.engine import copied, host
from noonmark.engine.callbacks import Callbacks
from noonmark.engine.errors import GateClosed
from noonmark.engine.executor import Executors
from noonmark.engine.gate import StoreGate
from noonmark.engine.leases import HEARTBEAT_TTL, Keeper
from noonmark.engine.loop import Engine
from noonmark.engine.registry import Registry
from noonmark.engine.signals import Observer
from noonmark.engine.statefolder import StateFolder
from noonmark.ports.clock import Clock, SystemClock
from noonmark.ports.lock import LockSource
from noonmark.ports.store import Store

NAMES_SHOWN = 200
"""How many of its jobs a worker names in the store; more are not shown there."""
HEARKEN = 0.25
"""Seconds after which the main thread looks up.  The system may hand a signal to any thread, but its Python handler runs
only in the main one, and a main thread that sleeps without end then sleeps through it."""
_LOG = logging.getLogger("noonmark.engine")


class Dice(Protocol):
    """Where chance comes from (``random.Random`` is one)."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


class Worker:
    """Takes due occurrences from a store and runs them.

    Args:
        store: where the occurrences live, or what opens it, which is called again and again while the store is away;
            it stays open when the worker ends.
        registry: which function runs which job.
        clock: the machine's clocks; None: this machine's.
        name: shown to people; "" = host and pid.
        concurrency: how many runs at once.
        grace: µs that running jobs get to end when the worker stops.
        dice: chance for jitter; None: the system's.
        observer: told of what happens, see ``engine/signals.py``.
        heartbeat_ttl: µs after which a silent worker counts as gone.
        version: recorded with the worker.
        lock_source: where the outside locks of jobs come from; it stays open when the worker ends.
        state: folder in which the worker remembers what the store acknowledged (``docs/rollback.md``); None: it is blind,
            which means that after a restart it cannot tell whether the store lost something.
    """

    def __init__(
        self,
        store: Store | Callable[[], Store],
        registry: Registry,
        *,
        clock: Clock | None = None,
        name: str = "",
        concurrency: int = 100,
        grace: Micros = 30 * SECOND,
        dice: Dice | None = None,
        observer: Observer | None = None,
        heartbeat_ttl: Micros = HEARTBEAT_TTL,
        version: str = "",
        lock_source: LockSource | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        self._given = store
        self._registry = registry
        self._clock = clock or SystemClock()
        self._grace = grace
        self._concurrency = concurrency
        self._roll = (dice or random.SystemRandom()).random
        self._observer = observer
        self._ttl = heartbeat_ttl
        self._lock_source = lock_source
        self._state = StateFolder(None if state is None else Path(state))
        self._thread: threading.Thread | None = None
        self._engine: Engine | None = None
        self._gate: StoreGate | None = None
        self._give_up: threading.Timer | None = None
        self._stopping = False
        self._is_opening = False
        self._error: BaseException | None = None
        # The heartbeat carries the names, so there must not be a hundred thousand of them.
        jobs = tuple(sorted(job.name for job in registry.jobs())[:NAMES_SHOWN])
        self.info: WorkerInfo = host.this_worker(
            self._clock, name=name, jobs=jobs, version=version, tzdata=tzdata_version()
        )

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, or until ``stop`` is called elsewhere.

        Raises:
            StoreUnusable: the store cannot serve until a person acts; the message says what to do.
        """
        with _Signals(self._on_signal):
            self.start()
            while self.is_running:
                self.join(HEARKEN)
            self.join()

    def start(self) -> None:
        """Begin to work in a thread of our own and return at once."""
        if self._thread is not None:
            raise RuntimeError("this worker was started before; make a new one")
        self._gate = StoreGate(self._clock, self._roll, self._observer)
        self._thread = threading.Thread(target=self._work, name="noonmark-engine", daemon=True)
        self._thread.start()

    def stop(self, *, grace: Micros | None = None, wait: bool = True) -> None:
        """Take nothing more, let runs end within ``grace`` (µs), hand the rest back.

        Args:
            grace: None = the worker's own.
            wait: False returns at once; ``join`` waits later.
        """
        allowed = self._grace if grace is None else grace
        self._stopping = True
        engine, gate = self._engine, self._gate
        if engine is not None:
            engine.stop(allowed)
        if gate is not None and self._is_opening:
            gate.give_up()
        if gate is not None:
            # The last resort for a store that stays away: nobody waits for it longer than for the jobs.
            if self._give_up is not None:
                self._give_up.cancel()
            self._give_up = threading.Timer(allowed / 1e6 + 15, gate.give_up)
            self._give_up.daemon = True
            self._give_up.start()
        if wait:
            self.join()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end.

        Raises:
            StoreUnusable: the reason for which the worker stopped by itself.
        """
        if self._thread is None:
            return
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error

    @property
    def is_running(self) -> bool:
        """True between ``start`` and the end."""
        return self._thread is not None and self._thread.is_alive()

    def wake(self) -> None:
        """Look for due rows now."""
        if self._engine is not None:
            self._engine.wake()

    def _on_signal(self, number: int) -> None:
        again = self._stopping
        _LOG.info("%s: %s", signal.Signals(number).name, "handing back at once" if again else "stopping")
        self.stop(grace=0 if again else None, wait=False)

    def _work(self) -> None:
        gate, loop = self._gate, asyncio.new_event_loop()
        assert gate is not None
        keeper: Keeper | None = None
        executor: Executors | None = None
        try:
            store = self._reach(gate)
            gate.submit(lambda: copied.warn(store))
            engine = Engine(
                store,
                gate,
                self._registry,
                clock=self._clock,
                info=self.info,
                concurrency=self._concurrency,
                dice=self._roll,
                is_alive=host.is_alive,
                observer=self._observer,
                zone=host.system_zone(),
                heartbeat_ttl=self._ttl,
                expect_renewal=lambda at: keeper.expect(at) if keeper is not None else None,
                lock_source=self._lock_source,
                state=self._state,
            )
            keeper = Keeper(engine.duty, self._clock)
            executor = Executors(engine.inbox, Callbacks(store, gate, self.info.id, self._clock, engine.store_now))
            engine.bind(executor)
            keeper.start()
            self._engine = engine
            if self._stopping:  # stop() came before there was an engine
                engine.stop(self._grace)
            loop.run_until_complete(engine.run())
        except GateClosed:
            _LOG.info("stopped before the store could be reached")
        except BaseException as error:
            self._error = error
            _LOG.error("the worker stops: %s", error)
        finally:
            self._clean_up(keeper, executor, gate, loop)

    def _reach(self, gate: StoreGate) -> Store:
        """Return the store, however long it is away; a stop ends the wait at once, for nothing is held yet."""
        if not callable(self._given):
            return self._given
        self._is_opening = True
        if self._stopping:
            gate.give_up()
        try:
            return gate.submit(self._given).result()
        finally:
            self._is_opening = False

    def _clean_up(
        self, keeper: Keeper | None, executor: Executors | None, gate: StoreGate, loop: asyncio.AbstractEventLoop
    ) -> None:
        steps: list[Callable[[], Any]] = []
        if keeper is not None:
            steps.append(keeper.end)
        if executor is not None:
            steps.append(executor.close)
        if self._engine is not None:
            steps += [self._engine.locks.close, self._engine.chain.close_memory]
        if self._give_up is not None:
            steps.append(self._give_up.cancel)
        for step in (*steps, gate.give_up, gate.close, loop.close):
            try:
                step()
            except Exception:
                _LOG.exception("cleaning up")


class _Signals:
    """SIGTERM and SIGINT for the time of a run; only the main thread may set them."""

    def __init__(self, on_signal: Callable[[int], None]) -> None:
        self._on_signal = on_signal
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._handle)

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        # Signal handlers must not take locks that the interrupted code may hold: the rest happens in another thread.
        threading.Thread(target=self._on_signal, args=(number,), name="noonmark-signal", daemon=True).start()
