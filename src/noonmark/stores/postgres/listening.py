"""Wake-up across processes: LISTEN on a connection of its own, and a call to every listener when a notice comes.

Rule of the file: a hint, never a promise.  While the connection is down the store does not claim to notify, so that the
engine polls; when it is back every listener is called once, for nobody knows what it missed.  Through a transaction-mode
pooler there is no listening at all.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import threading
import time
from collections.abc import Callable

import psycopg

from noonmark.ports.process import owner
from noonmark.stores.postgres.address import Address
from noonmark.stores.postgres.link import Wire, dial

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
PROBE_EVERY = 10.0
"""Seconds of silence after which the server is asked whether it is still there."""
PROBE_PATIENCE = 5.0
PROBE = b"SELECT 'noonmark listens'"
"""Says in pg_stat_activity what the connection is for, where the LISTEN itself is no longer its last query."""


class Ear:
    """The listeners of one store object."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None
        self._bell: tuple[int, int] | None = None
        self._owner = owner()
        self._is_closed = False
        self.hears = False

    @property
    def works(self) -> bool:
        """True while notices arrive, or would if somebody listened."""
        return not self._address.pooled and not self._is_closed and (self._thread is None or self.hears)

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, from any thread, at every hint; return a function that stops it."""
        with self._lock:
            self._callbacks.append(callback)
            if self._thread is None and not self._address.pooled and not self._is_closed:
                self._bell = os.pipe()
                self._thread = threading.Thread(
                    target=self._live, args=(self._bell[0],), name="noonmark-listen", daemon=True
                )
                self._thread.start()

        def stop() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return stop

    def call(self) -> None:
        """Call every listener of this process."""
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def _live(self, bell: int) -> None:
        failures = 0
        while not self._is_closed:
            wire: Wire | None = None
            with contextlib.suppress(psycopg.Error, OSError):
                wire = dial(self._address, patience=PROBE_PATIENCE)
                name = self._address.channel.replace('"', '""')
                wire.execute(f'LISTEN "{name}"'.encode(), prepare=False)
                self.hears, failures = True, 0
                self.call()
                self._hear(wire, bell)
            self.hears = False
            if wire is not None:
                wire.close()
            if self._is_closed:
                return
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures, 10)) * random.uniform(0.5, 1)
            failures += 1
            if self._was_rung(bell, pause):
                return

    def _hear(self, wire: Wire, bell: int) -> None:
        """Wait for notices until the connection breaks or the store is closed."""
        link = wire.pgconn
        probe_at = time.monotonic() + PROBE_EVERY
        while True:
            ready, _, _ = select.select([link.socket, bell], [], [], max(0.0, probe_at - time.monotonic()))
            if bell in ready:
                return
            if not ready:
                wire.execute(PROBE, prepare=False)
                probe_at = time.monotonic() + PROBE_EVERY
            link.consume_input()
            came = False
            while link.notifies() is not None:
                came = True
            if came:
                self.call()

    def _was_rung(self, bell: int, seconds: float) -> bool:
        ready, _, _ = select.select([bell], [], [], seconds)
        return bool(ready)

    def close(self) -> None:
        """Stop listening, and leave no thread and no socket behind."""
        with self._lock:
            self._is_closed = True
            thread, bell = self._thread, self._bell
            self._thread = self._bell = None
            self._callbacks.clear()
        if bell is None:
            return
        if thread is not None and self._owner.is_here and thread is not threading.current_thread():
            os.write(bell[1], b".")
            thread.join(PROBE_PATIENCE + 1)
        for end in bell:
            with contextlib.suppress(OSError):
                os.close(end)
