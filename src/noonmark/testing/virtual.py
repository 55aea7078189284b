"""An event loop that lives on a virtual clock, and is driven from outside.

Promise: code that waits on this loop waits in virtual time only; a loop that nobody drives stands still, as a
stopped process does.

Rule of the file: no sockets, no threads, no machine time.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import selectors
from collections import deque
from collections.abc import Callable
from typing import Any

from noonmark.core.model import Micros
from noonmark.ports.clock import Clock

AT_ONCE = 100_000
"""More turns than this within one instant are a loop that never waits."""


class _NoInput(selectors.SelectSelector):
    """A selector that never waits: where a real loop would sleep, it tells the loop's driver until when."""

    def __init__(self) -> None:
        super().__init__()
        self.on_idle: Callable[[float | None], None] = lambda _: None
        self.turns = 0
        self.last_turn = AT_ONCE

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self.on_idle(timeout)
        else:
            self.turns += 1
            if self.turns > self.last_turn:
                raise AssertionError("time stands still: something on this loop waits without letting time pass")
        return []


class _AnyOrder(deque[Any]):
    """Callbacks that are ready at one instant, handed out in an order that the dice choose."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice

    def popleft(self) -> Any:
        chosen = self._dice.randrange(len(self)) if len(self) > 1 else 0
        self.rotate(-chosen)
        handle = super().popleft()
        self.rotate(chosen)
        return handle


class VirtualLoop(asyncio.SelectorEventLoop):
    """One process's event loop in the virtual world.

    Args:
        clock: its boot-time hand is the loop's time.
        dice: choose the order of what is ready at one instant; None = as it became ready.
    """

    def __init__(self, clock: Clock, dice: random.Random | None = None) -> None:
        self._virtual = clock
        self._input = _NoInput()
        self._input.on_idle = self._fell_idle
        self.next_at: Micros | None = None
        """Boot-clock moment of the next timer, None when there is none; valid after ``drain``."""
        super().__init__(self._input)
        if dice is not None:
            self._ready = _AnyOrder(dice)
        self._clock_resolution = 1e-7  # less than the clock's own step: no timer may fire a step early

    def time(self) -> float:
        """Return the virtual boot clock, in seconds."""
        return self._virtual.boot() / 1e6

    @property
    def is_ready(self) -> bool:
        """True when something waits to be run at this very instant, timers left out."""
        return bool(self._ready)

    def drain(self) -> bool:
        """Run until nothing is ready at this instant; True when anything ran."""
        before = self._input.turns
        self._input.last_turn = before + AT_ONCE
        self.run_forever()
        return self._input.turns - before > 1  # the last turn is the one that stops

    def bury(self) -> None:
        """Unwind what is left of a loop that will not be driven any more, and give its parts back."""
        for _ in range(3):
            tasks = asyncio.all_tasks(self)
            for task in tasks:
                task.cancel()
            self.drain()
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

    def _fell_idle(self, timeout: float | None) -> None:
        self.next_at = None if timeout is None else math.ceil((self.time() + timeout) * 1e6 - 1e-2)
        self.stop()

    def _write_to_self(self) -> None:
        """Everything happens on one thread, so there is nobody to wake."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Raise what a callback raised: in the virtual world no error is only logged."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.errors.append(error)
        else:
            with contextlib.suppress(Exception):
                super().call_exception_handler(context)

    @property
    def errors(self) -> list[BaseException]:
        """What callbacks and forgotten tasks raised."""
        return self.__dict__.setdefault("_errors", [])  # type: ignore[no-any-return]
