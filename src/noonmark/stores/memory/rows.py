"""From an occurrence that is to be added to the row that it becomes."""

from __future__ import annotations

from typing import Any

from noonmark.core.lifecycle import is_end
from noonmark.core.model import Micros, NewOccurrence, Occurrence


def stamped(new: NewOccurrence) -> dict[str, Any]:
    """Return the fields that a rule yields anew for a moment: the gates, the key, the revision and when it is due."""
    return {
        "key": new.key,
        "due_at": new.scheduled_for if new.due_at is None else new.due_at,
        "scheduled_for": new.scheduled_for,
        "nominal": new.nominal,
        "business_date": new.business_date,
        "not_before": new.not_before,
        "not_after": new.not_after,
        "expires_at": new.expires_at,
        "frontier": new.frontier,
        "gated": new.gated,
        "params": new.params,
        "revision": new.revision,
        "queue": new.queue,
        "priority": new.priority,
    }


def made(row_id: int, new: NewOccurrence, now: Micros) -> Occurrence:
    """Return the row that a new occurrence becomes, before it claims anything."""
    ended = is_end(new.state)
    fields = stamped(new)
    if ended:
        fields["due_at"] = None
    return Occurrence(
        id=row_id,
        job=new.job,
        subject=new.subject,
        identity=new.identity,
        generation=0,
        claimed=False,
        state=new.state,
        origin=new.origin,
        worker=new.worker,
        attempt=0,
        takeovers=0,
        lost=0,
        fence=0,
        holder="",
        looking=False,
        cancel_requested=False,
        verdict=new.verdict,
        code=new.code,
        detail="{}",
        created_at=now,
        started_at=None,
        first_started_at=None,
        ended_at=now if ended else None,
        duplicate_of=None,
        range_until=new.range_until,
        range_count=new.range_count,
        result=None,
        error=None,
        actor=new.actor,
        note=new.note,
        **fields,
    )
