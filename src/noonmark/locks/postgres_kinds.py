"""Which of PostgreSQL's two kinds of lock a URL means.

Rule of the file: a choice that is not known is refused; it would mean another lock than its writer thinks of.
"""

from __future__ import annotations

from noonmark.locks.errors import LockUrlError
from noonmark.locks.urls import values_of
from noonmark.ports.lock import Locks


def open_postgres(url: str) -> Locks:
    """Open the lease rows of a database, or with ``?kind=advisory`` its session locks.

    Raises:
        LockUrlError: with what to write instead.
    """
    kinds = values_of(url, "kind")
    if not kinds:
        from noonmark.locks.postgres import PostgresLocks

        return PostgresLocks(url)
    for kind in kinds:
        if kind != "advisory":
            raise LockUrlError(
                f'there is no kind "{kind}" of lock in PostgreSQL; write kind=advisory for session locks,'
                " or leave it out for lease rows"
            )
    from noonmark.locks.advisory import AdvisoryLocks

    return AdvisoryLocks(url)
