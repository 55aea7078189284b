"""Looks: what becomes of a row that ``take`` could not start by itself.

Promise: every looked row leaves this file started, parked with a reason and a moment, or ended; what the decision saw
is compared again by the store, and where it moved the row is decided anew.

Rule of the file: the verdicts are those of ``core`` (decide, catchup, lapsed); here is only the order of asking.  One
``facts`` call and one ``settle`` call serve the whole batch.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from noonmark.core import catchup, lapsed, rollback
from noonmark.core.conditions import lock_name
from noonmark.core.decide import cancelled, decide
from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    SECOND,
    Decision,
    Event,
    Fact,
    Job,
    Micros,
    Occurrence,
    Query,
    Settled,
    State,
    Verdict,
    changed,
)
from noonmark.engine import aside
from noonmark.engine.alerts import say_alerts, say_decision
from noonmark.engine.cases import STARTS, Case
from noonmark.engine.gate import Gate
from noonmark.engine.joblocks import JobLocks
from noonmark.engine.points import Point, reach
from noonmark.engine.rules import Rules, pause_fact
from noonmark.engine.runs import Run
from noonmark.engine.signals import Decided, Observer, Refused, tell
from noonmark.ports.store import Store

ROUNDS = 5
"""How often one row is decided anew within one look before it is put aside for a second."""
HANDED_ON_RECHECK: Micros = SECOND // 4
"""Where another living worker can run the job, it must not wait long for that worker's turn."""
_LOG = logging.getLogger("noonmark.engine")


