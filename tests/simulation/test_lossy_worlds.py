"""Worlds whose store loses what it acknowledged: what is lost is exactly what was asked for, and every loss is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, Event, Query
from noonmark.core.model.rollback import ChainLink, Claim
from noonmark.explain import why as explain
from noonmark.sim import faults as f
from noonmark.sim.checkers import CHECKERS, make_checkers
from noonmark.sim.history import Call, Checker
from noonmark.sim.mutants.hunt import DRAWN, run_until_found
from noonmark.sim.mutants.of_rollbacks import ROLLBACK_MUTANTS
from noonmark.sim.mutants.plant import Planter, planted
from noonmark.sim.plan import Plan, draw
from noonmark.sim.run import Outcome, run_plan, run_seed
from noonmark.sim.store import LAG, Cluster
from noonmark.sim.world import SimWorld
from noonmark.testing.builders import make_activation, make_caller_row, make_end
from noonmark.testing.clock import VirtualClock

LENGTH = HOUR // 2 + 25 * MINUTE


def with_only(*faults: f.AnyFault, replicas: int = 2, seed: int = 5) -> Plan:
    """Return the world of a seed with these faults and no others."""
    return replace(draw(seed, length=LENGTH), faults=faults, replicas=replicas)


# --- the standby ----------------------------------------------------------------------------------------


class Writers:
    """Somebody who settles with links, one write after the other, and remembers how the store was after each."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, has_standby=True)
        self.after: dict[int, Any] = {}
        self.seq, self.hash = 0, ""
        self.cluster.activate("rule", [make_activation(effective_at=self.clock.wall())], actor="w0.1")
        self.prove()

    def state(self) -> Any:
        """Return everything that the store holds, as it is read."""
        return (
            self.cluster.occurrences(Query(after_id=0, limit=1000)),
            self.cluster.writers(),
            self.cluster.facts(["flag:a"]),
            [self.cluster.story(row.id) for row in self.cluster.occurrences(Query(after_id=0, limit=1000))],
        )

    def keep(self) -> None:
        """Remember the state after the write that was just done."""
        self.after[self.cluster.written] = self.state()
        self.clock.advance(SECOND)

    def prove(self) -> None:
        """Prove ourselves before the server that serves now."""
        proof = self.cluster.prove(Claim(writer="w", worker="w0.1", receipt=None))
        self.seq, self.hash = proof.receipt.seq, proof.receipt.hash
        self.keep()

    def link(self) -> ChainLink:
        """Return the next link."""
        before, self.seq, self.hash = self.hash, self.seq + 1, f"hash {self.cluster.written}"
        return ChainLink(writer="w", seq=self.seq, before=before, hash=self.hash, serving=self.cluster.identity())

    def work(self) -> None:
        """Add a row, have it started and settle it: three writes, two of them with links."""
        request, now = f"request {self.cluster.written}", self.cluster.now()
        self.cluster.add(request, [make_caller_row("job", at=now, identity=f"l:{request}", key=request)])
        self.keep()
        taken = self.cluster.take(
            request, "w0.1", limit=1, runnable={"job": MINUTE}, look_lease=SECOND, link=self.link()
        )  # fmt: skip
        assert [row.looking for row in taken.rows] == [False]
        self.keep()
        answers = self.cluster.settle(request, "w0.1", [make_end(taken.rows[0])], link=self.link())
        assert answers[0].outcome == "applied"
        self.keep()


def test_each_of_three_failovers_loses_exactly_the_last_writes() -> None:
    writers = Writers()
    for lose in (5, 9, 17):
        for _ in range(30):
            writers.work()
        written = writers.cluster.written
        assert writers.cluster.failover(lose) == lose
        assert writers.state() == writers.after[written - lose]
        assert writers.cluster.failovers[-1].lost == lose
        writers.prove()
    assert not writers.cluster.refused
    assert len({writers.cluster.identity(), "server 4"}) == 1


def test_more_than_the_standby_lies_behind_cannot_be_lost() -> None:
    writers = Writers()
    for _ in range(40):
        writers.work()
    assert writers.cluster.failover(1000) == LAG
    assert writers.state() == writers.after[writers.cluster.written - LAG]


# --- worlds ---------------------------------------------------------------------------------------------


