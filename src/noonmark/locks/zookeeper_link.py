"""Sessions with a ZooKeeper: opened when first needed, one for each length, refused after a fork.

Promises: every call ends within its time; a session that was lost is replaced by kazoo's own threads, which end with
``close``.

Rule of the file: here are URLs, sessions and errors; what a lock is stands in ``zookeeper.py``.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote

from noonmark.core.durations import parse_duration
from noonmark.core.model import SECOND, Micros
from noonmark.core.urls import without_secrets as shown
from noonmark.locks import urls
from noonmark.locks.errors import LockUrlError, no_answer
from noonmark.ports.lock import LockError, LockUnusable

TIMEOUT = 5.0
"""Seconds for one call, unless the URL says ``timeout``."""
LENGTHS: tuple[Micros, ...] = tuple(seconds * SECOND for seconds in (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 300, 900))
"""The session lengths that are asked for: the shortest that covers the ttl, so that few sessions serve every lock."""
_FILES = ("ca", "cert", "key")
_OPTIONS = frozenset({"timeout", "session", *_FILES})
_CHATTER = logging.getLogger("noonmark.locks.zookeeper.client")
_CHATTER.setLevel(logging.ERROR)  # kazoo warns at every attempt to reconnect; who asks for a lock is told anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a ZooKeeper URL says."""

    shown: str
    hosts: str  # as kazoo reads them, with the chroot
    user: str | None
    password: str | None
    secure: bool
    files: dict[str, str]
    timeout: float
    session: Micros | None  # one length for every lock, whatever its ttl


def read_url(url: str) -> Place:
    """Read ``zookeeper://user:password@host:2181,host:2181/chroot?session=10s&ca=…&cert=…&key=…&timeout=5``.

    ``zookeepers://`` means TLS.  User and password are a ``digest`` identity: with them only this user may touch the locks.

    Raises:
        LockUrlError: with what to write instead.
    """
    parts = urls.split(url)
    if parts.scheme not in ("zookeeper", "zookeepers"):
        raise LockUrlError(f"{shown(url)} names no ZooKeeper; write zookeeper://host:2181,host:2181")
    options = urls.options(url, _OPTIONS)
    files = urls.files(options, _FILES)
    if (parts.username is None) != (parts.password is None):
        raise LockUrlError(
            f"{shown(url)} names only one of user and password; write zookeeper://user:password@host:2181"
        )
    places = [urls.place(host, port) for host, port in urls.hosts(parts, 2181)]
    return Place(
        shown=shown(url),
        hosts=",".join(places) + _chroot(parts.path),
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        secure=parts.scheme == "zookeepers" or bool(files),
        files=files,
        timeout=urls.seconds(options.get("timeout", str(TIMEOUT)), 0.01, 600),
        session=_session(options["session"]) if "session" in options else None,
    )


def _session(value: str) -> Micros:
    try:
        session = parse_duration(value)
    except ValueError as error:
        raise LockUrlError(f"session={value} is not possible: {error}") from None
    if session < SECOND // 10:
        raise LockUrlError(f"session={value} is too short; write at least 100ms, for example session=10s")
    return session


def _chroot(path: str) -> str:
    chroot = path.rstrip("/")
    if "//" in chroot:
        raise LockUrlError(f'"{path}" is no path in ZooKeeper; write zookeeper://host:2181/team/app')
    return chroot


def length_for(place: Place, ttl: Micros) -> Micros:
    """Return how long a session to ask for: a holder that dies keeps its lock for one session."""
    if place.session is not None:
        return place.session
    return next((length for length in LENGTHS if length >= ttl), LENGTHS[-1])


