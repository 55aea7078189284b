"""What a take does on its way: wake whoever waits for facts that moved, cancel what only vanished workers could take.

Rule of the file: each is a transaction of its own and nobody waits in it; rows that somebody holds just now stay for the
next take, which is told to come at once.
"""

from __future__ import annotations

from noonmark.core.model import Event, Micros, State
from noonmark.stores.postgres import ending, writing
from noonmark.stores.postgres.arrays import numbers, texts, unescaped
from noonmark.stores.postgres.desk import Desk, Wanted, lay
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Session
from noonmark.stores.postgres.taking import GONE
from noonmark.stores.postgres.transaction import NOW, Transaction

WOKEN_AT_ONCE = 1000
CANCELLED_AT_ONCE = 1000

_SIGNALLED = "SELECT fact FROM ~wake ORDER BY fact LIMIT $1::integer FOR UPDATE SKIP LOCKED"
_VERSIONS = (
    "SELECT name, version FROM ~fact WHERE name = ANY($1::text[])"
    " UNION ALL SELECT 'pause:' || name, pause_version FROM ~job WHERE name = ANY($2::text[])"
)
_WAITING = (
    "SELECT w.fact, w.occurrence_id FROM unnest($1::text[], $2::bigint[]) AS f (name, version) CROSS JOIN LATERAL"
    " (SELECT fact, version, occurrence_id FROM ~waiter WHERE fact = f.name AND version < f.version"
    " ORDER BY version, occurrence_id LIMIT $3::bigint) AS w ORDER BY w.fact, w.version, w.occurrence_id LIMIT $3::bigint"
)
_LOCK = "SELECT id FROM ~occurrence WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED"
_WAKE_ROWS = (
    "UPDATE ~occurrence SET waits = false, due_at = least(due_at, $1::bigint) WHERE id = ANY($2::bigint[])"
    " AND due_at IS NOT NULL AND holder = ''"
)
_WAKE_AGENDA = (
    "UPDATE ~agenda SET due_at = least(due_at, $1::bigint) WHERE occurrence_id = ANY($2::bigint[]) AND NOT is_held"
)
_DONE = "DELETE FROM ~wake WHERE fact = ANY($1::text[])"
_ROWS_OF = (
    "SELECT occurrence_id FROM ~agenda WHERE worker = $1::text AND worker <> '' ORDER BY due_at LIMIT $2::integer"
)


def wake(session: Session, fixed: Micros | None) -> None:
    """Make due what waits for facts that moved, at most a thousand rows.

    Whoever parked after the fact moved saw the new version and sleeps on; rows that park again would else be woken for
    ever.
    """
    [clock, signalled] = session.begin((f"SELECT {NOW}", (fixed,)), (_SIGNALLED, (WOKEN_AT_ONCE,)))
    now, names = clock[0][0], [unescaped(row[0]) for row in signalled]
    jobs = [name.partition(":")[2] for name in names if name.startswith("pause:")]
    [versions] = session.ask((_VERSIONS, (texts(names), texts(jobs))))
    known = {unescaped(name): version for name, version in versions}
    [waiting] = session.ask((_WAITING, (texts(known), numbers(known.values()), WOKEN_AT_ONCE + 1)))
    [locked] = session.ask((_LOCK, (numbers(sorted({row[1] for row in waiting[:WOKEN_AT_ONCE]})),)))
    free = {row[0] for row in locked}
    left = _left(names, [(unescaped(fact), occurrence_id) for fact, occurrence_id in waiting], free)
    tx = Transaction(session, now, timed=False)
    if free:
        ids = numbers(sorted(free))
        tx.later(_WAKE_ROWS, now, ids)
        tx.later(_WAKE_AGENDA, now, ids)
        tx.later(writing.WAIT_DROP, ids)
        tx.due(now)
    tx.later(_DONE, texts(name for name in names if name not in left))
    tx.finish()


def _left(names: list[str], waiting: list[Row], free: set[int]) -> set[str]:
    """Return the facts of which somebody is left asleep; the last one of a full page may have more, and those after it."""
    left = {fact for fact, occurrence_id in waiting[:WOKEN_AT_ONCE] if occurrence_id not in free}
    if len(waiting) > WOKEN_AT_ONCE:
        last = waiting[WOKEN_AT_ONCE][0]
        left |= {name for name in names if name >= last}
    return left


def cancel_rows_of_the_gone(session: Session, fixed: Micros | None) -> None:
    """Cancel what only a worker that is gone could have taken, at most a thousand rows of each."""
    tx, [gone] = Transaction.begin(session, "", fixed, (GONE, (fixed,)), kept=0)
    desk = Desk(tx)
    for (worker,) in gone:
        [rows] = tx.ask((_ROWS_OF, (unescaped(worker), CANCELLED_AT_ONCE)))
        ids = {row[0] for row in rows}
        if not ids:
            continue
        lay(desk, Wanted(ids=ids))
        for occurrence_id in sorted(ids):
            line = desk.lines.get(occurrence_id)
            if line is None or line.row.due_at is None:
                continue
            ending.end(desk, line, State.CANCELLED, code="worker_gone", detail="{}")
            ending.log_row(desk, line, Event.CANCEL)
    writing.write(desk)
    tx.finish()
