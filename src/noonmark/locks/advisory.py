"""PostgreSQL's session advisory locks: held as long as a connection lives, which is their charm and their trap.

Promises: no row is written to renew; a holder whose process dies frees the lock at once; other programs can take part
with ``SELECT pg_try_advisory_lock(hashtextextended('lock:NAME', 0))``.  The server ends a session that stays silent for
the ttl, so a paused holder loses the lock as with every other kind.

The trap: the lock belongs to a *session* of one server, not to its holder.  It ends, unnoticed until the next renewal,
when that connection breaks, when the server restarts or fails over, or when somebody terminates the session; trust is
then wrong for up to ttl/3, and only the fence protects.  Behind a pooler in transaction mode sessions are shared, so
such a lock would belong to strangers: that is found out and refused.  Each held lock takes one of the server's
connections.  ``postgresql://`` without ``kind=advisory`` has none of these; prefer it.

Rule of the file: one session per held lock; whatever is unclear ends the session, and with it the lock.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import psycopg

from noonmark.core.model import DAY, Micros
from noonmark.locks.checks import check, drift
from noonmark.locks.errors import LockUrlError
from noonmark.locks.postgres_link import NOW, Connection, Link
from noonmark.ports.lock import Grant, LockUnusable

_FENCES = """
CREATE TABLE IF NOT EXISTS {schema}.fence (
  name text COLLATE "C" PRIMARY KEY, fence bigint NOT NULL
) WITH (fillfactor = 50)
"""
_KEY = "hashtextextended(%(key)s, 0)"
# Also where the lock is refused: a session that the server ends in the pool costs a reconnect, no more.
_LOCK = f"SELECT pg_try_advisory_lock({_KEY}), set_config('idle_session_timeout', %(milliseconds)s, false)"
_FENCE = f"""
INSERT INTO {{schema}}.fence AS f (name, fence) VALUES (%(name)s, {NOW})
ON CONFLICT (name) DO UPDATE SET fence = greatest(f.fence + 1, {NOW}) RETURNING fence
"""
# Whoever still holds a lock of that age has the session; the next fence is the time, which is past his.
_SWEEP = f"""
DELETE FROM {{schema}}.fence WHERE name IN (
  SELECT name FROM {{schema}}.fence WHERE fence < {NOW} - %(kept)s LIMIT 10000 FOR UPDATE SKIP LOCKED)
