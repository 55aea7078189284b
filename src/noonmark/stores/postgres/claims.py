"""Keys and overlap slots: who holds which.

Rule of the file: a claim outlives the run history; it changes hands only as a new generation, and a released one goes
back to the generation before it.  The claims in question are locked and on the desk.
"""

from __future__ import annotations

from dataclasses import dataclass

from noonmark.core.lifecycle import ASKED_BY_A_PERSON, YIELDING
from noonmark.core.model import OPEN_STATES, Origin, State
from noonmark.stores.postgres.desk import Claim, Desk, Wanted, lay
from noonmark.stores.postgres.link import Repeat
from noonmark.stores.postgres.rows import Line

_OPEN = frozenset(state.value for state in OPEN_STATES)


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds a key, seen by somebody who wants it: ``generation`` is what the taker would be."""

    holder: int | None  # None = free to take
    generation: int
    state: str = ""


FREE = Holding(None, 0)


def look(desk: Desk, key: str, origin: Origin, *, again: bool = False, own: int | None = None) -> Holding:
    """Return whether the key can be taken by a row of this origin (``own``: the row that asks)."""
    claim = desk.claims.get(key)
    if claim is None:
        return FREE
    holder, state = claim.occurrence_id, desk.state_of(claim.occurrence_id)
    if holder == own:
        return Holding(None, claim.generation)
    yields = (again and state not in _OPEN) or (state in YIELDING and origin in ASKED_BY_A_PERSON)
    return Holding(None if yields else holder, claim.generation + 1, state or State.SUCCESS.value)


def take(desk: Desk, key: str, occurrence_id: int, generation: int) -> None:
    """Make the row the holder of the key."""
    desk.claims[key] = Claim(generation, occurrence_id)
    desk.generations.setdefault(key, []).append((generation, occurrence_id))


def claim_if_free(desk: Desk, line: Line) -> int | None:
    """Claim the row's key for it unless it has it; return the holder that keeps it from us, or None."""
    row = line.row
    if row.claimed or not row.key:
        return None
    holding = look(desk, row.key, row.origin, own=row.id)
    if holding.holder is not None:
        return holding.holder
    take(desk, row.key, row.id, holding.generation)
    row.claimed, row.generation, line.is_changed = True, holding.generation, True
    return None


def release(desk: Desk, line: Line) -> None:
    """Give the row's key back to the generation before, or to nobody."""
    row = line.row
    row.claimed, row.generation, line.is_changed = False, 0, True
    claim = desk.claims.get(row.key)
    if claim is None or claim.occurrence_id != row.id:
        return
    before = [pair for pair in desk.generations.get(row.key, ()) if pair[1] != row.id and _claims_still(desk, *pair)]
    if before:
        desk.claims[row.key] = Claim(*max(before))
    else:
        del desk.claims[row.key]


def _claims_still(desk: Desk, _generation: int, occurrence_id: int) -> bool:
    line = desk.lines.get(occurrence_id)
    return line is None or line.row.claimed


def holder(desk: Desk, key: str) -> int | None:
    """Return the row that holds the key."""
    claim = desk.claims.get(key)
    return None if claim is None else claim.occurrence_id


def occupant(desk: Desk, slot: str) -> int | None:
    """Return the occurrence that occupies the overlap slot."""
    found = desk.slots.get(slot)
    return None if found is None else found[0]


def occupy(desk: Desk, slot: str, occurrence_id: int) -> None:
    """Occupy the slot; the caller has seen that it is free or ours.

    Raises:
        Repeat: its line was swept away while we came to it, so that nobody who competes for it would wait for us.
    """
    if slot not in desk.locked_slots:
        raise Repeat
    desk.slots.setdefault(slot, (occurrence_id, desk.now))


def leave(desk: Desk, slot: str, occurrence_id: int) -> None:
    """Leave the slot, if the row occupies one."""
    if slot and slot not in desk.locked_slots:  # the row came to it while we waited for the row
        lay(desk, Wanted(slots={slot}))
    if slot and occupant(desk, slot) == occurrence_id:
        del desk.slots[slot]
