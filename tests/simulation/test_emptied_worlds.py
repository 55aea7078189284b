"""Worlds in which another store comes to lie where the first one lay, an empty one: told, declared anew, and going on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND, Query
from noonmark.sim import faults as f
from noonmark.sim.checkers import CHECKERS
from noonmark.sim.mutants.hunt import DRAWN, run_until_found
from noonmark.sim.mutants.of_emptied import EMPTIED_MUTANTS
from noonmark.sim.mutants.plant import Mutant, planted
from noonmark.sim.plan import Plan, draw
from noonmark.sim.run import run_plan, run_seed
from noonmark.sim.store import Cluster
from noonmark.testing.builders import make_activation, make_caller_row
from noonmark.testing.clock import VirtualClock

LENGTH = HOUR // 2 + 25 * MINUTE


def with_only(*faults: f.AnyFault, replicas: int = 2, seed: int = 5) -> Plan:
    """Return the world of a seed with these faults and no others."""
    return replace(draw(seed, length=LENGTH), faults=faults, replicas=replicas)


def is_emptied(seed: int) -> bool:
    return any(isinstance(fault, f.Emptied) for fault in draw(seed, length=LENGTH).faults)


def test_another_store_has_another_id_begins_its_numbers_anew_and_goes_on_in_time() -> None:
    cluster = Cluster(clock := VirtualClock(), has_standby=True)
    cluster.activate("rule", [make_activation(effective_at=clock.wall())], actor="w0.1")
    first = cluster.add("a", [make_caller_row("a", at=cluster.now())])
    before, at = cluster.store_id(), cluster.now()
    cluster.empty()
    assert cluster.store_id() != before
    assert (cluster.now(), cluster.emptied) == (at, [at])
    assert cluster.jobs() == []
    clock.advance(SECOND)
    assert cluster.add("a", [make_caller_row("a", at=at)])[0].id == first[0].id
    cluster.failover(1)
    assert cluster.occurrences(Query(open_only=True)) == [], "the standby follows the store that lies there"


def test_a_store_that_comes_back_empty_is_told_and_goes_on() -> None:
    outcome = run_plan(with_only(f.Emptied(at=10 * MINUTE)))
    assert outcome.is_good, (outcome.error, outcome.violations[:3])
    assert outcome.faults["came back empty"] == 1
    assert outcome.proofs["another: stores that came back empty"] == 1
    assert outcome.proofs["another: what why says of it"] == 1
    assert outcome.proofs["another: starts after the word was given"] > 0, "nothing ran afterwards"


def test_a_run_of_the_store_before_is_judged_by_what_that_one_had_granted() -> None:
    """Its worker hears of the loss when it renews; until then it goes on, and not a moment after its lease has ended."""
    proofs: Counter[str] = Counter()
    for second in range(0, 40, 8):
        outcome = run_plan(
            with_only(f.Emptied(at=10 * MINUTE + second * SECOND), f.Crash(at=MINUTE, replica=0, down=1))
        )
        assert outcome.is_good, (outcome.error, outcome.violations[:3])
        proofs.update(outcome.proofs)
    assert proofs["another: stores that came back empty"] == 5


def test_a_store_that_comes_back_empty_twice_and_goes_back_in_time_besides() -> None:
    faults = (f.Failover(at=6 * MINUTE, lose=30), f.Emptied(at=10 * MINUTE), f.Failover(at=14 * MINUTE, lose=30))
    outcome = run_plan(with_only(*faults, f.Emptied(at=20 * MINUTE), replicas=3))
    assert outcome.is_good, (outcome.error, outcome.violations[:3])
    assert (outcome.faults["failover"], outcome.faults["came back empty"]) == (2, 2)


def test_every_checker_watches_a_store_that_came_back_empty() -> None:
    proofs: Counter[str] = Counter()
    for seed in [seed for seed in range(200) if is_emptied(seed)][:4]:
        outcome = run_seed(seed, length=LENGTH)
        assert outcome.is_good, (seed, outcome.error, outcome.violations[:3])
        proofs.update(outcome.proofs)
    looked = {name.partition(":")[0] for name in proofs}
    assert looked >= {make.name for make in CHECKERS} - {"rollbacks"}, "a checker slept"


@pytest.mark.parametrize("mutant", EMPTIED_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_worker_that_keeps_it_to_itself_is_found_by_who_watches_for_another_store(mutant: Mutant) -> None:
    length = int(mutant.hours * HOUR)
    seed = next(seed for seed in range(DRAWN) if mutant.needs.fits(draw(seed, length=length)))
    with planted(mutant):
        outcome = run_until_found(seed, length, finder="another")
    assert "another" in {violation.checker for violation in outcome.violations}, outcome.violations[:3]
