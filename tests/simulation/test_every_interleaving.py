"""Every order of the steps of a small world, as deep as fits a test of every change; deeper: ``make exhaustive``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from noonmark.core.model import MINUTE, At, CatchUp
from noonmark.sim.exhaustive.canon import fingerprint
from noonmark.sim.exhaustive.chains import Past, seen
from noonmark.sim.exhaustive.moves import Move, apply, moves
from noonmark.sim.exhaustive.replay import quiet
from noonmark.sim.exhaustive.scenes import SCENES, START, Scene, scene
from noonmark.sim.exhaustive.search import follow, search
from noonmark.sim.exhaustive.story import story
from noonmark.testing.builders import make_job
from noonmark.testing.world import World

FOUND: list[tuple[str, list[Move]]] = [
    # A worker read the rules, then they were changed: its look added moments of the rule that was over.
    (
        "overtaken",
        [
            ("edit", -1, 0), ("wait", -1, 0), ("take", 0, 0), ("go", 0, 0), ("person", -1, 0), ("person", -1, 0),
            ("go", 0, 0),
        ],
    ),
    # A person let one row go while another was being looked at; it started, rightly, and the law knew no single rows.
    (
        "forgotten",
        [
            ("take", 1, 0), ("take", 0, 0), ("go", 0, 0), ("go", 1, 0), ("sleep", -1, 0), ("take", 1, 0), ("go", 1, 0),
            ("wait", -1, 0), ("take", 1, 0), ("go", 1, 0), ("take", 1, 0), ("release", -1, 0), ("go", 0, 0),
            ("go", 0, 0), ("take", 0, 0), ("go", 0, 0),
        ],
    ),
]  # fmt: skip
"""Ways that once led to a breach; each must be one that can still be gone, and break nothing."""


@pytest.mark.parametrize("world", SCENES, ids=lambda each: each.name)
def test_no_order_of_steps_breaks_a_law_and_every_occurrence_ends_when_the_faults_stop(world: Scene) -> None:
    found = search(world, depth=world.small, calm_every=8)
    assert found.breach is None, "\n".join([found.breach.said, *story(world, found.breach.moves)])
    assert found.depth == world.small
    assert found.states > 500, "a world in which hardly anything happens proves nothing"
    assert found.calms > 10, "hardly any way to the end was tried"


@pytest.mark.parametrize(("name", "way"), FOUND, ids=[name for name, _ in FOUND])
def test_a_way_that_once_led_to_a_breach_breaks_nothing(name: str, way: list[Move]) -> None:
    told = follow(scene(name), way)
    assert len(told) == len(way)
    assert [each.broken for each in told] == [[] for _ in way]


def test_a_replica_makes_the_calls_that_a_whole_engine_makes(make_world: Callable[..., World]) -> None:
    job = make_job("job", trigger=At(moments=("2026-11-28T12:00:05Z",)), catch_up=CatchUp(max_delay=3 * MINUTE))
    world = make_world(replicas=1, latency=0)
    world.job(job, lambda: world.effect("run"))
    world.advance("4s")
    gate = world.replicas[0].gate
    before = len(gate.calls)
    world.until(lambda: world.effects != [] and world.rows("job")[0].ended_at is not None, step="10ms")
    real = [verb for verb in gate.calls[before:] if verb != "raise_frontiers"]
    real = real[: len(real) - real[::-1].index("settle")]
    while real[1] == "take":  # it looked before anything was due
        del real[0]
    told = follow(scene("overlap"), [("take", 0, 0), ("go", 0, 0), ("go", 0, 0), ("go", 0, 0), ("ok", 0, 1)])
    assert real == [verb for each in told for verb in each.calls]


def test_two_replicas_that_changed_places_are_one_state() -> None:
    world = scene("calls")
    bench, moments = world.bench(), world.moments()
    with quiet():
        first = world.begin(bench)
        by_one = apply(bench, world, first, ("take", 0, 0)).state
        by_other = apply(bench, world, first, ("take", 1, 0)).state
        later = apply(bench, world, by_one, ("wait", -1, 0)).state
    assert fingerprint(by_one, moments) == fingerprint(by_other, moments)
    assert len({fingerprint(each, moments) for each in (first, by_one, later)}) == 3


def test_a_crash_takes_along_what_a_replica_remembered_and_nothing_of_what_the_store_holds() -> None:
    world = scene("calls")
    bench = world.bench()
    with quiet():
        taken = apply(bench, world, world.begin(bench), ("take", 0, 0)).state
        dead = apply(bench, world, taken, ("crash", 0, 0)).state
    assert taken.replicas[0].runs
    assert not dead.replicas[0].runs
    assert dead.tables.rows == taken.tables.rows
    assert ("restart", 0, 0) in moves(world, dead)
    assert ("crash", 1, 0) not in moves(world, dead), "one crash was allowed"


def test_a_trace_is_told_as_a_story() -> None:
    lines = story(scene("calls"), [("take", 0, 0), ("crash", 0, 0), ("wait", -1, 0), ("take", 1, 0)])
    text = "\n".join(lines)
    assert "A takes what is due  [take]" in text
    assert "A is killed" in text
    assert "r1 RUNNING (started), due 40.00s, looked at by B, attempt 1, fence 35.00" in text
    assert lines[-1].startswith("moves = [('take', 0, 0)")


def test_what_comes_to_light_after_a_persons_word_was_not_let_go_by_it() -> None:
    def proof(worker: str) -> SimpleNamespace:
        return SimpleNamespace(verb="prove", args=[SimpleNamespace(worker=worker)])

    past = Past(
        acked=frozenset({("k1", "w1")}), forgotten_at=START, provers=frozenset({"w0"}), let_go=frozenset({"k1", "k2"})
    )
    assert seen(past, [proof("w0")], {}, START).let_go == {"k1", "k2"}, "it said nothing new"
    told = seen(past, [proof("w1")], {}, START)
    assert told.let_go == {"k2"}
    again = replace(told, let_go=frozenset({"k1"}))
    assert seen(again, [proof("w1")], {}, START).let_go == {"k1"}, "the person knew by then"
