"""``lock()``: a lock as people use it, in threads and in tasks.

Promises: the body of ``with lock(...)`` begins only with the lock held; the lock is renewed while it runs and freed
after it; a body whose lock was lost before it ended is told so (LockLost), never left in the belief that it was alone.
In a task nothing here blocks the event loop.

Rule of the file: one object, one holder at a time; whoever needs the lock twice makes two objects, and the second has to
wait for the first, in the same thread too.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, TypeVar

from noonmark.core.durations import format_duration, parse_duration
from noonmark.core.model import SECOND, Micros
from noonmark.locks.asking import Course, attempt, new_token
from noonmark.locks.checks import check
from noonmark.locks.errors import LockLost, within
from noonmark.locks.held import Held, Terms
from noonmark.locks.keeper import call_apart
from noonmark.locks.opening import lock_url, open_locks
from noonmark.locks.service import Service, service_at, service_of
from noonmark.ports.lock import LockError, Locks, LockUnusable
from noonmark.ports.process import owner

T = TypeVar("T")
OnLost = Callable[[], Any] | Literal["cancel"]

_LOG = logging.getLogger("noonmark.locks")


def lock(
    name: str,
    ttl: str | timedelta = "30s",
    *,
    at: str | Locks | None = None,
    wait: str | timedelta = "0s",
    on_lost: OnLost | None = None,
    renew: bool = True,
) -> Lock:
    """Return a lock to hold with ``with`` or ``async with``::

        with lock("reindex", ttl="30s") as held:
            for chunk in chunks:
                held.check()                      # LockLost if it may not be trusted any more
                target.write(chunk, fence=held.fence)

    Args:
        name: what is locked; the same name at the same service is the same lock.
        ttl: for so long the lock outlives its holder's silence.  It is renewed every ttl/3.
        at: a lock URL (see ``open_locks``), an opened service, or None: NOONMARK_LOCK_URL, else NOONMARK_URL, else the
            SQLite file in ``.noonmark/``.
        wait: how long to wait for somebody else's lock; by default not at all.
        on_lost: called once, without arguments, when the lock is lost while it is held: on a thread of its own, or, under
            ``async with``, in the event loop (a coroutine function becomes a task).  ``"cancel"`` cancels the task that
            holds it, and the ``async with`` then raises LockLost.
        renew: False leaves renewing to ``held.renew()``.

    Raises:
        ValueError: a name, a length or a URL that cannot be; the message says what to write.
        LockTaken: (when it is entered) somebody holds it, and the time to wait is over.
        LockError: the service does not answer; whether the lock was taken is unknown, and what was taken is freed.
        LockLost: (when it is left) the lock was lost before the body ended.
    """
    if at is None or isinstance(at, str):
        url = lock_url(at)
        return Lock(name, ttl, find=lambda: service_at(url, open_locks), wait=wait, on_lost=on_lost, renew=renew)
    if not hasattr(at, "acquire"):
        raise TypeError(f"at is a lock URL or what open_locks returns, not {type(at).__name__}")
    opened = service_of(at)
    return Lock(name, ttl, find=lambda: opened, wait=wait, on_lost=on_lost, renew=renew)


class Lock:
    """A named lock; made by ``lock()``.  It can be held again after it was released, but not twice at once.

    Args:
        find: returns the service; asked at every acquire, since a forked process needs one of its own.
    """

    def __init__(
        self,
        name: str,
        ttl: str | timedelta = "30s",
        *,
        find: Callable[[], Service],
        wait: str | timedelta = "0s",
        on_lost: OnLost | None = None,
        renew: bool = True,
    ) -> None:
        self.name = name
        self._ttl: Micros = parse_duration(ttl)
        self._wait: Micros = parse_duration(wait)
        check(name, "token", self._ttl)
        if on_lost is not None and on_lost != "cancel" and not callable(on_lost):
            raise TypeError(f'on_lost is a function or "cancel", not {on_lost!r}')
        self._find, self._on_lost, self._renew = find, on_lost, renew
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._asking = threading.Lock()
        self._held: Held | None = None
        self._task: _TaskWatch | None = None
        self._known: Terms | None = None  # of grants to threads; a task has its own each time
        self._owner = owner()

    @property
    def held(self) -> Held | None:
        """The grant while it is held, else None."""
        return self._held

    # -- in a thread ----------------------------------------------------------------------------

    def acquire(self) -> Held:
        """Take the lock and keep it until ``release``; see ``lock`` for errors."""
        known = self._known
        if known is None or not (known.owner.is_here and known.service.is_in_use):
            known = self._agree()
        if not self._asking.acquire(False):
            raise self._twice()
        try:
            if self._held is not None and not self._held.is_over:
                raise self._twice()
            trouble = None
            token, asked_at = new_token(), known.boot()
            try:
                held = attempt(known, token, asked_at)
            except LockUnusable:
                raise
            except LockError as error:
                held, trouble = None, error
            if held is None:
                held = Course(known, self._wait, token).run(asked_at, trouble)
            self._held = held
        finally:
            self._asking.release()
        return held

    def _agree(self) -> Terms:
        if self._on_lost == "cancel":
            raise TypeError('on_lost="cancel" cancels a task, so it needs "async with"')
        if not self._owner.is_here:  # what is held here is held by the parent
            self._begin_anew()
        self._known = self._terms(self._tell_thread)
        return self._known

    def renew(self) -> None:
        """Count the ttl anew, now; see ``Held.renew``."""
        self._get().renew()

    def release(self) -> bool:
        """Free the lock; False if it was not held, or not ours any more; see ``Held.release``."""
        held, self._held = self._held, None
        return held.release() if held is not None else False

    __enter__ = acquire

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the lock at the end of a body.

        What the body raised is more important than anything that can be said about the lock, so then nothing is raised.
        An unanswered release is only logged if trust lasted until now: the body was covered, and the lock frees itself.
        """
        held, self._held = self._held, None
        if held is None or held.is_released:  # by the body itself
            return
        try:
            ours = held.release()
        except LockError as error:
            _LOG.warning("the lock %s could not be freed: %s", self.name, within(error))
            ours = not held.was_lost
        if not ours and kind is None and held.is_own_process:
            raise LockLost(
                f'the lock "{self.name}" was lost before its block ended: {held.why or "somebody else may have held it"};'
                f" what the block did may overlap with somebody else's work"
            )

    # -- in a task ------------------------------------------------------------------------------

    async def acquire_async(self) -> Held:
        """Take the lock without blocking the event loop; see ``acquire``."""
        if not self._owner.is_here:
            self._begin_anew()
        if not self._asking.acquire(blocking=False):
            raise self._twice()
        try:
            if self._held is not None and not self._held.is_over:
                raise self._twice()
            watch = _TaskWatch(self.name, self._on_lost)
            self._held = await _course_in_task(Course(self._terms(watch.tell), self._wait))
            self._task = watch
        finally:
            self._asking.release()
        return self._held

    async def renew_async(self) -> None:
        """Count the ttl anew without blocking the event loop; see ``Held.renew``."""
        await _off_the_loop(self._get().renew)

    async def release_async(self) -> bool:
        """Free the lock without blocking the event loop; see ``release``."""
        return await _off_the_loop(self.release)

    async def __aenter__(self) -> Held:
        return await self.acquire_async()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held, watch = self._held, self._task
        self._task = None
        try:
            await _off_the_loop(lambda: self.__exit__(kind, error, trace))
        finally:
            if watch is not None:
                watch.leave()
        if watch is not None and held is not None and watch.was_cancelled_by_us(error):
            raise LockLost(f'the lock "{self.name}" was lost: {held.why}') from error

    # -- both -----------------------------------------------------------------------------------

    def _twice(self) -> RuntimeError:
        return RuntimeError(
            f'this lock object holds "{self.name}" already; locks are not re-entrant: hand the held lock on,'
            " or make another object and let it wait"
        )

    def _terms(self, tell: Callable[[Held], None]) -> Terms:
        return Terms(
            service=self._find(),
            name=self.name,
            ttl=self._ttl,
            renews=self._renew,
            tell=tell if self._on_lost is not None else None,
        )

    def _get(self) -> Held:
        if self._held is None:
            raise RuntimeError(f'this lock object does not hold "{self.name}"')
        return self._held

    def _tell_thread(self, held: Held) -> None:
        assert callable(self._on_lost)
        if held.service.keeper.by_hand:
            self._on_lost()
        else:
            call_apart(self._on_lost, self.name)

    def __repr__(self) -> str:
        return f"<Lock {self.name!r}, ttl {format_duration(self._ttl)}, {'held' if self._held else 'not held'}>"


