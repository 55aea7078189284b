"""Locks in a SQLite file, between the processes of one machine.

Promises: one holder at a time, whatever the wall clock does: a lock ends on the boot-time clock, which all processes of
the machine share, and a lock of an earlier boot is free, because its holder is dead.  Fences grow as long as the file
is kept; the wall clock only gives them their start.

``sqlite:///noonmark.db`` keeps its locks in ``noonmark.db-locks``, beside the store: there a lock never waits for one of
the store's transactions, and no file is opened by two SQLite libraries in one process, which would damage it.

Rule of the file: each verb is one statement, which takes the write lock for microseconds.  Grants need no power-cut
durability (a power cut ends all holders), so nothing is flushed to the disk.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from urllib.parse import unquote

import apsw

from noonmark.core.model import DAY, SECOND, Micros
from noonmark.locks.checks import check
from noonmark.locks.errors import LockUrlError
from noonmark.locks.urls import check_length, options
from noonmark.ports.clock import STRANGE, Clock, SystemClock
from noonmark.ports.folder import make_own_folder
from noonmark.ports.lock import Grant, LockError, LockUnusable, granted
from noonmark.ports.process import opened_elsewhere, owner

APPLICATION_ID = 0x4E4F4F4E
"""Stands in the header of every noonmark file ("NOON"): somebody else's database is never altered."""
SUFFIX = "-locks"
_OF_THE_STORE = ("synchronous", "driver")
"""Options that mean something to the store at the same URL and nothing to a lock."""
PATIENCE = 5.0
"""Seconds to wait for somebody else's transaction."""
_SWEEP_EVERY = 10_000
NO_BOOT_ID = "no-boot-id"
"""What the clock says where the system cannot tell boots apart."""

_TABLE = """
CREATE TABLE IF NOT EXISTS noonmark_lock (
  name TEXT PRIMARY KEY,
  token TEXT NOT NULL,
  fence INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  until INTEGER NOT NULL,
  ttl INTEGER NOT NULL
) STRICT, WITHOUT ROWID
"""
# Values go by their places, which SQLite finds faster than names; a verb needs the first four, five or all.
_NOW, _BOOT_ID, _NAME, _TOKEN, _TTL, _WALL = "?1", "?2", "?3", "?4", "?5", "?6"
# A lock is alive in its own boot only; where the system names no boot, a lock with far more time left than its ttl is old.
# "now" was read before the statement waited for its turn.  That may make a dead lock look alive and a new ttl a little
# shorter, which is harmless; so the second rule needs the margin, or a lock granted during the wait would look old.
_ALIVE = (
    f"(boot_id = {_BOOT_ID} AND until > {_NOW}"
    f" AND ({_BOOT_ID} <> '{NO_BOOT_ID}' OR until <= {_NOW} + ttl + {round(4 * PATIENCE * SECOND)}))"
)
# Two renewals may cross while they wait: the one that was asked earlier must not take back what the later one promised.
_UNTIL = f"CASE WHEN {_ALIVE} AND ttl = {_TTL} THEN max(until, {_NOW} + {_TTL}) ELSE {_NOW} + {_TTL} END"
_ACQUIRE = f"""
INSERT INTO noonmark_lock (name, token, fence, boot_id, until, ttl)
VALUES ({_NAME}, {_TOKEN}, {_WALL}, {_BOOT_ID}, {_NOW} + {_TTL}, {_TTL})
ON CONFLICT (name) DO UPDATE SET
  fence = CASE WHEN token = {_TOKEN} AND {_ALIVE} THEN fence ELSE max(fence + 1, {_WALL}) END,
  token = {_TOKEN}, boot_id = {_BOOT_ID}, until = {_UNTIL}, ttl = {_TTL}
WHERE token = {_TOKEN} OR NOT {_ALIVE}
RETURNING fence
"""
_RENEW = f"""
UPDATE noonmark_lock SET until = {_UNTIL}, ttl = {_TTL}
WHERE name = {_NAME} AND token = {_TOKEN} AND {_ALIVE}
RETURNING fence
"""
_RELEASE = f"UPDATE noonmark_lock SET until = 0 WHERE name = {_NAME} AND token = {_TOKEN} AND {_ALIVE} RETURNING fence"
_OTHERS = "SELECT EXISTS (SELECT 1 FROM noonmark_lock WHERE (boot_id || '+') GLOB ?1 || '+*' AND boot_id <> ?2)"
# The fence is at least the wall time of the grant, so it tells how old a row is.  The third value stands for _NAME.
_SWEEP = f"DELETE FROM noonmark_lock WHERE NOT {_ALIVE} AND fence < ?3"


