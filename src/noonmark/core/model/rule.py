"""The rule as values: triggers, window, guards, conditions, catch-up, retry, and the job that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from noonmark.core.model.base import HOUR, MINUTE, SECOND, Micros
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A cron expression in a named zone (5 fields, or 6 with seconds first)."""

    expression: str
    tz: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """A fixed grid: ``anchor + n * period``; the grid belongs to the rule, not to the last run."""

    period: Micros
    anchor: Micros = 0
    tz: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A list of moments, each local ISO text in ``tz`` (``2026-12-01T09:00:00``) or absolute (with Z/offset)."""

    moments: tuple[str, ...]
    tz: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnEvent:
    """Due ``delay`` after an event of this name was emitted."""

    name: str
    delay: Micros = 0
    tz: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """Due only when somebody asks (``later``, ``at``, ``run``)."""

    tz: str = "UTC"


Trigger: TypeAlias = Cron | Every | At | OnEvent | Manual


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Local wall-clock span in which a start is allowed: ``start <= t < end``, or a length after the scheduled time.

    Either ``start`` and ``end`` ("HH:MM" or "HH:MM:SS"), or ``length`` ("execution_window: 2h").
    ``crosses_midnight`` must be true for an end before the start.
    """

    start: str | None = None
    end: str | None = None
    length: Micros | None = None
    crosses_midnight: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrails:
    """Calendar guards.  With ``allow_weekend`` false nothing starts on a local Saturday or Sunday."""

    allow_weekend: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagSet:
    """Condition: the flag (a name template) is set."""

    flag: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """Condition: another job has a SUCCESS for the date (a template, default the same business date)."""

    job: str
    date: str = "{business_date}"
    reason: str = ""


Condition: TypeAlias = FlagSet | Succeeded


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """What becomes of moments that were missed.  ``max_delay=None`` is resolved by ``core/catchup.py``."""

    missed: str = "latest"  # skip | latest | all
    max_delay: Micros | None = None
    only_if_data_ready: bool = True
    recheck: Micros = 5 * MINUTE
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """``max`` counts retries: 4 means five attempts, waiting base * factor**n + uniform(0, jitter), at most cap."""

    max: int = 4
    base: Micros = SECOND
    factor: float = 2.0
    jitter: Micros = SECOND // 2
    cap: Micros = HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRule:
    """A lock outside noonmark that a run holds from its start to its end, because others contend for the same thing.

    ``name`` is a template like a condition's.  ``at`` is a lock URL, or ``env:NAME`` for one that stays out of the rule;
    "" = NOONMARK_LOCK_URL, else the store's own server.  ``kind`` says what is expected there, "" = anything.
    ``busy`` None means: ``skip`` for schedules, ``wait`` for events and manual jobs.
    """

    name: str
    kind: str = ""
    at: str = ""
    busy: str | None = None  # skip | wait
    ttl: Micros = 30 * SECOND
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The named rule plus what to run.

    ``run`` is ``module:function`` text or, with ``command``, an argument list.  ``each`` names the subjects: one
    occurrence per value and moment.  ``params`` are passed to every run and known to the key template.
    ``overlap`` None means: ``queue_all`` for schedules with ``missed: all``, ``skip`` for other schedules, ``allow`` for
    events and manual jobs.
    """

    name: str
    trigger: Trigger
    reason: str
    key: str = ""  # "" = the default template, see core/keys.py
    owner: str = ""
    run: str = ""
    command: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    each: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    window: Window | None = None
    guardrails: Guardrails = Guardrails()
    depends_on: tuple[Condition, ...] = ()
    catch_up: CatchUp = CatchUp()
    retry: Retry = Retry()
    timeout: Micros = 30 * MINUTE
    lease: Micros = 30 * SECOND
    overlap: str | None = None  # skip | queue_all | allow
    lock: LockRule | None = None
    on_lost: str = "takeover"  # takeover | wait | manual
    max_takeovers: int = 3
    on_rollback: str = "hold"  # hold | run: what becomes of rows that may have run in a range that the store lost
    business_date: str = "same"  # same | previous_day
    scope: str = "cluster"  # cluster | each_worker
    isolation: str = ""  # "" (coroutine or thread) | process
    source: str = "code"  # code | file | task_rules: who declared it

    @property
    def tz(self) -> str:
        """The zone in which this job's dates and windows are read."""
        return self.trigger.tz

    @property
    def is_series(self) -> bool:
        """True when the trigger itself yields moments (and so has a frontier)."""
        return isinstance(self.trigger, (Cron, Every, At))

    @property
    def on_overlap(self) -> str:
        """What becomes of a start while another of the same subject is in progress: ``skip``, ``queue_all`` or ``allow``."""
        if self.overlap is not None:
            return self.overlap
        if not self.is_series:
            return "allow"
        return "queue_all" if self.catch_up.missed == "all" else "skip"

    @property
    def one_at_a_time(self) -> bool:
        """True when at most one occurrence per subject may be in progress."""
        return self.on_overlap != "allow"

    @property
    def waits_for_lock(self) -> bool:
        """True when a moment whose outside lock is taken waits for it instead of being skipped."""
        return self.lock is not None and (self.lock.busy or ("skip" if self.is_series else "wait")) == "wait"
