"""The demo's store, which may be away for a while: asked again until it answers, as the workers do.

Rule of the file: an outage is told once when it begins and once when it ends; what is asked twice is only read, or has a
name by which it counts once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from noonmark.ports.store import Store, StoreError, StoreUnusable

PATIENCE = 120.0
"""Seconds that the demo waits for a store that is away."""
PAUSE = 0.25
_Answer = TypeVar("_Answer")


class Patience:
    """Repeats calls while the store is away.

    Args:
        tell: called with "away", and with "back" and the seconds between.
        seconds: how long one outage may last.
    """

    def __init__(self, tell: Callable[[str, float], None], seconds: float = PATIENCE) -> None:
        self._tell = tell
        self._seconds = seconds
        self._since: float | None = None
        self.away = 0.0
        """Seconds that all outages lasted together; the play is longer by them."""

    def ask(
        self, call: Callable[..., _Answer], *args: Any, passing: tuple[type[Exception], ...] = (), **kwargs: Any
    ) -> _Answer:
        """Return what ``call`` gives; ``passing`` names what else says that the store is away.

        Raises:
            StoreError: it was away for longer than the patience, or cannot serve until a person acts.
        """
        is_away: tuple[type[Exception], ...] = (StoreError, *passing)
        while True:
            try:
                answer = call(*args, **kwargs)
            except StoreUnusable:
                raise
            except is_away:
                if self._since is None:
                    self._since = time.monotonic()
                    self._tell("away", 0.0)
                if time.monotonic() > self._since + self._seconds:
                    raise
                time.sleep(PAUSE)
            else:
                if self._since is not None:
                    lasted, self._since = time.monotonic() - self._since, None
                    self.away += lasted
                    self._tell("back", lasted)
                return answer


def patient(store: Store, patience: Patience) -> Store:
    """Return the store as one whose verbs are repeated while it is away."""
    return cast(Store, _Patient(store, patience))


class _Patient:
    def __init__(self, store: Store, patience: Patience) -> None:
        self._store, self._patience = store, patience

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return partial(self._patience.ask, found) if callable(found) and name != "close" else found
