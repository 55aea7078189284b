"""One looked row on its way to an outcome: what is known of it, what is written, and the run that it becomes.

Promise: a start is guarded by everything that the decision saw, so that the store refuses it where one of them moved; a
row that waits after a rollback is bound to the rollbacks, too.

Rule of the file: nothing here asks a store, or decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from noonmark.core import rollback
from noonmark.core.codec import checks_to_json
from noonmark.core.conditions import lock_fact
from noonmark.core.decide import slot_name
from noonmark.core.escalate import alerts_for
from noonmark.core.model import (
    AlertWrite,
    Decision,
    Event,
    Fact,
    Gates,
    Job,
    JobRow,
    Micros,
    NewOccurrence,
    Occurrence,
    Settled,
    Settlement,
    State,
    Verdict,
    changed,
)
from noonmark.engine import aside
from noonmark.engine.joblocks import Hold
from noonmark.engine.registry import Handler
from noonmark.engine.runs import Run

STARTS = frozenset({Event.START, Event.TAKEOVER})
_ENDS = frozenset({Event.MISS, Event.FAIL_MANUAL, Event.CANCEL})


@dataclass(slots=True, kw_only=True)
class Case:
    """One looked row on its way to an outcome."""

    row: Occurrence
    job: Job | None = None
    job_row: JobRow | None = None
    handler: Handler | None = None
    adds: tuple[NewOccurrence, ...] = ()
    fixed: Decision | None = None  # decided before ``decide``: catch-up, lapsed, nothing to run
    decision: Decision | None = None
    asked: Micros = 0  # boot clock, of the settlement that may start it
    hold: Hold | None = None  # the job's outside lock, while this look has it
    known: dict[str, Fact] = field(default_factory=dict)

    @property
    def lock_fact(self) -> str:
        """The fact that stands for the job's outside lock, "" when it has none."""
        return "" if self.job is None else lock_fact(self.job, self.row)

    def settlement(self) -> Settlement:
        """Return what becomes of the row, guarded by what the decision saw."""
        decision, row = self.decision, self.row
        assert decision is not None
        lost = self.known.get(rollback.FACT)
        seen = aside.seen_by(decision, row, lost)
        gates = None
        if self.job is not None and self.job_row is not None:
            starts = decision.event in STARTS
            gates = Gates(
                revision=self.job_row.revision,
                pause_version=self.job_row.pause_version,
                facts={name: version for name, version in seen.items() if not starts or not name.startswith("pause:")},
                slot=slot_name(self.job, row) if starts and self.job.one_at_a_time else "",
            )
        elif seen:  # nothing can be decided here about a row of a lost range
            gates = Gates(revision=row.revision, facts=seen)
        return Settlement(
            occurrence_id=row.id,
            fence=row.fence,
            event=decision.event,
            due_at=decision.recheck_at,
            lease=self.job.lease if self.job is not None else 0,
            gates=gates,
            verdict=decision.verdict,
            code="started" if decision.code == "ready" else decision.code,
            detail=aside.json_of(rollback.detail_of(decision, row, lost)),
            checks=checks_to_json(decision.checks),
            adds=self.adds,
            alerts=self.alerts(),
        )

    def alerts(self) -> tuple[AlertWrite, ...]:
        """Return what people are told of the decision."""
        decision = self.decision
        if self.job is None or decision is None or decision.event not in _ENDS:
            return ()
        return alerts_for(self.job, self.row, decision.event, decision.code, decision.detail)

    def run(self, answer: Settled, now: Micros) -> Run:
        """Return the run that the row became by this answer; an outside lock that the look has goes with it.

        Args:
            answer: the store's, which applied a start.
            now: the store's time.
        """
        row, job = self.row, self.job
        assert job is not None
        assert self.handler is not None
        fence = answer.fence or row.fence
        started = changed(
            row,
            state=State.RUNNING,
            looking=False,
            frontier=False,
            claimed=True,
            attempt=row.attempt + 1,
            started_at=now,
            first_started_at=row.first_started_at if row.first_started_at is not None else now,
            fence=fence,
            verdict=Verdict.SHOULD_RUN,
            code="started",
        )
        run = Run(row=started, job=job, handler=self.handler, fence=fence, lease=job.lease, asked=self.asked)
        if self.hold is not None:
            run.lock_fence, self.hold.run, run.hold = self.hold.fence, run, self.hold
            self.hold = None
        return run
