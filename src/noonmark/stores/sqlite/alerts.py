"""Alerts as rows: at most one open per job and kind.

Rule of the file: an open alert's level only rises; one all-clear closes it.  An urgent one is about the occurrence that
needs a person: no other closes it, and milder news of others only count (``core.escalate.is_kept``).  When that one is
dealt with, it goes on to the next of its kind.
"""

from __future__ import annotations

import json
from typing import Any

from noonmark.core import escalate
from noonmark.core.escalate import POISON, RAN, URGENT
from noonmark.core.model import AlertWrite, Occurrence
from noonmark.stores.sqlite.rows import COLUMNS, make
from noonmark.stores.sqlite.transaction import Transaction


def _unless_kept(column: str) -> str:
    kept = f"level >= {URGENT} AND excluded.level < {URGENT} AND occurrence_id IS NOT excluded.occurrence_id"
    return f"iif({kept} AND occurrence_id IS NOT NULL, {column}, excluded.{column})"


_OPEN = (
    "INSERT INTO alert (job, kind, level, code, detail, occurrence_id, opened_at, updated_at, count)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)"
    " ON CONFLICT (job, kind) WHERE closed_at IS NULL DO UPDATE SET level = max(level, excluded.level),"
    f" code = {_unless_kept('code')}, detail = {_unless_kept('detail')}, occurrence_id = {_unless_kept('occurrence_id')},"
    " updated_at = excluded.updated_at, count = count + 1"
)
_CLOSE = "UPDATE alert SET closed_at = ?1, updated_at = ?1 WHERE id = ?2"
_HAND_ON = "UPDATE alert SET code = ?, detail = ?, occurrence_id = ?, updated_at = ? WHERE id = ?"
_OPEN_ONES = "SELECT id, job, kind, level, detail, occurrence_id FROM alert WHERE closed_at IS NULL"
_CLEARED = (
    f"{_OPEN_ONES} AND job = ? AND kind = ? AND (level < {URGENT} OR occurrence_id IS NULL OR occurrence_id IS ?)"
)
_ABOUT = f"{_OPEN_ONES} AND occurrence_id = ?"
_RAN = ", ".join(f"'{verdict}'" for verdict in sorted(RAN))
# As core.escalate.kind_of says: a hundred thousand rows may wait for another kind of thing, and none of them is made.
_KIND = f"CASE WHEN code = '{POISON}' THEN 'poison' WHEN verdict IN ({_RAN}) THEN 'failing' ELSE 'missed' END"
# The index of what failed, and not the job's: a job may have millions of rows.
_WAITING = (
    f"SELECT {COLUMNS} FROM occurrence INDEXED BY occurrence_failed"
    f" WHERE state = 'FAILED_MANUAL' AND job = ? AND id IS NOT ? AND {_KIND} = ?"
    " ORDER BY scheduled_for DESC, id DESC LIMIT 1"
)


def write(tx: Transaction, alert: AlertWrite) -> None:
    """Open, update or close the one alert of its job and kind."""
    if alert.clear:
        _close(tx, _CLEARED, (alert.job, alert.kind, alert.occurrence_id))
        return
    detail = json.dumps(dict(alert.detail), ensure_ascii=False)
    tx.execute(_OPEN, (alert.job, alert.kind, alert.level, alert.code, detail, alert.occurrence_id, tx.now, tx.now))


def close_for(tx: Transaction, occurrence_id: int) -> None:
    """Close what is open about an occurrence that a person has dealt with."""
    _close(tx, _ABOUT, (occurrence_id,))


def _close(tx: Transaction, which: str, bindings: tuple[Any, ...]) -> None:
    for number, job, kind, level, detail, about in tx.execute(which, bindings).fetchall():
        row = _next(tx, job, kind, about) if level >= URGENT else None
        if row is None:
            tx.execute(_CLOSE, (tx.now, number))
        else:
            told = escalate.detail_of_next(row, detail)
            tx.execute(_HAND_ON, (row.code, told, row.id, tx.now, number))


def _next(tx: Transaction, job: str, kind: str, about: int | None) -> Occurrence | None:
    found = tx.execute(_WAITING, (job, about, kind)).fetchone()
    return None if found is None else make(*found)
