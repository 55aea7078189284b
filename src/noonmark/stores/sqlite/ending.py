"""How a row is read for a change, and how it ends: the same for a settlement, a person's act and a new revision.

Rule of the file: an end leaves nothing behind that could hold up another row: no due moment, no slot, no waiting; and
no key, where the rule itself took the moment back.
"""

from __future__ import annotations

from noonmark.core import escalate
from noonmark.core.lifecycle import ATTEMPT_ENDS, YIELDING
from noonmark.core.model import Occurrence, State, Verdict
from noonmark.core.values import dataclass
from noonmark.stores.sqlite import alerts, attempts, claims, facts
from noonmark.stores.sqlite.rows import COLUMNS, make
from noonmark.stores.sqlite.transaction import Transaction

_LOAD = f"SELECT {COLUMNS}, slot, waits, run_fence, answered FROM occurrence WHERE id = ?"
_END = (
    "UPDATE occurrence SET state = ?, due_at = NULL, ended_at = ?, holder = '', looking = 0, frontier = 0, slot = '',"
    " waits = 0, verdict = ?, code = ?, detail = ?, result = ?, error = ?, duplicate_of = ?, actor = ?, note = ?,"
    " answered = ? WHERE id = ?"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A row with what only this store keeps about it."""

    row: Occurrence
    slot: str
    waits: bool
    run_fence: int
    answered: int


def load(tx: Transaction, occurrence_id: int) -> Line | None:
    """Read a row as it is now."""
    found = tx.execute(_LOAD, (occurrence_id,)).fetchone()
    if found is None:
        return None
    *columns, slot, waits, run_fence, answered = found
    return Line(make(*columns), slot, waits == 1, run_fence, answered)


def end(
    tx: Transaction,
    line: Line,
    state: State,
    *,
    verdict: str | None = None,
    code: str,
    detail: str,
    said: tuple[str | None, str | None] | None = None,
    duplicate_of: int | None = None,
    actor: str | None = None,
    note: str | None = None,
    answered: int | None = None,
) -> None:
    """End the row in this state; what is left out stays as it is on the row (``said``: its result and error)."""
    row = line.row
    result, error = (row.result, row.error) if said is None else said
    if line.run_fence and state is not State.SUCCESS:
        attempts.archive(tx, row.id, ATTEMPT_ENDS[state], error)
    verdict = row.verdict if verdict is None else verdict
    tx.execute(
        _END,
        (
            state.value,
            tx.now,
            verdict,
            code,
            detail,
            result,
            error,
            row.duplicate_of if duplicate_of is None else duplicate_of,
            row.actor if actor is None else actor,
            row.note if note is None else note,
            line.answered if answered is None else answered,
            row.id,
        ),
    )
    tx.moved(row.state, state)
    claims.leave(tx, line.slot, row.id)
    if line.waits:
        facts.forget_waiting(tx, row.id)
    if verdict == Verdict.SKIP_SUPERSEDED and row.claimed:
        claims.release(tx, row.key, row.id)
    if state in YIELDING and escalate.may_be_told(row):
        alerts.close_for(tx, row.id)


def claim_if_free(tx: Transaction, row: Occurrence) -> int | None:
    """Claim the row's key for it unless it has it; return the holder that keeps it from us, or None."""
    if row.claimed or not row.key:
        return None
    holding = claims.look(tx, row.key, row.origin, own=row.id)
    if holding.holder is not None:
        return holding.holder
    claims.take(tx, row.key, row.id, holding.generation)
    tx.execute("UPDATE occurrence SET claimed = 1, generation = ? WHERE id = ?", (holding.generation, row.id))
    return None
