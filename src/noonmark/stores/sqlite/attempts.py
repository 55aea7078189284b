"""Attempts: the tries of an occurrence.

Rule of the file: the running or successful attempt is told by the occurrence itself (``run_fence``), so that the common
case writes no second row; every other end of an attempt is archived here, once.
"""

from __future__ import annotations

from noonmark.core.model import Attempt
from noonmark.stores.sqlite.transaction import Reads, Transaction

_ARCHIVE = (
    "INSERT OR IGNORE INTO attempt SELECT id, run_fence, attempt, run_worker, started_at, ?, ?, ? FROM occurrence"
    " WHERE id = ? AND run_fence <> 0"
)
_ARCHIVED = (
    "SELECT fence, number, worker, started_at, ended_at, outcome, error FROM attempt WHERE occurrence_id = ?"
    " ORDER BY started_at, fence"
)
_CURRENT = (
    "SELECT run_fence, attempt, run_worker, started_at, ended_at,"
    " iif(state = 'SUCCESS', 'success', 'running'), iif(state = 'SUCCESS', error, NULL) FROM occurrence"
    " WHERE id = ? AND run_fence <> 0"
)


def archive(tx: Transaction, occurrence_id: int, outcome: str, error: str | None = None) -> None:
    """Record how the attempt under way ended; where none is under way nothing happens."""
    tx.execute(_ARCHIVE, (tx.now, outcome, error, occurrence_id))
    tx.execute("UPDATE occurrence SET run_fence = 0 WHERE id = ?", (occurrence_id,))


def answer(tx: Transaction, occurrence_id: int, fence: int) -> None:
    """Remember that a look had its outcome, for the row may be opened again."""
    tx.execute("INSERT OR IGNORE INTO outcome VALUES (?, ?)", (occurrence_id, fence))


def had_outcome(tx: Transaction, occurrence_id: int, fence: int) -> bool:
    """Return True when the attempt or look under this fence ended by the word of its own holder."""
    row = tx.execute(
        "SELECT 1 FROM attempt WHERE occurrence_id = ?1 AND fence = ?2 AND outcome NOT IN ('lost', 'cancelled')"
        " UNION ALL SELECT 1 FROM outcome WHERE occurrence_id = ?1 AND fence = ?2",
        (occurrence_id, fence),
    ).fetchone()
    return row is not None


def of(connection: Reads, occurrence_id: int) -> tuple[Attempt, ...]:
    """Return every attempt, oldest first."""
    rows = [
        *connection.execute(_ARCHIVED, (occurrence_id,)).fetchall(),
        *connection.execute(_CURRENT, (occurrence_id,)).fetchall(),
    ]
    return tuple(
        Attempt(
            occurrence_id=occurrence_id,
            fence=fence,
            number=number,
            worker=worker,
            started_at=started_at,
            ended_at=ended_at,
            outcome=outcome,
            error=error,
        )
        for fence, number, worker, started_at, ended_at, outcome, error in rows
    )
