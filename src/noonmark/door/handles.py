"""What ``@sched.job`` returns: the function, still callable, with typed ways to ask for it later.

Rule of the file: a handle knows its scheduler and its name; what the job is, the scheduler says, because a rules file
may have the last word.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from noonmark.core import times
from noonmark.core.codec import check_payload
from noonmark.core.model import DAY, Job, Micros, Origin
from noonmark.core.params import refuse_unfit
from noonmark.door.declared import context_parameter, takes_of
from noonmark.door.words import micros
from noonmark.rules.parts import Length

if TYPE_CHECKING:
    from noonmark.door.scheduler import Scheduler
    from noonmark.door.views import Enqueued, Evaluation
    from noonmark.engine.context import Context, ContextSync

P = ParamSpec("P")
R = TypeVar("R")


class JobHandle(Generic[P, R]):
    """A declared job.

    Call it, and the function runs here and now, without any rule (in tests, say); where it wants a context it gets one
    that remembers nothing.  ``later``, ``at`` and ``run_now`` hand it to the workers.
    """

    def __init__(self, scheduler: Scheduler, name: str, function: Callable[..., Any]) -> None:
        self._scheduler = scheduler
        self._name = name
        self.__noonmark_function__ = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        function = self.__noonmark_function__
        context = context_parameter(function)
        if context is not None and context not in kwargs:
            from noonmark.door.rehearsal import is_context, rehearsal_context

            if not any(is_context(argument) for argument in args):
                kwargs[context] = rehearsal_context(self._name, function, kwargs)
        return cast(R, function(*args, **kwargs))

    @property
    def function(self) -> Callable[..., Any]:
        """The decorated function itself."""
        return self.__noonmark_function__

    @property
    def job(self) -> Job:
        """The rule in force in this process: the file's, where one declares the job, else the code's.

        Raises:
            ProblemList: the rules cannot be read.
        """
        return self._scheduler.job_named(self._name)

    def later(self, delay: Length, *, key: str | None = None, conn: object | None = None) -> Callable[P, Enqueued]:
        """Return a typed call that is due after ``delay`` ("30m" or a timedelta), by the store's clock.

        Args:
            delay: how long from now.
            key: dedupe key; left out, the job's template.  A key that is held is answered with ``duplicate``.
            conn: your own connection to the store's database, with a transaction open: the occurrence is there when you
                commit and only then.  psycopg's or SQLAlchemy's on PostgreSQL; on SQLite apsw's, or with
                ``?driver=sqlite3`` in the store's URL sqlite3's or SQLAlchemy's.  The job must be in force already
                (``declare``, or a worker that was started).

        Raises:
            MissingParamError, UnknownParamError: when called: the function or the key needs another param, or takes none
                of that name.
            ValueError: when called: the transaction of ``conn`` cannot be joined, and what to do instead.
        """
        wait = micros(delay, "later")
        return self._call(Origin.LATER, key, lambda now: now + wait, conn)

    def at(
        self, when: datetime | str, *, key: str | None = None, conn: object | None = None, late: Length = "1d"
    ) -> Callable[P, Enqueued]:
        """Return a typed call that is due at ``when``; ``conn`` as in ``later``.

        Args:
            when: an aware datetime, or an ISO text with Z, an offset or a zone behind it; what is past is due at once.
            key, conn: as in ``later``.
            late: how long ago ``when`` may be, by the store's clock; who works off old events gives more.

        Raises:
            ValueError: ``when`` has no timezone; when called: it is longer ago than ``late``, which is hardly meant.
        """
        due, most = times.instant_of(when), micros(late, "late")
        return self._call(Origin.LATER, key, lambda now: _not_long_ago(self._name, due, now, most), conn)

    def run_now(
        self, *, reason: str, key: str | None = None, again: bool = False, actor: str = "", **params: Any
    ) -> Enqueued:
        """Ask for a run now, as ``noonmark run`` does: same key, same gates; a done key is refused as a duplicate.

        Args:
            reason: why, for the ledger.
            key: dedupe key; left out, the job's template for today.
            again: run although the key is done, as a new generation.
            actor: who asks; left out, this process.
            params: arguments of this run.

        Raises:
            MissingParamError, UnknownParamError: the function or the key needs another param, or takes none of that name.
        """
        request = functools.partial(self._scheduler.enqueue, self._name, origin=Origin.MANUAL, key=key)
        checked = self._arguments((), params)
        return request(params=checked, due=lambda now: now, note=reason, again=again, actor=actor)

    def evaluate(self, at: datetime | str | None = None, *, subject: str = "") -> Evaluation:
        """Decide without acting: what would become of the last due moment (or the next one) ``at`` then, or now."""
        return self._scheduler.evaluate(self._name, at=at, subject=subject)

    def __repr__(self) -> str:
        return f"<JobHandle {self._name!r}>"

    def _call(
        self, origin: Origin, key: str | None, due: Callable[[Micros], Micros], conn: object | None
    ) -> Callable[P, Enqueued]:
        def enqueue(*args: P.args, **kwargs: P.kwargs) -> Enqueued:
            params = self._arguments(args, kwargs)
            return self._scheduler.enqueue(self._name, origin=origin, key=key, params=params, due=due, conn=conn)

        return enqueue

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the call's arguments by name, checked as Python would check them, and fit to be stored."""
        signature = inspect.signature(self.__noonmark_function__)
        context = context_parameter(self.__noonmark_function__)
        parameters = [each for each in signature.parameters.values() if each.name != context]
        takes, job = takes_of(self.__noonmark_function__), self.job
        aside = {name: value for name, value in kwargs.items() if takes.names is not None and name not in takes.names}
        passed = {name: value for name, value in kwargs.items() if name not in aside}
        try:
            bound = signature.replace(parameters=parameters).bind_partial(*args, **passed)
        except TypeError as error:
            raise TypeError(f"{self._name}: {error}") from None
        given = {**_flat(bound), **aside}
        refuse_unfit(job, takes, given)
        return storable(self._name, given)


class Decorator(Protocol):
    """Turns a function into a typed handle; the context parameter is no argument of a call."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> JobHandle[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[ContextSync, P], R], /) -> JobHandle[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> JobHandle[P, R]: ...


def _not_long_ago(name: str, due: Micros, now: Micros, most: Micros) -> Micros:
    """Return the moment that is asked for, if it may be meant: a wrong year must not start a run at once."""
    if now - due <= most:
        return due
    asked, here = (times.to_datetime(at).isoformat(timespec="seconds") for at in (due, now))
    days = -(-(now - due) // DAY)
    raise ValueError(
        f"{name}: {asked} is {times.length_text(now - due)} before the store's time, {here}; give the right date, "
        f'or a delay with later("1h"), or say late="{days}d" if that long ago is meant'
    )


def _flat(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return arguments by name, with what went into ``**kwargs`` beside the others."""
    flat: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            flat.update(value)
        else:
            flat[name] = value
    return flat


def storable(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as they will come back from the store.

    Raises:
        TypeError: a value that JSON does not know.
        ValueError: more than 256 KiB.
    """
    for parameter, value in params.items():
        check_payload(f"{name}: the argument {parameter!r}", value)
    check_payload(f"{name}: the arguments", dict(params))
    loaded: dict[str, Any] = json.loads(json.dumps(dict(params), ensure_ascii=False))
    return loaded
