"""First answers by request id, so that a repeated verb changes nothing.

Rule of the file: an answer is compact JSON.  Equal neighbours are folded, since five hundred equal successes are one
sentence; nothing is stored for a take that leased nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from noonmark.core.model import HOUR, Acted, Added, Micros, Settled, State
from noonmark.stores.sqlite.transaction import Reads, Transaction

KEPT: Micros = HOUR
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


def _fold(answers: Sequence[Any]) -> list[list[Any]]:
    """Return runs as [length, answer]."""
    runs: list[list[Any]] = []
    previous: Any = None
    for answer in answers:
        if answer is previous or (runs and answer == previous):
            runs[-1][0] += 1
        else:
            runs.append([1, answer])
            previous = answer
    return runs


def _unfold(runs: Sequence[Sequence[Any]]) -> list[Any]:
    return [answer for length, answer in runs for _ in range(length)]


def settled_to_plain(answers: Sequence[Settled]) -> Any:
    """Return the answers of a settle, folded."""
    return [[length, asdict(answer)] for length, answer in _fold(answers)]


def settled_from_plain(_tx: Transaction, plain: Any) -> list[Settled]:
    """Return the answers of a settle as first given."""
    runs = []
    for length, fields in plain:
        state = fields["state"]
        fields |= {"changed": tuple(fields["changed"]), "state": None if state is None else State(state)}
        runs.append((length, Settled(**fields)))
    return _unfold(runs)


def added_to_plain(answers: Sequence[Added]) -> Any:
    """Return the answers of an add."""
    return [[answer.outcome, answer.id, answer.duplicate_of] for answer in answers]


def added_from_plain(_tx: Transaction, plain: Any) -> list[Added]:
    """Return the answers of an add as first given."""
    return [Added(outcome=outcome, id=row, duplicate_of=holder) for outcome, row, holder in plain]


def acted_to_plain(answer: Acted) -> Any:
    """Return the answer to an act."""
    return [answer.outcome, list(answer.ids), answer.state]


def acted_from_plain(_tx: Transaction, plain: Any) -> Acted:
    """Return the answer to an act as first given."""
    outcome, ids, state = plain
    return Acted(outcome=outcome, ids=tuple(ids), state=None if state is None else State(state))
