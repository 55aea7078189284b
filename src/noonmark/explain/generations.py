"""A key that was asked for although another row had it: what had become of that one.

Rule of the file: reads only, and only for a row of a later generation.
"""

from __future__ import annotations

from noonmark.core import phrasing
from noonmark.core.model import Occurrence, Query, State, Verdict
from noonmark.core.told import Told
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store

ROWS = 200
"""Most rows of one key among which the one before is looked for."""


def one_before(store: Store, row: Occurrence) -> Occurrence | None:
    """Return the row of the generation before, None for the first one or where it is not to be found."""
    if not row.generation or not row.key:
        return None
    older = [
        other
        for other in store.occurrences(Query(key=row.key, limit=ROWS))
        if other.generation == row.generation - 1 and other.verdict != Verdict.SKIP_DUPLICATED and other.id != row.id
    ]
    return max(older, key=lambda other: (other.claimed, other.id), default=None)


def told(row: Occurrence, before: Occurrence | None, voice: Voice) -> Told:
    """Say that a row repeats what was done, or that what had its key before did nothing."""
    if before is None or before.state is State.SUCCESS or before.first_started_at is not None:
        return voice.say("line_generation", generation=row.generation)
    state = phrasing.state(before.state, voice.lang)
    return voice.say("line_asked_over", id=before.id, state=state, generation=row.generation)
