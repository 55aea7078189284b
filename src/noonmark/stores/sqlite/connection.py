"""Connections to the file: one per purpose, opened alike, each used by one thread at a time.

Rule of the file: a writing transaction begins with BEGIN IMMEDIATE, so whatever it compares is locked.  Somebody else's
transaction is waited for in short jittered naps, about ten seconds long, and never while holding anything that a lease
renewal needs: ordinary verbs let a waiting renewal go first.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from noonmark.core.model import Micros
from noonmark.ports.process import owner
from noonmark.stores.sqlite import alerts, errors, schema
from noonmark.stores.sqlite.clock import StoreClock, behind_alert
from noonmark.stores.sqlite.drivers import APSW, AnyConnection, open_connection
from noonmark.stores.sqlite.pair import Pair
from noonmark.stores.sqlite.transaction import Transaction

PATIENCE = 10.0
"""Seconds to wait for another process's transaction."""
FIRST_NAP, LONGEST_NAP, LONGEST_RENEWAL_NAP = 0.0002, 0.01, 0.002
"""Short naps on purpose: SQLite's lock is unfair, and whoever sleeps longest never gets it from a busy neighbour."""

REPLACED = "the file was replaced or taken away while a change was under way; nothing of the change was kept"
REPEAT = "Repeat it."
_MAKING = threading.Lock()


class Courtesy:
    """Lets lease renewals go before the ordinary verbs of the same process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._clear = threading.Event()
        self._clear.set()

    @contextmanager
    def going_first(self) -> Iterator[None]:
        """Hold back verbs that have not begun while the block lasts."""
        with self._lock:
            self._waiting += 1
            self._clear.clear()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._clear.set()

    def give_way(self) -> None:
        """Wait until no renewal is waiting, but never for long: its thread may have been stopped."""
        if not self._clear.is_set():
            self._clear.wait(0.1)


class Link:
    """One connection for one purpose."""

    def __init__(
        self,
        path: Path,
        synchronous: str,
        clock: StoreClock,
        courtesy: Courtesy,
        *,
        urgent: bool = False,
        reader: bool = False,
        driver: str = APSW,
        connection: AnyConnection | None = None,
    ) -> None:
        self.path = str(path)
        self.patience = PATIENCE
        self._clock = clock
        self._courtesy = courtesy
        self._urgent = urgent
        self._reader = reader
        self._lock = threading.Lock()
        self._owner = owner()
        self.pair: Pair | None = None
        self._connection = connection if connection is not None else connect(path, synchronous, driver)
        if not reader:
            self._connection.set_busy_timeout(0)  # we wait ourselves, and let renewals go first

    @contextmanager
    def write(self, at: Micros | None = None) -> Iterator[Transaction]:
        """Run the block as one writing transaction: all of it is kept, or nothing."""
        self._check_process()
        with self._lock, errors.translating(self.path):
            connection = self._connection
            if self._urgent:
                with self._courtesy.going_first():
                    self._begin(connection)
            else:
                self._begin(connection)
            try:
                tx = self.transaction(connection, at)
                yield tx
                tx.finish()
                self._check_place()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has rolled it back already
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def read(self) -> Iterator[AnyConnection]:
        """Run the block on one consistent state of the file, without hindering anybody."""
        self._check_process()
        with self._lock, errors.translating(self.path):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def alone(self) -> Iterator[AnyConnection]:
        """Keep everybody else from the connection, and from writing where it is one that writes, while the block lasts."""
        self._check_process()
        if not self._lock.acquire(timeout=self.patience):
            raise errors.unreachable(self.path, "it is busy in this process", REPEAT)
        try:
            with errors.translating(self.path):
                if not self._reader:
                    self._begin(self._connection)
                try:
                    yield self._connection
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
        finally:
            self._lock.release()

    @property
    def identity(self) -> str:
        """Which file this is a connection to."""
        return "" if self.pair is None else self.pair.identity

    def _check_place(self) -> None:
        """A change that is kept in a file which another one has replaced meanwhile would be nobody's."""
        if self.pair is not None and self.pair.trouble():
            raise errors.unreachable(self.path, REPLACED, REPEAT)

    def _check_process(self) -> None:
        """A connection that crossed a fork destroys the file: both processes would drop each other's locks."""
        if not self._owner.is_here:
            raise errors.unusable(
                self.path, "it was opened before this process was forked", "Open the store again in the new process."
            )

    def transaction(self, connection: AnyConnection, at: Micros | None = None) -> Transaction:
        """Return what a verb works with, in a writing transaction that is open on this connection."""
        if at is not None:
            return Transaction(connection, at, timed=False)
        now, behind = self._clock.now(connection)
        tx = Transaction(connection, now, timed=True)
        if behind > 0:
            alerts.write(tx, behind_alert(behind))
        return tx

    def _begin(self, connection: AnyConnection) -> None:
        nap, longest = FIRST_NAP, LONGEST_RENEWAL_NAP if self._urgent else LONGEST_NAP
        give_up = 0.0
        while True:
            if not self._urgent:
                self._courtesy.give_way()
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except errors.BUSY:
                moment = time.monotonic()
                give_up = give_up or moment + self.patience
                if moment >= give_up:
                    raise
            time.sleep(nap * random.uniform(0.5, 1.5))
            nap = min(nap * 1.5, longest)

    def close(self) -> None:
        """Close the connection; later calls find it closed."""
        with self._lock:
            self._connection.close()