class Looker:
    """Decides batches of looked rows."""

    def __init__(
        self,
        store: Store,
        gate: Gate,
        rules: Rules,
        *,
        worker: str,
        store_now: Callable[[], Micros],
        boot: Callable[[], Micros],
        is_alive: Callable[[Any, Micros], bool | None],
        locks: JobLocks,
        observer: Observer | None,
        has_run: Callable[[Occurrence], bool] = lambda _: False,
    ) -> None:
        self._has_run = has_run
        self._locks = locks
        self._store = store
        self._gate = gate
        self._rules = rules
        self._worker = worker
        self._now = store_now
        self._boot = boot
        self._is_alive = is_alive
        self._observer = observer
        self._elsewhere: frozenset[str] = frozenset()  # jobs that other living workers can run
        self._asked_elsewhere: Micros | None = None

    async def look(self, rows: Sequence[Occurrence]) -> list[Run]:
        """Bring every row to an outcome; return those that are to be run now."""
        cases = [self._case(row) for row in rows]
        try:
            return await self._look(_in_turn(cases))
        finally:
            for case in cases:  # what no run took along
                if case.hold is not None:
                    self._locks.free(case.hold)

    async def _look(self, cases: list[Case]) -> list[Run]:
        for case in cases:
            await self._prepare(case)
        if any(case.handler is None for case in cases):
            await self._ask_elsewhere()
        runs: list[Run] = []
        for round_number in range(ROUNDS):
            await self._decide(cases)
            reach(Point.DECIDED)
            answers = await self._settled(cases)
            reach(Point.LOOKED)
            again = []
            for case, answer in zip(cases, answers, strict=True):
                if answer is None:
                    continue
                if answer.outcome == "applied":
                    runs += self._applied(case, answer)
                elif answer.outcome == "stale":
                    tell(self._observer, Refused(row=case.row, fence=case.row.fence, what="look"))
                else:
                    again.append(case)
            if not again:
                return runs
            cases = again
            await self._reload(cases, put_aside=round_number == ROUNDS - 2)
        _LOG.warning("%d rows could be neither started nor parked; their look leases will lapse", len(cases))
        return runs

    async def _ask_elsewhere(self) -> None:
        now = self._boot()
        if self._asked_elsewhere is not None and now - self._asked_elsewhere < 5 * SECOND:
            return
        self._asked_elsewhere = now
        workers = await self._gate.call(self._store.workers)
        awake = [info for info in workers if info.is_awake(self._now())]
        self._elsewhere = frozenset(name for info in awake if info.id != self._worker for name in info.jobs)

    # -- before deciding ----------------------------------------------------------------------------

    def _case(self, row: Occurrence) -> Case:
        job = self._rules.job(row.job)
        return Case(
            row=row,
            job=job,
            job_row=self._rules.row(row.job),
            handler=self._rules.handler(job) if job is not None else None,
        )

    async def _prepare(self, case: Case) -> None:
        case.fixed, case.adds = None, ()
        if case.job is None:
            case.fixed = aside.unreadable(case.row, case.job_row, self._now())
            if case.row.cancel_requested and not case.row.frontier:  # no rule is needed to end what has no successor
                case.fixed = cancelled(case.row)
            return
        try:
            if case.row.is_lapsed:
                case.fixed = await self._judge_lapsed(case, case.job)
            elif case.row.frontier:
                assert case.job_row is not None
                step = catchup.step(case.job, case.row, self._now(), revision=case.job_row.revision)
                case.adds = step.adds
                case.fixed = None if case.row.cancel_requested else step.decision
        except Exception as error:
            _LOG.exception("row %s of job %s could not be looked at", case.row.run_id, case.row.job)
            case.fixed = aside.broken(error, self._now())

    async def _judge_lapsed(self, case: Case, job: Job) -> Decision:
        story = await self._gate.call(self._store.story, case.row.id)
        name = f"worker:{lapsed.last_holder(story)}"
        facts = await self._gate.call(self._store.facts, [name])
        if case.job_row is not None:
            pause = pause_fact(case.job_row)
            facts[pause.name] = pause
        facts |= await self._lost_for([case])
        now = self._now()
        reach(Point.JUDGED_LAPSED)
        if story is not None and any(note.kind == "effects" for note in story.notes):
            verdict = Verdict.SHOULD_RUN
            return Decision(verdict=verdict, event=Event.FAIL_MANUAL, code="effects_started", detail={"lost": True})
        holder = lapsed.Holder(
            alive=self._is_alive(facts[name].value, now),
            waited=case.row.code in lapsed.HAS_WAITED,
            name=name.removeprefix("worker:"),
        )
        judged = lapsed.judge(job, case.row, holder, facts, now)
        if judged.event is Event.TAKEOVER and job.lock is not None:  # a takeover is a start
            freed = await self._gate.call(self._store.facts, [case.lock_fact])
            await self._locks.ask_for([case], freed)
            return lapsed.judge(job, case.row, holder, facts | case.known, self._now())
        return judged

    async def _reload(self, cases: Sequence[Case], *, put_aside: bool) -> None:
        """A gate moved: read rules and rows again, forget what was seen, and in the last round give way for a second."""
        names = {case.row.job for case in cases}
        self._rules.refresh(await self._gate.call(self._store.jobs, names))
        query = Query(ids=tuple(case.row.id for case in cases), limit=len(cases))
        rows = {row.id: row for row in await self._gate.call(self._store.occurrences, query)}
        lost = await self._gate.call(self._store.facts, [rollback.FACT])
        self._rules.lost_until = rollback.lost_until(lost[rollback.FACT])
        for case in cases:
            row = rows.get(case.row.id, case.row)  # its frontier may have been taken away
            fresh = self._case(row if row.fence == case.row.fence else case.row)
            case.row, case.job, case.job_row, case.handler = fresh.row, fresh.job, fresh.job_row, fresh.handler
            case.known = {}
            await self._prepare(case)
            if put_aside and (case.fixed is None or case.fixed.event in STARTS):
                case.fixed = Decision(
                    verdict=Verdict.SKIP_LEASE,
                    event=Event.PARK,
                    code="start_failed",
                    detail={"rounds": ROUNDS},
                    recheck_at=self._now() + SECOND,
                )

    # -- deciding -----------------------------------------------------------------------------------

    async def _decide(self, cases: Sequence[Case]) -> None:
        for case in cases:
            case.decision = case.fixed
            if case.job_row is not None:
                fact = pause_fact(case.job_row)
                case.known[fact.name] = fact
        waiting = [case for case in cases if case.decision is None]
        lost = await self._lost_for(cases)
        for case in cases:
            case.known |= lost
        while waiting:
            needs: set[str] = set()
            undecided, of_locks = [], []
            for case in waiting:
                decision = self._ask(case)
                if decision.needs:
                    needs.update(decision.needs)
                    undecided.append(case)
                    if any(map(lock_name, decision.needs)):
                        of_locks.append(case)
                else:
                    case.decision = self._adapt(case, decision)
            waiting = undecided
            if needs:
                # Those of locks as well, and before the locks are asked: what is freed in between wakes who waits.
                facts = await self._gate.call(self._store.facts, needs)
                stored = {name: fact for name, fact in facts.items() if not lock_name(name)}
                for case in waiting:
                    case.known.update(stored)
                if of_locks:
                    await self._locks.ask_for(of_locks, facts)

    async def _lost_for(self, cases: Iterable[Case]) -> dict[str, Fact]:
        """Return the fact that lists the rollbacks, fresh, if one of these rows may have run in a lost range."""
        rows, until = [case.row for case in cases], self._rules.lost_until
        if any(row.scheduled_for < until or row.code == "held_rollback" or self._has_run(row) for row in rows):
            return await self._gate.call(self._store.facts, [rollback.FACT])
        return {}

    def _ask(self, case: Case) -> Decision:
        assert case.job is not None
        # What is known to have run in a lost range is judged as if it were held already.
        row = changed(case.row, code="held_rollback") if self._has_run(case.row) else case.row
        try:
            return decide(case.job, row, case.known, self._now())
        except Exception as error:  # a template that binds nothing here, a zone that is gone: it waits, with the reason
            _LOG.exception("job %s could not be decided for %s", case.row.job, case.row.run_id)
            return aside.broken(error, self._now())

    def _adapt(self, case: Case, decision: Decision) -> Decision:
        """Fit the verdict to what this worker and this row can do."""
        assert case.job is not None
        if decision.event in STARTS and case.handler is None:
            recheck = HANDED_ON_RECHECK if case.row.job in self._elsewhere else aside.NO_HANDLER_RECHECK
            return aside.parked(decision, "handler_missing", self._rules.missing(case.row.job), self._now() + recheck)
        if decision.event is Event.SKIP and next_state(case.row.state, Event.SKIP) is None:
            # A started occurrence is wanted whatever the calendar says now: it waits instead of vanishing.
            code = "waiting_for_resume" if decision.code == "job_paused" else decision.code
            return aside.parked(decision, code, decision.detail, self._now() + case.job.catch_up.recheck)
        return decision

    # -- settling -----------------------------------------------------------------------------------

    async def _settled(self, cases: Sequence[Case]) -> Sequence[Settled | None]:
        """Settle the batch; a row that the store refuses is parked with the reason, and costs no other row its round."""
        try:
            return await self._settle(cases)
        except ValueError as error:
            if len(cases) == 1:
                return [await self._refused(cases[0], error)]
        return [(await self._settled([case]))[0] for case in cases]

    async def _refused(self, case: Case, error: ValueError) -> Settled | None:
        _LOG.error("row %s of job %s could not be settled: %s", case.row.run_id, case.row.job, error)
        case.adds, case.fixed = (), aside.broken(error, self._now())
        case.decision = case.fixed
        try:
            return (await self._settle([case]))[0]
        except ValueError:
            _LOG.exception("row %s could not even be parked; its look lease will lapse", case.row.run_id)
            return None

    async def _settle(self, cases: Sequence[Case]) -> list[Settled]:
        asked = self._boot()
        items = []
        for case in cases:
            case.asked = asked
            if case.fixed is not None and case.decision is not None and case.decision.event in STARTS:
                case.decision = self._adapt(case, case.decision)
            items.append(case.settlement())
        return await self._gate.call(self._store.settle, secrets.token_hex(8), self._worker, items)

    def _applied(self, case: Case, answer: Settled) -> list[Run]:
        row, decision, job = case.row, case.decision, case.job
        assert decision is not None
        if job is not None:
            say_decision(job, row, decision, self._worker)
            say_alerts(case.alerts(), job, row)
        tell(self._observer, Decided(row=row, decision=decision))
        if decision.event not in STARTS or answer.state is not State.RUNNING:
            return []
        return [case.run(answer, self._now())]


def _in_turn(cases: Sequence[Case]) -> list[Case]:
    """Return the batch as it came, but of several for one slot the oldest first, or the newest if only that is wanted."""
    slots: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        slots.setdefault((case.row.job, case.row.subject), []).append(case)
    for rivals in slots.values():
        job = rivals[0].job
        is_newest_last = job is None or job.catch_up.missed != "latest" or job.on_overlap != "skip"
        rivals.sort(key=lambda case: (case.row.scheduled_for, case.row.id), reverse=is_newest_last)
    return [slots[case.row.job, case.row.subject].pop() for case in cases]
