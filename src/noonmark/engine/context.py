"""What a job may ask of noonmark while it runs.

Promises: a ``step`` that was recorded is never executed again, on no worker; a ``once`` effect whose outcome is
unknown is never repeated blindly; a run that lost its lease learns it at its next call.

Rule of the file: each ability is written once, as a script that asks for what it needs (``yield``); ``Context``
answers a script with ``await``, ``ContextSync`` by blocking.  Instants leave this file as aware datetimes.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from noonmark.core.codec import storable
from noonmark.core.decide import LATE_AFTER
from noonmark.core.model import PAYLOAD_LIMIT, SECOND, Micros
from noonmark.core.times import to_datetime
from noonmark.core.values import dataclass
from noonmark.engine.errors import DoNotRetry, EffectUnknown, LeaseLost, said_by
from noonmark.engine.points import Point, reach


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is fixed for one attempt; JSON-safe, so that it travels to a child process as it is."""

    key: str
    fence: int
    attempt: int
    run_id: str
    job: str
    subject: str
    business_date: str
    scheduled_for: Micros
    late: Micros  # of this attempt
    first_late: Micros  # of the first start
    params: Mapping[str, Any]
    lock_fence: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """A script wants the journal to do something."""

    op: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A script wants the job's own function called."""

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()


Script: TypeAlias = Generator[Ask | Call, Any, Any]


class _Abilities:
    """What both contexts share."""

    def __init__(self, facts: RunFacts, *, is_lost: Callable[[], bool], boot: Callable[[], Micros]) -> None:
        self._facts = facts
        self._is_lost = is_lost
        self._boot = boot
        self._memory: dict[str, dict[str, str]] | None = None
        self._progress_at: Micros | None = None

    @property
    def key(self) -> str:
        """The dedupe key: hand it to outside APIs that take an idempotency key."""
        return self._facts.key

    @property
    def fence(self) -> int:
        """The fencing token of this attempt; it only ever grows."""
        return self._facts.fence

    @property
    def lock_fence(self) -> int:
        """The fence of the job's outside lock (the rule's ``lock``), 0 when it has none: hand it to what it protects."""
        return self._facts.lock_fence

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1."""
        return self._facts.attempt

    @property
    def run_id(self) -> str:
        """Name of the execution, the same across retries and takeovers."""
        return self._facts.run_id

    @property
    def job(self) -> str:
        """Name of the job."""
        return self._facts.job

    @property
    def subject(self) -> str:
        """Which of the job's subjects this is about, "" when it has none."""
        return self._facts.subject

    @property
    def business_date(self) -> str:
        """The date the work is about (``2026-11-28``), never "today"."""
        return self._facts.business_date

    @property
    def scheduled_for(self) -> datetime:
        """The moment this run was due, UTC and aware."""
        return to_datetime(self._facts.scheduled_for)

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of this run."""
        return self._facts.params

    @property
    def late_by(self) -> timedelta:
        """How much later than scheduled this attempt began."""
        return timedelta(microseconds=self._facts.late)

    @property
    def is_catch_up(self) -> bool:
        """True when the first start was more than a minute late: a retry after a long wait is none."""
        return self._facts.first_late > LATE_AFTER

    @property
    def lost(self) -> bool:
        """True once this run no longer holds its lease or its lock: stop, for every later write of it is refused."""
        return self._is_lost()

    @property
    def log(self) -> logging.Logger:
        """A logger named after the job."""
        return logging.getLogger(f"noonmark.job.{self._facts.job}")

    # -- the scripts ------------------------------------------------------------------------------

    def _step(self, name: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> Script:
        memory = yield from self._recollect()
        if name in memory["step"]:
            return json.loads(memory["step"][name])
        value = yield Call(fn, args)
        reach(Point.STEP_DONE)
        text = _stored(f"step {name!r}", value)
        yield from self._write("step", name, text)
        memory["step"][name] = text
        return json.loads(text)  # what a replay would return: a tuple is a list on both paths

    def _once(self, key: str, fn: Callable[[], Any], check: Callable[[], Any] | None) -> Script:
        memory = yield from self._recollect()
        if key in memory["done"]:
            return json.loads(memory["done"][key])
        if key in memory["intent"]:
            if check is None:
                raise EffectUnknown(
                    f"the effect {key!r} was begun by an earlier attempt and its outcome is unknown; "
                    "give once(check=...) a way to find out, or let a person decide"
                )
            value = yield Call(check)
            if not value:
                raise EffectUnknown(f"the effect {key!r} was begun by an earlier attempt, and check() did not find it")
        else:
            value = None
            if check is not None and key in memory["answered"]:  # it may have come about since a person looked
                value = yield Call(check)
            if not value:
                yield from self._write("intent", key, "null")
                memory["intent"][key] = "null"
                value = yield Call(fn)
        reach(Point.STEP_DONE)
        text = _stored(f"once {key!r}", value)
        yield from self._write("done", key, text)
        memory["done"][key] = text
        return json.loads(text)

    def _report(self, done: float, total: float | None, note: str) -> Script:
        now = self._boot()
        is_last = total is not None and done >= total
        if self._progress_at is not None and now - self._progress_at < SECOND and not is_last:
            return  # a job in a tight loop must not turn the store into its progress bar
        self._progress_at = now
        text = _stored("progress", {"done": done, "total": total, "note": note})
        yield from self._write("progress", "progress", text)

    def _effects(self) -> Script:
        yield from self._write("effects", "effects", "true")

    def _flag(self, name: str, *, is_set: bool) -> Script:
        if not (yield Ask("flag", (name, is_set))):
            raise self._loss()

    def _recollect(self) -> Generator[Ask | Call, Any, dict[str, dict[str, str]]]:
        if self._memory is None:
            self._memory = yield Ask("recall")
        if self._memory is None or self._is_lost():
            raise self._loss()
        return self._memory

    def _write(self, kind: str, name: str, text: str) -> Script:
        if self._is_lost() or not (yield Ask("note", (kind, name, text))):
            raise self._loss()

    def _loss(self) -> LeaseLost:
        return LeaseLost(f"{self.run_id} attempt {self.attempt} no longer holds its lease (fence {self.fence})")


class Context(_Abilities):
    """The context of an async job."""

    def __init__(
        self,
        facts: RunFacts,
        *,
        ask: Callable[[str, tuple[Any, ...]], Awaitable[Any]],
        is_lost: Callable[[], bool],
        boot: Callable[[], Micros],
    ) -> None:
        super().__init__(facts, is_lost=is_lost, boot=boot)
        self._ask = ask

    async def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Call ``fn(*args)`` (sync or async) once in the life of this occurrence and remember its JSON-safe value.

        Raises:
            LeaseLost: the run lost its lease, so nothing was recorded.
            DoNotRetry: the value cannot be stored.
        """
        return await self._drive(self._step(name, fn, args))

    async def once(self, key: str, fn: Callable[[], Any], check: Callable[[], Any] | None = None) -> Any:
        """Cause an outside effect at most once.

        After a crash between intent and done, ``check()`` is called instead of ``fn``: a true value is what the effect
        left behind, and becomes the result.

        Raises:
            EffectUnknown: begun earlier, and there is no ``check`` or it found nothing: a person decides.  Where he says
                ``noonmark retry``, ``fn`` is called once more, unless ``check`` finds the effect by then.
            LeaseLost: the run lost its lease.
        """
        return await self._drive(self._once(key, fn, check))

    async def progress(self, done: float, total: float | None = None, note: str = "") -> None:
        """Say how far the run is; at most one write a second."""
        await self._drive(self._report(done, total, note))

    async def effects_started(self) -> None:
        """From here on a failure asks a person instead of trying again."""
        await self._drive(self._effects())

    async def signal(self, name: str) -> None:
        """Set a flag, and wake what waits for it."""
        await self._drive(self._flag(name, is_set=True))

    async def clear(self, name: str) -> None:
        """Clear a flag."""
        await self._drive(self._flag(name, is_set=False))

    async def _drive(self, script: Script) -> Any:
        answer: Any = None
        error: BaseException | None = None
        while True:
            try:
                wanted = script.throw(error) if error is not None else script.send(answer)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            try:
                if isinstance(wanted, Ask):
                    answer = await self._ask(wanted.op, wanted.args)
                else:
                    answer = wanted.fn(*wanted.args)
                    if inspect.isawaitable(answer):
                        answer = await answer
            except BaseException as raised:
                error = raised


