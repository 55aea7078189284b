"""Where jobs run: coroutines on a loop of their own, functions in threads, commands and processes in groups.

Promises: the engine's loop never executes a job; what a job raises, SystemExit included, ends that run and nothing
else; a whole batch costs one hand-over and its completions one wake-up.

Rule of the file: an executor reports each run once, through the ``Inbox``, and decides nothing.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from noonmark.engine.callbacks import Callbacks
from noonmark.engine.carried import through, through_async
from noonmark.engine.points import Point, reach
from noonmark.engine.process import ProcessRunner
from noonmark.engine.runs import Finish, Run, arguments, failed, parameters, succeeded


class Inbox:
    """Finished runs on their way to the engine: a deque and one wake-up flag."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._items: deque[Finish] = deque()
        self._flagged = False

    def put(self, finish: Finish) -> None:
        """Leave a finished run; ``flush`` makes it known."""
        self._items.append(finish)

    def flush(self) -> None:
        """Wake the engine, unless that is under way already."""
        if not self._flagged:
            self._flagged = True
            self._wake()

    def drain(self, limit: int) -> list[Finish]:
        """Take out what has come in.  The flag falls first: what arrives from here on wakes the engine again."""
        self._flagged = False
        items = self._items
        return [items.popleft() for _ in range(min(len(items), limit))]

    def __len__(self) -> int:
        return len(self._items)


class Executor(Protocol):
    """Runs jobs."""

    def start(self, runs: Sequence[Run]) -> None:
        """Begin these runs; returns at once."""
        ...

    def stop(self, run: Run) -> None:
        """Ask a run to end (``run.stop_reason`` says why): cancelled, killed, or told through its context."""
        ...

    def close(self) -> None:
        """Give back loops and threads; what still runs is cancelled or left behind."""
        ...


async def execute_async(run: Run, callbacks: Callbacks) -> Finish:
    """Run a coroutine function to its end, whatever that is."""
    try:
        handler = run.handler
        assert handler.fn is not None
        if handler.context_param is None and not handler.accepts and handler.accepts is not None:
            value = await handler.fn()
        else:
            context = callbacks.context(run) if handler.context_param is not None else None
            value = await handler.fn(**arguments(handler, parameters(run), context))
        value = await through_async(value) if value is not None else None
        reach(Point.EFFECT_DONE)
        if run.stop_reason and (task := asyncio.current_task()) is not None and task.cancelling():
            run.saw_stop = True
        return succeeded(run, value)
    except GeneratorExit:
        raise
    except BaseException as error:  # SystemExit too: a job may end itself, not the worker
        return failed(run, error)


def execute_sync(run: Run, callbacks: Callbacks) -> Finish:
    """Run a plain function to its end, whatever that is."""
    try:
        handler = run.handler
        assert handler.fn is not None
        context = callbacks.context_sync(run) if handler.context_param is not None else None
        value = handler.fn(**arguments(handler, parameters(run), context))
        value = through(value) if value is not None else None
        reach(Point.EFFECT_DONE)
        return succeeded(run, value)
    except BaseException as error:
        return failed(run, error)


def silent_end(run: Run, task: asyncio.Task[None]) -> Finish | None:
    """Return the end of a run whose task came to one without reporting it, None where it did report.

    A task that is cancelled before its first step never runs a line, and a GeneratorExit of the job's own is let through.
    """
    if task.cancelled():
        return failed(run, asyncio.CancelledError())
    error = task.exception()
    return None if error is None else failed(run, error)


