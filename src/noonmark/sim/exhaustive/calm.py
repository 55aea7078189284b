"""After all faults stop, every occurrence ends (I11): the way from any state to the end of everything.

From here on the flag is set, the job goes on, whoever is dead begins anew, jobs succeed, and each replica does at once
what it can do.  That is one order of steps out of many, but it starts from every state that was reached.

Rule of the file: bounded, in steps and in the store's time; what is over the bound is a finding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from noonmark.core.model import MINUTE, SECOND, Micros
from noonmark.sim.exhaustive import laws
from noonmark.sim.exhaustive.canon import fingerprint
from noonmark.sim.exhaustive.moves import Move, apply, is_over, is_something_held, may_renew, may_take, next_moment
from noonmark.sim.exhaustive.replay import Bench
from noonmark.sim.exhaustive.scenes import FLAG, Scene
from noonmark.sim.exhaustive.state import State

STEPS: Final = 200
WITHIN: Final[Micros] = 2 * MINUTE + 10 * SECOND
"""Two leases of 30 s (a holder that seems to live is waited for), twice, for one takeover more; and some backoff.

A moment that is still to come counts from its own time."""


class Calm:
    """Brings states to the end of everything, and knows those from which it was reached before."""

    def __init__(self, bench: Bench, scene: Scene) -> None:
        self._bench, self._scene = bench, scene
        self._moments = scene.moments()
        self._good: set[int] = set()
        self.longest: Micros = 0

    def breach(self, state: State) -> tuple[list[Move], str] | None:
        """Return the way and the finding where the end is not reached, None where it is."""
        state = _without_faults(state)
        last = max((state.now, *self._moments))  # from then on nothing new comes due
        way, seen = list[Move](), list[int]()
        while (mark := fingerprint(state, self._moments)) not in self._good:
            seen.append(mark)
            move = self._next(state)
            if move is None:
                self._good.update(seen)
                self.longest = max(self.longest, state.now - last)
                return self._unfinished(state, way)
            step = apply(self._bench, self._scene, state, move)
            way.append(move)
            view = laws.View(self._scene, state, step.state, step.calls)
            found = [step.error] if step.error else laws.breaches(view)
            if found:
                return way, found[0]
            state = step.state
            late = state.now - last
            if len(way) > STEPS or late > WITHIN:
                return way, f"I11 L1: faults stopped, {late / 1e6:g} s and {len(way)} steps later there is no end"
        self._good.update(seen)
        return None

    def _next(self, state: State) -> Move | None:
        """Return what happens next where everybody is well: each does what it can, then time goes on."""
        tables = state.tables
        flag = tables.facts.get(f"flag:{FLAG}")
        if flag is None or not flag.is_set:
            return ("set", -1, 0)
        if any(job.paused for job in tables.jobs.values()):
            return ("resume", -1, 0)
        if state.person is not None:
            return ("person", -1, 0)
        for replica in state.replicas:
            number = replica.number
            if not replica.is_alive:
                return ("restart", number, 0)
            if replica.settling is not None:
                return ("settle", number, 0)
            if replica.taking is not None:
                return ("go", number, 0)
            for run in replica.runs:
                if is_over(run, state.now):
                    return ("watch", number, 0)
                return ("fail" if run.stop_reason else "ok", number, run.row.id)
            if any(may_renew(run, state.now) for run in replica.runs):
                return ("renew", number, 0)
            if may_take(state, replica):
                return ("take", number, 0)
        if is_something_held(state):
            return ("release", -1, 0)
        return ("wait", -1, 0) if tables.open_ids and next_moment(state) is not None else None

    def _unfinished(self, state: State, way: list[Move]) -> tuple[list[Move], str] | None:
        rows = state.tables.rows.values()
        left = [f"r{row.id} {row.state}" for row in rows if row.due_at is not None]
        for job_row in state.tables.jobs.values():
            job = laws.View(self._scene, state, state, []).job(job_row.revision)
            if job.is_series:
                own = [row for row in rows if row.job == job.name]
                left += map(str, laws.without_row(job, own, job_row.effective_at))
        return (way, f"I11: nothing is left to do, and these have no end: {', '.join(left)}") if left else None


def _without_faults(state: State) -> State:
    return replace(state, left=dict.fromkeys(state.left, 0) | {"set": 1})
