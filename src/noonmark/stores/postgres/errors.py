"""What goes wrong with a PostgreSQL server, said so that a person can act.

Rule of the file: no psycopg exception leaves this store.  What may pass by itself (a restart, a failover) is
``StoreUnreachable``, and a full disk, which somebody clears, ``StoreFull``, so that workers wait; what waiting cannot mend
(credentials, missing rights, a schema that is gone) is ``StoreUnusable``; a value that PostgreSQL cannot hold is a
``ValueError`` of its caller.
"""

from __future__ import annotations

import psycopg

from noonmark.ports.store import StoreError, StoreFull, StoreUnreachable, StoreUnusable
from noonmark.stores.postgres.refusals import CAUSES, cause

CONFLICTS = frozenset({"40P01", "40001", "23505", "23502"})
"""Deadlock, serialisation failure, a row (or a request) that another transaction inserted first: the verb is run again."""
INSERTED_FIRST = frozenset({"23505", "23502"})

_FULL = "53100"
_PASSING = {
    "25006": ("it is read-only just now", "If this lasts, name the primary server in the URL."),
    "25P03": ("our transaction was idle for too long and was ended", "Was this process stopped meanwhile?"),
    _FULL: ("its disk is full; nothing of the last change was kept", "Free some space on the server."),
    "53200": ("it is out of memory", "Look at the server's log."),
    "53300": ("it has too many connections", "Raise max_connections there, or lower pool_size in the URL."),
    "55P03": ("another transaction holds a lock for too long", "Look for it: SELECT * FROM pg_stat_activity."),
    "57014": ("a statement took too long and was cancelled", "Is the server overloaded?"),
    "57P01": ("it is shutting down", "Start it again."),
    "57P02": ("it crashed and is recovering", "Look at the server's log."),
    "57P03": ("it is starting up", "Wait a moment."),
}
_LASTING = {
    "28": CAUSES["credentials"],
    "3D": CAUSES["database"],
    "42501": CAUSES["rights"],
    "3F": ("the schema is not there", "Run: noonmark store migrate."),
    "42P01": ("a table of the schema is missing", "Was it dropped?  Restore it from a backup, or name another schema."),
    "42703": ("a column of the schema is missing", "Run: noonmark store migrate."),
    "42P05": ("a pooler gives its sessions to others in between", "Add pooler=transaction to the URL."),
    "26000": ("a pooler gives its sessions to others in between", "Add pooler=transaction to the URL."),
    "XX001": ("its data is damaged", "Restore the database from a backup."),
    "XX002": ("an index is damaged", "REINDEX the schema, and look for the cause in the server's log."),
}
_LIBPQ_ASKS = " Is the server running on that host and accepting TCP/IP connections?"
"""We ask the same in our own words."""


def unusable(where: str, why: str, remedy: str) -> StoreUnusable:
    """Return the error for a store that cannot serve until a person acts."""
    return StoreUnusable(f"cannot use the store {where}: {why}. {remedy}")


def unreachable(where: str, why: str, remedy: str) -> StoreUnreachable:
    """Return the error for a store that may come back by itself."""
    return StoreUnreachable(f"the store {where} does not answer: {why}. {remedy}")


def translated(where: str, error: psycopg.Error) -> Exception:
    """Return what this PostgreSQL error means to whoever called the store."""
    code, said = error.sqlstate or "", _said(error)
    if code in _PASSING:
        why, remedy = _PASSING[code]
        away = unreachable(where, f"{why} ({said})", remedy)
        return StoreFull(str(away)) if code == _FULL else away
    for start in (code, code[:2]):
        if start and start in _LASTING:
            why, remedy = _LASTING[start]
            return unusable(where, f"{why} ({said})", remedy)
    if not code or code[:2] in ("08", "53", "57", "58"):
        return _lost(where, error, said)
    if isinstance(error, psycopg.DataError) or code == "54000":
        return ValueError(f"PostgreSQL cannot hold this value: {said}")
    if code in CONFLICTS:
        return unreachable(where, f"other transactions kept coming in between ({said})", "Repeat.")
    return StoreError(f"the store {where} failed: {said} ({code})")


def _lost(where: str, error: psycopg.Error, said: str) -> Exception:
    if isinstance(error, psycopg.DataError):  # the driver refused it: nothing was sent
        return ValueError(f"PostgreSQL cannot hold this value: {said}")
    found = cause(error)
    if found:
        why, remedy = CAUSES[found]
        return unusable(where, f"{why} ({said})", remedy)
    return unreachable(where, said or "the connection is gone", "Is the server running, and is this its address?")


def _said(error: psycopg.Error) -> str:
    """Return the server's own sentence on one line."""
    primary = error.diag.message_primary
    text = " ".join((primary or str(error) or type(error).__name__).split())
    return text.replace(_LIBPQ_ASKS, "")
