"""Short ways to make the values that tests of stores and engines need.

Rule of the file: every builder gives a valid value with the plainest defaults and lets a test name only what matters to
it.  Instants and lengths are microseconds.
"""

from __future__ import annotations

from typing import Any

from noonmark.core.model import (
    SECOND,
    Activation,
    Event,
    Gates,
    Job,
    Manual,
    Micros,
    NewOccurrence,
    Occurrence,
    Origin,
    Settlement,
    State,
    WorkerInfo,
)

LEASE: Micros = 30 * SECOND


def make_job(name: str = "job", **fields: Any) -> Job:
    """Make a job, manual unless told otherwise."""
    defaults: dict[str, Any] = {"trigger": Manual(), "reason": "a test needs it"}
    return Job(name=name, **(defaults | fields))


def make_activation(name: str = "job", *, effective_at: Micros, **fields: Any) -> Activation:
    """Make the first activation of a job."""
    defaults: dict[str, Any] = {"rule": f'{{"name": "{name}"}}', "digest": "digest-1", "expected_revision": 0}
    return Activation(name=name, effective_at=effective_at, **(defaults | fields))


def make_caller_row(name: str, *, at: Micros, **fields: Any) -> NewOccurrence:
    """Make a row as ``later`` adds it: it claims its key at once and may be started by ``take`` alone."""
    defaults: dict[str, Any] = {
        "job": "job",
        "identity": f"l:{name}",
        "key": f"key:{name}",
        "scheduled_for": at,
        "due_at": at,
        "origin": Origin.LATER,
        "claim": True,
        "revision": 1,
    }
    return NewOccurrence(**(defaults | fields))


def make_row(row_id: int = 1, *, at: Micros = 1_000 * SECOND, **fields: Any) -> Occurrence:
    """Make a row as a store hands it out: a pending scheduled one of ``job``, due, and looked at by w1."""
    defaults: dict[str, Any] = {
        "id": row_id,
        "job": "job",
        "subject": "",
        "identity": f"t:{at}",
        "key": f"key:{row_id}",
        "generation": 1,
        "claimed": False,
        "state": State.PENDING,
        "due_at": at,
        "scheduled_for": at,
        "nominal": "",
        "business_date": "2026-11-28",
        "origin": Origin.SCHEDULE,
        "gated": True,
        "params": "{}",
        "revision": 1,
        "fence": at,
        "holder": "w1",
        "looking": True,
        "detail": "{}",
        "created_at": at,
        "queue": "default",
    }
    flags = dict.fromkeys(("frontier", "cancel_requested"), False)
    numbers = dict.fromkeys(("attempt", "takeovers", "lost", "range_count", "priority"), 0)
    texts = dict.fromkeys(("worker", "verdict", "code", "actor", "note"), "")
    nothing = dict.fromkeys(
        [
            "not_before",
            "not_after",
            "expires_at",
            "started_at",
            "first_started_at",
            "ended_at",
            "duplicate_of",
            "range_until",
            "result",
            "error",
        ]
    )
    return Occurrence(**(defaults | flags | numbers | texts | nothing | fields))


def make_series_row(name: str, *, at: Micros, **fields: Any) -> NewOccurrence:
    """Make a row as a schedule yields it: it claims nothing yet and has to be looked at."""
    defaults: dict[str, Any] = {
        "job": "job",
        "identity": f"t:{name}",
        "key": f"key:{name}",
        "scheduled_for": at,
        "due_at": at,
        "origin": Origin.SCHEDULE,
        "gated": True,
        "revision": 1,
    }
    return NewOccurrence(**(defaults | fields))


def make_frontier(name: str, *, at: Micros, **fields: Any) -> NewOccurrence:
    """Make the frontier row of a series."""
    return make_series_row(name, at=at, **({"frontier": True} | fields))


def make_start(row: Occurrence, *, lease: Micros = LEASE, event: Event = Event.START, **gates: Any) -> Settlement:
    """Make the settlement that starts a row which was looked at; ``gates`` are fields of ``Gates``."""
    return Settlement(
        occurrence_id=row.id,
        fence=row.fence,
        event=event,
        lease=lease,
        gates=Gates(**({"revision": 1} | gates)),
        verdict="should_run",
        code="started",
    )


def make_end(row: Occurrence, event: Event = Event.SUCCEED, **fields: Any) -> Settlement:
    """Make any other settlement of a row that was taken."""
    return Settlement(occurrence_id=row.id, fence=row.fence, event=event, **({"code": str(event)} | fields))


def make_worker(worker_id: str = "w1", **fields: Any) -> WorkerInfo:
    """Make the card of a worker incarnation."""
    defaults: dict[str, Any] = {
        "name": worker_id,
        "host": "host",
        "pid": 4711,
        "process_started": "12345",
        "boot_id": "boot-1",
        "version": "0",
    }
    return WorkerInfo(id=worker_id, **(defaults | fields))
