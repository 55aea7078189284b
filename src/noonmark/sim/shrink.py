"""From a seed that failed to the few faults that make it fail.

Rule of the file: a smaller plan counts only when it breaks the same invariant; how long we look is bounded, so the
result is small, not smallest.
"""

from __future__ import annotations

import time

from noonmark.core.model import Micros
from noonmark.sim.plan import draw
from noonmark.sim.run import Outcome, run_seed

PATIENCE = 120.0
"""How long to look for a smaller plan, in seconds."""


def shrink(failed: Outcome, *, length: Micros, patience: float = PATIENCE) -> tuple[tuple[int, ...], Outcome]:
    """Return the places of the faults that still break what was broken, and what came of them alone.

    Args:
        failed: what the whole plan came to.
        length: of the world, microseconds, as it was then.
        patience: seconds.
    """
    broken = _signs(failed)
    kept = list(range(len(draw(failed.seed, length=length).faults)))
    best, end, size = failed, time.monotonic() + patience, max(1, len(kept) // 2)
    while size and time.monotonic() < end:
        dropped = False
        for begin in range(0, len(kept), size):
            fewer = kept[:begin] + kept[begin + size :]
            if len(fewer) == len(kept) or time.monotonic() > end:
                continue
            outcome = run_seed(failed.seed, length=length, kept=frozenset(fewer))
            if _signs(outcome) & broken:
                kept, best, dropped = fewer, outcome, True
                break
        if not dropped:
            size //= 2
    return tuple(kept), best


def _signs(outcome: Outcome) -> frozenset[str]:
    found = {violation.invariant for violation in outcome.violations}
    return frozenset(found | ({outcome.error.partition(":")[0]} if outcome.error else set()))
