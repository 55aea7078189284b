"""The ledger: decisions and outcomes, appended.

Rule of the file: lines are never changed, except that a look which saw the same as the one before it only counts.
"""

from __future__ import annotations

from noonmark.core.model import Event
from noonmark.stores.sqlite.transaction import Transaction

_APPEND = (
    "INSERT INTO ledger (occurrence_id, job, at, last_at, count, event, verdict, code, detail, checks, worker, fence,"
    " revision, actor) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ROW = "SELECT job, verdict, code, detail, fence, revision FROM occurrence WHERE id = ?"
_LAST = "SELECT seq, event, verdict, code, detail FROM ledger WHERE occurrence_id = ? ORDER BY seq DESC LIMIT 1"


def append(
    tx: Transaction,
    occurrence_id: int,
    job: str,
    event: str,
    *,
    verdict: str = "",
    code: str = "",
    detail: str = "{}",
    checks: str = "[]",
    worker: str = "",
    fence: int = 0,
    revision: int = 0,
    actor: str = "",
) -> None:
    """Write one line, or count it on the line before when it is the same "not yet" again."""
    if event == Event.PARK:
        last = tx.execute(_LAST, (occurrence_id,)).fetchone()
        if last is not None and last[1:] == (event, verdict, code, detail):
            tx.execute(
                "UPDATE ledger SET count = count + 1, last_at = ?, checks = ? WHERE seq = ?", (tx.now, checks, last[0])
            )
            return
    tx.execute(
        _APPEND,
        (occurrence_id, job, tx.now, tx.now, str(event), verdict, code, detail, checks, worker, fence, revision, actor),
    )


def append_row(
    tx: Transaction, occurrence_id: int, event: str, *, checks: str = "[]", worker: str = "", actor: str = ""
) -> None:
    """Write one line about an occurrence as it is now."""
    job, verdict, code, detail, fence, revision = tx.execute(_ROW, (occurrence_id,)).fetchone()
    append(
        tx,
        occurrence_id,
        job,
        event,
        verdict=verdict,
        code=code,
        detail=detail,
        checks=checks,
        worker=worker,
        fence=fence,
        revision=revision,
        actor=actor,
    )
