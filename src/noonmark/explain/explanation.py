"""The answer of ``why`` as values: one sentence, the checks behind it, and what to do.

Rule of the file: only frozen values, and the scene from which they are told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from noonmark.core.former import Former
from noonmark.core.late import Late
from noonmark.core.model import (
    Attempt,
    Event,
    Fact,
    Job,
    JobRow,
    LedgerLine,
    Micros,
    Occurrence,
    Story,
    WorkerInfo,
)
from noonmark.core.model.rollback import Epoch
from noonmark.core.stored import object_of
from noonmark.core.values import dataclass
from noonmark.engine.witnessing import Witnessed
from noonmark.explain.ended import JobEnd
from noonmark.explain.outages import Outage
from noonmark.explain.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One check as shown: ``ok`` None means not reached; ``zone`` is that of its times, where it is not the reader's."""

    name: str
    ok: bool | None
    wanted: str = ""
    seen: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """How often somebody looked before it started or ended: ``first`` and ``last`` in UTC microseconds."""

    count: int
    first: Micros
    last: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What a story teller says: the sentence, further lines, the reason code and the remedy."""

    sentence: str
    lines: tuple[str, ...] = ()
    code: str = ""
    remedy: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything read for one occurrence; the stories are pure functions of it."""

    story: Story
    job: Job | None
    job_row: JobRow | None
    workers: tuple[WorkerInfo, ...]
    voice: Voice
    related: Mapping[int, Occurrence] = field(default_factory=dict)  # holders, occupants, stand-ins by id
    before: Occurrence | None = None  # what had its key before it was asked for all the same
    idle_holder: str = (
        ""  # why nobody runs the row that holds its key: ended (its job was), no_code (no worker has any)
    )
    duplicates: tuple[int, ...] = ()  # ids that were refused because of this key
    following: Occurrence | None = None  # the next open row of the job, where the newest was asked for
    facts: Mapping[str, Fact] = field(default_factory=dict)  # as they are now, for open rows
    untold: tuple[str, Epoch] | None = None  # what is to be said of a rollback since which it has not run
    lost: Epoch | None = None  # the rollback of the store of which a run of it may be a repeat
    witnessed: Witnessed | None = None  # the success of its key that the store lost, as a worker's journal has it
    former: Former | None = None  # the store that lay here before this one
    late: Late | None = None  # the try that came back with a success when it had been given up
    outages: tuple[Outage, ...] = ()  # times away of the store since the occurrence was due
    in_progress: Mapping[str, int] = field(default_factory=dict)  # worker -> its runs, where a row is overdue
    over: JobEnd | None = None  # the end of its job, where that has no rule in force any more
    ended_by: JobEnd | None = None  # the end of its job that ended it before it was due
    processes: Mapping[str, bool] = field(default_factory=dict)  # worker -> does its process live?  This machine's only

    @property
    def row(self) -> Occurrence:
        """The occurrence the story is about."""
        return self.story.occurrence

    @property
    def now(self) -> Micros:
        """Store time of the question."""
        return self.voice.now

    def worker(self, incarnation: str) -> WorkerInfo | None:
        """Return what is known of a worker incarnation."""
        return next((worker for worker in self.workers if worker.id == incarnation), None)

    def name_of(self, incarnation: str) -> str:
        """Return a worker's name for people."""
        known = self.worker(incarnation)
        return known.name if known is not None else (incarnation or "?")

    def fence(self, fence: int) -> str:
        """Tell a fence by its place among the attempts, ``#2``: the number itself is for programs."""
        older = sum(1 for attempt in self.story.attempts if attempt.fence < fence)
        return f"#{older + 1}"

    @property
    def tries(self) -> int:
        """Attempts the rule allows: one and its retries."""
        return 1 + (self.job.retry.max if self.job is not None else 4)

    @property
    def lost_attempts(self) -> tuple[Attempt, ...]:
        """Attempts whose lease ended under them."""
        return tuple(attempt for attempt in self.story.attempts if attempt.outcome == "lost")

    @property
    def failed_attempts(self) -> tuple[Attempt, ...]:
        """Attempts that ended in an error."""
        return tuple(attempt for attempt in self.story.attempts if attempt.outcome == "failed")

    @property
    def retried_at(self) -> Micros | None:
        """When a person last asked for it to be tried again: attempts count anew from there."""
        return max((line.last_at for line in self.story.ledger if line.event == Event.RETRY), default=None)

    @property
    def tries_made(self) -> int:
        """Attempts that count against the rule: those since a person's retry; lost ones only where there are no others."""
        since = self.retried_at
        these = [each for each in self.story.attempts if since is None or each.started_at >= since]
        counted = [each for each in these if each.outcome not in ("lost", "handed_back")]
        return len(counted or these)

    @property
    def waits(self) -> tuple[LedgerLine, ...]:
        """Ledger lines of looks that said "not yet", in order."""
        return tuple(line for line in self.story.ledger if line.event == "park")

    def detail(self) -> dict[str, Any]:
        """Return the row's reason arguments."""
        return object_of(self.row.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an occurrence is as it is.  ``occurrence_id`` None: there is no row for the moment asked about."""

    job: str
    sentence: str
    outcome: str
    zone: str
    now: Micros
    lang: str = "en"
    occurrence_id: int | None = None
    subject: str = ""
    key: str = ""
    business_date: str = ""
    scheduled_for: Micros | None = None
    state: str = ""
    verdict: str = ""
    code: str = ""
    final: bool = False
    revision: int = 0
    decided_by: str = ""
    looks: Looks | None = None
    checks: tuple[Shown, ...] = ()
    runs: tuple[Attempt, ...] = ()
    run_lines: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    remedy: str = ""
    commands: tuple[str, ...] = ()
    job_ended: JobEnd | None = None  # the job has no rule in force any more
