"""Writing down when the store was away: nobody else can know it, and whoever asks why something was late must learn it.

Promise: once the store is back, every time away of a second or more stands there under this worker's name, one small
write each, as the fact ``away:WORKER`` (it explains; no decision reads it).

Rule of the file: belongs to the engine's loop.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence

from noonmark.core.model import SECOND, Fact, Micros
from noonmark.core.outages import fact_name
from noonmark.engine.gate import REMEMBERED, Away, Gate
from noonmark.engine.leases import Duty
from noonmark.ports.store import Store

SHORTEST: Micros = SECOND
"""A shorter one makes nothing late that anybody would ask about."""


class Outages:
    """The times away of this worker, in store time."""

    def __init__(
        self, store: Store, gate: Gate, duty: Duty, *, worker: str, to_store: Callable[[Micros], Micros]
    ) -> None:
        self._store = store
        self._gate = gate
        self._duty = duty
        self._worker = worker
        self._to_store = to_store
        self._known: list[tuple[Micros, Micros]] = []

    async def write_down(self) -> None:
        """Write down what is over by now; call it after an answer of the store, when its time is known."""
        new = [*self._gate.over(), *self._duty.over()]  # the keeper may miss the store while the loop sleeps
        spans = [(self._to_store(away.start), self._to_store(away.end)) for away in new if _counts(away)]
        if not spans:
            return
        known = merged([*self._known, *spans])[-REMEMBERED:]
        if _tell_the_same(known, self._known):
            return  # the loop and the keeper found it back a moment apart
        self._known = known
        fact = Fact(name=fact_name(self._worker), value=[list(span) for span in self._known], actor=self._worker)
        await self._gate.call(self._store.signal, secrets.token_hex(8), [fact])


def _tell_the_same(spans: Sequence[tuple[Micros, Micros]], others: Sequence[tuple[Micros, Micros]]) -> bool:
    both = zip(sum(spans, ()), sum(others, ()), strict=False)
    return len(spans) == len(others) and all(abs(one - other) <= SHORTEST for one, other in both)


def _counts(away: Away) -> bool:
    return away.end - away.start >= SHORTEST


def merged(spans: Iterable[tuple[Micros, Micros]]) -> list[tuple[Micros, Micros]]:
    """Return the spans in order, those that touch as one."""
    found: list[tuple[Micros, Micros]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
