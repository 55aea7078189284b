"""I2, S2, S3, S14: one lease at a time, fences that only grow, one run per slot, and who waits for one in turn.

Rule of the file: leases and fences are followed from the answers of take, settle and renew, in the store's own time.
A failover takes leases back, so two may believe to hold one row; by the store only one does, and fences grow all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.core.model import Event, Micros, State
from noonmark.sim.checkers.events import Begun, Extended, Leased
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

_IN_PROGRESS = frozenset({State.RUNNING, State.FAILED_RETRYING})


class Leases(Watch):
    """Watches who holds what."""

    name = "leases"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._waits_since: dict[int, Micros] = {}  # row -> since when it waits for its slot and nobody looks at it
        self._left_at: dict[tuple[str, str], Micros] = {}  # job, subject -> when a run of it ended last

    def on_call(self, call: Call) -> None:
        """Judge what was leased, extended and begun."""
        del call
        for leased in self.ground.leased:
            self._waits_since.pop(leased.row.id, None)
            self._judge_lease(leased)
        for extended in self.ground.extended:
            self._judge_renewal(extended)
        for begun in self.ground.begun:
            self._judge_slot(begun)
            self._judge_turn(begun)
        self._see_queues()

    def on_failover(self) -> None:
        """Forget who waits: it may have been taken back."""
        self._waits_since.clear()
        self._left_at.clear()

    def _judge_lease(self, leased: Leased) -> None:
        row, lease = leased.row, leased.lease
        self.prove("fences granted")
        if row.fence <= leased.fence:
            self.blame("S3", f"r{row.id} got fence {row.fence} after {leased.fence}")
        if row.worker not in ("", leased.who):
            self.blame("I2", f"r{row.id} is {row.worker}'s own, and {leased.who} took it")
        if row.fence < leased.at:
            self.blame("S3", f"r{row.id} got fence {row.fence}, less than the store's time {leased.at}")
        if lease is not None:
            self.prove("leases taken after they lapsed")
            if lease.until > leased.at:
                who = f"{lease.worker} holds it until {lease.until}"
                self.blame("I2", f"r{row.id} was leased to {leased.who} at {leased.at}, but {who}")
            if lease.is_run and row.takeovers <= (leased.before.takeovers if leased.before else 0):
                self.blame("I7", f"r{row.id} lost a run, and nobody counted it")
        if leased.before is not None and (leased.before.due_at or 0) > leased.at and leased.lease is None:
            self._judge_early(leased)

    def _judge_early(self, leased: Leased) -> None:
        """A row may have been woken since it was seen last; only one that nothing can wake is sure to be early."""
        before = leased.before
        assert before is not None
        if before.state is State.PENDING and before.fence == 0 and leased.row.scheduled_for > leased.at:
            self.blame("S6", f"r{before.id} was taken at {leased.at}, but is due at {before.due_at}")

    def _judge_renewal(self, extended: Extended) -> None:
        lease, renewal = extended.lease, extended.renewal
        self.prove("renewals")
        if lease is None:
            self.blame("I2", f"r{renewal.occurrence_id}: {extended.who} extended a lease that had ended")
        elif lease.fence != renewal.fence or lease.worker != extended.who:
            what = f"{extended.who} extended fence {renewal.fence}, but {lease.worker} holds it under {lease.fence}"
            self.blame("I2", f"r{renewal.occurrence_id}: {what}")
        elif not lease.is_run:
            self.blame("I2", f"r{renewal.occurrence_id}: {extended.who} extended a look")

    def _judge_slot(self, begun: Begun) -> None:
        row, rule = begun.row, self.ground.rules.of(begun.row.job, begun.row.revision)
        if rule is None or not rule.job.one_at_a_time:
            return
        self.prove("starts into a slot")
        for other in map(self.ground.rows.__getitem__, self.ground.open):
            if (other.job, other.subject) == (row.job, row.subject) and other.id != row.id:
                if other.state in _IN_PROGRESS:
                    self.blame("S14", f"r{row.id} of {row.job} began while r{other.id} is {other.state}")
                lease = self.ground.leases.get(other.id)
                if lease is not None and lease.is_run and lease.until > begun.at:
                    self.blame("S14", f"r{row.id} of {row.job} began while r{other.id} holds a run lease")

    def _see_queues(self) -> None:
        for judged in self.ground.judged:
            item = judged.item
            if (item.event, item.code, judged.answer.outcome) == (Event.PARK, "slot_wait", "applied"):
                self._waits_since.setdefault(item.occurrence_id, judged.at)
        for before, row in self.ground.changed:
            if before is not None and before.state in _IN_PROGRESS and row.ended_at is not None:
                self._left_at[row.job, row.subject] = row.ended_at

    def _judge_turn(self, begun: Begun) -> None:
        """Who has waited since before the slot was left last comes before everybody who is younger."""
        row = begun.row
        left = self._left_at.get((row.job, row.subject))
        for other in map(self.ground.rows.__getitem__, self._waits_since):
            if left is None or (other.job, other.subject) != (row.job, row.subject) or other.id not in self.ground.open:
                continue
            self.prove("starts while others wait their turn")
            is_older = (other.scheduled_for, other.id) < (row.scheduled_for, row.id)
            if is_older and self._waits_since[other.id] < left:
                self.blame("S14", f"r{row.id} of {row.job} began before r{other.id}, which is older and waited")
