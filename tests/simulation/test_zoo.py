"""Whatever a rule can say lives somewhere in the simulator's worlds."""

from __future__ import annotations

import random
from dataclasses import MISSING, fields
from typing import Any

import pytest

from noonmark.core.model import CatchUp, Job, LockRule, Retry, Window
from noonmark.sim.plan import STARTS, draw
from noonmark.sim.zoo import SPECIES, populate

SAID_ELSEWHERE = {
    "run", "command", "isolation",  # how code is called: the simulator's jobs are coroutines
    "owner", "source", "params",  # change nothing about when and whether
}  # fmt: skip
POPULATION = [
    specimen.job
    for seed in range(120)
    for start in STARTS[seed % len(STARTS) :][:1]
    for specimen in populate(random.Random(seed), start)
]


def said(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a part of a rule and what they are when nothing is said."""
    return {
        each.name: each.default if each.default is not MISSING else MISSING
        for each in fields(kind)
        if each.default_factory is MISSING and each.name not in SAID_ELSEWHERE
    }


@pytest.mark.parametrize("name", said(Job))
def test_every_field_of_a_rule_differs_somewhere_from_what_is_assumed(name: str) -> None:
    values = [getattr(job, name) for job in POPULATION]
    assert any(value != said(Job)[name] for value in values)


@pytest.mark.parametrize(
    ("part", "field"),
    [("catch_up", CatchUp), ("retry", Retry), ("window", Window), ("lock", LockRule)],
    ids=["catch_up", "retry", "window", "lock"],
)
def test_the_parts_of_a_rule_are_varied_too(part: str, field: type[Any]) -> None:
    there = [getattr(job, part) for job in POPULATION if getattr(job, part) is not None]
    assumed = said(field)
    varied = {name for name in assumed if any(getattr(value, name) != assumed[name] for value in there)}
    assert len(varied) >= len(assumed) // 3, sorted(set(assumed) - varied)
    assert {"catch_up": "missed", "retry": "max", "window": "crosses_midnight", "lock": "busy"}[part] in varied


def test_every_species_lives_in_some_world_and_every_kind_of_trigger() -> None:
    assert {job.name for job in POPULATION} == {make.__name__ for make in SPECIES}
    assert {type(job.trigger).__name__ for job in POPULATION} == {"Cron", "Every", "At", "OnEvent", "Manual"}


def test_every_kind_of_fault_and_of_deed_is_drawn() -> None:
    plans = [draw(seed) for seed in range(80)]
    assert {deed.kind for plan in plans for deed in plan.deeds} == {
        "later", "run", "emit", "flag", "cancel", "pause", "resume", "retry", "mark", "edit",
    }  # fmt: skip
    struck = {type(fault).__name__ for plan in plans for fault in plan.faults}
    from noonmark.sim.strikes import _DOINGS

    assert {kind.__name__ for kind in _DOINGS} - struck <= {"Failover"}
