"""Connections to PostgreSQL for locks: from a URL, few, bounded in time, and their errors in words.

Rule of the file: every statement stands alone (autocommit), so nothing is held open between two calls and a pooler in
transaction mode does no harm; a statement that takes too long is given up together with its connection.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Generator, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlencode

import psycopg
from psycopg import sql

from noonmark.core.urls import place_shown, without_secrets
from noonmark.locks.errors import LockUrlError, no_answer, refusal
from noonmark.locks.urls import check_visible, options
from noonmark.ports.lock import LockError, LockUnusable
from noonmark.ports.process import opened_elsewhere, owner

TIMEOUT = 5.0
"""Seconds for connecting and for each statement; the end of trust is watched apart."""
_IDLE_KEPT = 8
_SCHEMA = "CREATE SCHEMA IF NOT EXISTS {schema}"
_OURS = {"kind", "schema", "pooler", "migrate", "pool_size"}
"""Taken out before libpq sees the rest; the last three mean something to the store at the same URL."""
_ACTS = ("28", "42501", "3D000", "3F000", "42P01", "53100", "0A000")
"""Classes of SQLSTATE that stay until somebody acts: no access, no rights, no such database or table, disk full."""

NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""The server's time, UTC microseconds, read anew each time: a statement may have waited for a row."""


