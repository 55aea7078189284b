"""I3, S4: a write under an old fence changes nothing, one under the newest is heard.

Rule of the file: newest means granted, not written: a holder that has only read is a holder.  A fence whose grant a
failover took back counts no more with the store; the thing outside remembers it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.sim.checkers.events import Judged
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld


class Stale(Watch):
    """Watches writes of those who hold nothing any more."""

    name = "stale"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._highest: dict[int, int] = {}  # occurrence -> newest fence that has read the thing outside

    def on_call(self, call: Call) -> None:
        """Judge settlements and notes."""
        if self.ground.is_repeat:
            self.prove("requests that came twice")
            if not self.ground.is_same_answer:
                self.blame("S13", f"{call.verb} came twice, and the second answer was another one")
            if self.ground.changed and call.verb == "settle":
                ids = {item.occurrence_id for item in call.args[2]}
                for before, row in self.ground.changed:
                    if row.id in ids and before is not None and before.fence == row.fence and not row.frontier:
                        self.blame("S13", f"r{row.id} was changed by a request that had been answered before")
            return
        for judged in self.ground.judged:
            self._judge(judged)
        if call.verb == "note_if_held":
            self._judge_note(call)

    def _judge(self, judged: Judged) -> None:
        item, before = judged.item, judged.before
        name = f"r{item.occurrence_id}"
        is_old = item.fence < judged.newest
        if judged.answer.outcome == "applied" and not judged.was_answered and is_old:
            self.blame("I3", f"{name}: {item.event} under fence {item.fence} applied, but {judged.newest} was granted")
        if judged.answer.outcome == "applied" and judged.was_answered:
            self.prove("answered fences answered again")
            if before is not None and judged.after is not None and before.state is not judged.after.state:
                self.blame(
                    "I3", f"{name}: fence {item.fence} was answered before, and {item.event} had an effect again"
                )
        if judged.answer.outcome != "stale":
            return
        self.prove("stale settlements refused" if is_old else "late settlements refused")
        is_held = before is not None and before.fence == item.fence and before.holder == judged.who
        if is_held and before == judged.after:
            self.blame("I3", f"{name}: {item.event} of its holder {judged.who} was refused as stale")

    def _judge_note(self, call: Call) -> None:
        worker, row_id, fence, note = call.args[:4]
        newest = self.ground.standing.get(row_id, 0)
        if not call.answer:
            self.prove("stale notes refused")
            lease = self.ground.leases.get(row_id)
            if lease is not None and (lease.fence, lease.worker, lease.is_run) == (fence, worker, True):
                row = self.ground.rows[row_id]
                if row.fence == fence and row.holder == worker:
                    self.blame("I3", f"r{row_id}: a {note.kind} of its holder {worker} was refused")
        elif fence < newest:
            self.blame("I3", f"r{row_id}: a {note.kind} under fence {fence} was kept, but {newest} was granted")

    def on_effect(self, effect: Effect) -> None:
        """Judge writes to a thing outside that checks fences."""
        if effect.phase == "start":
            before = self._highest.get(effect.occurrence_id, 0)
            self._highest[effect.occurrence_id] = max(before, effect.fence)
        elif effect.phase == "write":
            is_old = effect.fence < self._highest.get(effect.occurrence_id, 0)
            if is_old and effect.accepted:
                self.blame("S4", f"r{effect.occurrence_id} wrote under fence {effect.fence} after a newer one had read")
            if is_old:
                self.prove("stale writes outside refused")
