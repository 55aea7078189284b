"""What the store keeps beside occurrences: workers, jobs, acts, notes, attempts, ledger, alerts; and how it is read."""

from __future__ import annotations

from collections.abc import Mapping

from noonmark.core.model.base import Micros, State
from noonmark.core.model.occurrence import NewOccurrence, Occurrence
from noonmark.core.model.quick import quick
from noonmark.core.values import dataclass


@quick
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

    def is_awake(self, now: Micros) -> bool:
        """Return True while the worker counts as alive at this instant of the store."""
        return self.ended_at is None and self.until > now


@quick
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
    by: str = ""  # who put this revision in force; told of revisions only


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """An overdue frontier row that nobody looked at before its rule changes; its later moments are derived.

    With a ``verdict`` the row ends SKIPPED; without one it stays open and meets the new rule.  ``fence`` is the one that
    was read: if the row was taken or looked at meanwhile, the derivation is out of date.
    """

    occurrence_id: int
    fence: int
    verdict: str = ""
    code: str = ""
    detail: str = "{}"
    checks: str = "[]"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """A declared rule on its way into the store, with the frontier rows it yields after ``effective_at``.

    ``passed`` and ``adds`` are what the old rule leaves behind up to ``effective_at``: its overdue frontier rows, and the
    rows and range records of the moments after them.
    """

    name: str
    rule: str
    digest: str
    expected_revision: int  # 0 = not known to the store
    effective_at: Micros
    frontiers: tuple[NewOccurrence, ...] = ()
    event: str = ""
    passed: tuple[Passed, ...] = ()
    adds: tuple[NewOccurrence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A person's act.  ``kind``: retry, release, cancel, mark_done, mark_skip, mark_handled, pause, resume, end_job.

    ``end_job`` may carry what the rule leaves behind, as an ``Activation`` does, and the instant it is in force until.
    ``release`` names the rollbacks that the person was shown, as (number, end of the lost range): see the port.
    """

    kind: str
    actor: str
    reason: str = ""
    occurrence_id: int | None = None
    key: str | None = None
    job: str | None = None
    effective_at: Micros | None = None
    passed: tuple[Passed, ...] = ()
    adds: tuple[NewOccurrence, ...] = ()
    epochs: tuple[tuple[int, Micros], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """Answer: ``done``, ``requested`` (a running holder was told), ``already_done``, ``refused``, ``not_found``."""

    outcome: str
    ids: tuple[int, ...] = ()
    state: State | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A durable remark of a run: ``step`` (value), ``intent``/``done`` of a once-effect, ``effects``, ``progress``,
    ``flag`` (set or cleared).
    """

    kind: str
    name: str
    value: str  # JSON
    fence: int = 0
    at: Micros = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of an occurrence and its outcome: ``success failed lost handed_back cancelled``, or ``running``."""

    occurrence_id: int
    fence: int
    number: int
    worker: str
    started_at: Micros
    ended_at: Micros | None
    outcome: str
    error: str | None = None


@quick
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


@quick
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
    revisions: tuple[JobRow, ...] = ()  # filled only when asked: every revision of the jobs asked for, oldest first
    acts: tuple[
        LedgerLine, ...
    ] = ()  # filled with those of all: what people did to whole jobs (pause, resume, end_job), oldest first
