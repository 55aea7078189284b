"""When to look for due rows again.

Promises: a due moment is never slept through; a hint is answered at once; what many workers ask of one store stays
bounded, however many hints come.

Rule of the file: belongs to the engine's loop; moments are those of the boot clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from noonmark.core.model import FAR, SECOND, Micros, Taken
from noonmark.engine.signals import Idle, Observer, tell
from noonmark.ports.clock import Clock

LONGEST_SLEEP: Micros = 10 * SECOND
POLL: Micros = SECOND // 4
"""How often a store is asked that cannot tell us of earlier due moments."""
SPACING: Micros = 5 * SECOND // 1000
"""A hint waits until the last take began so long ago: a flood of hints makes few takes, each worth more.  Due moments
are not held back by it."""
SLOW: Micros = SECOND // 20
"""An answer that took longer may have been lost and repeated, and its time be that of the first asking."""


class Pace:
    """The rhythm of one worker's takes."""

    def __init__(
        self, clock: Clock, dice: Callable[[], float], hears: Callable[[], bool], observer: Observer | None
    ) -> None:
        self._clock = clock
        self._dice = dice
        self._hears = hears  # would the store tell us of an earlier due moment?
        self._observer = observer
        self._wake = asyncio.Event()
        self._now = asyncio.Event()
        self._took_at: Micros = 0
        self._empty_takes = 0

    def wake(self) -> None:
        """Look now: there is a free slot, or something of ours is due; call it on the loop."""
        self._now.set()
        self._wake.set()

    def hint(self) -> None:
        """Look soon: the store says that something is due, to everybody at once; call it on the loop."""
        self._wake.set()

    def begin(self) -> None:
        """A round begins: what becomes due from here on wakes us again."""
        self._now.clear()
        self._wake.clear()

    def takes(self) -> Micros:
        """A take begins; return the moment."""
        self._took_at = self._clock.boot()
        return self._took_at

    def next_round(self, taken: Taken, received: Micros) -> Micros:
        """Return the moment of the round after this answer."""
        if taken.rows and (taken.next_due is not None and taken.next_due <= taken.now):
            self._empty_takes = 0
            return received  # more is waiting
        if taken.next_due is None:
            return FAR
        if taken.next_due > taken.now:
            self._empty_takes = 0
            # Too early costs one more take, too late costs the promise.
            since = received if received - self._took_at <= SLOW else self._took_at
            return since + taken.next_due - taken.now
        self._empty_takes += 1  # due, but not for us just now: ask again soon, then less soon
        return received + self._spread(min(POLL, 2500 << min(self._empty_takes, 8)))

    async def rest(self, until: Micros) -> None:
        """Sleep until a moment or a wake-up, and never very long: clocks jump, notices get lost."""
        now = self._clock.boot()
        until = min(until, now + self._spread(LONGEST_SLEEP if self._hears() else POLL))
        if until <= now:
            await asyncio.sleep(0)
            return
        if self._observer is not None:
            tell(self._observer, Idle(until=until))
        timer = asyncio.get_running_loop().call_later((until - now) / 1e6, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
        too_soon = min(until, self._took_at + SPACING) - self._clock.boot()
        if too_soon > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._now.wait(), too_soon / 1e6)

    def _spread(self, length: Micros) -> Micros:
        """Shorten a wait by up to a quarter, so that workers who began it together do not end it together."""
        return length - int(self._dice() * length / 4)
