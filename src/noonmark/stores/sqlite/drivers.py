"""The two libraries that can read the file: apsw, and the SQLite that Python itself brings.

Rule of the file: one process uses one of them on a file, never both.  Each has its own copy of SQLite, and POSIX drops all
of a process's locks on a file when any copy closes a descriptor of it: the other copy would go on without its locks.  So
Python's own is chosen by the URL (``?driver=sqlite3``) and for all connections at once, by those whose application hands
its own ``sqlite3`` or SQLAlchemy connections to ``later(..., conn=…)``.  Everywhere else apsw is used, whose SQLite is
newer.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import apsw

from noonmark.ports.doctor import Finding
from noonmark.stores.sqlite.errors import unusable

APSW, STDLIB = "apsw", "sqlite3"
DRIVERS = (APSW, STDLIB)
OLDEST = (3, 35, 0)
"""The first SQLite that has all the statements of this store (RETURNING)."""
_RESET_BUG = ((3, 7, 0), (3, 51, 2))
_RESET_MENDED = ((3, 44, 6), (3, 50, 7))
_LOG = logging.getLogger("noonmark")

AnyConnection: TypeAlias = "apsw.Connection | StdlibConnection"


def has_reset_bug(version: tuple[int, int, int]) -> bool:
    """Can this SQLite damage a file in WAL mode when two connections write and reset the log at one moment?

    Mended in 3.51.3, and in 3.44.6 and 3.50.7 of the older lines.
    """
    if not _RESET_BUG[0] <= version <= _RESET_BUG[1]:
        return False
    return not any(version[:2] == mended[:2] and version >= mended for mended in _RESET_MENDED)


def library(driver: str) -> str:
    """Return the name and version of the SQLite in use, for people."""
    if driver == STDLIB:
        return f"SQLite {sqlite3.sqlite_version} (Python's own)"
    return f"SQLite {apsw.sqlite_lib_version()}"


def findings(driver: str) -> list[Finding]:
    """Say what is wrong with the library in use."""
    if driver == APSW or not has_reset_bug(sqlite3.sqlite_version_info):
        return []
    detail = {"version": sqlite3.sqlite_version}
    return [
        Finding(
            code="sqlite_reset_bug",
            level="warn",
            sentence=f"Python's own SQLite {sqlite3.sqlite_version} has a bug that can damage a file which several "
            "connections write (mended in 3.51.3).",
            remedy="Leave driver=sqlite3 out of the URL, or use a Python whose SQLite is newer.",
            detail=detail,
        )
    ]


@cache
def _warn_once() -> None:
    for finding in findings(STDLIB):
        _LOG.warning("%s %s", finding.sentence, finding.remedy)


def open_connection(path: Path, driver: str, *, create: bool = True) -> AnyConnection:
    """Open a connection; nothing is set on it yet."""
    if driver == APSW:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        return apsw.Connection(str(path), flags=flags, statementcachesize=256)
    if sqlite3.sqlite_version_info < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise unusable(
            str(path),
            f"Python's own SQLite is {sqlite3.sqlite_version}, and {wanted} or newer is needed",
            "Leave driver=sqlite3 out of the URL, or use a newer Python.",
        )
    _warn_once()
    return StdlibConnection.open(path, create=create)


def open_to_look(path: Path, driver: str, how: str) -> AnyConnection:
    """Open a connection that only reads; ``how`` is the part of the URI that says so (see ``looking.py``)."""
    name = f"{path.absolute().as_uri()}?{how}"
    if driver == APSW:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(name, flags=flags, statementcachesize=256)
    return StdlibConnection.at(name)


class Rows:
    """The rows of one statement, read to the end, with what the store asks of apsw's cursors."""

    __slots__ = ("_next", "_rows")

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows
        self._next = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        rest, self._next = self._rows[self._next :], len(self._rows)
        return iter(rest)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, None after the last."""
        if self._next >= len(self._rows):
            return None
        self._next += 1
        return self._rows[self._next - 1]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        return list(self)

    @property
    def get(self) -> Any:
        """The first row, a bare value where it has one column, None where there is no row."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class StdlibConnection:
    """A connection of Python's own ``sqlite3`` that the store can use as it uses apsw's.

    Promises: the same answers, and apsw's exceptions, so that ``errors.py`` translates both alike.

    Args:
        connection: where transactions are begun and ended by statements, unless ``borrowed`` from a caller.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.raw = connection

    @classmethod
    def open(cls, path: Path, *, create: bool) -> StdlibConnection:
        """Open a connection of our own."""
        return cls.at(Path(path).absolute().as_uri() + ("?mode=rwc" if create else "?mode=rw"))

    @classmethod
    def at(cls, name: str) -> StdlibConnection:
        """Open what a URI names."""
        with _as_apsw_says_it():
            raw = sqlite3.connect(name, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256)
            return cls(raw)

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open."""
        return self.raw.in_transaction

    @property
    def filename(self) -> str:
        """The file, as SQLite has it."""
        return str(self.execute("PRAGMA database_list").fetchall()[0][2])

    def execute(self, statements: str, bindings: Any = None, /) -> Rows:
        """Run a statement and read all its rows; several statements only without bindings."""
        with _as_apsw_says_it():
            cursor = self._cursor()
            try:
                if bindings is not None:
                    return Rows(cursor.execute(statements, tuple(bindings)).fetchall())
                rows: list[tuple[Any, ...]] = []
                for statement in _single(statements):
                    rows = cursor.execute(statement).fetchall()
                return Rows(rows)
            finally:
                cursor.close()

    def executemany(self, statement: str, many: Iterable[Sequence[Any]], /) -> Rows:
        """Run a statement once for each of the bindings, and return the rows of all of them together."""
        with _as_apsw_says_it():
            cursor = self._cursor()
            try:
                if " RETURNING " not in statement:
                    cursor.executemany(statement, many)
                    return Rows([])
                return Rows([row for bindings in many for row in cursor.execute(statement, tuple(bindings)).fetchall()])
            finally:
                cursor.close()

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self.raw.cursor()
        cursor.row_factory = None  # a caller's connection may make dicts or objects of its own rows
        return cursor

    def pragma(self, name: str, value: object = None) -> Any:
        """Read or set a pragma and return its value."""
        return self.execute(f"PRAGMA {name}" if value is None else f"PRAGMA {name} = {value}").get

    def set_busy_timeout(self, milliseconds: int) -> None:
        """Say how long SQLite itself waits for a lock."""
        self.pragma("busy_timeout", milliseconds)

    def total_changes(self) -> int:
        """Return how many rows were changed since the connection was opened."""
        return self.raw.total_changes

    def last_insert_rowid(self) -> int:
        """Return the rowid of the row that was inserted last."""
        return int(self.execute("SELECT last_insert_rowid()").get)

    def readonly(self, _name: str) -> bool:
        """Return True where the file may only be read."""
        return not os.access(self.filename, os.W_OK)

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()


def _single(statements: str) -> Iterator[str]:
    """Split a text of SQL into its statements: ``executescript`` would commit first."""
    text = ""
    for line in statements.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
    if text.strip():
        yield text


@contextmanager
def _as_apsw_says_it() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error) from error


def _translated(error: sqlite3.Error) -> apsw.Error:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        known = cast("apsw.Error", apsw.exception_for(code))
        return type(known)(str(error))
    if "closed" in str(error).lower():
        return apsw.ConnectionClosedError(str(error))
    return apsw.SQLError(str(error))