class _TaskWatch:
    """Tells the task that holds a lock that it was lost."""

    def __init__(self, name: str, on_lost: OnLost | None) -> None:
        self._name, self._on_lost = name, on_lost
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task is not None else 0
        self._cancelled = self._left = False

    def tell(self, _held: Held) -> None:
        """Called from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._in_loop)
        except RuntimeError:
            _LOG.warning("the lock %s was lost after its event loop had ended", self._name)

    def _in_loop(self) -> None:
        if self._on_lost == "cancel":
            if self._task is not None and not self._left:
                self._cancelled = True
                self._task.cancel(f'the lock "{self._name}" was lost')
        elif callable(self._on_lost):
            result = self._on_lost()
            if inspect.iscoroutine(result):
                task = self._loop.create_task(result)
                _RUNNING.add(task)
                task.add_done_callback(_RUNNING.discard)

    def leave(self) -> None:
        """The block has ended: a loss that is told from here on has nobody to cancel."""
        self._left = True

    def was_cancelled_by_us(self, error: BaseException | None) -> bool:
        """Say whether this CancelledError is our word alone, and take it back (as ``asyncio.timeout`` does)."""
        if not self._cancelled or self._task is None:
            return False
        return self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError)


_RUNNING: set[asyncio.Task[Any]] = set()
"""The loop keeps weak references only."""


# -- off the loop -----------------------------------------------------------------------------------

_THREADS = 8
_pool: ThreadPoolExecutor | None = None
_pool_mutex = threading.Lock()


def _submit(call: Callable[[], T]) -> Future[T]:
    """Run on threads of our own: the loop's default ones may all be waiting for what the lock protects."""
    global _pool
    with _pool_mutex:
        if _pool is None:
            _pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="noonmark-lock-async")
        return _pool.submit(call)


