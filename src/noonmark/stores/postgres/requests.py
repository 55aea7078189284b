"""First answers by request id, so that a repeated verb changes nothing.

Rule of the file: an answer is compact JSON (``core.remembered``).  Two deliveries of one request at the same moment:
the second fails to insert, begins anew, and finds the answer.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from noonmark.core.lifecycle import KEPT
from noonmark.stores.postgres.transaction import Transaction

PRUNED_AT_ONCE, PRUNED_EVERY = 500, 64
_REMEMBER = (
    "INSERT INTO ~request AS r VALUES ($1::text, $2::bigint, $3::text) ON CONFLICT (id)"
    # An answer of more than an hour ago makes room; a fresh one must stop us, as a duplicate does.
    " DO UPDATE SET at = excluded.at, answer = CASE WHEN r.at <= $4::bigint THEN excluded.answer END"
)
PRUNE = (
    "DELETE FROM ~request WHERE id = ANY(ARRAY(SELECT id FROM ~request WHERE at < $1::bigint ORDER BY at LIMIT $2::integer"
    " FOR UPDATE SKIP LOCKED))"
)
_turns = itertools.count(1)


def remember(tx: Transaction, name: str, answer: Any) -> None:
    """Keep the answer for an hour; now and then, forget old ones, so that the table keeps pace with any load."""
    text = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
    tx.later(_REMEMBER, name, tx.now, text, tx.now - KEPT)
    if next(_turns) % PRUNED_EVERY == 0:
        tx.later(PRUNE, tx.now - KEPT, 2 * PRUNED_EVERY)
