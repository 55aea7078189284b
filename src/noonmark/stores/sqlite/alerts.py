"""Alerts as rows: at most one open per job and kind.

Rule of the file: an open alert's level only rises; one all-clear closes it.  An urgent one is about the occurrence that
needs a person: no other closes it, and milder news of others only count (``core.escalate.is_kept``).
"""

from __future__ import annotations

import json

from noonmark.core.escalate import URGENT
from noonmark.core.model import AlertWrite
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
_CLEAR = (
    "UPDATE alert SET closed_at = ?1, updated_at = ?1 WHERE job = ?2 AND kind = ?3 AND closed_at IS NULL"
    f" AND (level < {URGENT} OR occurrence_id IS NULL OR occurrence_id IS ?4)"
)


def write(tx: Transaction, alert: AlertWrite) -> None:
    """Open, update or close the one alert of its job and kind."""
    if alert.clear:
        tx.execute(_CLEAR, (tx.now, alert.job, alert.kind, alert.occurrence_id))
        return
    detail = json.dumps(dict(alert.detail), ensure_ascii=False)
    tx.execute(_OPEN, (alert.job, alert.kind, alert.level, alert.code, detail, alert.occurrence_id, tx.now, tx.now))


def close_for(tx: Transaction, occurrence_id: int) -> None:
    """Close what is open about an occurrence that a person has dealt with."""
    tx.execute(
        "UPDATE alert SET closed_at = ?, updated_at = ? WHERE occurrence_id = ? AND closed_at IS NULL",
        (tx.now, tx.now, occurrence_id),
    )
