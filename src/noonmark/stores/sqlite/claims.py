"""Keys and overlap slots: who holds which.

Rule of the file: a claim outlives the run history; it changes hands only as a new generation, and a released one goes
back to the generation before it.
"""

from __future__ import annotations

from noonmark.core.lifecycle import ASKED_BY_A_PERSON, YIELDING
from noonmark.core.model import OPEN_STATES, Origin, State
from noonmark.core.values import dataclass
from noonmark.stores.sqlite import facts
from noonmark.stores.sqlite.transaction import Transaction

_OPEN = frozenset(state.value for state in OPEN_STATES)

_HOLDER = (
    "SELECT c.occurrence_id, c.generation, o.state FROM claim c LEFT JOIN occurrence o ON o.id = c.occurrence_id"
    " WHERE c.key = ?"
)
_SET = (
    "INSERT INTO claim VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET generation = excluded.generation, occurrence_id = excluded.occurrence_id"
)
# In the order of ``core.lifecycle.waits_under``: the first that is not being looked at, and not all that wait.
OLDEST_WAITER = (
    "SELECT o.id, o.worker FROM waiter w CROSS JOIN occurrence o ON o.id = w.occurrence_id WHERE w.fact = ?1"
    " AND o.holder = '' AND o.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM slot WHERE name = ?1)"
    " ORDER BY w.version, w.occurrence_id LIMIT 1"
)
_NEXT = "UPDATE occurrence SET due_at = min(due_at, ?), waits = 0, slot = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds a key, seen by somebody who wants it: ``generation`` is what the taker would be."""

    holder: int | None  # None = free to take
    generation: int
    state: str = ""


FREE = Holding(None, 0)


def look(tx: Transaction, key: str, origin: Origin, *, again: bool = False, own: int | None = None) -> Holding:
    """Return whether the key can be taken by a row of this origin (``own``: the row that asks)."""
    row = tx.execute(_HOLDER, (key,)).fetchone()
    if row is None:
        return FREE
    holder, generation, state = row
    if holder == own:
        return Holding(None, generation)
    yields = (again and state not in _OPEN) or (state in YIELDING and origin in ASKED_BY_A_PERSON)
    return Holding(None if yields else holder, generation + 1, state or State.SUCCESS.value)


def take(tx: Transaction, key: str, occurrence_id: int, generation: int) -> None:
    """Make the row the holder of the key."""
    tx.execute(_SET, (key, generation, occurrence_id))


def release(tx: Transaction, key: str, occurrence_id: int) -> None:
    """Give the key back to the generation before, or to nobody."""
    tx.execute("UPDATE occurrence SET claimed = 0, generation = 0 WHERE id = ?", (occurrence_id,))
    held = tx.execute("SELECT 1 FROM claim WHERE key = ? AND occurrence_id = ?", (key, occurrence_id)).fetchone()
    if held is None:
        return
    before = tx.execute(
        "SELECT id, generation FROM occurrence WHERE key = ? AND claimed = 1 AND id <> ?"
        " ORDER BY generation DESC, id DESC LIMIT 1",
        (key, occurrence_id),
    ).fetchone()
    if before is None:
        tx.execute("DELETE FROM claim WHERE key = ?", (key,))
    else:
        take(tx, key, before[0], before[1])


def occupant(tx: Transaction, slot: str) -> int | None:
    """Return the occurrence that occupies the overlap slot."""
    row = tx.execute("SELECT occurrence_id FROM slot WHERE name = ?", (slot,)).fetchone()
    return None if row is None else int(row[0])


def occupy(tx: Transaction, slot: str, occurrence_id: int) -> None:
    """Occupy the slot; the caller has seen that it is free or ours."""
    tx.execute("INSERT OR IGNORE INTO slot VALUES (?, ?, ?)", (slot, occurrence_id, tx.now))


def leave(tx: Transaction, slot: str, occurrence_id: int) -> None:
    """Leave the slot, if the row occupies one."""
    if slot:
        tx.execute("DELETE FROM slot WHERE name = ? AND occurrence_id = ?", (slot, occurrence_id))
        tx.freed.add(slot)


def pass_slots_on(tx: Transaction) -> None:
    """Give each slot that was left and is free still to the row with the oldest scheduled time that waits for it."""
    for slot in sorted(tx.freed):
        row = tx.execute(OLDEST_WAITER, (slot,)).fetchone()
        if row is not None:
            facts.forget_waiting(tx, row[0])
            occupy(tx, slot, row[0])
            tx.execute(_NEXT, (tx.now, slot, row[0]))
            tx.due(tx.now, row[1])
    tx.freed.clear()


def holder(tx: Transaction, key: str) -> int | None:
    """Return the row that holds the key."""
    row = tx.execute("SELECT occurrence_id FROM claim WHERE key = ?", (key,)).fetchone()
    return None if row is None else int(row[0])
