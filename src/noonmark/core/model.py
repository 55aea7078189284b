"""The words of noonmark as values: job, occurrence, decision, settlement.

Rule of the file: only frozen, keyword-only values and the closed sets they draw on.  No clock, no
dice, no I/O.  Every instant is a UTC integer of microseconds (``Micros``), every duration too, so
that no daylight-saving arithmetic can happen outside ``core/times.py`` (see ADR 0003).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

Micros: TypeAlias = int
"""UTC microseconds since 1970 (an instant), or a length in microseconds (a duration)."""

SECOND: Micros = 1_000_000
MINUTE: Micros = 60 * SECOND
HOUR: Micros = 60 * MINUTE
DAY: Micros = 24 * HOUR

PAYLOAD_LIMIT = 256 * 1024
"""Largest parameters, result or step value that is stored, in bytes of JSON."""
KEY_LIMIT = 512
"""Longest rendered key, in characters."""
LOOK_LEASE: Micros = 5 * SECOND
"""How long a worker may think about a row before somebody else looks at it."""


class State(StrEnum):
    """The seven states of an occurrence (five of the source document, two ends that are no runs)."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED_RETRYING = "FAILED_RETRYING"
    FAILED_MANUAL = "FAILED_MANUAL"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


OPEN_STATES = frozenset({State.PENDING, State.RUNNING, State.FAILED_RETRYING})
"""States whose rows carry a ``due_at``; every other state is an end."""


class Verdict(StrEnum):
    """What a decision says; the source's strings, and more in the same form."""

    SHOULD_RUN = "should_run"
    SKIP_WINDOW = "skip_window"
    SKIP_DEP = "skip_dep"
    SKIP_DUPLICATED = "skip_duplicated"
    SKIP_LEASE = "skip_lease"
    SKIP_GUARD = "skip_guard"
    SKIP_PAUSED = "skip_paused"
    SKIP_OVERLAP = "skip_overlap"
    SKIP_CAPACITY = "skip_capacity"
    SKIP_BUDGET = "skip_budget"
    SKIP_EXPIRED = "skip_expired"
    SKIP_SUPERSEDED = "skip_superseded"


class Event(StrEnum):
    """What can happen to an occurrence; ``core/lifecycle.py`` says what each leads to."""

    START = "start"  # a look ends in a run: attempt begins
    PARK = "park"  # a look ends in "not yet": due_at says when to look again
    SKIP = "skip"  # the rule excludes this moment
    MISS = "miss"  # wanted, but its window or limit closed
    TAKEOVER = "takeover"  # a lapsed run starts again under a new fence
    SUCCEED = "succeed"
    FAIL_RETRY = "fail_retry"  # failed, another attempt is due at due_at
    FAIL_MANUAL = "fail_manual"  # failed for good, a person is asked
    HAND_BACK = "hand_back"  # a stopping worker gives the run back, attempt not counted
    CANCEL = "cancel"
    RETRY = "retry"  # a person's retry
    MARK_DONE = "mark_done"  # a person says: this was done
    MARK_SKIP = "mark_skip"  # a person says: this will not run
    MARK_HANDLED = "mark_handled"  # a person says: dealt with elsewhere
    REOPEN = "reopen"  # a superseded moment is yielded again by a later revision


class Origin(StrEnum):
    """Where an occurrence came from."""

    SCHEDULE = "schedule"
    EVENT = "event"
    LATER = "later"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CANCEL = "cancel"  # a cancel that arrived before its create