def open_sqlite(url: str) -> SqliteLocks:
    """Open the locks at a URL, in a folder of ours that is made if need be.

    Raises:
        LockUrlError: with what to write instead.
    """
    folder = path_of(url).parent
    try:
        make_own_folder(folder)
    except OSError as error:
        raise LockUrlError(f"{folder} cannot be made: {error.strerror}; choose another path") from None
    return SqliteLocks(url)


def path_of(url: str) -> Path:
    """Return the file for the locks of ``sqlite:///relative.db`` or ``sqlite:////absolute.db``.

    Raises:
        LockUrlError: with what to write instead.
    """
    check_length(url)
    place = url.partition("://")[2].partition("?")[0]
    if place and not place.startswith("/"):
        meant = place if "@" not in place else "noonmark.db"  # what stands before an @ may be a password
        raise LockUrlError(f"sqlite has no host; write sqlite:///{meant} (three slashes; four for an absolute path)")
    name = unquote(place[1:])
    if not name or name == ":memory:" or name.endswith("/") or "\0" in name:
        raise LockUrlError("the URL names no file; write sqlite:///noonmark.db, or memory:// for locks of one process")
    options(url, (), passed_over=_OF_THE_STORE)
    return Path(name + SUFFIX)


class _Way:
    """A connection, one statement at a time; its cursor is used again, since a new one for each costs as much as locking."""

    __slots__ = ("connection", "cursor", "mutex")

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection, self.cursor, self.mutex = connection, connection.cursor(), threading.Lock()

    def begin_anew(self) -> None:
        """Give up a statement that was interrupted: half done, it would keep the write lock."""
        self.cursor.close(True)
        self.cursor = self.connection.cursor()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close(True)


