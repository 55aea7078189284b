"""What of a job still needs a person, although something newer of it went well.

Promise: an alert is about one occurrence, but no other that needs a person is forgotten: it is told wherever the job is
asked about, until a person marks, retries or cancels it.  Rule of the file: reads and words.
"""

from __future__ import annotations

from collections import Counter

from noonmark.core.model import Occurrence, Query, State
from noonmark.core.told import key_told
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store

COUNTED = 1000
"""Most occurrences that are read to count them."""
NAMED = 3
_FAILED = frozenset({State.FAILED_MANUAL})


def by_job(store: Store) -> Counter[str]:
    """Return how many occurrences of each job need a person; of very many only the newest are counted."""
    return Counter(row.job for row in store.occurrences(Query(states=_FAILED, limit=COUNTED)))


def others(store: Store, row: Occurrence, voice: Voice) -> tuple[str, ...]:
    """Return a line that names what else of the row's job needs a person; nothing when there is no other."""
    found = [
        other for other in store.occurrences(Query(job=row.job, states=_FAILED, limit=COUNTED)) if other.id != row.id
    ]
    if not found:
        return ()
    named = ", ".join(f"{other.run_id} ({key_told(other.job, other.key)})" for other in found[:NAMED])
    more = " …" if len(found) > NAMED else ""
    return (voice.say("line_unresolved", count=len(found), named=named + more, first=found[0].run_id),)
