"""One pass of the fault suite, ``make faults``: every cell on every store, every figure within its bound.

A test is one store, for the cells of a store share its servers and most of the time they wait; a red one says which
cells were red and why.  All of them are told to begin first, one after another, so that only AT_ONCE cells run at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faults.cells import CELLS
from faults.passes import one_pass, wanted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its workers are forked, watched and frozen by Linux")
AT_ONCE = 6
"""So few that the bounds, which are for a machine that has time for its workers, hold beside the other tests."""
EXPECTED = {"sqlite": 20, "postgres": 24, "valkey": 24, "redis": 23}
"""How many cells each store has, counted by hand: 91 in all."""
MAY_BE_IDLE = {"C2", "D1", "D2", "R2"}
"""Cells that want libfaketime, a small disk, strace, or an earlier commit that knows the shape of this version's store."""


@pytest.mark.long(80)
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "store",
    ["sqlite", "postgres", "valkey", pytest.param("redis", marks=pytest.mark.server("redis", "second"))],
)
def test_every_figure_of_these_faults_is_within_its_bound(store: str) -> None:
    pairs = wanted([store], CELLS)
    assert len(pairs) == EXPECTED[store]
    outcomes = one_pass(pairs, at_once=AT_ONCE)
    assert [(one.cell, one.store) for one in outcomes] == pairs
    red = [
        "\n".join([f"{one.cell} on {one.store}:", *(str(f) for f in one.figures if not f.holds), one.error, *one.notes])
        for one in outcomes
        if not one.is_green and not one.not_tried
    ]
    assert not red, "\n\n".join(red)
    idle = {one.cell: one.not_tried for one in outcomes if one.not_tried}
    assert idle.keys() <= MAY_BE_IDLE, idle
