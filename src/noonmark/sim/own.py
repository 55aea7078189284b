"""The world of somebody's own rules: days of it, most of which nothing happens in.

Promise: what is due and what goes wrong comes at the same moments as without this file; only a time in which every
worker is well, nothing runs and nothing is due is passed in one step.

Rule of the file: a step is what nobody can notice: the workers' own clocks stand still meanwhile, then each says that
it lives.  Where a row is due at the end of it, one of them, left to chance, is there first, as in any other future: the
others would find nothing, and look when they would look anyway, or at once where something is left.
"""

from __future__ import annotations

import heapq
import random
from bisect import insort
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from noonmark.core.model import MINUTE, SECOND, Micros, Occurrence, Query
from noonmark.ports.clock import Clock
from noonmark.ports.store import Capability, Store
from noonmark.sim import checkers, deeds
from noonmark.sim.plan import Plan
from noonmark.sim.store import Cluster
from noonmark.sim.world import SimWorld
from noonmark.sim.zoo import Specimen
from noonmark.testing.clock import VirtualClock
from noonmark.testing.world import Replica

CALM: Micros = 2 * MINUTE
"""So long after the last fault everybody has come to rest: leases have ended, what was away is written down."""
SPARE: Micros = 2 * SECOND
"""A step ends so long before a deed or a fault."""
SHORTEST: Micros = 4 * SECOND
"""Less is not worth a step: it costs what the time itself does."""


class OwnCluster(Cluster):
    """A store that never loses what it acknowledged, so that nobody has to prove anything to it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, has_standby=False)
        self._newest: dict[str, list[tuple[Micros, int]]] = {}
        self._by_key: dict[str, list[int]] = {}
        self._known = 0

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Those of the memory store, the proofs left out."""
        return super().capabilities - {Capability.PROVES}

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Read rows; those of a key and the newest of a job are found without looking at all of them."""
        rows = self._primary._tables.rows
        while self._known < self._primary._tables.last_id:
            self._known += 1
            row = rows[self._known]
            insort(self._newest.setdefault(row.job, []), (row.scheduled_for, row.id))
            self._by_key.setdefault(row.key, []).append(row.id)
        if query.key is not None and not query.ids:
            ids = tuple(self._by_key.get(query.key, ()))
            return super().occurrences(replace(query, ids=ids)) if ids else []
        if query != Query(job=query.job, subject=query.subject, limit=query.limit) or query.job is None:
            return super().occurrences(query)
        found: list[Occurrence] = []
        for _, row_id in reversed(self._newest.get(query.job, ())):
            if len(found) == query.limit:
                break
            if query.subject in (None, rows[row_id].subject):
                found.append(rows[row_id])
        return found

    def next_due(self) -> Micros | None:
        """Return when the next row is due, None while somebody is at work on one."""
        rows = list(self._primary._tables.open_rows())
        if any(row.holder for row in rows):
            return None
        return min((row.due_at for row in rows if row.due_at is not None), default=self.now() + 400 * MINUTE)

    def due_now(self) -> set[str]:
        """Return for which workers something is due and nobody at work on it; "" for any of them."""
        now = self.now()
        rows = self._primary._tables.open_rows()
        return {row.worker for row in rows if row.due_at is not None and row.due_at <= now and not row.holder}

    def wake(self) -> None:
        """Let everybody look."""
        self._tell()


class OwnWorld(SimWorld):
    """A world that passes quiet times in one step.

    Args:
        told: is called now and then with the share of the time that is over, 0 to 1.
    """

    def __init__(
        self,
        plan: Plan,
        bodies: Callable[[SimWorld, Specimen], Callable[..., Any]],
        told: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._told = told
        self._steps = 0
        self._restless_until: Micros = 0  # on the world's boot clock
        self._rough: list[Micros] = []  # when faults come and go, and what else leaves its traces for a while
        self._dice = random.Random(f"own {plan.seed}")
        super().__init__(plan, bodies)
        self._restless_until = self.begins + CALM

    def _make_cluster(self, clock: VirtualClock) -> Store:
        super()._make_cluster(clock)
        self.cluster = self.own = OwnCluster(self._server_clock)
        return self.cluster

    def store_for(self, replica: Replica) -> Store:
        """Return a process's own way to the cluster, on which it waits for nothing."""
        replica.gate.gives_way = False
        return super().store_for(replica)

    def at(self, moment: Micros, act: Callable[[], None]) -> None:
        """Do something at a moment, microseconds after the world's beginning."""
        super().at(moment, act)
        if not _leaves_no_trace(act):
            heapq.heappush(self._rough, self.begins + moment)

    def _settle_instant(self) -> None:
        now = self.clock.boot()
        while self._rough and self._rough[0] <= now:
            heapq.heappop(self._rough)
            self._restless_until = now + CALM
            self.own.wake()  # when something goes wrong everybody knows what is due next
        super()._settle_instant()
        self._steps += 1
        if not self._steps % 200:
            self._told(min(1.0, (self.clock.boot() - self.begins) / self.plan.length))
        if self.clock.boot() >= self._restless_until:
            self._step()

    def _step(self) -> None:
        now = self.clock.boot()
        due = self.own.next_due()
        if due is None or not self._is_well():
            self._restless_until = now + SECOND
            return
        is_due = now + due - self.own.now()
        others = [self.begins + self.plan.length - SPARE]
        if self._agenda:
            others.append(self._agenda[0][0] - SPARE)
        end = min(is_due, *others)
        if end - now < SHORTEST:
            self._restless_until = end + SECOND
            return
        self._pass(end - now)
        self._restless_until = end + SPARE

    def _is_well(self) -> bool:
        if self.outside.is_waiting or len(self.well()) < self.plan.replicas:
            return False
        return not any(machine.traps or machine.comes_back_at for machine in self.machines.values())

    def _pass(self, length: Micros) -> None:
        self.clock.advance(length)
        for machine in self.machines.values():
            machine.clock.hold(length)
        for replica in self.replicas:
            replica.engine.duty.beat()
        due = self.own.due_now()
        if due == {""}:
            self._dice.choice(self.replicas).engine.wake()
            super()._settle_instant()
            due = self.own.due_now()
            if not due:
                return
        self.own.wake()
        super()._settle_instant()


def _leaves_no_trace(act: Callable[[], None]) -> bool:
    """Return True for what people do, which is over when it is answered, and for what only judges."""
    where = getattr(act.func if isinstance(act, partial) else act, "__module__", "")
    return where == deeds.__name__ or where.startswith(f"{checkers.__name__}.")
