"""How much a reader may do with what a stranger wrote: a bound of work, counted in calls, so that no machine is too slow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

EXAMPLES = int(os.environ.get("NOONMARK_FUZZ", "0"))
"""How many examples of each kind; 0 = as many as fit a test of every change."""


def fuzzing(examples: int) -> Any:
    """Return the settings of one test: so many examples at every change, all that were asked for by ``make fuzz``."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=EXAMPLES or examples, deadline=None, suppress_health_check=slow)


class TooMuchWork(AssertionError):
    """A reader was still at it after the bound."""


def bounded(calls: int, read: Callable[[], T]) -> T:
    """Let ``read`` make at most so many calls, of Python's functions and of built-in ones."""
    left = calls

    def count(_frame: Any, event: str, _about: Any) -> None:
        nonlocal left
        if event in ("call", "c_call"):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise TooMuchWork(f"more than {calls} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return read()
    finally:
        sys.setprofile(before)


def read_or_refused(
    calls: int, read: Callable[[], T], refusals: type[Exception] | tuple[type[Exception], ...]
) -> tuple[T | None, str]:
    """Return what was read, or None and what the refusal said: a sentence, and not all that was written once more."""
    try:
        return bounded(calls, read), ""
    except refusals as refused:
        said = str(refused)
    if not said or len(said) > 3_000:
        raise AssertionError(f"a refusal of {len(said)} characters: {said[:200]}")
    return None, said
