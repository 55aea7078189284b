"""The occurrence as values: a row on its way into the store, and the row as it is there."""

from __future__ import annotations

from noonmark.core.model.base import Micros, Origin, State
from noonmark.core.model.quick import quick
from noonmark.core.values import dataclass


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class NewOccurrence:
    """A row to be added.  ``gated`` rows are never started by ``take`` alone (docs/semantics.md 1, fast path)."""

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


@quick
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
