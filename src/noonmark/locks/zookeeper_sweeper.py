"""What our sessions left in ZooKeeper, and until when: the part of a ttl that a session cannot keep.

Promises: a node of ours is removed when its ttl is over, also one whose creation we never heard confirmed; nothing is
removed twice, and nothing that is not ours.

Rule of the file: one thread, started with the first node and ended by ``close``; times are of the monotonic clock.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from noonmark.locks.zookeeper_link import Place, Session, answer
from noonmark.ports.lock import LockError

_AGAIN = 0.2
"""Seconds until a removal that failed is tried again."""


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One node of ours, or one that may be there."""

    name: str
    token: str
    parent: str
    prefix: str
    session: Session
    path: str = ""
    fence: int = 0
    until: float = 0.0


class Sweeper:
    """Keeps the list and removes what is over."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._changed = threading.Condition()
        self._entries: dict[tuple[str, str], Entry] = {}
        self._over: list[Entry] = []  # replaced or given back, not yet removed
        self._thread: threading.Thread | None = None
        self._wake_at = math.inf
        self._closed = False

    def get(self, name: str, token: str) -> Entry | None:
        """Return what is known of a token's node."""
        with self._changed:
            return self._entries.get((name, token))

    def watch(self, entry: Entry, until: float) -> None:
        """Begin to watch a node that is about to be made."""
        with self._changed:
            entry.until = until
            before = self._entries.get((entry.name, entry.token))
            if before is not None:
                self._over.append(before)
                before.until = until = 0.0
            self._entries[entry.name, entry.token] = entry
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="noonmark-zookeeper", daemon=True)
                self._thread.start()
            self._wake_by(until)

    def _wake_by(self, moment: float) -> None:
        # Waking the thread costs more than a lock; most locks are gone again long before it would have to act.
        if moment < self._wake_at:
            self._wake_at = moment
            self._changed.notify()

    def is_watched(self, entry: Entry) -> bool:
        """True while the node counts as ours."""
        with self._changed:
            return self._entries.get((entry.name, entry.token)) is entry and entry.until > time.monotonic()

    def prolong(self, entry: Entry, until: float) -> bool:
        """Count the ttl anew; False when it was over already, for then the node is on its way out."""
        with self._changed:
            if self._entries.get((entry.name, entry.token)) is not entry or entry.until <= time.monotonic():
                return False
            entry.until = until
            self._wake_by(until)
            return True

    def expire(self, entry: Entry) -> None:
        """Let the node be removed soon, whatever else happens."""
        with self._changed:
            self._drop(entry)
            self._over.append(entry)
            # The caller removes it itself; the sweeper is there for the case that it cannot.
            entry.until = time.monotonic() + 5 * _AGAIN
            self._wake_by(entry.until)

    def forget(self, entry: Entry) -> None:
        """Stop watching: the node is gone for sure."""
        with self._changed:
            self._drop(entry)
            if entry in self._over:
                self._over.remove(entry)

    def lost(self, session: Session) -> None:
        """A session is over, and with it every node it made."""
        with self._changed:
            for entry in [entry for entry in self._entries.values() if entry.session is session]:
                self._drop(entry)
                self._over.append(entry)
            # What was under way may still be made, by the session that follows; it is looked for when its ttl is over.
            self._over = [entry for entry in self._over if entry.session is not session or not entry.path]

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._entries.clear()
            self._over.clear()
            self._changed.notify()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=10)

    # -- the thread ---------------------------------------------------------------------------------

    def _drop(self, entry: Entry) -> None:
        if self._entries.get((entry.name, entry.token)) is entry:
            del self._entries[entry.name, entry.token]

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                due = [entry for entry in (*self._entries.values(), *self._over) if entry.until <= now]
                if not due:
                    upcoming = [entry.until for entry in (*self._entries.values(), *self._over)]
                    self._wake_at = min(upcoming, default=math.inf)
                    self._changed.wait(self._wake_at - now if upcoming else None)
                    continue
                for entry in due:  # from here on it cannot be renewed: whoever asks is told that it is lost
                    if self._entries.get((entry.name, entry.token)) is entry:
                        self._drop(entry)
                        self._over.append(entry)
            for entry in due:
                self._remove(entry)

    def _remove(self, entry: Entry) -> None:
        try:
            done = self._gone(entry)
        except LockError:
            done = False
        with self._changed:
            if done and entry in self._over:
                self._over.remove(entry)
            entry.until = time.monotonic() + _AGAIN

    def _gone(self, entry: Entry) -> bool:
        from kazoo.exceptions import NoNodeError

        client, until = entry.session.client, time.monotonic() + 1.0
        if not client.connected:
            return False
        try:
            paths = [entry.path] if entry.path else self._left_behind(entry, until)
            for path in paths:
                answer(self._place, client.delete_async(path), until)
        except NoNodeError:
            return True
        return True

    def _left_behind(self, entry: Entry, until: float) -> list[str]:
        """Return the nodes of a call that never heard where its node is; what a later call with this token has is held."""
        client = entry.session.client
        found = []
        for child in answer(self._place, client.get_children_async(entry.parent), until):
            if child.startswith(entry.prefix):
                path = f"{entry.parent}/{child}"
                stat = answer(self._place, client.exists_async(path), until)
                if stat is not None and stat.ephemeralOwner == entry.session.id:
                    found.append(path)
        later = self.get(entry.name, entry.token)
        if later is not None and not later.path and found:
            raise LockError("a later call with the same token is under way")
        return [path for path in found if later is None or path != later.path]