# --- the rule ------------------------------------------------------------------------------------


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
class Job:
    """The named rule plus what to run.

    ``run`` is ``module:function`` text or, with ``command``, an argument list.  ``each`` names the subjects: one
    occurrence per value and moment.  ``params`` are passed to every run and known to the key template.
    ``overlap`` None means: ``skip`` for schedules, ``allow`` for events and manual jobs.
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
    overlap: str | None = None  # skip | allow
    on_lost: str = "takeover"  # takeover | wait | manual
    max_takeovers: int = 3
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
    def skips_overlap(self) -> bool:
        """True when at most one occurrence per subject may be in progress."""
        return (self.overlap or ("skip" if self.is_series else "allow")) == "skip"


# --- the occurrence ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOccurrence:
    """A row to be added.  ``gated`` rows are never started by ``take`` alone (DESIGN 1, fast path)."""

    job: str
    identity: str
    key: str
    scheduled_for: Micros
    due_at: Micros | None
    subject: str = ""
    nominal: str = ""  # local wall time of the moment with its zone, for people
    business_date: str = ""
    not_before: Micros | None = None  # compiled window start
    not_after: Micros | None = None  # compiled window end (exclusive)
    expires_at: Micros | None = None  # scheduled_for + max_delay: binds the first start only
    origin: Origin = Origin.SCHEDULE
    frontier: bool = False
    gated: bool = False
    claim: bool = False  # claim the key at once (rows that a caller adds)
    again: bool = False  # take the key over as a new generation on purpose
    params: str = "{}"  # JSON object
    revision: int = 0
    worker: str = ""  # only this worker incarnation may take it (scope=each_worker)
    actor: str = ""
    note: str = ""
    state: State = State.PENDING  # an end state for range records
    verdict: str = ""
    code: str = ""
    range_until: Micros | None = None  # a range record covers scheduled_for..range_until, both included
    range_count: int = 0
    queue: str = "default"
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One due moment of a job (and subject): the row that is the truth."""

    id: int
    job: str
    subject: str
    identity: str
    key: str
    generation: int
    claimed: bool
    state: State
    due_at: Micros | None
    scheduled_for: Micros
    nominal: str
    business_date: str
    not_before: Micros | None
    not_after: Micros | None
    expires_at: Micros | None
    origin: Origin
    frontier: bool
    gated: bool
    params: str
    revision: int
    worker: str  # affinity
    attempt: int  # started attempts since creation or a person's retry
    takeovers: int  # started attempts that were lost, likewise
    lost: int  # leases lost, ever
    fence: int
    holder: str  # worker incarnation that holds the lease ("" = nobody)
    looking: bool  # the lease is a look, not a run
    cancel_requested: bool
    verdict: str
    code: str
    detail: str  # JSON object: arguments of the reason's sentence
    created_at: Micros
    started_at: Micros | None  # of the current or last attempt
    first_started_at: Micros | None
    ended_at: Micros | None
    duplicate_of: int | None
    range_until: Micros | None
    range_count: int
    result: str | None  # JSON
    error: str | None
    actor: str
    note: str
    queue: str
    priority: int

    @property
    def run_id(self) -> str:
        """Name of the execution, kept across retries and takeovers."""
        return f"r{self.id}"

    @property
    def is_lapsed(self) -> bool:
        """True for a run taken because its lease ended (RUNNING, but now merely looked at)."""
        return self.state is State.RUNNING and self.looking


# --- the decision --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something observed: a flag, a success, a key's holder, a slot's occupant.  Version 0 = never set."""

    name: str
    version: int = 0
    value: Any = None
    set_at: Micros | None = None
    actor: str = ""

    @property
    def is_set(self) -> bool:
        """True when the fact holds."""
        return self.value is not None and self.value is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a decision: what was wanted, what was seen.  ``passed`` None = not asked by the rule or not reached."""

    name: str
    passed: bool | None
    wanted: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Verdict, ordered checks, the reason code with its arguments, and when to look again.

    ``needs`` non-empty means: no verdict yet, fetch exactly these facts and ask again.  ``event`` is what the engine
    settles with (START, PARK, SKIP, MISS); ``final`` is true for ends.
    """

    verdict: Verdict
    event: Event
    code: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    recheck_at: Micros | None = None
    needs: tuple[str, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)  # fact name -> version that was looked at


