"""How the commands of the proof are asked, and how they are stopped.

Promise: an argument that makes no sense is refused before anything is tried; Ctrl-C ends a command within two seconds, with
one line and exit code 130.  Rule of the file: nothing here knows what is tried.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import multiprocessing
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from noonmark.core import interrupted
from noonmark.core.model import HOUR, MINUTE
from noonmark.sim.loading import STOPPED, UNDONE
from noonmark.sim.plan import LENGTH, SHORTEST

HOURS = LENGTH / HOUR
"""How long a world lasts unless told otherwise."""
LONGEST = 1_000.0
"""How long a world may last, in hours."""
MOST_SEEDS = 1_000_000
MOST_JOBS = 256
HEEDED = 0.5
"""Seconds after which whoever waits looks whether a signal came."""
AGAIN = 0.01
"""Seconds after which an interruption that was dropped comes anew."""
T = TypeVar("T")
_PART = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers as somebody wrote them: ``3-7,9``."""

    text: str
    all: tuple[int, ...]


def numbers(text: str) -> Numbers:
    """Read ``3-7,9``; at least one number, none twice."""
    found: dict[int, None] = {}
    for part in text.split(","):
        read = _PART.fullmatch(part.strip())
        if read is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not A-B or a list A,B,C of whole numbers")
        first, last = int(read[1]), int(read[2] or read[1])
        if last < first:
            raise argparse.ArgumentTypeError(f"{part} ends before it begins: write {last}-{first}")
        if last - first + len(found) >= MOST_SEEDS:
            raise argparse.ArgumentTypeError(f"{text} is more than {MOST_SEEDS:,} numbers: ask for fewer at a time")
        found.update(dict.fromkeys(range(first, last + 1)))
    return Numbers(text=text, all=tuple(found))


def whole(*, least: int = 1, most: int = 2**53) -> Callable[[str], int]:
    """Return a reader of whole numbers within bounds."""

    def read(text: str) -> int:
        if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
        if not least <= int(text) <= most:
            bounds = f"at least {least}" if int(text) < least else f"at most {most}"
            raise argparse.ArgumentTypeError(f"{text} is out of range: {bounds}")
        return int(text)

    return read


def hours(text: str) -> float:
    """Read the length of a world in hours."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours")
    if int(value * HOUR) < SHORTEST - 1:
        raise argparse.ArgumentTypeError(
            f"{text} is too short: at least {math.ceil(SHORTEST / HOUR * 100) / 100} hours "
            f"({SHORTEST // MINUTE} minutes), the quiet end of every world included"
        )
    if value > LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is too long: at most {LONGEST:,.0f} hours")
    return value


jobs = whole(most=MOST_JOBS)
"""Read a number of processes."""


def stoppable(main: Callable[[Sequence[str] | None], int]) -> Callable[..., int]:
    """Let a command end at Ctrl-C, or when it is asked to end: one line, no traceback, nothing left running."""

    @functools.wraps(main)
    def run(arguments: Sequence[str] | None = None) -> int:
        with _heard():
            try:
                return main(arguments)
            except KeyboardInterrupt:
                interrupted.answered()
                sys.stdout.flush()
                sys.stderr.write(UNDONE)
                return STOPPED

    return run


@contextlib.contextmanager
def _heard() -> Iterator[None]:
    """Hear both signals once, in the background of a script, too, where Ctrl-C is ignored unless somebody asks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        for heard in before:
            signal.signal(heard, signal.SIG_IGN)  # once is enough: ending takes no interruption
        if not unbroken.puts_off():
            raise KeyboardInterrupt

    def swallowed(what: sys.UnraisableHookArgs) -> None:
        """Interrupt anew: the interpreter drops what is raised where an object is given back, and goes on."""
        if what.exc_type is not KeyboardInterrupt or not hasattr(signal, "setitimer"):  # Windows has no such alarm
            hook(what)
            return
        before.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
        signal.setitimer(signal.ITIMER_REAL, AGAIN)

    before: dict[int, Any] = {}
    for each in (signal.SIGINT, signal.SIGTERM):
        before[each] = signal.signal(each, stop)
    hook, sys.unraisablehook = sys.unraisablehook, swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if len(before) > 2:  # the alarm is among them
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


class _Unbroken:
    """Whoever is in here is not interrupted: an interruption is raised where it is left.

    What waits for others takes locks that others need, many at a time and not by ``with``: interrupted between them, it
    keeps them, and who tidies up waits for ever.
    """

    def __init__(self) -> None:
        self._deep = 0
        self._is_put_off = False

    def puts_off(self) -> bool:
        """Return whether an interruption that comes now has to wait; if so, it is raised later."""
        self._is_put_off = self._deep > 0
        return self._is_put_off

    def __enter__(self) -> None:
        self._deep += 1

    def __exit__(self, *_: object) -> None:
        self._deep -= 1
        if self._is_put_off and not self._deep:
            self._is_put_off = False
            raise KeyboardInterrupt


unbroken = _Unbroken()
"""Where work is handed out and waited for: in the main thread, for half a second at most."""


def as_they_end(work: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """Yield each as soon as it has ended, and heed signals meanwhile.

    A signal that comes after the interpreter's last look and before the wait, or to another thread, is seen when the wait
    is over: so none lasts long.
    """
    left = set(work)
    while left:
        with unbroken:
            ended, left = wait(left, HEEDED, FIRST_COMPLETED)
        yield from ended


def in_turn(work: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """Yield each in its turn once it has ended, and heed signals meanwhile."""
    for each in work:
        is_over = False
        while not is_over:
            with unbroken:
                is_over = bool(wait([each], HEEDED).done)
        yield each


class Team:
    """Processes that work for this one, and hear no Ctrl-C themselves: they end when this one is stopped.

    Args:
        jobs: how many processes.
    """

    def __init__(self, jobs: int) -> None:
        self._pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
        self._others = {child.pid for child in multiprocessing.active_children()}

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        """Let one of them do it."""
        # Processes are started here, and a blocked signal stays blocked in them; ours waits meanwhile.
        with unbroken:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                return self._pool.submit(work, *given)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for child in multiprocessing.active_children():
                if child.pid not in self._others:
                    child.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)


def processes(asked: int, tasks: int) -> int:
    """Return how many processes are worth starting."""
    return max(1, min(asked, tasks))
