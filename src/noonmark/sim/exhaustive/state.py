"""The state of the small world: what the store holds, what each replica remembers, how much may still go wrong.

Rule of the file: values.  ``Tables`` is the one mutable thing among them; it is copied before anybody changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from noonmark.core.model import Job, JobRow, Micros, Occurrence
from noonmark.engine.registry import Handler
from noonmark.engine.runs import Run
from noonmark.sim.exhaustive.chains import Chain, Past
from noonmark.stores.memory.tables import Tables


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer that a task had: what, when, and whether it was lost on its way (then it was asked again)."""

    verb: str
    answer: Any
    at: Micros
    lost: bool = False
    request: str = ""
    broken: bool = False  # the link did not follow: nothing was done, and the worker proves itself first


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A run in a replica's memory (``engine.runs.Run``): the fields that its further way depends on."""

    row: Occurrence
    job: Job
    lease: Micros
    asked: Micros
    renew_at: Micros
    trust_until: Micros
    stop_reason: str = ""
    quiet: bool = False
    has_ended: bool = False  # the job's code is through; its outcome is on the way to the store

    @property
    def fence(self) -> int:
        """The fence under which it runs."""
        return self.row.fence

    def as_run(self, handler: Handler) -> Run:
        """Return the engine's own object."""
        run = Run(row=self.row, job=self.job, handler=handler, fence=self.fence, lease=self.lease, asked=self.asked)
        run.renew_at, run.trust_until, run.stop_reason = self.renew_at, self.trust_until, self.stop_reason
        run.lost, run.quiet = self.stop_reason == "lost", self.quiet
        return run


def held(run: Run, *, has_ended: bool = False) -> Held:
    """Return what is remembered of the engine's own object."""
    return Held(
        row=run.row,
        job=run.job,
        lease=run.lease,
        asked=run.asked,
        renew_at=run.renew_at,
        trust_until=run.trust_until,
        stop_reason=run.stop_reason,
        quiet=run.quiet,
        has_ended=has_ended,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of engine code on its way: what it began with, and every answer it had so far."""

    kind: str  # begin | round | record | edit
    name: str  # in front of its request ids
    began_at: Micros
    rules: tuple[JobRow, ...] = ()
    version: int = -1
    free: int = 0
    run: Held | None = None
    ok: bool = True
    log: tuple[Entry, ...] = ()
    is_late: bool = False  # its last answer has come, and the worker was stopped before it looked at it
    pending: str = ""  # the verb that comes next, for people


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One worker process.  Dead ones remember nothing."""

    number: int
    incarnation: int = 1
    is_alive: bool = True
    rules: tuple[JobRow, ...] = ()
    version: int = -1
    runs: tuple[Held, ...] = ()
    taking: Task | None = None
    settling: Task | None = None
    chain: Chain | None = None

    @property
    def name(self) -> str:
        """Its incarnation, as the store knows it."""
        return f"w{self.number}.{self.incarnation}"


Answers = Mapping[tuple[str, str], tuple[Micros, Any]]
"""The memory store's memory of request ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything, at one instant of the store's time."""

    now: Micros
    tables: Tables
    answers: Answers
    replicas: tuple[Replica, ...]
    person: Task | None = None
    left: Mapping[str, int] = field(default_factory=dict)  # fault -> how often it may still happen
    kept: Kept | None = None
    forgotten: int = 0  # how often the store came back as the copy
    past: Past | None = None  # None: this store never forgets
    steps: int = 0  # how far from the beginning; no part of what two states are compared by


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A copy of the store, as which it may come back."""

    tables: Tables
    at: Micros
    mark: int  # fingerprint of the state that was copied


UNCOPIED: Final = ("ledger", "notes", "revisions", "revised")
"""Tables that nothing looks back into: each step begins them anew, so that a step shows what it wrote."""


def copied(tables: Tables) -> Tables:
    """Return tables that may be changed without changing these."""
    return Tables(
        rows=dict(tables.rows),
        open_ids=dict(tables.open_ids),
        by_identity=dict(tables.by_identity),
        claims={key: list(ids) for key, ids in tables.claims.items()},
        facts=dict(tables.facts),
        waits={name: dict(rows) for name, rows in tables.waits.items()},
        waits_of=dict(tables.waits_of),
        wakes=dict(tables.wakes),
        slots=dict(tables.slots),
        attempts={row_id: list(tries) for row_id, tries in tables.attempts.items()},
        alerts=list(tables.alerts),
        jobs=dict(tables.jobs),
        workers=dict(tables.workers),
        answered={row_id: set(fences) for row_id, fences in tables.answered.items()},
        looked={row_id: set(fences) for row_id, fences in tables.looked.items()},
        writers=dict(tables.writers),
        links={name: dict(links) for name, links in tables.links.items()},
        serving=tables.serving,
        rules_version=tables.rules_version,
        stale_refused=tables.stale_refused,
        duplicates_refused=tables.duplicates_refused,
        last_seq=tables.last_seq,
        last_id=tables.last_id,
    )
