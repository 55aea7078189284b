"""What is left in a process group, and how often it is asked for."""

from __future__ import annotations

import time

import pytest

from noonmark.engine import groups


def test_a_group_that_does_not_end_is_looked_at_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look goes through all processes of the machine, and many runs may wait at once."""
    now, looks = [100.0], []

    def sleep(seconds: float) -> None:
        now[0] += seconds

    def left_in(group: int) -> int:
        looks.append(now[0])
        return group == 7

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(groups, "left_in", left_in)
    monkeypatch.setattr(groups, "signal_group", lambda *_: None)
    assert groups.end_group(7, 2.0) == (1, 1)
    assert now[0] == pytest.approx(100.0 + 2 * groups.BY_ITSELF + 2.0)
    assert len(looks) <= 30
    assert looks[1] - looks[0] < 0.05
