"""One pass of the fault suite, ``make faults``, a few cells at a time: every figure within its bound.

The groups are what pytest-xdist spreads; the cells of one group run at once, for most of the time they wait.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faults.cells import CELLS
from faults.passes import one_pass, wanted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its workers are forked, watched and frozen by Linux")
GROUPS = {
    "stores away": ("F4", "P1", "P2", "P3", "P4"),
    "bad disks": ("D1", "D2", "F5", "R4"),
    "workers killed": ("F2", "F3", "F8", "M1", "X1"),
    "wrong clocks": ("F6a", "F6b", "F7", "C1", "C2"),
    "crowds and restarts": ("F1", "X2", "R1", "R2"),
    "struck at every point": ("X3", "R3"),
}
CHECKED = {
    "sqlite": tuple(GROUPS),
    "postgres": ("workers killed", "wrong clocks"),
    "valkey": ("stores away", "bad disks", "struck at every point"),
}
"""What every check goes through, so that it stays within minutes; ``make faults`` goes through all of it."""
AT_ONCE = 4


def test_every_cell_is_in_a_group() -> None:
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(CELLS)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("store", "group"), [(store, group) for store, groups in CHECKED.items() for group in groups])
def test_every_figure_of_these_faults_is_within_its_bound(store: str, group: str) -> None:
    pass_(store, group)


@pytest.mark.timeout(400)
@pytest.mark.server("redis", "second")
def test_the_systems_redis_goes_through_the_outages_as_well() -> None:
    pass_("redis", "stores away")


def pass_(store: str, group: str) -> None:
    outcomes = one_pass(wanted([store], GROUPS[group]), at_once=AT_ONCE)
    assert outcomes
    red = [
        "\n".join([f"{one.cell} on {one.store}:", *(str(f) for f in one.figures if not f.holds), one.error, *one.notes])
        for one in outcomes
        if not one.is_green and not one.not_tried
    ]
    assert not red, "\n\n".join(red)
