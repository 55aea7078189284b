"""The search proves something only if it can fail: bugs put in on purpose, all of which must be caught."""

from __future__ import annotations

import pytest

from noonmark.sim.exhaustive.mutants import MUTANTS, Mutant, put_in, success_overwritten
from noonmark.sim.exhaustive.scenes import scene
from noonmark.sim.exhaustive.search import follow, search


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_bug_that_was_put_in_is_caught(mutant: Mutant) -> None:
    world = scene(mutant.scene)
    with put_in(mutant):
        found = search(world, depth=mutant.depth, calm_every=0)
        assert found.breach is not None, f"nobody noticed within {found.states} states"
        assert found.breach.said.startswith(mutant.law)
        assert follow(world, found.breach.moves)[-1].broken, "the trace does not show it again"
    assert not any(told.broken for told in follow(world, found.breach.moves[:-1])), "the bug is still in"


def test_a_success_that_is_overwritten_is_caught() -> None:
    with success_overwritten():
        found = search(scene("cancelled"), depth=4, calm_every=0)
    assert found.breach is not None
    assert found.breach.said.startswith("I6")


def test_there_are_enough_bugs_and_each_says_where_it_is() -> None:
    assert len(MUTANTS) >= 19
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_bug_whose_place_is_gone_is_refused() -> None:
    gone = Mutant(
        name="gone", place="noonmark.core.lapsed:judge", old="no such text", new="", scene="calls", depth=1, law=""
    )
    with pytest.raises(LookupError, match="0 times"), put_in(gone):
        pass