class Session:
    """One session: what it created vanishes when the servers have not heard from us for its length."""

    def __init__(self, place: Place, length: Micros, on_lost: Callable[[Session], None]) -> None:
        from kazoo.client import KazooClient
        from kazoo.protocol.states import KazooState
        from kazoo.security import make_digest_acl

        self.place = place
        self.length = length
        self.granted: Micros = length  # what the servers agreed to; known before the first answer
        self._lost_state = KazooState.LOST
        self._on_lost = on_lost
        owned: dict[str, Any] = {}
        if place.user is not None:
            owned = {
                "auth_data": [("digest", f"{place.user}:{place.password}")],
                "default_acl": [make_digest_acl(place.user, place.password, all=True)],
            }
        self.client = KazooClient(
            hosts=place.hosts,
            timeout=length / 1e6,
            connection_retry={"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 0.5},
            logger=_CHATTER,
            use_ssl=place.secure,
            ca=place.files.get("ca"),
            certfile=place.files.get("cert"),
            keyfile=place.files.get("key"),
            check_hostname="ca" in place.files,
            **owned,
        )
        self._watch_over_connecting()
        self.client.add_listener(self._changed)
        self._live: Any = None
        self._guard = threading.Lock()

    def _watch_over_connecting(self) -> None:
        """Learn the session's true length, and give a member up that does not answer.

        The servers may shorten a session (to 20 ticks), and kazoo tells nobody: it is read from their answer.  And it
        waits for a member as long as the session is, which for a long one is longer than anybody's patience.
        """
        from kazoo.protocol.serialization import Connect

        connection, handler = self.client._connection, self.client.handler
        invoke, connect = connection._invoke, handler.create_connection
        patience = self.place.timeout / 2

        def greet(timeout: float, request: Any, xid: Any = None) -> Any:
            if not isinstance(request, Connect):
                return invoke(timeout, request, xid)
            answer = invoke(min(timeout, patience), request, xid)
            self.granted = answer[0].time_out * 1000
            return answer

        def reach(*args: Any, timeout: float, **options: Any) -> Any:
            return connect(*args, timeout=min(timeout, patience), **options)

        connection._invoke, handler.create_connection = greet, reach

    def _changed(self, state: str) -> None:
        if state == self._lost_state:
            self._on_lost(self)

    @property
    def id(self) -> int:
        """The session's number, 0 while there is none."""
        known = self.client.client_id
        return 0 if known is None else int(known[0] or 0)

    def connected(self, until: float) -> Any:
        """Return the connected client; waits for a connection until a moment of the monotonic clock.

        Raises:
            LockError: there is none.
        """
        if self.client.connected:
            return self.client
        with self._guard:
            if self._live is None:
                self._live = self.client.start_async()
        self._live.wait(max(0.0, until - time.monotonic()))
        if not self.client.connected:
            from kazoo.protocol.states import KeeperState

            if self.client.client_state == KeeperState.AUTH_FAILED:
                raise LockUnusable(f"{self.place.shown} refuses us. Check user and password in the URL.")
            raise LockError(f"{self.place.shown} does not answer: no connection within {self.place.timeout:g} s.")
        return self.client

    def close(self) -> None:
        """End the session; what it holds is free at once, if the servers can be told."""
        with contextlib.suppress(Exception):
            self.client.stop()
        with contextlib.suppress(Exception):
            self.client.close()


@cache
def kazoo_exceptions() -> Any:
    """Return kazoo's errors; to import them once for each answer takes longer than everything else about it."""
    from kazoo import exceptions

    return exceptions


def answer(place: Place, result: Any, until: float) -> Any:
    """Wait for one answer until a moment of the monotonic clock.

    Raises:
        LockError: none came, or the connection or the session was lost meanwhile.
        LockUnusable: we may not do this.
    """
    exceptions = kazoo_exceptions()
    try:
        return result.get(timeout=max(0.0, until - time.monotonic()))
    except (exceptions.NoAuthError, exceptions.AuthFailedError, exceptions.InvalidACLError) as error:
        raise LockUnusable(
            f"{place.shown} does not let us keep locks ({type(error).__name__}). Check user and password in the URL, "
            "and the rights on /noonmark/locks."
        ) from error
    except (exceptions.NoNodeError, exceptions.NodeExistsError):
        raise  # these are answers
    except (exceptions.KazooException, result._handler.timeout_exception, OSError) as error:
        said = str(error) or type(error).__name__
        raise no_answer(place.shown, said) from error
