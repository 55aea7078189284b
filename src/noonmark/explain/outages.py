"""When was the store away?  As the workers wrote it down that lost it and found it again.

Rule of the file: one worker's word is about what that worker saw, so it is told with its name; who is cut off alone saw
it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noonmark.core.model import Micros, WorkerInfo
from noonmark.core.outages import fact_name, spans
from noonmark.core.values import dataclass
from noonmark.ports.store import Store

WORKERS_ASKED = 200
"""Most workers whose times away are read for one answer, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time in which a worker could not reach the store: store time, both ends included."""

    worker: str  # incarnation
    name: str
    start: Micros
    end: Micros

    def shares(self, since: Micros, until: Micros) -> Micros:
        """Return how much of it lies between two moments."""
        return max(0, min(self.end, until) - max(self.start, since))


def outages(store: Store, workers: Iterable[WorkerInfo], since: Micros) -> tuple[Outage, ...]:
    """Read the times away that ended after ``since``, oldest first."""
    heard = {fact_name(info.id): info for info in workers if info.seen_at >= since}
    names = sorted(heard, key=lambda name: heard[name].seen_at, reverse=True)[:WORKERS_ASKED]
    facts = store.facts(names) if names else {}
    found = [
        Outage(worker=heard[name].id, name=heard[name].name, start=start, end=end)
        for name, fact in facts.items()
        for start, end in spans(fact.value)
        if end > since
    ]
    return tuple(sorted(found, key=lambda outage: (outage.start, outage.end, outage.worker)))


def away_between(found: Sequence[Outage], since: Micros, until: Micros) -> Outage | None:
    """Return the time away that takes up most of the time between two moments, None when none touches it."""
    touching = [outage for outage in found if outage.shares(since, until)]
    return max(touching, key=lambda outage: outage.shares(since, until), default=None)
