"""Wake-up by publish and subscribe: a hint to everybody who listens at this namespace.

Rule of the file: a hint, never a promise.  One thread hears; when its connection breaks the store says so (no NOTIFY, the
engine polls), it connects again with growing, jittered pauses, and once it hears again every listener is called once, for
something may have been said meanwhile.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from typing import Any

from redis import exceptions

from noonmark.ports.store import StoreError
from noonmark.stores.redis.connection import Link

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
HEARD_WITHIN = 1.0  # seconds between two looks at whether the store was closed
PING_AFTER = 4.0  # seconds of silence after which the connection is tried
_BROKEN = (StoreError, exceptions.RedisError, OSError, ValueError)


class Wake:
    """The listeners of one store object.

    Args:
        link: a way to the server for nothing else.
        channel: where hints are published.
        speaker: what this store's own hints say; they are told to its listeners at once and not heard again.
        sharded: use the cluster's sharded channels.
    """

    def __init__(self, link: Link, channel: str, speaker: str, *, sharded: bool) -> None:
        self._link = link
        self._channel = channel
        self._speaker = speaker
        self._sharded = sharded
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._hears = False

    @property
    def works(self) -> bool:
        """True while hints are heard; before anybody listens, True as well: nothing has failed yet."""
        return self._hears or self._thread is None

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, from any thread, at every hint; return a function that stops it."""
        begins: threading.Event | None = None
        with self._lock:
            self._callbacks.append(callback)
            if self._thread is None and not self._closing.is_set():
                begins = threading.Event()
                self._thread = threading.Thread(
                    target=self._work, args=(begins,), name="noonmark-redis-wake", daemon=True
                )
                self._thread.start()
        if begins is not None:
            begins.wait(2.0)  # else what is said next would not be heard

        def stop() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return stop

    def call(self) -> None:
        """Call every listener of this store."""
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()
        with self._lock:
            thread = self._thread
            self._callbacks.clear()
        if thread is not None and thread is not threading.current_thread():
            thread.join(HEARD_WITHIN + 2.0)

    def _work(self, begins: threading.Event) -> None:
        pause, again, client = FIRST_PAUSE, False, None
        while not self._closing.is_set():
            try:
                client = self._link.client()
                with contextlib.closing(self._subscribe(client)) as ear:
                    self._hears = True
                    begins.set()
                    if again:
                        self.call()
                    pause, again = FIRST_PAUSE, True
                    self._hear(ear)
            except _BROKEN:
                again = True
                self._link.forget(client)
            finally:
                self._hears = False
            begins.set()
            self._closing.wait(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _subscribe(self, client: Any) -> Any:
        ear = client.pubsub()
        try:
            if self._sharded:
                ear.ssubscribe(self._channel)
            else:
                ear.subscribe(self._channel)
            self._next(ear, 5.0)  # the server's answer: from here on nothing is missed
        except BaseException:
            ear.close()
            raise
        return ear

    def _next(self, ear: Any, timeout: float) -> Any:
        if self._sharded:
            return ear.get_sharded_message(timeout=timeout)
        return ear.get_message(timeout=timeout)

    def _hear(self, ear: Any) -> None:
        silent, asked = 0.0, False
        while not self._closing.is_set():
            said = self._next(ear, HEARD_WITHIN)
            if said is None:
                silent += HEARD_WITHIN
                if silent >= 2 * PING_AFTER and asked:
                    raise exceptions.ConnectionError("the server says nothing any more")
                if silent >= PING_AFTER and not asked:
                    ear.ping()
                    asked = True
                continue
            silent, asked = 0.0, False
            if said["type"].endswith("unsubscribe"):
                raise exceptions.ConnectionError("the channel has moved to another server")
            if said["type"].endswith("message") and said["data"] != self._speaker:
                self.call()
