"""S10, I7: only legal steps, only so many attempts, and a wait with a bound.

Rule of the file: the table of steps is written down here once more, by state and state; were it read from ``core``, a
wrong line there would be legal here.
At a failover a row may step back; attempts are counted on from there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from noonmark.core.model import SECOND, Event, Micros, Occurrence, State, Verdict
from noonmark.sim.checkers.events import Judged
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

_P, _R, _S = State.PENDING, State.RUNNING, State.SUCCESS
_F, _M, _X, _C = State.FAILED_RETRYING, State.FAILED_MANUAL, State.SKIPPED, State.CANCELLED
STEPS: dict[State | None, frozenset[State]] = {
    None: frozenset({_P, _X, _C}),
    _P: frozenset({_P, _R, _X, _M, _C}),
    _R: frozenset({_R, _S, _F, _M, _P, _C}),
    _F: frozenset({_F, _R, _M, _C}),
    _M: frozenset({_M, _P, _C, _S, _X}),  # by a person only
    _S: frozenset(),
    _X: frozenset({_P}),  # a superseded moment that is yielded again
    _C: frozenset(),
}
BY_A_PERSON = frozenset({_S, _X})
"""What ``act`` may make of any row that has not ended."""
SLACK = SECOND
FEW = 5


class LifeCycle(Watch):
    """Watches the steps of every row."""

    name = "lifecycle"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._waits = self._too_short = 0
        self._failed_at: dict[tuple[int, int], Micros] = {}  # run -> when its code raised or was stopped
        self._started: Counter[int] = Counter()  # attempts since the row was made or a person took it up

    def on_call(self, call: Call) -> None:
        """Judge every row that changed, and what was settled."""
        for before, row in self.ground.changed:
            self._judge_step(before, row, call)
        for begun in self.ground.begun:
            self._started[begun.row.id] += 1
            self._judge_attempts(begun.row)
        for judged in self.ground.judged:
            if judged.answer.outcome == "applied" and not judged.was_answered:
                self._judge_settlement(judged)

    def on_effect(self, effect: Effect) -> None:
        """Remember when a run failed."""
        if effect.phase in ("fail", "stop"):
            self._failed_at[(effect.occurrence_id, effect.fence)] = effect.at

    def on_failover(self) -> None:
        """Count on from the attempts that the store still knows of."""
        self._started = Counter({row.id: row.attempt for row in self.ground.rows.values()})

    def at_end(self) -> None:
        """A wait counts from when its worker believes it to be; that is late only where answers were."""
        if self._waits >= FEW and self._too_short * 2 > self._waits:
            self.blame(
                "I7", f"{self._too_short} of {self._waits} waits for another attempt were shorter than the rule's"
            )

    def _judge_step(self, before: Occurrence | None, row: Occurrence, call: Call) -> None:
        self.prove("steps")
        was = None if before is None else before.state
        is_marked = call.verb == "act" and row.state in BY_A_PERSON and was not in (_S, _X, _C, None)
        is_let_go = call.verb == "act" and call.args[1].kind == "release" and row.state is _P and was in (_P, _R, _F)
        if is_let_go and before is not None and row.code != before.code:
            self._started[row.id] = 0
            self.prove("rows let go by a person")
        if row.state not in STEPS[was] and not is_marked and not is_let_go:
            self.blame("S10", f"r{row.id} of {row.job} stepped from {was or 'nothing'} to {row.state}")
        if was is _M and row.state is not _M and call.verb != "act":
            self.blame("S10", f"r{row.id} left FAILED_MANUAL for {row.state}, and no person asked for it")
        if was is _M and row.state is _P:
            self._started[row.id] = 0
            self.prove("retries by a person")
        if was is _X and (before is None or before.verdict != Verdict.SKIP_SUPERSEDED):
            self.blame("S10", f"r{row.id} was skipped for good, and is open again")
        is_open = row.state in (_P, _R, _F)
        if is_open is (row.due_at is None):
            self.blame("I4", f"r{row.id} is {row.state} and due at {row.due_at}")
        if before is not None and row.fence < before.fence:
            self.blame("S3", f"r{row.id} went back from fence {before.fence} to {row.fence}")

    def _judge_attempts(self, row: Occurrence) -> None:
        jobs = [rule.job for rule in self.ground.rules.rules.get(row.job, ())]
        most = max((1 + job.retry.max + job.max_takeovers for job in jobs), default=0)
        if self._started[row.id] > most:
            self.blame("I7", f"r{row.id} of {row.job} began {self._started[row.id]} times, {most} at most are allowed")
        if row.attempt != self._started[row.id]:
            self.blame("I7", f"r{row.id} of {row.job} says attempt {row.attempt}, it is the {self._started[row.id]}th")

    def _judge_settlement(self, judged: Judged) -> None:
        item, after, before = judged.item, judged.after, judged.before
        if after is None or before is None:
            return
        if item.event is Event.HAND_BACK and before.state is _R:
            self._started[after.id] -= 1
            self.prove("runs handed back")
        if after.state is _F and before.state is _R and after.due_at is not None:
            self._judge_wait(judged, before, after.due_at)
        if before.cancel_requested and after.state not in (_C, _S, _P, _R, _F):
            self.blame("S13", f"r{after.id} was to be cancelled, and became {after.state}")
        if before.cancel_requested and item.event is Event.FAIL_RETRY and after.state is not _C:
            self.blame("S13", f"r{after.id} was to be cancelled, and is tried again")

    def _judge_wait(self, judged: Judged, before: Occurrence, due_at: int) -> None:
        rules = self.ground.rules.rules.get(before.job, ())
        failures = max(1, before.attempt - before.takeovers)
        self.prove("waits for another attempt")
        longest = max(
            min(rule.job.retry.cap, rule.job.retry.base * rule.job.retry.factor ** (failures - 1))
            + rule.job.retry.jitter
            for rule in rules
        )
        if due_at - judged.at > longest + SLACK:
            self.blame("I7", f"r{before.id} waits {due_at - judged.at} µs after failure {failures}, {longest} at most")
        shortest = min(rule.job.retry.base for rule in rules)
        self._waits += 1
        failed_at = self._failed_at.get((before.id, before.fence), before.started_at or 0)
        # What a worker takes for the store's time is behind it by as long as an answer travels, in quiet times, too.
        earliest = failed_at + shortest - self.world.plan.latency
        self._too_short += due_at < earliest and before.not_after is None
        if all(failures > rule.job.retry.max for rule in rules):
            self.blame("I7", f"r{before.id} of {before.job} is tried again after {failures} failures")
