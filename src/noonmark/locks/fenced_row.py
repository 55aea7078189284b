"""A fenced value as a row of a SQL table, and the guard for tables of your own.

Works with connections of psycopg, apsw and sqlite3.  Rule of the file: one statement compares and registers; it takes
part in the caller's transaction, if there is one, so whatever else that transaction writes is fenced as well.
"""

from __future__ import annotations

import re
from typing import Any

from noonmark.locks.fenced import Fenced, check, stale

TABLE = "noonmark_fenced"
CREATE = "CREATE TABLE IF NOT EXISTS {table} (resource TEXT PRIMARY KEY, fence BIGINT NOT NULL, value TEXT)"

_REGISTER = (
    "INSERT INTO {table} AS f (resource, fence) VALUES (?, ?)"
    " ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE f.fence <= excluded.fence RETURNING value"
)
_WRITE = (
    "INSERT INTO {table} AS f (resource, fence, value) VALUES (?, ?, ?)"
    " ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence, value = excluded.value"
    " WHERE f.fence <= excluded.fence RETURNING value"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


class FencedRow:
    """One text value in a table of fenced values.

    Args:
        connection: of psycopg, apsw or sqlite3.  In autocommit mode each call is a transaction of its own; otherwise it is
            part of the caller's, and counts when that is committed.
        resource: the name of the value.
        table: where it lives; made if need be, unless ``create`` is False (then see ``CREATE``).
    """

    def __init__(self, connection: Any, resource: str, *, table: str = TABLE, create: bool = True) -> None:
        self._connection, self._resource, self._table = connection, resource, _checked(table)
        if create:
            connection.execute(CREATE.format(table=table))

    def read(self, fence: int) -> str | None:
        """Register the fence and return the value; None if there is none yet.

        Raises:
            StaleFence: a greater one is registered.
        """
        return _register(self._connection, self._table, self._resource, fence)

    def write(self, fence: int, value: str) -> None:
        """Register the fence and set the value.

        Raises:
            StaleFence: a greater one is registered; nothing changed.
        """
        row = _one(self._connection, _WRITE.format(table=self._table), (self._resource, fence, value))
        if row is None:
            raise stale(f'"{self._resource}"', fence)


def guard(connection: Any, resource: str, held: Fenced, *, table: str = TABLE) -> None:
    """Let the caller's transaction go on only if no later holder has been here; call it before the first *read*::

        with connection.transaction():
            guard(connection, "accounts", held)
            ...                                       # read and write your own tables

    The row stays locked until the transaction ends, so a later holder waits for it and an earlier one is refused.

    Args:
        connection: of psycopg, apsw or sqlite3, inside a transaction.
        resource: what is protected.
        held: the lock, or whatever else has a fence.
        table: the table of fences; ``CREATE`` makes it.

    Raises:
        StaleFence: a later holder has been here; roll back.
        LockLost: the lock may not be trusted any more.
    """
    check(held)
    _register(connection, _checked(table), resource, held.fence)


def _register(connection: Any, table: str, resource: str, fence: int) -> str | None:
    row = _one(connection, _REGISTER.format(table=table), (resource, fence))
    if row is None:
        raise stale(f'"{resource}"', fence)
    value: str | None = row[0]
    return value


def _one(connection: Any, statement: str, values: tuple[Any, ...]) -> Any:
    if type(connection).__module__.partition(".")[0] == "psycopg":
        statement = statement.replace("?", "%s")
    rows = connection.execute(statement, values).fetchall()  # to the end: only then SQLite has done it
    return rows[0] if rows else None


def _checked(table: str) -> str:
    if not _NAME.fullmatch(table):
        raise ValueError(f'"{table}" is no plain table name; write one like {TABLE} or schema.{TABLE}')
    return table