"""
_SWEEP_EVERY = 3600.0
_RENEW = "SELECT pg_backend_pid(), set_config('idle_session_timeout', %(milliseconds)s, false)"
_UNLOCK = f"SELECT pg_advisory_unlock({_KEY}), set_config('idle_session_timeout', '0', false)"


@dataclass(slots=True)
class _Session:
    connection: Connection
    fence: int
    mutex: threading.Lock


@dataclass(slots=True)
class _Turn:
    mutex: threading.Lock = field(default_factory=threading.Lock)
    wanted: int = 0


class AdvisoryLocks:
    """Advisory locks of one database; a lock can be renewed and released only through the object that took it.

    Args:
        url: see ``postgres_link.Link``.  PostgreSQL 14 or newer.
    """

    kind = "postgres-advisory"

    def __init__(self, url: str) -> None:
        if ("pooler", "transaction") in parse_qsl(url.partition("?")[2]):
            raise LockUrlError(
                "kind=advisory needs a session of its own, and pooler=transaction says that sessions are shared;"
                " leave one of the two away"
            )
        self._link = Link(url, tables=(_FENCES,), needed="fence")
        self._lock, self._fence = self._link.text(_LOCK), self._link.text(_FENCE)
        self._unlock, self._renew = self._link.text(_UNLOCK), self._link.text(_RENEW)
        self._sweep, self._sweep_at = self._link.text(_SWEEP), 0.0
        self._mutex = threading.Lock()
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._asking: dict[tuple[str, str], _Turn] = {}

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._link.url

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        check(name, token, ttl)
        with self._one_at_a_time(name, token):
            return self.renew(name, ttl, token) or self._acquire(name, ttl, token)

    @contextlib.contextmanager
    def _one_at_a_time(self, name: str, token: str) -> Iterator[None]:
        """Let a token ask once at a time: its own second session would be a stranger to the server."""
        with self._mutex:
            turn = self._asking.setdefault((name, token), _Turn())
            turn.wanted += 1
        try:
            with turn.mutex:
                yield
        finally:
            with self._mutex:
                turn.wanted -= 1
                if not turn.wanted:
                    del self._asking[name, token]

    def _acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        connection = self._link.take()
        try:
            self._forget_old_names(connection)
            if not self._try_lock(connection, name, ttl):
                self._link.give_back(connection)
                return None
            row = connection.execute(self._fence, {"name": name}).fetchone()
            assert row is not None, "an upsert that always writes returns its row"
        except psycopg.Error as error:
            connection.close()  # and with it whatever it holds
            raise self._link.translated(error) from error
        except BaseException:
            connection.close()
            raise
        with self._mutex:
            self._sessions[name, token] = _Session(connection, row[0], threading.Lock())
        return Grant(fence=row[0], validity=ttl - drift(ttl))

    def _try_lock(self, connection: Connection, name: str, ttl: Micros) -> bool:
        if not connection.is_own_session:
            # Before anything is locked: what a shared session holds, nobody could free any more.
            row = connection.execute("SELECT pg_backend_pid()").fetchone()
            if row is None or row[0] != self._pid_told_to(connection):
                raise LockUnusable(
                    f"{self.url} is a pooler, and an advisory lock belongs to a session of the server;"
                    " leave kind=advisory away, or connect to the server itself"
                )
            connection.is_own_session = True
        row = connection.execute(self._lock, {"key": f"lock:{name}", "milliseconds": _milliseconds(ttl)}).fetchone()
        return row is not None and bool(row[0])

    def _forget_old_names(self, connection: Connection) -> None:
        moment = time.monotonic()
        if moment >= self._sweep_at:
            self._sweep_at = moment + _SWEEP_EVERY
            connection.execute(self._sweep, {"kept": DAY})

    @staticmethod
    def _pid_told_to(connection: Connection) -> int:
        """Return the process id that was told when connecting; a pooler tells one of its own making."""
        return connection.pgconn.backend_pid

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if the session that holds the lock still lives; else None."""
        check(name, token, ttl)
        session = self._sessions.get((name, token))
        if session is None:
            return None
        try:
            with session.mutex:
                if self._sessions.get((name, token)) is not session:
                    return None  # released meanwhile: the connection is somebody else's by now
                row = session.connection.execute(self._renew, {"milliseconds": _milliseconds(ttl)}).fetchone()
        except psycopg.Error:
            self._end(name, token, session)
            return None
        if row is None or row[0] != self._pid_told_to(session.connection):
            self._end(name, token, session)
            return None
        return Grant(fence=session.fence, validity=ttl - drift(ttl))

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        check(name, token)
        with self._mutex:
            session = self._sessions.pop((name, token), None)
        if session is None:
            return False
        try:
            with session.mutex:
                row = session.connection.execute(self._unlock, {"key": f"lock:{name}"}).fetchone()
        except psycopg.Error:
            session.connection.close()
            return False
        self._link.give_back(session.connection)
        return row is not None and bool(row[0])

    def _end(self, name: str, token: str, session: _Session) -> None:
        with self._mutex:
            if self._sessions.get((name, token)) is session:
                del self._sessions[name, token]
        with contextlib.suppress(psycopg.Error):
            session.connection.close()

    def close(self) -> None:
        """Close the connections; locks that are held are freed by it."""
        with self._mutex:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.connection.close()
        self._link.close()


def _milliseconds(ttl: Micros) -> str:
    return str(min(-(-ttl // 1000), 2**31 - 1))