# --- what travels through the store's verbs --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FactWrite:
    """Set (``value`` not None) or clear a fact, and wake what waits for it."""

    name: str
    value: Any
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertWrite:
    """Open or update the one open alert of (job, kind); ``clear`` closes it."""

    job: str
    kind: str  # failing | missed | poison | silence | clock
    level: int  # 1 notice, 2 raised, 3 urgent
    code: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    occurrence_id: int | None = None
    clear: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What the decision saw; compared again, inside the transaction, before a start (DESIGN 3)."""

    revision: int
    pause_version: int = 0
    facts: Mapping[str, int] = field(default_factory=dict)
    slot: str = ""  # overlap slot to occupy, "" = none
    ignore_window: bool = False  # a person's named override


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """One outcome, guarded by its fence; everything in it is applied in one transaction or not at all.

    START and TAKEOVER need ``lease`` (µs) and ``gates``; PARK, FAIL_RETRY and HAND_BACK need ``due_at``.
    ``ledger`` false leaves no ledger line (the attempt row of a finish is always written).
    """

    occurrence_id: int
    fence: int
    event: Event
    due_at: Micros | None = None
    lease: Micros = 0
    gates: Gates | None = None
    verdict: str = ""
    code: str = ""
    detail: str = "{}"
    checks: str = "[]"
    ledger: bool = True
    adds: tuple[NewOccurrence, ...] = ()
    facts: tuple[FactWrite, ...] = ()
    alerts: tuple[AlertWrite, ...] = ()
    result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Answer to one settlement.

    ``outcome``: ``applied`` · ``stale`` (the fence is old: refused and counted) · ``changed`` (a gate moved: decide again;
    ``changed`` names what) · ``duplicate`` (the key is held by ``holder``) · ``closed`` (window or limit closed meanwhile).
    After a START or TAKEOVER ``fence`` and ``lease_until`` are the run's.
    """

    outcome: str
    fence: int = 0
    lease_until: Micros = 0
    changed: tuple[str, ...] = ()
    holder: int | None = None
    state: State | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Answer to one added row: ``added``, ``duplicate_key`` (recorded, ended skip_duplicated) or ``duplicate_identity``."""

    outcome: str
    id: int
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Answer to ``take``: rows leased to the worker, the store's time, and the next moment anything is due."""

    rows: tuple[Occurrence, ...]
    now: Micros
    next_due: Micros | None
    rules_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A lease to extend: until ``lease`` µs after the store's now."""

    occurrence_id: int
    fence: int
    lease: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """Answer to ``renew``: which leases are gone, which runs somebody asked to cancel."""

    lost: frozenset[int]
    cancel_requested: frozenset[int]
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """One worker incarnation; ``until`` is when it counts as dead if it is not heard of again."""

    id: str  # incarnation, unique per process start
    name: str
    host: str
    pid: int
    process_started: str  # the kernel's start time of the pid, so that a reused pid is not believed alive
    boot_id: str
    started_at: Micros = 0
    seen_at: Micros = 0
    until: Micros = 0
    ended_at: Micros | None = None
    tzdata: str = ""
    version: str = ""
    wall_offset: Micros = 0  # own wall clock minus store time
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as the store keeps it: rule (canonical JSON), revision, when it took effect, pause."""

    name: str
    rule: str
    digest: str
    revision: int
    effective_at: Micros
    paused: bool = False
    pause_version: int = 0
    paused_at: Micros | None = None
    resumed_at: Micros | None = None
    pause_reason: str = ""
    event: str = ""  # name of the event that triggers it, "" = none


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """A declared rule on its way into the store, with the frontier rows it yields after ``effective_at``."""

    name: str
    rule: str
    digest: str
    expected_revision: int  # 0 = not known to the store
    effective_at: Micros
    frontiers: tuple[NewOccurrence, ...] = ()
    event: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A person's act.  ``kind``: retry, cancel, mark_done, mark_skip, mark_handled, pause, resume, end_job."""

    kind: str
    actor: str
    reason: str = ""
    occurrence_id: int | None = None
    key: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """Answer: ``done``, ``requested`` (a running holder was told), ``already_done``, ``refused``, ``not_found``."""

    outcome: str
    ids: tuple[int, ...] = ()
    state: State | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A durable remark of a run: ``step`` (value), ``intent``/``done`` of a once-effect, ``effects``, ``progress``."""

    kind: str
    name: str
    value: str  # JSON
    fence: int = 0
    at: Micros = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of an occurrence, as it ended: ``success``, ``failed``, ``lost``, ``handed_back``, ``cancelled``, ``running``."""

    occurrence_id: int
    fence: int
    number: int
    worker: str
    started_at: Micros
    ended_at: Micros | None
    outcome: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One line of the append-only ledger; equal consecutive looks are folded (``count``, ``last_at``)."""

    seq: int
    occurrence_id: int
    job: str
    at: Micros
    last_at: Micros
    count: int
    event: str
    verdict: str
    code: str
    detail: str  # JSON object
    checks: str  # JSON list
    worker: str
    fence: int
    revision: int
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert as stored; open while ``closed_at`` is None."""

    id: int
    job: str
    kind: str
    level: int
    code: str
    detail: str
    occurrence_id: int | None
    opened_at: Micros
    updated_at: Micros
    count: int
    closed_at: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that the store knows of one occurrence, for ``why``."""

    occurrence: Occurrence
    attempts: tuple[Attempt, ...]
    ledger: tuple[LedgerLine, ...]
    notes: tuple[Note, ...]
    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which occurrences to read, newest scheduled first unless ``oldest_first``; every field narrows."""

    ids: tuple[int, ...] = ()
    job: str | None = None
    subject: str | None = None
    key: str | None = None
    identity: str | None = None
    states: frozenset[State] | None = None
    open_only: bool = False
    frontier_only: bool = False
    scheduled_from: Micros | None = None  # inclusive; a range record matches when it reaches this far
    scheduled_until: Micros | None = None  # exclusive
    after_id: int | None = None  # paging: only rows with a larger id, ordered by id
    oldest_first: bool = False
    limit: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """Counts for backlog and overview, from one consistent read."""

    now: Micros
    by_state: Mapping[State, int]
    due_now: int
    delayed: int  # open, due in the future, never looked at
    waiting: int  # parked by a check
    earliest_due: Micros | None
    stale_refused: int  # writes refused by their fence, ever
    duplicates_refused: int
    open_alerts: tuple[Alert, ...]
    revisions: tuple[JobRow, ...] = ()  # filled only when asked: every revision of every job, oldest first
