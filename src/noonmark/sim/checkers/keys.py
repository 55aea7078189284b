"""I1, I6, S1, S2, S9: one success for a key and generation, and it stays.

Rule of the file: a success counts when the row says so, a run when the store has begun it.
A failover may take a success back, and its key succeed again; what it left must stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.core.model import Occurrence, Origin, State
from noonmark.sim.checkers.events import Begun
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

_MAY_GO_AGAIN = frozenset({Origin.MANUAL, Origin.BACKFILL})
"""Only a person takes over a key whose holder was skipped or cancelled."""
_BY_A_PERSON = frozenset({"marked_done"})


class Keys(Watch):
    """Watches successes."""

    name = "keys"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._done: dict[tuple[str, int], int] = {}  # key and generation -> the row that has its success
        self._as_it_was: dict[int, Occurrence] = {}
        self._ended: set[tuple[int, int]] = set()  # runs whose code came to its end

    def on_effect(self, effect: Effect) -> None:
        """Remember which runs came to their end."""
        if effect.phase == "end":
            self._ended.add((effect.occurrence_id, effect.fence))

    def on_call(self, call: Call) -> None:
        """Judge rows that became a success, and starts for keys that have one."""
        del call
        for before, row in self.ground.changed:
            self._judge(before, row)
        for begun in self.ground.begun:
            self._judge_start(begun)

    def on_failover(self) -> None:
        """Keep the successes that the store still has, as they were."""
        left = {row.id: row for row in self.ground.rows.values() if row.state is State.SUCCESS}
        for row_id, row in left.items():
            if self._as_it_was.get(row_id) != row:
                self.blame("I6", f"r{row_id} is a success after a failover, and was another one before")
        self._as_it_was = left
        self._done = {key: row_id for key, row_id in self._done.items() if row_id in left}

    def _judge(self, before: Occurrence | None, row: Occurrence) -> None:
        if before is not None and before.state is State.SUCCESS:
            self.blame("I6", f"r{row.id} was a success and was changed to {row.state}, fence {row.fence}")
            return
        if row.state is not State.SUCCESS:
            return
        self.prove("successes")
        self._as_it_was[row.id] = row
        if (row.id, row.fence) not in self._ended and row.code not in _BY_A_PERSON:
            self.blame("I1", f"r{row.id} is a success under fence {row.fence}, but its code did not come to its end")
        if not row.key:
            return
        if not row.claimed:
            self.blame("S1", f"r{row.id} is a success for {row.key}, which it never claimed")
        other = self._done.setdefault((row.key, row.generation), row.id)
        if other != row.id:
            self.blame("I1", f"r{row.id} and r{other} are both successes for {row.key}, generation {row.generation}")

    def _judge_start(self, begun: Begun) -> None:
        row = begun.row
        if not row.key:
            return
        self.prove("starts for a key")
        if row.generation and row.origin not in _MAY_GO_AGAIN:
            self.blame("S1", f"r{row.id} ({row.origin}) began for {row.key} as generation {row.generation}")
        other = self._done.get((row.key, row.generation))
        if other is not None:
            self.blame("S9", f"r{row.id} began for {row.key}, of which r{other} is the success")
        for lease_id, lease in self.ground.leases.items():
            holder = self.ground.rows[lease_id]
            if lease_id != row.id and lease.is_run and lease.until > begun.at and holder.key == row.key:
                self.blame("S2", f"r{row.id} began for {row.key} while r{lease_id} runs for it")

    def at_end(self) -> None:
        """Look whether every success is as it was."""
        for row_id, row in self._as_it_was.items():
            if self.ground.rows[row_id] != row:
                self.blame("I6", f"r{row_id} was a success, and is no more what it was")
        claimed: dict[tuple[str, int], int] = {}
        for row in self.ground.rows.values():
            if row.claimed:
                other = claimed.setdefault((row.key, row.generation), row.id)
                if other != row.id:
                    self.blame("S1", f"r{row.id} and r{other} both claim {row.key}, generation {row.generation}")
        self.prove("claims compared", len(claimed))