class ContextSync(_Abilities):
    """The context of a sync job: the same names, blocking."""

    def __init__(
        self,
        facts: RunFacts,
        *,
        ask: Callable[[str, tuple[Any, ...]], Any],
        is_lost: Callable[[], bool],
        boot: Callable[[], Micros],
    ) -> None:
        super().__init__(facts, is_lost=is_lost, boot=boot)
        self._ask = ask

    def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Call ``fn(*args)`` once in the life of this occurrence and remember its JSON-safe value (see ``Context``)."""
        return self._drive(self._step(name, fn, args))

    def once(self, key: str, fn: Callable[[], Any], check: Callable[[], Any] | None = None) -> Any:
        """Cause an outside effect at most once (see ``Context``)."""
        return self._drive(self._once(key, fn, check))

    def progress(self, done: float, total: float | None = None, note: str = "") -> None:
        """Say how far the run is; at most one write a second."""
        self._drive(self._report(done, total, note))

    def effects_started(self) -> None:
        """From here on a failure asks a person instead of trying again."""
        self._drive(self._effects())

    def signal(self, name: str) -> None:
        """Set a flag, and wake what waits for it."""
        self._drive(self._flag(name, is_set=True))

    def clear(self, name: str) -> None:
        """Clear a flag."""
        self._drive(self._flag(name, is_set=False))

    def _drive(self, script: Script) -> Any:
        answer: Any = None
        error: BaseException | None = None
        while True:
            try:
                wanted = script.throw(error) if error is not None else script.send(answer)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            try:
                answer = self._ask(wanted.op, wanted.args) if isinstance(wanted, Ask) else wanted.fn(*wanted.args)
            except BaseException as raised:
                error = raised


def _stored(what: str, value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except Exception as error:  # whatever a value of the job's own raises when it is read: what made it was done
        raise DoNotRetry(
            f"the value of {what} is not JSON ({said_by(error)}); return text, numbers, lists or dicts"
        ) from error
    text = storable(text)
    size = len(text.encode())
    if size > PAYLOAD_LIMIT:
        raise DoNotRetry(
            f"the value of {what} has {size} bytes, more than {PAYLOAD_LIMIT}; "
            "store it elsewhere and return its address"
        )
    return text
