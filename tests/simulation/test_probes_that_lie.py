"""Whoever is asked whether an effect came about may not answer, and may lie: it is caused at most once all the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core.model import HOUR, MINUTE, SECOND
from noonmark.engine.context import _Abilities
from noonmark.engine.points import Point
from noonmark.sim import faults as f
from noonmark.sim.mutants.plant import Planter
from noonmark.sim.plan import Plan, draw
from noonmark.sim.run import run_plan

LENGTH = HOUR // 2 + 25 * MINUTE
SEEDS = (0, 8, 20)


def dies_behind_effects(seed: int) -> Plan:
    """Return a world whose workers die again and again between an effect and its mark, so that probes are asked."""
    deaths = tuple(
        f.AtPoint(at=number * 10 * SECOND, replica=number % 2, point=Point.STEP_DONE, act="crash", length=SECOND)
        for number in range(1, 170)
    )
    return replace(draw(seed, length=LENGTH), replicas=2, faults=deaths)


def test_what_a_probe_says_wrongly_causes_nothing_a_second_time() -> None:
    struck: Counter[str] = Counter()
    for seed in SEEDS:
        outcome = run_plan(dies_behind_effects(seed))
        assert outcome.is_good, (seed, outcome.error, outcome.violations[:3])
        struck.update(outcome.faults)
    assert struck["probe lied"] > 10
    assert struck["probe away"] > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_who_causes_again_what_a_probe_does_not_find_is_found(seed: int) -> None:
    """Harmless where every probe tells the truth, so no world without lies would show it."""

    def make(once: Any) -> Any:
        def hopeful(them: Any, key: str, fn: Any, check: Any) -> Any:
            return once(them, key, fn, None if check is None else lambda: check() or fn())

        return hopeful

    planter = Planter()
    planter.around(_Abilities, "_once", make)
    try:
        outcome = run_plan(dies_behind_effects(seed))
    finally:
        planter.pull()
    found = [violation for violation in outcome.violations if violation.checker == "steps"]
    assert any("caused letter twice" in violation.what for violation in found), outcome.violations[:3]
