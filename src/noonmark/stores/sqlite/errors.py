"""What goes wrong with a SQLite file, said so that a person can act.

Rule of the file: no apsw exception leaves this store.  Each becomes a ``StoreError`` that says what happened, why, and
what to do.  Whatever fails inside a transaction has been rolled back, so the state is as before.  A full disk is no reason
to end: it is told as ``StoreFull``, under whichever of its names SQLite meets it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from noonmark.ports.doctor import StoreAbsent
from noonmark.ports.store import StoreError, StoreFull, StoreUnreachable, StoreUnusable

BUSY = (apsw.BusyError, apsw.LockedError)
NO_ROOM = 256 * 1024
"""Free bytes below which no transaction can be relied on to fit: its pages, their index, a new log."""


def unusable(path: str, why: str, remedy: str) -> StoreUnusable:
    """Return the error for a store that cannot serve until a person acts."""
    return StoreUnusable(f"cannot use the store {path}: {why}. {remedy}")


def unreachable(path: str, why: str, remedy: str) -> StoreUnreachable:
    """Return the error for a store that may come back by itself."""
    return StoreUnreachable(f"the store {path} does not answer: {why}. {remedy}")


def read_only(path: str) -> StoreUnusable:
    """Return the error for a file that this user may not change."""
    return unusable(
        path, "the file or its directory is read-only", "Give this user the right to write both, or name another file."
    )


def absent(path: str) -> StoreAbsent:
    """Return the error for a file that holds no store, which looking does not make."""
    return StoreAbsent(
        f"cannot use the store {path}: there is no noonmark in this file. "
        "Looking makes none: name the right file, or begin here: noonmark dev APP, or a worker."
    )


def translated(path: str, error: apsw.Error) -> StoreError:
    """Return the store error that says what this SQLite error means to a person."""
    said = str(error) or type(error).__name__
    if isinstance(error, BUSY):
        return unreachable(
            path,
            "another process holds the write lock for too long",
            "Find out which process keeps the file busy (a backup, an open sqlite3 shell) and end it.",
        )
    if isinstance(error, apsw.NotADBError):
        return unusable(path, "the file is not a SQLite database", "Name another file, or move this one away.")
    if isinstance(error, apsw.CorruptError):
        return unusable(
            path, f"the database is damaged ({said})", "Restore it from a backup; the damaged file is left untouched."
        )
    if isinstance(error, apsw.ReadOnlyError):
        return read_only(path)
    # A log or an index that cannot be made or mapped for want of room is no FullError.
    if isinstance(error, apsw.FullError) or (isinstance(error, (apsw.CantOpenError, apsw.IOError)) and is_full(path)):
        why = "the disk is full; nothing of the last change was kept, everything before it is intact"
        return StoreFull(f"cannot use the store {path}: {why}. Free some space, then repeat.")
    if isinstance(error, (apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)):
        return unusable(
            path,
            f"the file cannot be opened ({said})",
            "Check that its directory exists and that you may write it.",
        )
    if isinstance(error, apsw.ConnectionClosedError):
        return unusable(path, "it was closed in this process", "Open it again.")
    if isinstance(error, apsw.IOError):
        return unreachable(path, f"reading or writing failed ({said})", "Check the disk.")
    return StoreError(f"the store {path} failed: {said}")


def free_bytes(path: str) -> int | None:
    """Return how many bytes this user may still write beside the file, None where the system does not say."""
    try:
        found = os.statvfs(os.path.dirname(os.path.realpath(path)))
    except (OSError, AttributeError):  # no such folder; a system without statvfs
        return None
    return (found.f_bavail if os.geteuid() else found.f_bfree) * found.f_frsize


def is_full(path: str) -> bool:
    """Tell whether the disk of the file has no room for a transaction."""
    free = free_bytes(path)
    return free is not None and free < NO_ROOM


@contextmanager
def translating(path: str) -> Iterator[None]:
    """Turn every SQLite error inside the block into a store error."""
    try:
        yield
    except apsw.Error as error:
        raise translated(path, error) from error
