"""The virtual clock moves only when told to, and its boot-time hand never jumps."""

from __future__ import annotations

import pytest

from noonmark.core.model import HOUR, SECOND
from noonmark.testing.clock import START, VirtualClock


def test_it_stands_still_until_told_to_move() -> None:
    clock = VirtualClock()
    assert [clock.wall(), clock.wall()] == [START, START]


def test_time_passes_on_both_hands() -> None:
    clock = VirtualClock(boot=5)
    clock.advance(SECOND)
    assert (clock.wall(), clock.boot()) == (START + SECOND, 5 + SECOND)


def test_time_passes_until_an_instant() -> None:
    clock = VirtualClock(boot=5)
    clock.advance_to(START + HOUR)
    assert (clock.wall(), clock.boot()) == (START + HOUR, 5 + HOUR)


def test_time_does_not_run_backwards() -> None:
    clock = VirtualClock()
    with pytest.raises(ValueError, match="step_wall"):
        clock.advance(-1)
    assert clock.wall() == START


def test_a_wall_clock_that_jumps_leaves_the_boot_time_alone() -> None:
    clock = VirtualClock(boot=5)
    clock.step_wall(-HOUR)
    assert (clock.wall(), clock.boot(), clock.boot_id()) == (START - HOUR, 5, VirtualClock().boot_id())


def test_a_boot_begins_its_time_anew_under_another_name() -> None:
    clock = VirtualClock(boot=5)
    before = clock.boot_id()
    clock.reboot(down_for=HOUR)
    assert (clock.wall(), clock.boot()) == (START + HOUR, 0)
    assert clock.boot_id() != before
