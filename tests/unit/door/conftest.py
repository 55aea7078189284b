"""A scheduler on a memory store whose time stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from noonmark import Scheduler
from noonmark.testing.clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def sched(clock: VirtualClock) -> Iterator[Scheduler]:
    with Scheduler("memory://", rules=False, clock=clock) as scheduler:
        yield scheduler