class SqliteLocks:
    """The locks in one file.

    Args:
        url: ``sqlite:///relative.db`` or ``sqlite:////absolute.db``; the file is made if need be, its folder is not.
        clock: replaces the machine's clocks, for tests.
    """

    kind = "sqlite"

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        self._path = path_of(url)
        self.url = f"sqlite:///{os.fspath(self._path).removesuffix(SUFFIX)}"
        clock = clock or SystemClock()
        self._boot, self._wall, self._boot_id = clock.boot, clock.wall, clock.boot_id()
        self._owner = owner()
        self._grants = 0
        self._checked = "", ""  # what was asked for last: as a rule it is freed next
        self._calls = _Way(self._open())
        # Its own, so that a renewal does not stand behind an acquire that waits for somebody's long transaction.
        self._renewals = _Way(self._open())
        self._prepare()

    def _open(self) -> apsw.Connection:
        try:
            if self._path.is_dir():
                raise LockUnusable(f"cannot keep locks in {self._path}: it is a directory. Name a file inside it.")
            connection = apsw.Connection(os.fspath(self._path))
        except apsw.Error as error:
            raise self._translated(error) from error
        connection.set_busy_handler(_Patience())
        return connection

    def _prepare(self) -> None:
        connection = self._calls.connection
        try:
            connection.execute("BEGIN")
            program, empty = self._program(connection)
            connection.execute("ROLLBACK")
            if program != APPLICATION_ID and not (empty and program == 0):
                raise LockUnusable(
                    f"cannot keep locks in {self._path}: it is a database of another program. Name another file."
                )
            for each in (connection, self._renewals.connection):
                _use_wal(each)
                each.pragma("synchronous", "OFF" if each.pragma("journal_mode") != "wal" else "NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.pragma("application_id", APPLICATION_ID)
            connection.execute(_TABLE)
            connection.execute("COMMIT")
            self._refuse_strangers(connection)
            self._sweep()
        except apsw.Error as error:
            self.close()
            raise self._translated(error) from error
        except BaseException:
            self.close()
            raise

    def _refuse_strangers(self, connection: apsw.Connection) -> None:
        """A process with another boot-time clock than the others of this boot would see their locks as long over."""
        boot, mark, _ = self._boot_id.partition(STRANGE)
        if mark and connection.execute(_OTHERS, (boot, self._boot_id)).get:
            raise LockUnusable(
                f"cannot keep locks in {self._path}: this process has another boot-time clock than the others. "
                "Run it without that."
            )

    @staticmethod
    def _program(connection: apsw.Connection) -> tuple[int, bool]:
        empty = bool(connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").get)
        return int(connection.pragma("application_id")), empty

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        check(name, token, ttl)
        self._checked = name, token
        self._grants += 1
        if self._grants % _SWEEP_EVERY == 0:
            self._sweep()
        way = self._calls
        with way.mutex:
            fence = self._run(way, _ACQUIRE, (self._boot(), self._boot_id, name, token, ttl, self._wall()))
        return None if fence is None else granted(fence, ttl)

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock; else None."""
        check(name, token, ttl)
        with self._renewals.mutex:
            fence = self._run(self._renewals, _RENEW, (self._boot(), self._boot_id, name, token, ttl))
        return None if fence is None else Grant(fence=fence, validity=ttl)

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        checked = self._checked
        if checked[0] is not name or checked[1] is not token:
            check(name, token)
        way = self._calls
        with way.mutex:
            return self._run(way, _RELEASE, (self._boot(), self._boot_id, name, token)) is not None

    def _sweep(self) -> None:
        """Forget names that nobody has locked for a day: the table stays bounded, the wall clock keeps fences growing."""
        with self._calls.mutex:
            self._run(self._calls, _SWEEP, (self._boot(), self._boot_id, self._wall() - DAY))

    def _run(self, way: _Way, statement: str, values: tuple[str | Micros, ...]) -> int | None:
        """Carry out one statement, in its turn, and return the fence that it tells."""
        if not self._owner.is_here:
            raise LockUnusable(opened_elsewhere(self.url))
        try:
            fence: int | None = way.cursor.execute(statement, values).get
        except apsw.Error as error:
            raise self._translated(error) from error
        except BaseException:
            way.begin_anew()
            raise
        return fence

    def _translated(self, error: apsw.Error) -> LockError:
        said = str(error) or type(error).__name__
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            return LockError(f"{self.url} does not answer: another process holds its write lock for too long.")
        if isinstance(error, (apsw.ConnectionClosedError, apsw.CursorClosedError)):
            return LockUnusable(f"{self.url} was closed in this process; open it again")
        if isinstance(error, apsw.NotADBError):
            return LockUnusable(f"cannot keep locks in {self._path}: it is no SQLite database. Name another file.")
        if isinstance(error, apsw.FullError):
            return LockUnusable(f"cannot keep locks in {self._path}: the disk is full. Free some space.")
        if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
            return LockUnusable(
                f"cannot keep locks in {self._path}: {said}. Check that its folder exists and is writable."
            )
        if isinstance(error, apsw.CorruptError):
            return LockUnusable(f"cannot keep locks in {self._path}: it is damaged ({said}). Restore it from a backup.")
        return LockError(f"{self.url} failed: {said}")

    def close(self) -> None:
        """Close the file."""
        if self._owner.is_here:
            self._calls.close()
            self._renewals.close()


class _Patience:
    """Naps while somebody else writes: short and jittered, since SQLite's lock is unfair to whoever sleeps longest."""

    def __init__(self) -> None:
        self._give_up = 0.0

    def __call__(self, naps: int) -> bool:
        moment = time.monotonic()
        if naps == 0:
            self._give_up = moment + PATIENCE
        if moment >= self._give_up:
            return False
        time.sleep(random.uniform(0.0001, min(0.005, 0.0005 * (naps + 1))))
        return True


def _use_wal(connection: apsw.Connection) -> None:
    """Turn a new file into WAL mode; SQLite does not wait for the second of the two locks that this takes."""
    give_up = time.monotonic() + PATIENCE
    while connection.pragma("journal_mode") != "wal":
        try:
            connection.pragma("journal_mode", "wal")
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() >= give_up:
                raise
            time.sleep(random.uniform(0.0002, 0.002))