def test_what_a_failover_loses_is_held_and_every_repeat_is_flagged() -> None:
    proofs: Counter[str] = Counter()
    for minute in (10, 20):
        outcome = run_plan(with_only(f.Failover(at=minute * MINUTE, lose=60)))
        assert outcome.is_good, (outcome.error, outcome.violations[:3])
        proofs.update(outcome.proofs)
    assert proofs["rollbacks: failovers that lost something"] == 2
    assert proofs["rollbacks: acknowledged links that were lost"] > 0
    assert proofs["rollbacks: repeats, each flagged"] > 0, "nothing was repeated: the test tested nothing"


def test_two_failovers_of_one_world_are_two_rollbacks() -> None:
    failovers = (f.Failover(at=10 * MINUTE, lose=60), f.Failover(at=22 * MINUTE, lose=60))
    outcome = run_plan(with_only(*failovers, replicas=3))
    assert outcome.is_good, (outcome.error, outcome.violations[:3])
    assert outcome.faults["failover"] == 2
    assert outcome.proofs["rollbacks: losses with an alert"] == 2


def test_every_checker_watches_a_world_that_loses_writes() -> None:
    proofs: Counter[str] = Counter()
    lossy = [seed for seed in range(120) if draw(seed, length=75 * MINUTE).is_lossy][:4]
    for seed in lossy:
        outcome = run_seed(seed, length=75 * MINUTE)
        assert outcome.is_good, (seed, outcome.error, outcome.violations[:3])
        proofs.update(outcome.proofs)
    assert {name.partition(":")[0] for name in proofs} >= {make.name for make in CHECKERS} - {"another"}, (
        "a checker slept"
    )


class AtOnce:
    """Kills the worker and the newest write with it, once a run of it has succeeded and it was told so."""

    name = "at once"

    def __init__(self, world: SimWorld) -> None:
        self._world = world
        self._is_done = False

    def on_call(self, call: Call) -> None:
        """Wait for the success."""
        if self._is_done or call.verb != "settle" or not call.who.startswith("w0") or not call.told:
            return
        ended = [item.occurrence_id for item in call.args[2] if item.event is Event.SUCCEED]
        if not ended or self._world.clock.boot() < self._world.begins + 5 * MINUTE:
            return
        if self._world.cluster.occurrences(Query(ids=tuple(ended)))[0].job == "hanging":  # which goes on elsewhere
            self._is_done = True
            self._world.after(0, self._strike)

    def _strike(self) -> None:
        self._world.crash(0, 90 * SECOND)
        self._world.fail_over(1)

    def on_effect(self, effect: object) -> None:
        """Nothing to see."""

    def on_failover(self) -> None:
        """Nothing to see."""

    def has_claim(self, effect: object) -> bool:
        """No claim is judged here."""
        del effect
        return False

    def at_end(self) -> None:
        """Nothing to judge."""


def repeated_early(*later: f.AnyFault) -> Outcome:
    """Return a world in which somebody repeats what was lost before the one who knows has come back."""

    def make(world: SimWorld) -> list[Checker]:
        return [*make_checkers(world), AtOnce(world)]

    return run_plan(with_only(*later, f.Failover(at=29 * MINUTE, lose=0)), make)


def test_a_repeat_before_anybody_knows_of_the_loss_is_marked_by_why() -> None:
    outcome = repeated_early()
    assert outcome.is_good, (outcome.error, outcome.violations[:3])
    assert outcome.proofs["rollbacks: repeats before the loss was proved"] == 1
    assert outcome.proofs["rollbacks: repeats that why marks"] == 1


def test_the_mark_of_a_repeat_outlives_the_next_rollback() -> None:
    outcome = repeated_early(f.Failover(at=22 * MINUTE, lose=60))
    assert outcome.is_good, (outcome.error, outcome.violations[:3])
    assert outcome.proofs["rollbacks: losses with an alert"] == 2
    assert outcome.proofs["rollbacks: repeats that why marks"] == 1


def test_a_repeat_that_why_does_not_mark_is_found() -> None:
    planter = Planter()
    planter.put(explain, "_repeated_since", lambda *_: None)
    try:
        outcome = repeated_early()
    finally:
        planter.pull()
    assert any("repeated in silence" in violation.what for violation in outcome.violations), outcome.violations[:3]


@pytest.mark.parametrize("mutant", ROLLBACK_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_guard_with_a_hole_is_found_by_who_watches_rollbacks(mutant: Any) -> None:
    length = int(mutant.hours * HOUR)
    seed = next(seed for seed in range(DRAWN) if mutant.needs.fits(draw(seed, length=length)))
    with planted(mutant):
        outcome = run_until_found(seed, length, finder="rollbacks")
    assert "rollbacks" in {violation.checker for violation in outcome.violations}, outcome.violations[:3]
