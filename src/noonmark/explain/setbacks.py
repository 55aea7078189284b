"""The times that a store went back, as far as they matter to a proof of one span.

Rule of the file: reads only.  One that is open, or that only receipts know, spoils every proof: what a store has lost
cannot be counted by what it holds.  One that a person let go spoils none, and is told where it touches the span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noonmark.core.model import Micros, Occurrence, Query, State
from noonmark.core.model.rollback import Epoch
from noonmark.core.told import joined
from noonmark.engine.witnessing import Known, Untold, Witness
from noonmark.explain.proof import Report, Setback
from noonmark.explain.render import stamp
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store

SHOWN = 5
"""Most writers that are named."""


def setbacks_of(
    store: Store,
    rows: Sequence[Occurrence],
    epochs: Sequence[Epoch],
    span: tuple[Micros, Micros],
    *,
    job: str | None = None,
    untold: Untold | None = None,
    witness: Witness | None = None,
) -> tuple[Setback, ...]:
    """Return the rollbacks that matter, oldest first, and how many journalled successes each of them cost.

    Args:
        store: asked for the keys that are in none of the rows.
        rows: those of the span.
        epochs: the rollbacks on record.
        span: both inclusive, UTC microseconds; successes count whose moment lies in it.
        job: only its successes count.
        untold: what receipts say that no worker has told the store.
        witness: what journals have; without one nothing is counted.
    """
    since, until = span
    concerned = [
        each for each in epochs if each.released_at is None or (each.lost_until >= since and each.lost_from <= until)
    ]
    if untold is not None and untold.epoch is not None:
        concerned.append(untold.epoch)
    there = {(row.job, row.key) for row in rows if row.state is State.SUCCESS}
    found = []
    for epoch in concerned:
        unrecorded = None
        if witness is not None:
            known = {
                name: seen for name, seen in witness([epoch]).items()
                if since <= seen.scheduled_for <= until and job in (None, name[0])
            }  # fmt: skip
            unrecorded = _without_success(store, there, known)
        found.append(
            Setback(
                number=epoch.number,
                lost_from=epoch.lost_from,
                lost_until=epoch.lost_until,
                writers=epoch.writers,
                released_at=epoch.released_at,
                released_by=epoch.released_by,
                unrecorded=unrecorded,
            )
        )
    return tuple(found)


def _without_success(store: Store, there: set[tuple[str, str]], known: Known) -> int:
    """Count the keys without a success; one that ran again, or was marked, may be of another moment."""
    return sum(
        not store.occurrences(Query(job=job, key=key, states=frozenset({State.SUCCESS}), limit=1))
        for job, key in known
        if (job, key) not in there
    )


def setback_lines(report: Report, voice: Voice) -> list[str]:
    """Say of each rollback what it means for the proof, what journals have of it, and what to do."""
    return [_told(setback, voice) for setback in report.setbacks]


def _told(setback: Setback, voice: Voice) -> str:
    since, until = voice.span(setback.lost_from, setback.lost_until)
    span: dict[str, Any] = {"since": since, "until": until, "zone": voice.zone}
    parts: list[str] = []
    if setback.is_untold:
        parts.append(voice.say("verify_untold", writers=", ".join(setback.writers[:SHOWN]), **span))
    elif setback.released_at is None:
        parts.append(voice.say("verify_rollback_open", number=setback.number, **span))
    else:
        at = voice.moment(setback.released_at)
        parts.append(
            voice.say("verify_rollback_over", number=setback.number, by=setback.released_by or "?", at=at, **span)
        )
    if setback.unrecorded:
        parts.append("  " + voice.say("verify_unrecorded", count=setback.unrecorded))
    elif setback.unrecorded is None and not setback.is_over:
        parts.append("  " + voice.say("verify_no_journals"))
    if not setback.is_over:
        parts.append("  " + voice.say("verify_do_untold" if setback.is_untold else "verify_do_open"))
    elif setback.unrecorded:
        parts.append("  " + voice.say("verify_do_import"))
    return joined(parts)


def setbacks_json(report: Report, zone: str) -> list[dict[str, Any]]:
    """Return the rollbacks as JSON-safe objects; ``number`` null: no worker has told the store of it."""
    return [
        {
            "number": None if setback.is_untold else setback.number,
            "lost_from": stamp(setback.lost_from, zone),
            "lost_until": stamp(setback.lost_until, zone),
            "writers": list(setback.writers),
            "released": stamp(setback.released_at, zone),
            "released_by": setback.released_by,
            "successes_not_in_store": setback.unrecorded,
        }
        for setback in report.setbacks
    ]
