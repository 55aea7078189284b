"""The raw loop that our drain is measured against: the store's own statements and nothing else.

It leases and settles the same rows of the same table by the same statements, in transactions of the same size, with the
same durability.  There is no decision, no event loop, no second process and no Python per job but the bindings.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from noonmark.core.model import NewOccurrence, Origin, State
from noonmark.stores.sqlite import SqliteStore
from noonmark.stores.sqlite.connection import connect
from noonmark.stores.sqlite.rows import AT
from noonmark.stores.sqlite.settling import SUCCEED
from noonmark.stores.sqlite.taking import DUE, START

LEASE = 30_000_000


def drain(count: int, batch: int) -> float:
    """Return rows per second of a bare take-and-settle loop over that many due rows."""
    with tempfile.TemporaryDirectory(prefix="noonmark-raw-") as folder:
        path = Path(folder) / "raw.db"
        store = SqliteStore(path)
        now = store.now()
        for first in range(0, count, 1000):
            store.add(f"raw-{first}", [_row(n, now) for n in range(first, min(count, first + 1000))])
        store.close()
        connection = connect(path, "FULL")
        began = time.perf_counter()
        left = count
        while left:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute(DUE, (now, batch)).fetchall()
            starts = [(now + LEASE, now + 1, "raw", now, 0, row[AT["id"]]) for row in rows]
            connection.executemany(START, starts)
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
            ends = [(now, "", "succeeded", "{}", None, None, row[AT["id"]], now + 1) for row in rows]
            for _ in connection.executemany(SUCCEED, ends):
                pass
            connection.execute("COMMIT")
            left -= len(rows)
        took = time.perf_counter() - began
        done = connection.execute("SELECT count(*) FROM occurrence WHERE state = ?", (State.SUCCESS.value,)).get
        connection.close()
    assert done == count, f"the raw loop finished {done} of {count} rows"
    return count / took


def _row(number: int, now: int) -> NewOccurrence:
    return NewOccurrence(
        job="raw",
        identity=f"l:{number}",
        key=f"raw:{number}",
        scheduled_for=now,
        due_at=now,
        origin=Origin.LATER,
        claim=True,
    )