class JobLoop:
    """The second event loop: a job that blocks it delays other jobs, but neither deciding nor renewing."""

    def __init__(self, inbox: Inbox, callbacks: Callbacks) -> None:
        self._inbox = inbox
        self._callbacks = callbacks
        self._loop = asyncio.new_event_loop()
        self._flushing = False
        self._thread = threading.Thread(target=self._work, name="noonmark-jobs", daemon=True)
        self._thread.start()

    def start(self, runs: Sequence[Run]) -> None:
        """Hand a batch over with one call."""
        self._loop.call_soon_threadsafe(self._begin, runs)

    def stop(self, run: Run) -> None:
        """Cancel a run's coroutine."""
        self._loop.call_soon_threadsafe(self._cancel, run)

    def close(self) -> None:
        """Cancel what still runs, give it a moment, end the loop; a blocked one is left to its daemon thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=1))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _begin(self, runs: Iterable[Run]) -> None:
        create = self._loop.create_task
        for run in runs:
            run.handle = task = create(self._drive(run))
            task.add_done_callback(partial(self._ended, run))

    def _cancel(self, run: Run) -> None:
        if run.handle is not None:
            run.handle.cancel()

    async def _drive(self, run: Run) -> None:
        self._put(await execute_async(run, self._callbacks))

    def _ended(self, run: Run, task: asyncio.Task[None]) -> None:
        finish = silent_end(run, task)
        if finish is not None:
            self._put(finish)

    def _put(self, finish: Finish) -> None:
        self._inbox.put(finish)
        if not self._flushing:
            # One wake-up for all that end in this turn of the loop: waking for each would cost more than the jobs.
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self._inbox.flush()


class ThreadPool:
    """Daemon threads, as many as are needed at once: a hung job must keep neither others nor the exit waiting."""

    def __init__(self, idle_limit: int = 32) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._waiting = 0
        self._idle_limit = idle_limit
        self._closed = False

    def run(self, work: Callable[[], None]) -> None:
        """Run something in a thread that is free, or a new one."""
        with self._lock:
            self._waiting += 1
            is_short = self._waiting > self._idle
        self._queue.put(work)
        if is_short:
            threading.Thread(target=self._work, name="noonmark-job", daemon=True).start()

    def close(self) -> None:
        """Let idle threads end; busy ones end after their job."""
        with self._lock:
            self._closed = True
            idle = self._idle
        for _ in range(idle):
            self._queue.put(None)

    def _work(self) -> None:
        while True:
            with self._lock:
                is_surplus = self._closed or self._idle >= self._idle_limit
                if is_surplus and self._waiting <= self._idle:
                    return
                self._idle += 1
            work = self._queue.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= work is not None
            if work is None:
                return
            work()
            del work


class Executors:
    """The executor of a real worker."""

    def __init__(self, inbox: Inbox, callbacks: Callbacks, *, kill_grace: float = 2.0) -> None:
        self._inbox = inbox
        self._callbacks = callbacks
        self._loop: JobLoop | None = None
        self._pool = ThreadPool()
        self._processes = ProcessRunner(callbacks, kill_grace=kill_grace)

    def start(self, runs: Sequence[Run]) -> None:
        """Begin each run where its kind belongs."""
        coroutines = []
        for run in runs:
            kind = run.handler.kind
            if kind == "async":
                coroutines.append(run)
            elif kind == "sync":
                self._in_thread(run, partial(execute_sync, run, self._callbacks))
            else:
                self._in_thread(run, partial(self._processes.execute, run))
        if coroutines:
            if self._loop is None:
                self._loop = JobLoop(self._inbox, self._callbacks)
            self._loop.start(coroutines)

    def stop(self, run: Run) -> None:
        """Cancel, kill or tell, by kind."""
        run.lost = run.lost or run.stop_reason == "lost"
        if run.handler.kind == "async":
            if self._loop is not None:
                self._loop.stop(run)
        elif run.handler.kind == "sync":
            run.lost = True  # a thread cannot be stopped, only told
        else:
            self._processes.stop(run)

    def close(self) -> None:
        """End the job loop, the idle threads and every process group that is left."""
        self._processes.close()
        self._pool.close()
        if self._loop is not None:
            self._loop.close()

    def _in_thread(self, run: Run, execute: Callable[[], Finish]) -> None:
        try:
            self._pool.run(partial(self._finish, run, execute))
        except RuntimeError as error:  # the system gives us no more threads: the run fails, the worker does not
            self._report(Finish(run, ok=False, error=str(error), code="start_failed", detail={"error": str(error)}))

    def _finish(self, run: Run, execute: Callable[[], Finish]) -> None:
        try:
            finish = execute()
        except BaseException as error:  # a fault of ours must end the run too, else its slot is gone for ever
            finish = failed(run, error)
        self._report(finish)

    def _report(self, finish: Finish) -> None:
        self._inbox.put(finish)
        self._inbox.flush()
