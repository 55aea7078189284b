"""S13, S1, L1, L3: a store that came back empty is told so before anything runs in it, nothing of the past runs there, and
everything is declared anew.

Rule of the file: what lay there before is known from the world, and which machines know of it from what they remember;
of the store only what is written in it is read.  Nobody takes the word away in a world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.core.model import SECOND, Micros, Origin
from noonmark.explain.why import why
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

TURN: Micros = SECOND
FOUND_OUT: Micros = 25 * SECOND
"""An idle worker asks every ten seconds whether its store is still there, and may just have done so."""
_FACT, _ALERT, _URGENT = "flag:noonmark:another-store", "another_store", 3


class Another(Watch):
    """Watches a store in whose place another one lay before."""

    name = "another"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._since = world.cluster.emptied[-1] if world.cluster.emptied else None
        self._remember = {f"w{number}" for number, machine in world.machines.items() if machine.memory.here}
        self._well_since: dict[str, Micros] = {}
        if self._since is not None:
            world.after(TURN, self._look)

    def on_call(self, call: Call) -> None:
        """Judge every start."""
        del call
        if self._since is None:
            return
        for begun in self.ground.begun:
            name = f"r{begun.row.id} of {begun.row.job} ({begun.row.scheduled_for})"
            if begun.who.partition(".")[0] in self._remember:
                self.prove("starts after the word was given")
                if not self._is_told():
                    self.blame("S13", f"{begun.who} began {name} in a store that nobody told of the one before")
            if begun.row.origin is Origin.SCHEDULE and begun.row.scheduled_for <= self._since:
                self.blame("S1", f"{name} is of the time of the store before, and began in this one")

    def _look(self) -> None:
        """A process that nothing ails finds out by itself and declares what it runs, whether it is idle or not."""
        if self.ground.is_former or self.ground.rules.rules.keys() >= self.world.jobs.keys():
            return
        now = self.world.clock.boot()
        well = self.world.well()
        self._well_since = {who: self._well_since.get(who, now) for who in well}
        waited = max((now - since for since in self._well_since.values()), default=0)
        if waited > FOUND_OUT:
            self.blame("L3", f"after {waited} µs with a worker that nothing ails not every job is declared")
            return
        self.world.after(TURN, self._look)

    def _is_told(self) -> bool:
        return bool(self.world.cluster.facts([_FACT])[_FACT].is_set)

    def at_end(self) -> None:
        """Everybody can read of it, and every job is there again."""
        if self._since is None or not self.ground.had_quiet:
            return
        self.prove("stores that came back empty")
        for name in self.world.jobs:
            if name not in self.ground.rules.rules:
                self.blame("L1", f"{name} was not declared in the store that came back empty")
        if not self._remember:
            return
        if not self._is_told():
            self.blame("S13", "nobody told the store that another one lay there before")
        alerts = self.world.cluster.tallies().open_alerts
        if not any(alert.code == _ALERT and alert.level >= _URGENT for alert in alerts):
            self.blame("S13", "another store lay there before, and there is no alert")
        for row_id in list(self.ground.rows)[:1]:
            told = why(self.world.cluster, occurrence_id=row_id, lang="en")
            self.prove("what why says of it")
            if not any("another store" in line.lower() for line in [told.sentence, *told.lines]):
                self.blame("S13", f"why says nothing of the store before: {told.sentence!r} {told.lines}")
