"""The shape of the file: numbered migrations, applied once each, when the store is opened.

Rule of the file: a migration is one SQL file ``sql/NNNN_name.sql``, applied in one transaction together with the new
``user_version``.  A shape that is newer than this code is refused, never guessed at.
"""

from __future__ import annotations

import uuid
from functools import cache
from pathlib import Path

from noonmark.stores.sqlite.drivers import AnyConnection
from noonmark.stores.sqlite.errors import unusable

APPLICATION_ID = 0x4E4F4F4E
"""Stands in the header of every noonmark file, so that somebody else's database is never altered ("NOON")."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (number, SQL), lowest first."""
    folder = Path(__file__).with_name("sql")  # importlib.resources alone would cost a command line 10 ms
    found = [
        (int(entry.name.split("_", 1)[0]), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found))


def version() -> int:
    """Return the schema version that this code writes."""
    return migrations()[-1][0]


def is_empty(connection: AnyConnection, path: str) -> bool:
    """Return True when the file is a database in which nobody has made anything.

    Raises:
        StoreUnusable: as ``is_current``.
    """
    is_current(connection, path)
    return _at_one_moment(connection)[2]


def is_current(connection: AnyConnection, path: str) -> bool:
    """Return True when nothing is to be migrated.

    Raises:
        StoreUnusable: the file is somebody else's database, or from a newer noonmark.
    """
    found, owner, empty = _at_one_moment(connection)
    if owner != APPLICATION_ID and not (empty and owner == 0 and found == 0):
        raise unusable(path, "it is a database, but not one of noonmark's", "Name another file.")
    if found > version():
        raise unusable(
            path,
            f"it was written by a newer noonmark (schema {found}, this one knows {version()})",
            "Upgrade noonmark on this machine, or name another file.",
        )
    return found == version() and not empty


def _at_one_moment(connection: AnyConnection) -> tuple[int, int, bool]:
    """Return schema version, owner and emptiness of one and the same state of the file.

    Read one by one, another opener's first migration could come in between, and its file would look like a stranger's.
    """
    begun = not connection.in_transaction
    if begun:
        connection.execute("BEGIN")
    try:
        empty = bool(connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").get)
        return int(connection.pragma("user_version")), int(connection.pragma("application_id")), empty
    finally:
        if begun:
            connection.execute("ROLLBACK")


def migrate(connection: AnyConnection, path: str) -> None:
    """Apply what is missing.  The caller holds the write lock, so two openers cannot both do it."""
    if is_current(connection, path):
        return
    found = int(connection.pragma("user_version"))
    for number, statements in migrations():
        if number > found:
            connection.execute(statements)
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('store_id', ?)", (uuid.uuid4().hex,))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", version())