def _forget_parent() -> None:
    global _pool, _pool_mutex
    _pool, _pool_mutex = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)


async def _off_the_loop(call: Callable[[], T]) -> T:
    """Run to the end even if the task is cancelled meanwhile: half a release helps nobody."""
    return await asyncio.shield(asyncio.wrap_future(_submit(call)))


async def _course_in_task(course: Course) -> Held:
    """Ask until it is ours; a cancelled task frees what it would have got."""
    loop, bell = asyncio.get_running_loop(), asyncio.Event()

    def ring() -> None:
        loop.call_soon_threadsafe(bell.set)

    held = await _once_in_task(course, course.once)
    if held is not None:
        return held
    try:
        with course.terms.service.bell(course.terms.name, ring):
            while held is None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(bell.wait(), course.nap(ring) / SECOND)
                bell.clear()
                held = await _once_in_task(course, lambda: course.once_in_turn(ring))
    except asyncio.CancelledError:
        course.abandon(None)
        raise
    return held


async def _once_in_task(course: Course, ask: Callable[[], Held | None]) -> Held | None:
    future = _submit(ask)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        future.add_done_callback(lambda done: _undo(course, done))
        raise
    except BaseException:
        course.abandon(None)
        raise


def _undo(course: Course, done: Future[Held | None]) -> None:
    if done.cancelled() or done.exception() is not None:
        course.abandon(None)
    else:
        course.abandon(done.result())
