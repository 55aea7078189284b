"""First answers by request id, so that a repeated verb changes nothing.

Rule of the file: an answer is compact JSON (``core.remembered``); nothing is stored for a take that leased nothing.
"""

from __future__ import annotations

import json
from typing import Any

from noonmark.core.lifecycle import KEPT
from noonmark.stores.sqlite.transaction import Reads, Transaction

PRUNED_AT_ONCE, PRUNED_EVERY = 500, 64


def recall(tx: Transaction, request_id: str) -> Any | None:
    """Return the first answer to this request, decoded, or None when it is new."""
    row = tx.execute("SELECT answer FROM request WHERE id = ? AND at > ?", (request_id, tx.now - KEPT)).fetchone()
    return None if row is None else json.loads(row[0])


def is_known(connection: Reads, request_id: str) -> bool:
    """Return True when this request was answered before."""
    return connection.execute("SELECT 1 FROM request WHERE id = ?", (request_id,)).fetchone() is not None


def remember(tx: Transaction, request_id: str, answer: Any) -> None:
    """Keep the answer for an hour; now and then, forget old ones, so that the file keeps pace with any load."""
    text = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
    tx.execute("INSERT OR REPLACE INTO request VALUES (?, ?, ?)", (request_id, tx.now, text))
    if tx.connection.last_insert_rowid() % PRUNED_EVERY == 0:
        prune(tx, 2 * PRUNED_EVERY)


def prune(tx: Transaction, at_most: int) -> None:
    """Forget a few answers that are older than an hour."""
    tx.execute(
        "DELETE FROM request WHERE rowid IN (SELECT rowid FROM request WHERE at < ? ORDER BY at LIMIT ?)",
        (tx.now - KEPT, at_most),
    )
