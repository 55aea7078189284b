"""Decisions that no rule makes: rows put aside because this worker, or this version, can do nothing with them.

Rule of the file: each one parks, with a reason and a moment to look again; whatever parks a row that may have run in
what the store lost, the rollbacks are among what was seen.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from noonmark.core import rollback
from noonmark.core.model import MINUTE, SECOND, Decision, Event, Fact, JobRow, Micros, Occurrence, Verdict
from noonmark.engine.runs import named

NO_HANDLER_RECHECK: Micros = 15 * SECOND
ENDED_RECHECK: Micros = MINUTE
"""What is queued for an ended job waits for a person, or for the job's return."""


def parked(decision: Decision, code: str, detail: Any, until: Micros) -> Decision:
    """Return a decision turned into waiting; a skip keeps its verdict."""
    return replace(
        decision,
        verdict=Verdict.SKIP_LEASE if decision.event is not Event.SKIP else decision.verdict,
        event=Event.PARK,
        code=code,
        detail=detail,
        recheck_at=until,
    )


def unreadable(row: Occurrence, job_row: JobRow | None, now: Micros) -> Decision:
    """Return what becomes of a row whose rule cannot be read here, or was ended."""
    code, wait = "handler_missing", NO_HANDLER_RECHECK
    if job_row is not None:
        code, wait = ("rule_unreadable", wait) if job_row.rule else ("job_ended", ENDED_RECHECK)
    return Decision(
        verdict=Verdict.SKIP_LEASE,
        event=Event.PARK,
        code=code,
        detail={"job": row.job},
        recheck_at=now + wait,
    )


def broken(error: Exception, now: Micros) -> Decision:
    """Return what becomes of a row at which our own code failed."""
    return Decision(
        verdict=Verdict.SKIP_LEASE,
        event=Event.PARK,
        code="rule_unreadable",
        detail={"error": named(error)},
        recheck_at=now + NO_HANDLER_RECHECK,
    )


def seen_by(decision: Decision, row: Occurrence, lost: Fact | None) -> dict[str, int]:
    """Return the facts that a decision saw, with the rollbacks (``lost``) where a row of a lost range waits."""
    if lost is None or decision.event is not Event.PARK or rollback.epoch_of(row, lost) is None:
        return dict(decision.seen)
    return {**decision.seen, lost.name: lost.version}


def json_of(detail: Any) -> str:
    """Return a decision's detail as the ledger keeps it."""
    return json.dumps(dict(detail), ensure_ascii=False, default=str) if detail else "{}"
