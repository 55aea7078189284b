"""The search proves something only if it can fail: bugs put in on purpose, all of which must be caught."""

from __future__ import annotations

import pytest

from noonmark.sim.exhaustive.mutants import BUGS, Bug, put_in, success_overwritten
from noonmark.sim.exhaustive.scenes import scene
from noonmark.sim.exhaustive.search import follow, search


@pytest.mark.parametrize("bug", BUGS, ids=lambda each: each.name)
def test_a_bug_that_was_put_in_is_caught(bug: Bug) -> None:
    world = scene(bug.scene)
    with put_in(bug):
        found = search(world, depth=bug.depth, calm_every=0)
        assert found.breach is not None, f"nobody noticed within {found.states} states"
        assert found.breach.said.startswith(bug.law)
        assert follow(world, found.breach.moves)[-1].broken, "the trace does not show it again"
    assert not any(told.broken for told in follow(world, found.breach.moves[:-1])), "the bug is still in"


def test_a_success_that_is_overwritten_is_caught() -> None:
    with success_overwritten():
        found = search(scene("cancelled"), depth=4, calm_every=0)
    assert found.breach is not None
    assert found.breach.said.startswith("I6")


def test_there_are_enough_bugs_and_each_says_where_it_is() -> None:
    assert len(BUGS) >= 30
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_a_bug_whose_place_is_gone_is_refused() -> None:
    gone = Bug(
        name="gone", place="noonmark.core.lapsed:judge", old="no such text", new="", scene="calls", depth=1, law=""
    )
    with pytest.raises(LookupError, match="0 times"), put_in(gone):
        pass
