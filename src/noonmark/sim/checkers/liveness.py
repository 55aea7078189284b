"""I11, L2, L3, L4: what is due is taken at once where nothing stands in the way, and in the end everything has ended.

Rule of the file: bounds hold where no fault is on: in the quiet time, and for a replica that nothing ails after the
store has come back.  A process that a job killed in the quiet time takes its time to come back.
After a failover nothing is promised before the writers have proved themselves, and of what it holds until a person has
let it go; the last word of a person comes in the quiet time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noonmark.core.model import MINUTE, SECOND, Micros, Occurrence
from noonmark.sim import faults as f
from noonmark.sim.checkers.events import Leased
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

PROMPT: Micros = SECOND
"""From due to taken, where nothing is wrong."""
BACK: Micros = 5 * SECOND
"""What a process that was killed takes to come back, and those that start at the beginning of the quiet time."""
ENDED: Micros = 10 * MINUTE
"""Longest a row may go on after it became due and nothing was wrong any more: every attempt, wait and takeover."""
PROVING: Micros = 35 * SECOND
"""After a failover: a heartbeat's ttl, for which writers that were heard of are waited for, and a little."""
LOCK = "ledger"
KEPT: Micros = 3 * MINUTE
"""Longest a lock may be held where nothing is wrong: no run under it takes half a minute, and a dead one's lapses."""
_WAITS = frozenset({"flag_missing", "dependency_missing", "weekend_wait", "window_not_open", "waiting_for_resume"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Return:
    """The store has come back: who was well then, and which rows were overdue."""

    at: Micros
    well: frozenset[str]
    overdue: frozenset[int]


class Liveness(Watch):
    """Watches that things go on."""

    name = "liveness"
    hears_silence = True

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._deaths = 0
        self._died_at: Micros = 0
        self._holder = ""  # of the lock that jobs share
        self._held_since: Micros = 0
        lived = world.clock.boot() - world.begins
        for fault in world.plan.faults:
            if isinstance(fault, f.Outage):
                end = fault.at + fault.length + 1  # the outage's own end comes first
                if end > lived and not any(
                    isinstance(each, f.Slow) and _is_felt(each, end) for each in world.plan.faults
                ):
                    world.at(end, self._came_back)

    def on_call(self, call: Call) -> None:
        """In the quiet time, judge how promptly rows are taken."""
        if not self.ground.is_quiet:
            return
        self._see_lock()
        if not self.ground.leased:
            return
        deaths = self.world.history.injected["killed by its job"]
        if deaths != self._deaths:
            self._deaths, self._died_at = deaths, call.at
        for leased in self.ground.leased:
            self._judge(leased)

    def _see_lock(self) -> None:
        holder = self.world.locks.holder(LOCK)
        if holder != self._holder:
            self._holder, self._held_since = holder, self.world.clock.boot()

    def _judge(self, leased: Leased) -> None:
        due_at = self._due(leased)
        well_since = max(self.ground.peace_at, self._died_at) + BACK
        if not self.ground.has_settled(PROVING):
            return
        if due_at is None or leased.at < well_since or leased.row.worker:
            return
        self.prove("runs taken over in time" if leased.lease is not None else "rows taken in time")
        holder = leased.lease
        is_ours = holder is not None and holder.is_run and holder.taken_at >= self.ground.peace_at
        if holder is not None and is_ours and holder.worker in self.world.well():
            self.blame("L2", f"r{leased.row.id}: {holder.worker} lost its lease although nothing was wrong")
        late = leased.at - max(due_at, well_since)
        # What waited already when all was well again comes in turn: rows that lost a lease come one by one.
        allowed = PROMPT if due_at >= well_since else BACK
        if late > allowed + self.world.plan.latency * 4:
            which = "L2" if leased.lease is not None else "L4"
            self.blame(which, f"r{leased.row.id} of {leased.row.job} was due, and taken {late} µs later")

    @staticmethod
    def _due(leased: Leased) -> Micros | None:
        if leased.lease is not None:
            return leased.lease.until
        return None if leased.before is None else leased.before.due_at

    # -- after an outage ----------------------------------------------------------------------------------

    def _came_back(self) -> None:
        if self.ground.is_former:
            return
        now = self.world.store.now()
        overdue = [row for row in self._open() if _is_overdue(row, now)]
        well = self.world.well()
        if not overdue or not well:
            return
        back = _Return(at=now, well=well, overdue=frozenset(row.id for row in overdue))
        # Runs that lost their lease meanwhile come first, one with each take.
        lapsed = sum(bool(row.holder) and row.due_at is not None and row.due_at <= now for row in self._open())
        turns = 4 * self.world.plan.latency * (1 + lapsed)
        self.world.after(PROMPT + turns, lambda: self._judge_return(back))

    def _judge_return(self, back: _Return) -> None:
        if back.well != self.world.well() or self.ground.is_quiet or self.ground.is_former:
            return  # something else came between
        if not self.ground.has_settled(PROVING):
            return
        self.prove("returns of the store")
        for row in self._open():
            if row.id in back.overdue and _is_overdue(row, back.at):
                self.blame("L3", f"r{row.id} of {row.job} was due when the store came back, and nobody took it")

    def _open(self) -> list[Occurrence]:
        return [self.ground.rows[row_id] for row_id in sorted(self.ground.open)]

    # -- in the end -----------------------------------------------------------------------------------------

    def at_end(self) -> None:
        """Nothing is overdue, and nothing goes on for ever."""
        if not self.ground.had_quiet:
            return
        now = self.world.store.now()
        self._see_lock()
        if any(each.job.lock is not None for each in self.world.plan.zoo):
            self.prove("locks that are given back")
            if self._holder and self.world.clock.boot() - self._held_since > KEPT:
                self.blame("L4", f"the lock {LOCK} is held since {self._held_since}, and no run takes so long")
        for row in self._open():
            self.prove("rows that are open in the end")
            name = f"r{row.id} of {row.job}, {row.state} ({row.code})"
            if row.worker and self.ground.workers.get(row.worker, 0) <= now:
                self.blame("I11", f"{name}: its worker is gone")
            elif row.due_at is None or row.due_at < now - PROMPT - 4 * self.world.plan.latency:
                self.blame("I11", f"{name} was due {now - (row.due_at or 0)} µs ago, and nobody took it")
            elif (
                max(row.scheduled_for, row.not_before or 0, self.ground.peace_at) < now - ENDED
                and row.code not in _WAITS
            ):
                self.blame("I11", f"{name} has not ended, it was due at {row.scheduled_for}")
            elif row.cancel_requested and not row.frontier:
                self.blame("I11", f"{name} was to be cancelled, and goes on")


def _is_felt(slow: f.Slow, at: Micros) -> bool:
    """What was asked while calls were slow may be on its way for as long as they took."""
    return slow.at <= at <= slow.at + slow.length + slow.latency


def _is_overdue(row: Occurrence, now: Micros) -> bool:
    return not row.holder and not row.worker and row.due_at is not None and row.due_at <= now
