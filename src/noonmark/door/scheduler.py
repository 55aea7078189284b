"""The public door: declare jobs, ask for runs, announce events and facts, start workers.

Rule of the file: it translates between people's words and the store's verbs; nothing is decided here.  All verbs are
short and synchronous; what they return is awaitable, too, so async code reads naturally.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from noonmark.core import model, times
from noonmark.core.params import refuse_lacking
from noonmark.door.acts import Acts
from noonmark.door.asking import actor_here, add_call, add_event, event_named, run_deeds
from noonmark.door.declared import (
    CodeJob,
    Files,
    JobWords,
    Rules,
    bring_together,
    fold,
    job_from_words,
    named,
    place_of,
    rule_files,
    takes_of,
)
from noonmark.door.handles import Decorator, JobHandle, storable
from noonmark.door.reach import Reach
from noonmark.door.views import (
    Emitted,
    Enqueued,
    Evaluation,
    OccurrenceView,
    WorkerView,
    occurrence_view,
    worker_view,
)
from noonmark.door.words import caller, micros
from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.rules.parts import Length
from noonmark.rules.problems import Problem, ProblemList
from noonmark.wiring import open_store, store_url

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from noonmark.engine.signals import Observer
    from noonmark.engine.worker import Worker

_LOG = logging.getLogger("noonmark")


class Scheduler(Acts):
    """Jobs of one application on one store.

    Args:
        url: where the store is; None = NOONMARK_URL, or a SQLite file in ``.noonmark/``.
        rules: rules files (YAML, or Python with TASK_RULES); None = NOONMARK_RULES, or a ``noonmark.yaml`` beside the
            calling module or in the working folder, if there is one; False = none.
        namespace: comes with a later version; only None or "default".
        clock: replaces the machine's clocks, for tests.
        patience: how long a call waits for a store that is away before it raises StoreUnreachable; workers wait without end.
        keep_good: work with the jobs that are right although others in the rules are wrong; each mistake is logged as an
            ERROR.  Left out, one mistake refuses all.

    The store is opened at the first use, so that importing an application touches no file.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        rules: Files = None,
        namespace: str | None = None,
        clock: Clock | None = None,
        patience: Length = "3s",
        keep_good: bool = False,
    ) -> None:
        if namespace not in (None, "default"):
            raise ValueError(f"namespace {namespace!r}: not in this version yet; use one store per namespace")
        self.url = store_url(url)
        self._clock = clock
        self._files = rule_files(rules, Path(caller().file).parent)
        self._code: dict[str, CodeJob] = {}
        self._handles: dict[str, JobHandle[..., Any]] = {}
        self._rules: Rules | None = None
        self.keep_good = keep_good
        self._declared: dict[str, model.Job] = {}
        self._reach = Reach(lambda: open_store(self.url, clock=self._clock), micros(patience, "patience"))
        self._lock = threading.RLock()

    # -- declaring ----------------------------------------------------------------------------

    def job(self, trigger: model.Trigger, /, **words: Unpack[JobWords]) -> Decorator:
        """Declare a job: ``@sched.job(cron("0 9 * * *", tz="Asia/Shanghai"), reason="...")``.

        The words are those of the rules file.  ``reason`` is required; the name is the function's unless ``name`` says
        otherwise.  The function stays callable.

        Raises:
            ProblemList: everything that is wrong with the rule, when the function is decorated.
        """

        def decorate(function: Callable[..., Any]) -> JobHandle[..., Any]:
            return self._add(function, job_from_words(trigger, function, words))

        return cast(Decorator, decorate)

    def handler(self, name: str | None = None) -> Decorator:
        """Lend a function to the job of that name (left out: the function's own) in a rules file."""

        def decorate(function: Callable[..., Any]) -> JobHandle[..., Any]:
            return self._add(function, None, name or str(getattr(function, "__name__", "")))

        return cast(Decorator, decorate)

    def _add(self, function: Callable[..., Any], job: model.Job | None, name: str = "") -> JobHandle[..., Any]:
        function = getattr(function, "__noonmark_function__", function)
        name = job.name if job is not None else name
        with self._lock:
            first = self._code.get(fold(name))
            if first is not None:
                detail = {"value": name, "first": str(first.place)}
                raise ProblemList(
                    [
                        Problem(
                            code="declared_twice",
                            place=place_of(function),
                            path=f"jobs.{name}",
                            job=name,
                            detail=detail,
                        )
                    ]
                )
            self._code[fold(name)] = CodeJob(name=name, function=function, place=place_of(function), job=job)
            handle: JobHandle[..., Any] = JobHandle(self, name, function)
            self._handles[fold(name)] = handle
            self._rules = None
        return handle

    @property
    def rules(self) -> Rules:
        """Every job in force in this process, files and code brought together.

        Raises:
            ProblemList: everything that is wrong.
        """
        with self._lock:
            if self._rules is None:
                tell = _tell if self.keep_good else None
                self._rules = bring_together(self._code.values(), list(self._loads()), tell=tell)
            return self._rules

    def _loads(self) -> Iterable[Any]:
        if not self._files:
            return []
        from noonmark.rules.loader import load  # pydantic and YAML: only who has a file pays for them

        known = [each.name for each in self._code.values()]
        return [load(file, known=known, keep_good=self.keep_good) for file in self._files]

    @property
    def jobs(self) -> Mapping[str, JobHandle[..., Any]]:
        """Every job by name, each with ``later``, ``at``, ``run_now`` and ``evaluate``."""
        rules = self.rules
        return {name: self._handle(name, rules) for name in rules.jobs}

    def _handle(self, name: str, rules: Rules) -> JobHandle[..., Any]:
        handle = self._handles.get(fold(name))
        if handle is None:
            handle = JobHandle(self, name, rules.functions.get(name, _anything))
            self._handles[fold(name)] = handle
        return handle

    def job_named(self, name: str) -> model.Job:
        """Return the rule of a job.

        Raises:
            NoSuchJobError: there is none; the message names the nearest.
        """
        return named(self.rules.jobs, name)

    def declare(self, names: Collection[str] | None = None) -> list[model.JobRow]:
        """Put the rules in force in the store: all of them, or those named.  A rule that is in force already stays.

        Returns:
            The jobs as the store has them.
        """
        from noonmark.engine.activate import declare

        jobs = list(self.rules.jobs.values()) if names is None else [self.job_named(name) for name in names]
        rows: list[model.JobRow] = list(declare(self._asked, jobs, actor=actor_here()))
        with self._lock:
            self._declared.update({job.name: job for job in jobs})
        return rows

    def _ensure_declared(self, jobs: Iterable[model.Job]) -> None:
        missing = [job.name for job in jobs if self._declared.get(job.name) != job]
        if missing:
            self.declare(missing)

    # -- asking for runs ------------------------------------------------------------------------

    def enqueue(
        self,
        name: str,
        *,
        origin: model.Origin,
        params: Mapping[str, Any],
        due: Callable[[model.Micros], model.Micros],
        key: str | None = None,
        note: str = "",
        again: bool = False,
        actor: str = "",
        conn: object | None = None,
    ) -> Enqueued:
        """Add one occurrence that somebody asks for; handles call this."""
        job = self.job_named(name)
        words: dict[str, Any] = {"key": key, "note": note, "again": again, "actor": actor, "conn": conn}
        if conn is None:
            self._ensure_declared([job])
        added = add_call(self._asked, job, origin=origin, params=params, due=due, **words)
        if origin is model.Origin.MANUAL and key is None and not added.duplicate:
            self._remember(lambda _, store: run_deeds(store, job, added.id, params, note=note, again=again))
        return added

    def emit(self, name: str, /, id: str | None = None, *, conn: object | None = None, **payload: Any) -> Emitted:  # noqa: A002
        """Announce that something happened; every job that waits for the event becomes due after its delay.

        Args:
            name: the event, for example ``order.created``.
            id: identity of the event: delivered ten times it counts once.  Left out, every call is a new event.
            conn: your own connection with a transaction open, see ``JobHandle.later``.
            payload: stored with the occurrence, passed to the function, known to the key template.

        Raises:
            MissingParamError: a job that waits for it needs a field that is not given, for its function or a template.
            TypeError, ValueError: the payload cannot be stored, the name or the id is empty, or the transaction of
                ``conn`` cannot be joined.
        """
        event_id = event_named(name, id)
        facts, rules = storable(name, payload), self.rules
        waiting = [
            job for job in rules.jobs.values() if isinstance(job.trigger, model.OnEvent) and job.trigger.name == name
        ]
        for job in waiting:
            if job.name in rules.functions:  # what only workers import is called with what there is
                refuse_lacking(job, takes_of(rules.functions[job.name]), facts, event=True)
        if conn is None:
            self._ensure_declared(waiting)
        emitted = add_event(self._asked, name, event_id, facts, conn=conn)
        if not emitted.enqueued:
            _LOG.warning("event %r was emitted, and no job waits for it", name)
        return emitted

    def _known(self, name: str) -> str:
        """A job of the store need not be declared here; one that is must be in force before it can be paused."""
        if name in self.rules.jobs:
            self._ensure_declared([self.rules.jobs[name]])
        return name

    # -- reading ----------------------------------------------------------------------------------

    def occurrences(
        self,
        job: str | None = None,
        *,
        key: str | None = None,
        states: Iterable[model.State | str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 1000,
    ) -> list[OccurrenceView]:
        """Read occurrences, newest scheduled first.

        Args:
            job, key, states: narrow the answer.
            since, until: scheduled in this span, as in ``JobHandle.at`` (the end excluded).
            limit: at most so many, 0 or more.

        Raises:
            ValueError: ``limit`` is less than 0 or no whole number.
        """
        if not isinstance(limit, int) or limit < 0:
            raise ValueError(f"limit={limit!r}: write how many at most, a whole number from 0 on")
        query = model.Query(
            job=job,
            key=key,
            states=None if states is None else frozenset(model.State(state) for state in states),
            scheduled_from=None if since is None else times.instant_of(since),
            scheduled_until=None if until is None else times.instant_of(until),
            limit=limit,
        )
        return [occurrence_view(row) for row in self._asked.occurrences(query)]

    def workers(self, *, alive: bool | None = None) -> list[WorkerView]:
        """Read the workers, newest first; with ``alive`` only those that live (or do not)."""
        now = self._asked.now()
        views = [worker_view(worker, now) for worker in self._asked.workers()]
        return [view for view in views if alive is None or view.is_alive is alive]

    def evaluate(self, name: str, *, at: datetime | str | None = None, subject: str = "") -> Evaluation:
        """Decide about a job's last due moment (or the next one) without acting; see ``JobHandle.evaluate``."""
        from noonmark.door.evaluating import evaluate

        job = self.job_named(name)
        now = self._asked.now() if at is None else times.instant_of(at)
        return evaluate(self._asked, job, now, subject, supposed=at is not None)

    # -- working ------------------------------------------------------------------------------------

    def worker(
        self,
        *,
        concurrency: int = 100,
        name: str = "",
        grace: Length = "30s",
        observer: Observer | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> Worker:
        """Return a worker for every job; ``worker(concurrency=8).run()`` works until it is told to stop.

        Args:
            concurrency: how many runs at once.
            name: shown to people; left out, host and pid.
            grace: how long running jobs get to end when the worker stops; what is left is handed back.
            observer: told of what happens, see ``engine/signals.py``.
            state: folder in which it remembers what the store acknowledged, "none" for nowhere; left out,
                ``NOONMARK_STATE``, else the user's state directory (``docs/rollback.md``).
        """
        from noonmark.door.running import make_worker

        self._state = self._state if state is None else state
        return make_worker(self, concurrency=concurrency, name=name, grace=grace, observer=observer, state=state)

    def run(self, *, concurrency: int = 100, name: str = "") -> None:
        """Work in this process until SIGTERM or SIGINT."""
        self.worker(concurrency=concurrency, name=name).run()

    def lifespan(self, app: object = None, /, *, grace: Length = "10s") -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        """Run a worker beside a web server, in its own threads: ``FastAPI(lifespan=sched.lifespan)``."""
        from noonmark.door.running import lifespan

        return lifespan(self, grace)

    # -- the store ------------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store, opened at the first use."""
        return self._reach.store()

    @property
    def _asked(self) -> Store:
        return self._reach.patiently()

    @property
    def clock(self) -> Clock | None:
        """The clock that replaces the machine's, if one was given."""
        return self._clock

    def close(self) -> None:
        """Give the store back.  Calling it twice does no harm; the next verb opens it again."""
        with self._lock:
            self._declared.clear()
        self._reach.close()

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tell(problem: Problem) -> None:
    _LOG.error("a job is left out: %s", problem.shown())


def _anything(**params: Any) -> None:
    """Stand in for a function that only workers import: any parameters may be passed."""
    raise TypeError(f"this job's function is named in a rules file; a worker runs it (got {sorted(params)})")
