"""How a worker ends: runs may finish, the rest is handed back, and nobody waits for a store that is away.

Promise: a stop ends.  What the worker holds it waits for as long as the grace allows, and ``AFTER_GRACE`` at most to hand
back and record the rest; when it holds nothing, a store that does not answer delays the end by two seconds.

Rule of the file: belongs to the engine's loop; the moments are those of the boot clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from noonmark.core.model import SECOND, Micros
from noonmark.engine.errors import GateClosed
from noonmark.engine.executor import Inbox
from noonmark.engine.gate import Gate
from noonmark.engine.leases import Duty
from noonmark.engine.points import Point, reach
from noonmark.engine.recording import Recorder
from noonmark.engine.roster import Roster
from noonmark.ports.clock import Clock

PATIENCE: Micros = 2 * SECOND
"""How long a worker that stops tries to reach a store that does not answer."""
TOLD: Micros = 2 * SECOND
"""How long a run that is handed back gets to end by itself, once it was told."""
LEAVING: Micros = 3 * SECOND
"""How long all of them are waited for: a little longer, so that those who end in time are recorded as they ended."""
RECORDING: Micros = 10 * SECOND
"""How long outcomes are waited for that the store has not taken yet: as long as it waits for somebody's transaction."""
AFTER_GRACE: Micros = LEAVING + RECORDING + PATIENCE
"""How much longer than its grace a stop can take at most; whoever kills workers that do not end waits for both."""
_LOG = logging.getLogger("noonmark.engine")


class Farewell:
    """The end of one worker's work.  ``grace`` is what running jobs get, in µs; it may be shortened on the way."""

    def __init__(
        self, gate: Gate, duty: Duty, roster: Roster, inbox: Inbox, recorder: Recorder, clock: Clock, *, grace: Micros
    ) -> None:
        self._gate = gate
        self._duty = duty
        self._roster = roster
        self._inbox = inbox
        self._recorder = recorder
        self._clock = clock
        self._wanted = asyncio.Event()
        self.grace = grace
        self.handed_back = 0

    def want(self, grace: Micros) -> None:
        """Stop within ``grace``; a second call may shorten it."""
        self.grace = min(self.grace, grace) if self._wanted.is_set() else grace
        self._wanted.set()

    @property
    def is_wanted(self) -> bool:
        """True from the first wish to stop on."""
        return self._wanted.is_set()

    async def wanted(self) -> None:
        """Wait for the wish to stop."""
        await self._wanted.wait()

    async def lets_begin(self, beginning: asyncio.Task[None]) -> bool:
        """Wait for the beginning or for a stop; True when there is something to go on with."""
        stop = asyncio.create_task(self.wanted())
        await asyncio.wait([beginning, stop], return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if beginning.done():
            beginning.result()
            return True
        return False

    async def wind_down(self) -> None:
        """Let runs end, hand back the rest, leave nothing unsaid."""
        reach(Point.TOLD_TO_STOP)
        await self._until(lambda: not self._busy(), lambda: self.grace)
        left = [run for run in self._roster.active if not run.stop_reason]
        if left:
            _LOG.info("%d runs are handed back", len(left))
            reach(Point.HANDING_BACK)
        self._roster.stop(left, "handed_back", patience=TOLD)
        self.handed_back = len(left)
        await self._until(lambda: not self._roster.active, lambda: LEAVING)
        for run in list(self._roster.active):
            self._roster.give_up(run)
        await self._until(lambda: not self._busy(), lambda: RECORDING)
        await self.say_ended()

    async def say_ended(self) -> None:
        """Say that we stop by ourselves; a store that is away is not waited for."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._gate.call(self._duty.beat, ended=True), timeout=PATIENCE / SECOND)

    async def desert(self) -> None:
        """Told to stop, holding nothing, and the store stays away: end, for a stop must not wait for its return.

        Raises:
            GateClosed: always, when it is so.
        """
        await self._wanted.wait()
        asked = self._clock.boot()
        while self._may_hope(asked):  # noqa: ASYNC110 - several things may change
            await asyncio.sleep(0.1)
        raise GateClosed("the worker stopped while its store was away")

    def _may_hope(self, asked: Micros) -> bool:
        since = self._gate.away_since
        return since is None or self._busy() or self._clock.boot() < max(asked, since) + PATIENCE

    def _busy(self) -> bool:
        return bool(self._roster.active) or len(self._inbox) > 0 or self._recorder.is_busy

    async def _until(self, is_so: Callable[[], bool], patience: Callable[[], Micros]) -> None:
        """Wait until it is so, at most for ``patience`` (asked again each time: a second signal shortens it)."""
        began = self._clock.boot()
        while not is_so() and self._clock.boot() - began < patience():  # noqa: ASYNC110 - several things may change
            await asyncio.sleep(0.01)
