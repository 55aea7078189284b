"""Locks as rows in PostgreSQL: a lease that ends by the server's clock, behind any pooler.

Promises: one holder at a time while the server's clock runs evenly; a grant that was acknowledged survives what the
server's ``synchronous_commit`` survives; fences grow as long as the row is kept, and after that because time does.

Rule of the file: each verb is one statement on one row; what it compares is locked by the same statement.
"""

from __future__ import annotations

import time

from noonmark.core.model import DAY, Micros
from noonmark.locks.checks import check, drift
from noonmark.locks.postgres_link import NOW, Link
from noonmark.ports.lock import Grant

_SWEEP_EVERY = 3600.0
"""Seconds between two looks for names that nobody uses any more."""
# The lease of a busy lock is rewritten all the time: room on the page and no index but the key keep that cheap.
_LEASE = """
CREATE TABLE IF NOT EXISTS {schema}.lease (
  name text COLLATE "C" PRIMARY KEY, token text NOT NULL, fence bigint NOT NULL, until_us bigint NOT NULL
) WITH (fillfactor = 50)
"""
_ACQUIRE = f"""
INSERT INTO {{schema}}.lease AS l (name, token, fence, until_us)
VALUES (%(name)s, %(token)s, {NOW}, {NOW} + %(ttl)s)
ON CONFLICT (name) DO UPDATE SET
  fence = CASE WHEN l.token = excluded.token AND l.until_us > {NOW} THEN l.fence ELSE greatest(l.fence + 1, {NOW}) END,
  token = excluded.token, until_us = {NOW} + %(ttl)s
WHERE l.token = excluded.token OR l.until_us <= {NOW}
RETURNING fence
"""
_RENEW = f"""
UPDATE {{schema}}.lease SET until_us = {NOW} + %(ttl)s
WHERE name = %(name)s AND token = %(token)s AND until_us > {NOW} RETURNING fence
"""
_RELEASE = f"""
UPDATE {{schema}}.lease SET until_us = 0
WHERE name = %(name)s AND token = %(token)s AND until_us > {NOW} RETURNING fence
"""
# until_us is 0 after a release, so the fence (at least the time of the grant) tells how old the row is.
_SWEEP = f"""
DELETE FROM {{schema}}.lease WHERE name IN (
  SELECT name FROM {{schema}}.lease WHERE greatest(until_us, fence) < {NOW} - %(kept)s LIMIT 10000 FOR UPDATE SKIP LOCKED)
"""


class PostgresLocks:
    """The locks in one schema of one database.

    Args:
        url: see ``postgres_link.Link``.
    """

    kind = "postgres"

    def __init__(self, url: str) -> None:
        self._link = Link(url, tables=(_LEASE,), needed="lease")
        self._acquire, self._renew = self._link.text(_ACQUIRE), self._link.text(_RENEW)
        self._release, self._sweep = self._link.text(_RELEASE), self._link.text(_SWEEP)
        self._sweep_at = 0.0

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._link.url

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        check(name, token, ttl)
        row = self._link.run(self._acquire, {"name": name, "token": token, "ttl": ttl}, again=True)
        self._forget_old_names()
        return None if row is None else Grant(fence=row[0], validity=ttl - drift(ttl))

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock; else None."""
        check(name, token, ttl)
        row = self._link.run(self._renew, {"name": name, "token": token, "ttl": ttl}, again=True)
        return None if row is None else Grant(fence=row[0], validity=ttl - drift(ttl))

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        check(name, token)
        return self._link.run(self._release, {"name": name, "token": token}, again=False) is not None

    def _forget_old_names(self) -> None:
        moment = time.monotonic()
        if moment >= self._sweep_at:
            self._sweep_at = moment + _SWEEP_EVERY
            self._link.run(self._sweep, {"kept": DAY}, again=True)

    def close(self) -> None:
        """Close the connections."""
        self._link.close()
