"""An event loop that lives on a virtual clock, and is driven from outside.

Promise: code that waits on this loop waits in virtual time only; a loop that nobody drives stands still, as a
stopped process does.

Rule of the file: no sockets, no threads, no machine time.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import heapq
import math
import random
import selectors
import sys
import threading
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Iterator
from typing import Any

from noonmark.core.model import Micros
from noonmark.ports.clock import Clock

AT_ONCE = 100_000
"""More turns than this within one instant are a loop that never waits."""
RESOLUTION = 1e-7
"""Seconds, less than the clock's own step: no timer may fire a step early."""


class _NoInput(selectors.SelectSelector):
    """A selector that is never asked: the loop below has no input."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:  # noqa: ARG002
        raise AssertionError("a virtual loop is driven from outside, by drain")


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


class _Soon(asyncio.Handle):
    """A callback that is ready, made in one step."""

    __slots__ = ()
    _repr = None  # these two are what a debugged loop would keep
    _source_traceback = None

    def __init__(self, callback: Any, args: Any, loop: Any, context: Any) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled, self._callback, self._args = True, None, ()


class _Timer(asyncio.TimerHandle):
    """A callback for a moment, made in one step; nobody counts those that are cancelled."""

    __slots__ = ()
    _repr = None
    _source_traceback = None
    _scheduled = True
    _when: float
    __init__ = _Soon.__init__
    cancel = _Soon.cancel


_entered: VirtualLoop | None = None
"""The loop that ``asyncio`` takes for the running one."""


@contextlib.contextmanager
def entering() -> Iterator[None]:
    """Drive loops by turns; to enter one and leave it costs as much as many a turn, so it is done when another's comes."""
    global _entered
    hooks, before = sys.get_asyncgen_hooks(), _entered
    try:
        yield
    finally:
        _entered = before
        _set_running_loop(before)
        sys.set_asyncgen_hooks(*hooks)


class VirtualLoop(asyncio.SelectorEventLoop):
    """One process's event loop in the virtual world.

    Args:
        clock: its boot-time hand is the loop's time.
        dice: choose the order of what is ready at one instant; None = as it became ready.
    """

    _ready: deque[Any]  # these are the base class's own, which its stubs do not tell
    _scheduled: list[Any]
    _stopping: bool
    _closed: bool
    _thread_id: int | None
    _asyncgen_firstiter_hook: Any
    _asyncgen_finalizer_hook: Any

    def __init__(self, clock: Clock, dice: random.Random | None = None) -> None:
        self._virtual = clock
        self.next_at: Micros | None = None
        """Boot-clock moment of the next timer, None when there is none; valid after ``drain``."""
        self.errors: list[BaseException] = []
        """What callbacks and forgotten tasks raised."""
        self._asked = 0
        self._hear_first, self._hear_last = self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook
        self._thread = threading.get_ident()
        super().__init__(_NoInput())
        if dice is not None:
            self._ready = _AnyOrder(dice)
        self.ready = self._ready
        """What waits to be run at this very instant, timers left out."""

    def time(self) -> float:
        """Return the virtual boot clock, in seconds."""
        return self._virtual.boot() / 1e6

    def drain(self) -> bool:
        """Run until nothing is ready at this instant, or somebody stops the loop; True when anything ran."""
        with entering():
            return self.go_on()

    def go_on(self) -> bool:
        """Do as ``drain`` does, within ``entering``: who drives loops by turns need not leave one to go on with it.

        Within one instant the loop's own time stands still, so timers are looked at once, and again after every turn
        for those that were set for this instant.
        """
        if self._closed:
            raise RuntimeError("Event loop is closed")
        global _entered
        if _entered is not self:
            _entered = self
            sys.set_asyncgen_hooks(self._hear_first, self._hear_last)
            _set_running_loop(self)
        self._thread_id = self._thread
        try:
            return self._turns() > 0
        finally:
            self._stopping = False
            self._thread_id = None

    def _turns(self) -> int:
        """Take turns as ``asyncio`` does: what is ready when a turn begins is run in it.

        A loop that is stopped looks at its timers once more: whoever stands still goes on later, and must know when.
        """
        ready, timers, turns = self._ready, self._scheduled, 0
        over = self._virtual.boot() / 1e6 + RESOLUTION
        while True:
            while timers and ((first := timers[0])[0] < over or first[2]._cancelled):
                heapq.heappop(timers)
                if not first[2]._cancelled:
                    ready.append(first[2])
            if not ready or (turns and self._stopping):
                self.next_at = math.ceil(timers[0][0] * 1e6 - 1e-2) if timers else None
                return turns
            turns += 1
            if turns > AT_ONCE:
                raise AssertionError("time stands still: something on this loop waits without letting time pass")
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle._cancelled:
                    try:
                        handle._context.run(handle._callback, *handle._args)
                    except (SystemExit, KeyboardInterrupt):
                        raise
                    except BaseException as error:
                        self.errors.append(error)

    # -- as in the base class, without what only a debugged or a threaded loop needs -------------------

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        """Run a callback in the next turn."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle = _Soon(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Run a callback after a while, in seconds."""
        return self.call_at(self._virtual.boot() / 1e6 + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a moment of the loop's time; of those for one moment the first that was asked for is first."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        timer: _Timer = _Timer(callback, args, self, context)
        timer._when = when
        self._asked += 1
        heapq.heappush(self._scheduled, (when, self._asked, timer))
        return timer

    def bury(self) -> None:
        """Unwind what is left of a loop that will not be driven any more, and give its parts back."""
        left = asyncio.all_tasks(self)
        for _ in range(3):
            if not left:
                break
            for task in left:
                task.cancel()
            self.drain()
            left = asyncio.all_tasks(self)
        for task in left:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

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
