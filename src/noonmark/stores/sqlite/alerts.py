"""Alerts as rows: at most one open per job and kind.

Rule of the file: an open alert's level only rises; one all-clear closes it.
"""

from __future__ import annotations

import json

from noonmark.core.model import AlertWrite
from noonmark.stores.sqlite.transaction import Transaction

_OPEN = (
    "INSERT INTO alert (job, kind, level, code, detail, occurrence_id, opened_at, updated_at, count)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)"
    " ON CONFLICT (job, kind) WHERE closed_at IS NULL DO UPDATE SET level = max(level, excluded.level),"
    " code = excluded.code, detail = excluded.detail, occurrence_id = excluded.occurrence_id,"
    " updated_at = excluded.updated_at, count = count + 1"
)


def write(tx: Transaction, alert: AlertWrite) -> None:
    """Open, update or close the one alert of its job and kind."""
    if alert.clear:
        tx.execute(
            "UPDATE alert SET closed_at = ?, updated_at = ? WHERE job = ? AND kind = ? AND closed_at IS NULL",
            (tx.now, tx.now, alert.job, alert.kind),
        )
        return
    detail = json.dumps(dict(alert.detail), ensure_ascii=False)
    tx.execute(_OPEN, (alert.job, alert.kind, alert.level, alert.code, detail, alert.occurrence_id, tx.now, tx.now))


def close_for(tx: Transaction, occurrence_id: int) -> None:
    """Close what is open about an occurrence that a person has dealt with."""
    tx.execute(
        "UPDATE alert SET closed_at = ?, updated_at = ? WHERE occurrence_id = ? AND closed_at IS NULL",
        (tx.now, tx.now, occurrence_id),
    )
