"""Every seed that ever failed, lived through again."""

from __future__ import annotations

from pathlib import Path

import pytest

from noonmark.core.model import HOUR
from noonmark.sim.run import run_seed

LINES = [
    line.split(maxsplit=2)
    for line in (Path(__file__).parent / "seeds.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("seed", "hours", "what"), LINES, ids=[f"{line[0]} at {line[1]} h" for line in LINES])
def test_a_seed_that_once_failed_is_good(seed: str, hours: str, what: str) -> None:
    outcome = run_seed(int(seed), length=int(float(hours) * HOUR))
    assert outcome.is_good, (what, outcome.error, outcome.violations[:3])