class TooSlow(psycopg.OperationalError):
    """The server did not answer in time; asking again at once would only take as long again."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose statements end in time, one way or the other."""

    is_own_session = False  # True once it is known that no pooler stands between

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Run an operation to its end, at most ``TIMEOUT`` seconds; then the connection is closed."""
        own = {} if timeout is None else {"timeout": timeout}  # older drivers do not know it
        return super().wait(_bounded(gen, self), interval, **own)


def _bounded(gen: Any, connection: Connection) -> Generator[Any, Any, Any]:
    give_up = time.monotonic() + TIMEOUT
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > give_up:
                connection.pgconn.finish()
                raise TooSlow(f"no answer within {TIMEOUT:.0f} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


class Link:
    """The connections of one lock service, opened when they are needed and used by one thread at a time.

    Args:
        url: ``postgresql://user:password@host:port/database?schema=noonmark``; libpq's own options pass through.  Locks
            live in the schema named so plus ``_locks``, beside the store's.
        tables: statements that make what is missing there; ``{schema}`` stands for its name.
        needed: the table to look for.
    """

    def __init__(self, url: str, *, tables: Sequence[str], needed: str) -> None:
        self.url = without_secrets(url.partition("?")[0])
        self._conninfo, self.schema = _read(url)
        self._tables, self._needed = tables, needed
        self._mutex = threading.Lock()
        self._idle: list[Connection] = []
        self._prepared = self._closed = False
        self._owner = owner()

    def text(self, statement: str) -> sql.Composed:
        """Return a statement that takes values, with the schema's name in it (a percent sign would begin a value)."""
        return sql.SQL(statement).format(schema=sql.Identifier(self.schema.replace("%", "%%")))

    def _ddl(self, statement: str) -> sql.Composed:
        return sql.SQL(statement).format(schema=sql.Identifier(self.schema))

    # -- one statement --------------------------------------------------------------------------

    def run(self, statement: sql.Composed, values: dict[str, Any], *, again: bool) -> tuple[Any, ...] | None:
        """Carry out one statement and return its first row.

        Args:
            statement: made by ``text``.
            values: its parameters.
            again: repeat it once if the connection turns out to be dead; only for what may be done twice.

        Raises:
            LockError: no answer.
        """
        connection = self.take()
        try:
            cursor = connection.execute(statement, values)
            row = cursor.fetchone() if cursor.description else None
        except psycopg.Error as error:
            dead = (connection.broken or connection.closed) and not isinstance(error, TooSlow)
            self.give_back(connection)
            if again and (dead or isinstance(error, _COLLISIONS)):
                return self.run(statement, values, again=False)
            raise self.translated(error) from error
        except BaseException:
            connection.close()
            raise
        self.give_back(connection)
        return row

    # -- connections ----------------------------------------------------------------------------

    def take(self) -> Connection:
        """Return a connection that looks alive, and prepare the tables if nobody has."""
        if not self._owner.is_here:
            raise LockUnusable(opened_elsewhere(self.url))
        while True:
            with self._mutex:
                if self._closed:
                    raise LockUnusable(f"{self.url} was closed in this process; open it again")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if not _was_hung_up(connection):
                return connection
            connection.close()
        try:
            connection = Connection.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise self.translated(error) from error
        if not self._prepared:
            try:
                self._prepare(connection)
            except psycopg.Error as error:
                connection.close()
                raise self.translated(error) from error
            self._prepared = True
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for later, unless it is dead or there are enough."""
        with self._mutex:
            if not (connection.broken or connection.closed or self._closed) and len(self._idle) < _IDLE_KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _prepare(self, connection: Connection) -> None:
        """Make what is missing; where everything is there, nothing but the right to use it is needed."""
        quoted = self.schema.replace('"', '""')
        found = connection.execute("SELECT to_regclass(%s)", (f'"{quoted}".{self._needed}',)).fetchone()
        if found is not None and found[0] is not None:
            return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"noonmark {self.schema}",))
            for statement in (_SCHEMA, *self._tables):
                connection.execute(self._ddl(statement))

    def close(self) -> None:
        """Close every connection."""
        if not self._owner.is_here:
            return
        with self._mutex:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def translated(self, error: psycopg.Error) -> LockError:
        """Return the lock error that says what this means to a person."""
        said = " ".join(str(error).split()) or type(error).__name__
        state = error.sqlstate or ""
        if state.startswith(_ACTS) or _refuses(said):
            return refusal(self.url, said, self._remedy(state))
        return no_answer(self.url, said)

    def _remedy(self, state: str) -> str:
        if state in ("42501", "3F000", "42P01"):
            wanted = (_SCHEMA, *self._tables)
            made = "; ".join(" ".join(self._ddl(statement).as_string(None).split()) for statement in wanted)
            return (
                f"Let a user who may do so run: {made}; "
                "and grant this one USAGE on the schema and SELECT, INSERT, UPDATE, DELETE on its tables."
            )
        if state == "53100":
            return "Free some space on its disk."
        return "Check user, password and database in the URL."


_COLLISIONS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


def _refuses(said: str) -> bool:
    """A refusal while connecting carries no SQLSTATE."""
    return any(
        word in said
        for word in ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry")
    )


def _was_hung_up(connection: Connection) -> bool:
    """An idle connection on which something can be read has been told good-bye (or a notice: then it is no loss either)."""
    if connection.broken or connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


@cache
def _of_libpq() -> frozenset[str]:
    """Return the options that libpq understands; ``ssl`` is another spelling of one."""
    return frozenset(option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()) | {"ssl"}


def _read(url: str) -> tuple[str, str]:
    check_visible(url)
    head = url.partition("?")[0]
    given = options(url, _OURS, of_libpq=_of_libpq())
    schema = given.get("schema", "noonmark") + "_locks"
    if not schema.isprintable() or len(schema.encode()) > 63:
        raise LockUrlError(f"a PostgreSQL schema has at most 57 bytes here, and no control characters: {schema[:60]!r}")
    kept = {"connect_timeout": "5", "application_name": "noonmark locks", "tcp_user_timeout": "5000"} | {
        key: value for key, value in given.items() if key not in _OURS
    }
    if "," in head.partition("://")[2] and "target_session_attrs" not in kept:
        kept["target_session_attrs"] = "read-write"  # of several servers only the primary can serve
    conninfo = f"{head}?{urlencode(kept)}"
    try:
        port = str(psycopg.conninfo.conninfo_to_dict(conninfo).get("port", ""))
    except UnicodeDecodeError:
        raise LockUrlError(
            f"{without_secrets(url)} cannot be read; it has %-signs that spell no UTF-8; write % itself as %25"
        ) from None
    except psycopg.Error as problem:
        told = " ".join(str(problem).split()).partition(" in URI")[0]  # behind it stands what we made of the URL
        said = f" ({told})" if "@" not in url and "password" not in url else ""
        raise LockUrlError(
            f"{without_secrets(url)} cannot be read{said}; write postgresql://user@host/database, with special"
            " characters in a password percent-encoded"
        ) from None
    for number in port.split(",") if port else ():
        if not (number.isdecimal() and 0 < int(number) < 65536):
            raise LockUrlError(
                f'"{place_shown(f":{number}")[1:]}" is no port; write postgresql://user@host:5432/database'
            )
    return conninfo, schema
