"""The store's time: the server's clock, which may step back, and the mark that tells when it did.

Rule of the file: ``mark`` is the latest instant that a heartbeat saw, written at most once a second, so that no verb
fights over its row.  While the server's clock is behind it, time stands still: nothing becomes due and no lease ends.
After five seconds the new time is believed, leases move along, because they are lengths, and an alert says so.  A step
smaller than the time since the last mark goes unnoticed and does no harm: fences only grow, whatever the clock says.
"""

from __future__ import annotations

from noonmark.core.model import SECOND, AlertWrite
from noonmark.stores.postgres import alerts
from noonmark.stores.postgres.arrays import numbers
from noonmark.stores.postgres.link import Session
from noonmark.stores.postgres.transaction import HELD_BACK, SERVER_TIME, Transaction

MARK_EVERY = SECOND
MARK = (
    "UPDATE ~clock SET mark = $1::bigint, behind_since = NULL"
    f" WHERE mark < $1::bigint - {MARK_EVERY} OR (behind_since IS NOT NULL AND mark <= $1::bigint)"
)
_READ = f"SELECT {SERVER_TIME}, mark, behind_since FROM ~clock FOR UPDATE"
_LEASES = "UPDATE ~agenda SET due_at = due_at - $1::bigint WHERE is_held RETURNING occurrence_id"
_ROWS = (
    "UPDATE ~occurrence SET due_at = due_at - $1::bigint WHERE id = ANY($2::bigint[]) AND due_at IS NOT NULL"
    " AND holder <> ''"
)
_WORKERS = (
    "UPDATE ~worker SET until = until - $1::bigint, gone_at = gone_at - $1::bigint"
    " WHERE NOT reaped AND ended_at IS NULL"
)


def step(session: Session) -> None:
    """Write down that the server's clock is behind, or, if it has been for five seconds, go on from its time."""
    [[(server, mark, behind_since)]] = session.begin((_READ, ()))
    if server >= mark:
        session.commit(("UPDATE ~clock SET behind_since = NULL", ()))
    elif behind_since is None or server < behind_since:
        session.commit(("UPDATE ~clock SET behind_since = $1::bigint", (server,)))
    elif server - behind_since >= HELD_BACK:
        _believe(session, server, mark - server)
    else:
        session.commit()


def _believe(session: Session, server: int, behind: int) -> None:
    _, held, _ = session.ask(
        ("UPDATE ~clock SET mark = $1::bigint, behind_since = NULL", (server,)),
        (_LEASES, (behind,)),
        (_WORKERS, (behind,)),
    )
    session.ask((_ROWS, (behind, numbers(row[0] for row in held))))
    tx = Transaction(session, server, timed=True)
    alert = AlertWrite(job="", kind="clock", level=2, code="clock_behind", detail={"behind": behind})
    alerts.write(tx, alert)
    tx.due(server)
    tx.finish()