def connect(path: Path, synchronous: str, driver: str = APSW) -> AnyConnection:
    """Open a connection as every connection of this store must be."""
    connection = open_connection(path, driver)
    try:
        connection.set_busy_timeout(int(PATIENCE * 1000))
        connection.pragma("synchronous", synchronous)  # before the file is made, which OFF makes without the disk
        _use_wal(connection)
        connection.pragma("temp_store", "memory")
        connection.pragma("cache_size", -32_000)
        connection.pragma("journal_size_limit", 64 * 1024 * 1024)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: AnyConnection) -> None:
    """Turn a new file into WAL mode, together with others that open it at the same moment.

    The change takes two locks, and for the second SQLite does not wait, whatever the busy timeout says: two openers
    would otherwise wait for each other.
    """
    give_up = time.monotonic() + PATIENCE
    while connection.pragma("journal_mode") != "wal":
        try:
            connection.pragma("journal_mode", "wal")
        except errors.BUSY:
            if time.monotonic() >= give_up:
                raise
            time.sleep(FIRST_NAP * random.uniform(0.5, 10))


def prepare(path: Path, synchronous: str, clock: StoreClock, driver: str = APSW, *, create: bool = True) -> None:
    """Create the file (unless only an existing one is wanted) or bring it up to date, and anchor its clock."""
    if path.is_dir():
        raise errors.unusable(str(path), "it is a directory", "Name a file inside it, such as noonmark.db.")
    if not create and not _holds_a_store(path, driver):
        raise errors.absent(str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise errors.unusable(
            str(path), f"its directory cannot be created ({problem.strerror})", "Create it, or name another place."
        ) from problem
    _make_private(path)
    with errors.translating(str(path)):
        connection = _connect_when_ours(path, synchronous, driver)
        try:
            if connection.readonly("main"):
                raise apsw.ReadOnlyError(str(path))
            if schema.is_current(connection, str(path)) and clock.is_settled(connection):
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                schema.migrate(connection, str(path))
                clock.reconsider(connection)
                now, behind = clock.now(connection)
                if behind > 0:
                    tx = Transaction(connection, now, timed=True)
                    alerts.write(tx, behind_alert(behind))
                    tx.finish()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        finally:
            connection.close()


def _make_private(path: Path) -> None:
    """Make a file that is not there readable by its owner only: parameters, results and errors stand in it.

    SQLite gives its log and its index the mode of the file.  A file that is there keeps the mode somebody chose.  Under
    the lock, because closing a descriptor drops the locks that another thread's connection has on the same file.
    """
    with _MAKING, contextlib.suppress(OSError):  # whatever is wrong with the place is said by SQLite, in its words
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _holds_a_store(path: Path, driver: str) -> bool:
    """Look without touching; an empty file, or a database without any table, is no store yet."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    with errors.translating(str(path)):
        look = open_connection(path, driver, create=False)
        try:
            look.set_busy_timeout(int(PATIENCE * 1000))
            return not schema.is_empty(look, str(path))
        finally:
            look.close()


def open_links(
    path: Path, synchronous: str, clock: StoreClock, driver: str, *, create: bool
) -> tuple[Link, Link, Link]:
    """Open the file for ordinary verbs, for those that keep a lease alive, and for reads; it is prepared before."""
    prepare(path, synchronous, clock, driver, create=create)
    courtesy = Courtesy()
    return (
        Link(path, synchronous, clock, courtesy, driver=driver),
        Link(path, synchronous, clock, courtesy, urgent=True, driver=driver),
        Link(path, synchronous, clock, courtesy, reader=True, driver=driver),
    )


def _connect_when_ours(path: Path, synchronous: str, driver: str) -> AnyConnection:
    """Look before touching: turning somebody else's database into WAL mode would already be damage."""
    if path.exists() and path.stat().st_size > 0:
        look = open_connection(path, driver, create=False)
        try:
            look.set_busy_timeout(int(PATIENCE * 1000))
            schema.is_current(look, str(path))
        finally:
            look.close()
    return connect(path, synchronous, driver)
