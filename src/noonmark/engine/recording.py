"""Recording how runs ended: one settle for a whole batch.

Promise: a finished run is offered to the store until the store has answered; what it refuses by fence is counted there
and told here, and never repeated.

Rule of the file: one batch at a time, so that outcomes keep their order.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence

from noonmark.core import late
from noonmark.core.escalate import URGENT
from noonmark.core.model import Event, Fact, Micros, Settled, Settlement
from noonmark.engine.alerts import must_be_looked_up, say_alerts
from noonmark.engine.errors import GateClosed
from noonmark.engine.gate import Gate
from noonmark.engine.outcomes import Clocked, lesser, plain_outcome, settlement
from noonmark.engine.points import Point, reach
from noonmark.engine.rules import Rules
from noonmark.engine.runs import Finish, Run
from noonmark.engine.signals import Finished, Observer, Refused, tell
from noonmark.ports.store import Store, StoreUnusable

_LOG = logging.getLogger("noonmark.engine")


class Recorder:
    """Turns finished runs into settled occurrences."""

    def __init__(
        self,
        store: Store,
        gate: Gate,
        rules: Rules,
        *,
        worker: str,
        store_now: Callable[[], Micros],
        dice: Callable[[], float],
        observer: Observer | None,
    ) -> None:
        self._store = store
        self._gate = gate
        self._rules = rules
        self._worker = worker
        self._now = store_now
        self._dice = dice
        self._observer = observer
        self.is_busy = False

    async def record(self, batch: Sequence[Finish]) -> bool:
        """Settle a batch; True when it made something due that the loop may not know of."""
        clocked = Clocked(now=self._now(), dice=self._dice)
        pairs = [(finish, item) for finish in batch if (item := self._outcome(finish, clocked)) is not None]
        if not pairs:
            return False
        self.is_busy = True
        reach(Point.OUTCOME_ASKED)
        try:
            were_open = await self._open_alerts(pairs)
            answers = await self._settle(pairs)
        finally:
            self.is_busy = False
        reach(Point.OUTCOME_STORED)
        is_news, refused = False, []
        for (finish, item), answer in zip(pairs, answers, strict=True):
            if answer is not None and answer.outcome == "stale" and item.event is Event.SUCCEED:
                refused.append(finish.run)
            if answer is not None:
                self._say(finish, item, answer, were_open)
            is_news = is_news or item.due_at is not None or bool(item.facts)
        await self.write_down_late(refused)
        return is_news

    async def write_down_late(self, runs: Sequence[Run]) -> None:
        """Write down, for whoever asks why, that these came back with a success which nothing counts."""
        if not runs:
            return
        try:
            await self._gate.call(_write_down_late, self._store, self._worker, runs)
        except Exception:  # what it explains is on record all the same, and whoever asks next meets the same store
            _LOG.warning("%d late successes could not be written down", len(runs), exc_info=True)

    def _outcome(self, finish: Finish, clocked: Clocked) -> Settlement | None:
        try:
            return settlement(finish, self._rules, clocked)
        except Exception:  # a template that binds nothing, a rule gone odd: the end of the run must be on record
            _LOG.exception("the outcome of %s could not be worked out; it is recorded plainly", finish.run.row.run_id)
            return plain_outcome(finish)

    async def _settle(self, pairs: Sequence[tuple[Finish, Settlement]]) -> Sequence[Settled | None]:
        try:
            return await self._offer([item for _, item in pairs])
        except (StoreUnusable, GateClosed):
            raise
        except Exception as error:
            if len(pairs) == 1:
                return [await self._settle_less(*pairs[0], error)]
        # One bad outcome must not take a whole batch with it.
        return [(await self._settle([pair]))[0] for pair in pairs]

    async def _settle_less(self, finish: Finish, item: Settlement, error: Exception) -> Settled | None:
        """Record less of an outcome that the store refuses: a lease that lapses would run the job again."""
        if isinstance(error, ValueError):
            _LOG.error("the outcome of r%d is recorded without what was refused: %s", item.occurrence_id, error)
            for less in lesser(finish, item, str(error)):
                try:
                    return (await self._offer([less]))[0]
                except ValueError as refused:
                    error = refused
        _LOG.error("the outcome of r%d could not be stored; its lease will lapse", item.occurrence_id, exc_info=error)
        return None

    async def _offer(self, items: Sequence[Settlement]) -> Sequence[Settled]:
        return await self._gate.call(self._store.settle, secrets.token_hex(8), self._worker, items)

    async def _open_alerts(self, pairs: Sequence[tuple[Finish, Settlement]]) -> frozenset[tuple[str, str]]:
        """Return which alerts are open, where somebody will want to know; a log line must not cost an outcome."""
        if not any(must_be_looked_up(item.alerts, finish.run.row) for finish, item in pairs):
            return frozenset()
        try:
            tallies = await self._gate.call(self._store.tallies)
        except Exception:  # the settlement that follows meets the same store, and says what is wrong with it
            return frozenset()
        ends = {item.occurrence_id for _, item in pairs}
        closing = (alert for alert in tallies.open_alerts if alert.level < URGENT or alert.occurrence_id in ends)
        return frozenset((alert.job, alert.kind) for alert in closing)

    def _say(self, finish: Finish, item: Settlement, answer: Settled, were_open: frozenset[tuple[str, str]]) -> None:
        run = finish.run
        if answer.outcome != "applied":
            _LOG.warning("the outcome of %s was refused: fence %d is old", run.row.run_id, run.fence)
            tell(self._observer, Refused(row=run.row, fence=run.fence, what=item.event))
            return
        if item.alerts:
            say_alerts(item.alerts, run.job, run.row, were_open)
        if self._observer is not None:
            tell(self._observer, Finished(row=run.row, fence=run.fence, event=item.event, code=item.code))


def _write_down_late(store: Store, worker: str, runs: Sequence[Run]) -> None:
    facts = []
    for run in runs:
        story = store.story(run.row.id)  # after a rollback, or in another store, the number may be another row's
        if story is not None and late.attempt_of(story, run.fence) is not None:
            facts.append(Fact(name=late.fact_name(run.row.id), value=late.value(run.fence), actor=worker))
    if facts:
        store.signal(secrets.token_hex(8), facts)
