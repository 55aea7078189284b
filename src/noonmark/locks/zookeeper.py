"""Locks on ZooKeeper: ephemeral nodes in a row, the oldest holds, and the number of its creation is the fence.

Promises: at most one holder as long as a majority of the servers agrees, whatever single servers or clocks do; fences
(``czxid``) come from the ensemble's one counter, so they grow across all names.  A holder that stands still past its ttl
has lost the lock without knowing: only the fence, checked by what is protected, stops it.

Rule of the file: ZooKeeper knows no ttl, only sessions.  A holder that died or hangs keeps its lock for one session,
which is asked for as long as the ttl; a holder that lives and did not renew in time is freed by our own sweeper.  So trust
ends with the shorter of the two, and a grant cannot be renewed from another process.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote

from noonmark.core.model import Micros
from noonmark.locks.checks import check, drift
from noonmark.locks.zookeeper_link import Session, answer, kazoo_exceptions, length_for, read_url
from noonmark.locks.zookeeper_sweeper import Entry, Sweeper
from noonmark.ports.lock import Grant, LockError, LockUnusable
from noonmark.ports.process import opened_elsewhere, owner

ROOT = "/noonmark/locks"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """One call: what it is about, and until when it may take (monotonic clock)."""

    name: str
    token: str
    until: float
    asked: float
    parent: str  # the node in which the contenders of this lock stand
    prefix: str  # how our nodes begin; the token itself is their content


@lru_cache(maxsize=4096)
def row_of(name: str) -> str:
    """Return the node in which the contenders of a lock stand, whatever its name holds."""
    return f"{ROOT}/{quote(name, safe='').replace('.', '%2E')}"


class ZooKeeperLocks:
    """The locks of one ZooKeeper ensemble.

    Args:
        url: ``zookeeper://user:password@host:2181,host:2181/chroot?session=10s&ca=…&cert=…&key=…&timeout=5``.

    Raises:
        LockUrlError: with what to write instead.
    """

    kind = "zookeeper"

    def __init__(self, url: str) -> None:
        self._place = read_url(url)
        self._owner = owner()
        self._guard = threading.Lock()
        self._sessions: dict[Micros, Session] = {}
        self._busy: set[str] = set()
        self._sweeper = Sweeper(self._place)
        # Two calls with one token would each leave a node: they come one after the other.
        self._turns = tuple(threading.Lock() for _ in range(64))
        self._closed = False

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._place.shown

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        ask, session = self._begin(name, ttl, token)
        return self._in_turn(ask, lambda: self._acquire(ask, session, ttl))

    def _acquire(self, ask: _Ask, session: Session, ttl: Micros) -> Grant | None:
        name = ask.name
        entry = self._sweeper.get(name, ask.token)
        if entry is not None:  # asked before: it may be ours already
            grant = self._kept(ask, entry, ttl)
            if grant is not None:
                return grant
        elif name in self._busy and self._children(ask, session):  # who waits asks with a read first
            return None
        return self._created(ask, session, ttl)

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock through a session of ours; else None."""
        ask, _ = self._begin(name, ttl, token)
        return self._in_turn(ask, lambda: self._renew(ask, ttl))

    def _renew(self, ask: _Ask, ttl: Micros) -> Grant | None:
        entry = self._sweeper.get(ask.name, ask.token)
        return None if entry is None else self._kept(ask, entry, ttl)

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        check(name, token)
        ask = self._ask(name, token, self._place.timeout)
        return self._in_turn(ask, lambda: self._release(ask))

    def _release(self, ask: _Ask) -> bool:
        entry = self._sweeper.get(ask.name, ask.token)
        if entry is None:
            return self._released_elsewhere(ask, self._any_session())
        self._sweeper.expire(entry)  # should the answer be lost, the sweeper repeats it
        path = entry.path or self._found(ask, entry.session)
        if path is None:
            return False
        was_there = self._deleted(ask, entry.session, path)
        self._sweeper.forget(entry)
        return was_there

    def close(self) -> None:
        """End our sessions and threads; what they hold is free at once."""
        if not self._owner.is_here:
            return
        with self._guard:
            self._closed = True
            sessions, self._sessions = list(self._sessions.values()), {}
        self._sweeper.close()
        for session in sessions:
            session.close()

    # -- sessions -----------------------------------------------------------------------------------

    def _begin(self, name: str, ttl: Micros, token: str) -> tuple[_Ask, Session]:
        check(name, token, ttl)
        # An answer that comes when the ttl is over is worth nothing.
        return self._ask(name, token, min(self._place.timeout, max(ttl / 1e6, 0.2))), self._session(
            length_for(self._place, ttl)
        )

    def _ask(self, name: str, token: str, patience: float) -> _Ask:
        now = time.monotonic()
        prefix = f"lock-{hashlib.sha256(token.encode()).hexdigest()[:24]}-"
        return _Ask(name=name, token=token, until=now + patience, asked=now, parent=row_of(name), prefix=prefix)

    def _in_turn(self, ask: _Ask, call: Callable[[], T]) -> T:
        """Make a call when no other with the same token is under way."""
        turn = self._turns[hash((ask.name, ask.token)) % len(self._turns)]
        if not turn.acquire(timeout=max(0.0, ask.until - time.monotonic())):
            raise LockError(f"{self.url} does not answer: an earlier call with this token is still under way.")
        try:
            return call()
        finally:
            turn.release()

    def _session(self, length: Micros) -> Session:
        if not self._owner.is_here:
            raise LockUnusable(opened_elsewhere(self.url))
        with self._guard:
            if self._closed:
                raise LockUnusable(f"the locks at {self.url} were closed; open them again")
            if length not in self._sessions:
                self._sessions[length] = Session(self._place, length, self._sweeper.lost)
            return self._sessions[length]

    def _any_session(self) -> Session:
        with self._guard:
            known = next(iter(self._sessions.values()), None)
        return known or self._session(length_for(self._place, 10_000_000))

    # -- the row of contenders ------------------------------------------------------------------------

    def _children(self, ask: _Ask, session: Session) -> list[str]:
        client = session.connected(ask.until)
        try:
            return list(answer(self._place, client.get_children_async(ask.parent), ask.until))
        except kazoo_exceptions().NoNodeError:
            return []

    def _created(self, ask: _Ask, session: Session, ttl: Micros) -> Grant | None:
        """Stand in the row; leave it again unless we are the oldest."""
        client = session.connected(ask.until)
        entry = Entry(name=ask.name, token=ask.token, parent=ask.parent, prefix=ask.prefix, session=session)
        # Before it is sent: a node whose reply is lost must not live as long as our session does.
        self._sweeper.watch(entry, ask.asked + ttl / 1e6)
        path, stat = self._make_node(ask, client)
        entry.path, entry.fence = path, int(stat.czxid)
        is_oldest = self._is_oldest(ask, client, entry)
        if is_oldest and not self._sweeper.is_watched(entry):
            self._sweeper.expire(entry)
            raise LockError(f"{self.url} answered too late, or the session was lost meanwhile; the lock frees itself.")
        if not is_oldest:
            self._sweeper.expire(entry)
            self._deleted(ask, session, path)
            self._sweeper.forget(entry)
            if len(self._busy) > 4096:
                self._busy.clear()
            self._busy.add(ask.name)
            return None
        self._busy.discard(ask.name)
        return self._grant(entry, ttl)

    def _make_node(self, ask: _Ask, client: Any) -> tuple[str, Any]:
        while True:
            made = client.create_async(
                f"{ask.parent}/{ask.prefix}", ask.token.encode(), ephemeral=True, sequence=True, include_data=True
            )
            try:
                path, stat = answer(self._place, made, ask.until)
                return path, stat
            except kazoo_exceptions().NoNodeError:
                self._make_parent(ask, client)

    def _make_parent(self, ask: _Ask, client: Any) -> None:
        """Make the row as a container: the servers remove it some time after its last contender has left."""
        from kazoo.security import OPEN_ACL_UNSAFE

        # The folder is everybody's; only what stands in it is ours alone.
        answer(self._place, client.ensure_path_async(ROOT, acl=OPEN_ACL_UNSAFE), ask.until)
        try:
            answer(self._place, _make_container(client, ask.parent), ask.until)
        except kazoo_exceptions().NodeExistsError:
            return

    def _is_oldest(self, ask: _Ask, client: Any, entry: Entry) -> bool:
        """Compare by number of creation: the counters in the names overflow and begin anew, this one does not."""
        ours = entry.path.rpartition("/")[2]
        for child in answer(self._place, client.get_children_async(ask.parent), ask.until):
            if child == ours:
                continue
            stat = answer(self._place, client.exists_async(f"{ask.parent}/{child}"), ask.until)
            if stat is not None and stat.czxid < entry.fence:
                return False
        return True

    def _kept(self, ask: _Ask, entry: Entry, ttl: Micros) -> Grant | None:
        """Count the ttl of a grant anew.  A write: a read could be answered by a server that lags behind."""
        client = entry.session.connected(ask.until)
        path = entry.path or self._found(ask, entry.session)
        if path is None or not self._sweeper.is_watched(entry):
            self._sweeper.forget(entry)
            return None
        try:
            stat = answer(self._place, client.set_async(path, ask.token.encode()), ask.until)
        except kazoo_exceptions().NoNodeError:
            self._sweeper.forget(entry)
            return None
        if not entry.path:
            entry.path, entry.fence = path, int(stat.czxid)
            if not self._is_oldest(ask, client, entry):
                self._sweeper.expire(entry)
                return None
        return self._grant(entry, ttl) if self._sweeper.prolong(entry, ask.asked + ttl / 1e6) else None

    def _grant(self, entry: Entry, ttl: Micros) -> Grant:
        length = min(ttl, entry.session.granted)
        return Grant(fence=entry.fence, validity=length - drift(length))

    def _found(self, ask: _Ask, session: Session) -> str | None:
        """Return the node that an earlier call of ours left without knowing."""
        client = session.connected(ask.until)
        for child in self._children(ask, session):
            if not child.startswith(ask.prefix):
                continue
            stat = answer(self._place, client.exists_async(f"{ask.parent}/{child}"), ask.until)
            if stat is not None and stat.ephemeralOwner == session.id:
                return f"{ask.parent}/{child}"
        return None

    def _released_elsewhere(self, ask: _Ask, session: Session) -> bool:
        """Free a grant that another process, or an earlier session of ours, was given."""
        client = session.connected(ask.until)
        children = self._children(ask, session)
        oldest: tuple[int, str] | None = None
        for child in children:
            stat = answer(self._place, client.exists_async(f"{ask.parent}/{child}"), ask.until)
            if stat is not None and (oldest is None or stat.czxid < oldest[0]):
                oldest = (stat.czxid, child)
        if oldest is None or not oldest[1].startswith(ask.prefix):
            return False
        return self._deleted(ask, session, f"{ask.parent}/{oldest[1]}")

    def _deleted(self, ask: _Ask, session: Session, path: str) -> bool:
        try:
            answer(self._place, session.connected(ask.until).delete_async(path), ask.until)
        except kazoo_exceptions().NoNodeError:
            return False
        return True


def _make_container(client: Any, path: str) -> Any:
    """Ask for a container node, which kazoo itself cannot create (operation 19, since ZooKeeper 3.5.3)."""
    from kazoo.client import _prefix_root
    from kazoo.protocol.serialization import Create2
    from kazoo.security import OPEN_ACL_UNSAFE

    class CreateContainer(Create2):  # type: ignore[misc]
        type = 19

    result = client.handler.async_result()
    client._call(
        CreateContainer(_prefix_root(client.chroot, path), b"", client.default_acl or OPEN_ACL_UNSAFE, 4), result
    )
    return result
