"""Adding rows inside a transaction that the caller began on a connection of his own: both are kept, or neither.

Rule of the file: neither commit nor roll back.  What is added stands between a savepoint and its release, so a refusal
leaves the caller's transaction as it was.  The caller's settings (row factories, traces) are put aside and back.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from noonmark.stores.sqlite.drivers import APSW, STDLIB, AnyConnection, StdlibConnection

FIRST_LOOK, LONGEST_LOOK = 0.005, 0.25
LOOKED_FOR = 60.0
"""Seconds for which a caller's commit is looked out for; after that the workers' own look (10 s) finds the rows."""
STALE = "another file was put in its place, and your connection may be to the one that lay there before"
OPEN_ANEW = "Open your connection anew, then repeat."
_POSIX_LOCKS = (
    "two SQLite libraries on one file in one process drop each other's locks, which can damage it; "
    "open the store with the same library: "
)


@contextmanager
def joined(connection: object, path: Path, driver: str) -> Iterator[AnyConnection]:
    """Yield the caller's connection in its open transaction, fit for the store's statements.

    Raises:
        ValueError: no connection of this file that this store can join; the message says what is.
    """
    raw = _driver_connection(connection)
    own = _of_apsw(raw, driver) if isinstance(raw, apsw.Connection) else _of_stdlib(raw, connection, driver)
    with _put_aside(raw), _read_only_told():
        _check_file(own, path)
        if not own.in_transaction:
            _begin(own)
        own.execute("SAVEPOINT noonmark_add")
        try:
            yield own
        except BaseException:
            if own.in_transaction:  # a full disk has rolled it back already
                own.execute("ROLLBACK TO noonmark_add")
                own.execute("RELEASE noonmark_add")
            raise
        own.execute("RELEASE noonmark_add")


@contextmanager
def _read_only_told() -> Iterator[None]:
    """The store's file may well be written: it is this connection that may not."""
    try:
        yield
    except apsw.ReadOnlyError as error:
        raise ValueError(
            "your connection is read-only, so nothing can be added in its transaction; "
            "pass one that may write: no mode=ro, no PRAGMA query_only"
        ) from error


def _driver_connection(connection: Any) -> Any:
    """Return what the driver made: SQLAlchemy's Session and Connection hand it out."""
    if callable(getattr(connection, "connection", None)) and hasattr(connection, "get_bind"):
        connection = connection.connection()  # a Session's; it begins by itself
    pooled = getattr(connection, "connection", None)
    if pooled is None or not hasattr(pooled, "driver_connection"):
        return connection
    if not connection.in_transaction():
        raise ValueError(
            "this SQLAlchemy connection has no transaction open, so nothing would ever be committed; "
            "begin one: with engine.begin() as conn"
        )
    return pooled.driver_connection


def _of_apsw(raw: apsw.Connection, driver: str) -> AnyConnection:
    if driver != APSW:
        raise ValueError(f"this is a connection of apsw, and the store uses sqlite3: {_POSIX_LOCKS}sqlite:///PATH")
    return raw


def _of_stdlib(raw: Any, given: object, driver: str) -> AnyConnection:
    if not isinstance(raw, sqlite3.Connection):
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        raise ValueError(
            f"conn is a {kind}; this store is a SQLite file, so pass an apsw.Connection, or with ?driver=sqlite3 in the "
            "store's URL a sqlite3.Connection or SQLAlchemy's Connection or Session"
        )
    if driver != STDLIB:
        raise ValueError(
            f"this is a connection of sqlite3, and the store uses apsw: {_POSIX_LOCKS}sqlite:///PATH?driver=sqlite3"
        )
    return StdlibConnection(raw)


def _check_file(own: AnyConnection, path: Path) -> None:
    file = own.filename
    if not file or not os.path.exists(file) or not os.path.samefile(file, path):
        raise ValueError(
            f"this connection is to {file or 'a database in memory'}, and the store's file is {path}; "
            "your tables have to be in the store's file to be committed together with its rows"
        )


def _begin(own: AnyConnection) -> None:
    """Begin where Python's driver would have done so by itself, before the first change."""
    if isinstance(own, StdlibConnection) and own.raw.isolation_level is not None:
        own.execute("BEGIN IMMEDIATE")
        return
    raise ValueError(
        "no transaction is open on this connection, so there is nothing to join; "
        'execute "BEGIN IMMEDIATE" first, or leave conn out'
    )


@contextmanager
def _put_aside(raw: Any) -> Iterator[None]:
    """The caller's connection may turn rows and texts into objects of its own; the store reads plain ones."""
    names = ("row_trace", "exec_trace") if isinstance(raw, apsw.Connection) else ("text_factory",)
    plain = {"row_trace": None, "exec_trace": None, "text_factory": str}
    before = {name: getattr(raw, name) for name in names}
    for name in names:
        setattr(raw, name, plain[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(raw, name, value)


class Lookout:
    """Tells the listeners once a caller has committed, which nobody but he knows of: it looks whether the rows are there.

    A thread of its own lives only while something is looked out for.  A transaction that is rolled back, or takes longer
    than a minute, is given up; then the workers' own look finds what there is to find.

    Args:
        is_there: looks whether the request was committed.
        tell: tells the listeners.
    """

    def __init__(self, is_there: Callable[[str], bool], tell: Callable[[], None]) -> None:
        self._is_there = is_there
        self._tell = tell
        self._changed = threading.Condition()
        self._pending: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self._nap = FIRST_LOOK

    def wait_for(self, request_id: str) -> None:
        """Look out for the commit of this request."""
        with self._changed:
            if self._closed:
                return
            self._pending[request_id] = time.monotonic() + LOOKED_FOR
            self._nap = FIRST_LOOK  # he may commit at once
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="noonmark-lookout", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _look(self) -> None:
        while True:
            with self._changed:
                if self._closed or not self._pending:
                    self._thread = None
                    return
                self._changed.wait(self._nap)
                self._nap = min(self._nap * 1.5, LONGEST_LOOK)
                pending = dict(self._pending)
            now = time.monotonic()
            there = {name for name in pending if self._was_committed(name)}
            with self._changed:
                for name, until in pending.items():
                    if name in there or now > until:
                        self._pending.pop(name, None)
            if there:
                self._tell()

    def _was_committed(self, request_id: str) -> bool:
        try:
            return self._is_there(request_id)
        except Exception:  # the store is away or closed: its next hint or the workers' own look has to do
            return False

    def close(self) -> None:
        """Look out for nothing any more."""
        with self._changed:
            self._closed = True
            self._pending.clear()
            thread = self._thread
            self._changed.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)
