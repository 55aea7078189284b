"""What is seen to now and then, whether there is work or not: frontiers, times away, and that the store proves itself.

Rule of the file: belongs to the engine's loop; a fault of ours costs one round, never the worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from noonmark.core.model import Micros
from noonmark.engine.chain import ChainedStore
from noonmark.engine.frontiers import Watchdog
from noonmark.engine.gate import Gate
from noonmark.engine.outages import Outages
from noonmark.engine.pace import Pace

Guarded: TypeAlias = Callable[[Coroutine[Any, Any, Micros]], Coroutine[Any, Any, Micros]]


class Tender:
    """The slow rounds of one worker."""

    def __init__(
        self,
        gate: Gate,
        chain: ChainedStore,
        watchdog: Watchdog,
        outages: Outages,
        pace: Pace,
        guarded: Guarded,
        ttl: Micros,
    ) -> None:
        self._gate = gate
        self._chain = chain
        self._watchdog = watchdog
        self._outages = outages
        self._ttl = ttl
        self._guarded = guarded
        self._pace = pace

    async def tending(self) -> None:
        """Once a minute see that no series has lost its frontier, and that every time away is on record."""
        while True:
            await asyncio.sleep(60)
            await self._guarded(self._tend())

    async def proving(self) -> None:
        """Prove now and then that the store holds what it acknowledged, also when there is nothing to do."""
        while True:
            await asyncio.sleep(self._ttl / 3e6)
            await self._guarded(self._prove())

    async def _prove(self) -> Micros:
        if self._chain.is_quiet:
            await self._gate.call(self._chain.prove)
            if self._chain.is_older:
                self._pace.wake()
        return 0

    async def _tend(self) -> Micros:
        await self._watchdog.check_some()
        await self._outages.write_down()
        return 0
