"""What the public door shows of the store: the same facts, with aware datetimes and Python values.

Rule of the file: a view is a copy; changing the store goes through the scheduler's verbs.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from datetime import datetime
from typing import Any

from noonmark.core import model, reasons, times
from noonmark.core.stored import object_of, value_of
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceView:
    """One due moment of a job and what became of it; instants are UTC."""

    id: int
    run_id: str
    job: str
    subject: str
    key: str
    state: model.State
    verdict: str
    code: str
    sentence: str
    origin: model.Origin
    scheduled_for: datetime
    business_date: str
    due_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    attempt: int
    takeovers: int
    fence: int
    duplicate_of: int | None
    params: Mapping[str, Any]
    result: Any
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """One worker process, as it was last heard of."""

    id: str
    name: str
    host: str
    pid: int
    is_alive: bool
    started_at: datetime
    seen_at: datetime
    until: datetime
    ended_at: datetime | None
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """Answer to ``later``, ``at`` and ``run_now``: what was recorded.  Usable at once, and awaitable in async code."""

    id: int
    run_id: str
    job: str
    key: str
    due_at: datetime
    duplicate: bool
    duplicate_of: int | None

    def __await__(self) -> Generator[None, None, Enqueued]:
        return self
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """Answer to ``emit``: the event's id and one entry per waiting job (and subject)."""

    id: str
    enqueued: tuple[Enqueued, ...]

    @property
    def duplicate(self) -> bool:
        """True when every job that waits for the event had it already."""
        return bool(self.enqueued) and all(each.duplicate for each in self.enqueued)

    def __await__(self) -> Generator[None, None, Emitted]:
        return self
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What would be decided about an occurrence now: the verdict, its checks, and the sentence of ``noonmark why``."""

    occurrence: OccurrenceView
    decision: model.Decision
    zone: str

    @property
    def verdict(self) -> model.Verdict:
        """``should_run``, ``skip_window``, ``skip_dep`` and so on."""
        return self.decision.verdict

    @property
    def code(self) -> str:
        """The reason's code."""
        return self.decision.code

    @property
    def checks(self) -> tuple[model.Check, ...]:
        """Every check in order, with what was wanted and seen."""
        return self.decision.checks

    @property
    def recheck_at(self) -> datetime | None:
        """When to look again, UTC."""
        return moment(self.decision.recheck_at)

    @property
    def sentence(self) -> str:
        """The reason in one plain English sentence."""
        return self.say("en")

    def say(self, lang: str) -> str:
        """Return the reason in one plain sentence, in ``lang`` (en or zh)."""
        return reasons.sentence(self.decision.code, self.decision.detail, lang=lang, zone=self.zone)


def moment(us: model.Micros | None) -> datetime | None:
    """Return an instant as an aware UTC datetime."""
    return None if us is None else times.to_datetime(us)


def occurrence_view(row: model.Occurrence, zone: str = "UTC") -> OccurrenceView:
    """Return a stored occurrence as people's code sees it."""
    return OccurrenceView(
        id=row.id,
        run_id=row.run_id,
        job=row.job,
        subject=row.subject,
        key=row.key,
        state=row.state,
        verdict=row.verdict,
        code=row.code,
        sentence=reasons.sentence(row.code, object_of(row.detail), lang="en", zone=zone) if row.code else "",
        origin=row.origin,
        scheduled_for=times.to_datetime(row.scheduled_for),
        business_date=row.business_date,
        due_at=moment(row.due_at),
        started_at=moment(row.started_at),
        ended_at=moment(row.ended_at),
        attempt=row.attempt,
        takeovers=row.takeovers,
        fence=row.fence,
        duplicate_of=row.duplicate_of,
        params=object_of(row.params),
        result=value_of(row.result),
        error=row.error,
    )


def worker_view(worker: model.WorkerInfo, now: model.Micros) -> WorkerView:
    """Return a worker as people's code sees it; it lives while its heartbeat is not overdue by store time."""
    return WorkerView(
        id=worker.id,
        name=worker.name,
        host=worker.host,
        pid=worker.pid,
        is_alive=worker.is_awake(now),
        started_at=times.to_datetime(worker.started_at),
        seen_at=times.to_datetime(worker.seen_at),
        until=times.to_datetime(worker.until),
        ended_at=moment(worker.ended_at),
        jobs=worker.jobs,
    )
