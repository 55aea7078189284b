"""A run whose lease ended: takes over, waits, or asks a person.

Promise: a run that was lost too often, or whose rule forbids it, never starts by itself again; every other one starts
again under a new fence, at the latest one lease after a holder that seems to be alive was told to stop.  Rule of the
file: pure judgement; by now the store has raised the fence, so the old holder is harmless whatever is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from noonmark.core import rollback
from noonmark.core.answers import Look
from noonmark.core.decide import CHECKS
from noonmark.core.model import Check, Decision, Event, Fact, Job, Micros, Occurrence, Story, Verdict
from noonmark.core.values import dataclass

HAS_WAITED = frozenset({"holder_alive", "lock_wait", "lock_away"})
"""Codes of a lapsed row that say that its holder, if it was alive, had its lease of time already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who held the lease: ``alive`` None = not known; ``waited`` True when one lease has passed since it was asked."""

    alive: bool | None = None
    waited: bool = False
    name: str = ""


def last_holder(story: Story | None) -> str:
    """Return who held the run that lapsed: the take that found it has put its own name on the row."""
    lost = [attempt for attempt in story.attempts if attempt.outcome == "lost"] if story is not None else []
    return max(lost, key=lambda attempt: attempt.fence).worker if lost else ""


def judge(
    job: Job, row: Occurrence, holder: Holder, facts: Mapping[str, Fact] | None = None, now: Micros = 0
) -> Decision:
    """Decide about a RUNNING row whose lease ended.

    Args:
        job: the rule in force.
        row: the occurrence as looked at, this loss counted in ``row.takeovers``.
        holder: what is known about who held it.
        facts: ``pause:JOB``, the job's outside lock and a rollback of the store, where known, hold back the takeover.
        now: the store's time.

    Returns:
        A decision with event CANCEL, FAIL_MANUAL, MISS, PARK (with ``recheck_at``) or TAKEOVER.
    """
    said: dict[str, Any] = {"holder": holder.name, "lost": row.takeovers, "max": job.max_takeovers}
    if row.cancel_requested:
        return _decision(Event.CANCEL, Verdict.SKIP_LEASE, "cancelled", {"by": row.actor, "reason": row.note})
    if row.takeovers > job.max_takeovers:
        return _decision(Event.FAIL_MANUAL, Verdict.SKIP_LEASE, "poison", said)
    if job.on_lost == "manual":
        return _decision(Event.FAIL_MANUAL, Verdict.SKIP_LEASE, "lost_manual", said)
    look = Look(job=job, row=row, facts=facts or {}, now=now)
    lost = look.facts.get(rollback.FACT)
    held = rollback.held(job, row, lost, now)
    if held is not None:
        return held
    if job.on_lost == "wait":
        return _wait(job, row, said, now)
    _, closes = look.bounds
    if closes is not None and now >= closes:
        detail = {"closes": closes, "zone": job.tz, "last": "lost"}
        return _decision(Event.MISS, Verdict.SKIP_WINDOW, "window_closed", detail)
    if holder.alive and not holder.waited:
        recheck_at = now + job.lease if closes is None else min(now + job.lease, closes)
        return _decision(Event.PARK, Verdict.SKIP_LEASE, "holder_alive", said, recheck_at=recheck_at)
    held_back = _held_back(look)
    if held_back is not None:
        if closes is not None and held_back.recheck_at is not None:
            held_back = replace(held_back, recheck_at=min(held_back.recheck_at, closes))
        return held_back
    taken_over = _decision(Event.TAKEOVER, Verdict.SHOULD_RUN, "taken_over", said)
    return rollback.flagged(taken_over, job, row, lost)


def _wait(job: Job, row: Occurrence, said: Mapping[str, Any], now: Micros) -> Decision:
    ends = (row.started_at if row.started_at is not None else now) + job.timeout
    if now >= ends:
        return _decision(Event.FAIL_MANUAL, Verdict.SKIP_LEASE, "timed_out", {**said, "timeout": job.timeout})
    return _decision(Event.PARK, Verdict.SKIP_LEASE, "lost", {**said, "until": ends}, recheck_at=ends)


def _held_back(look: Look) -> Decision | None:
    """A takeover is a start, so a pause, the calendar and an outside lock bind it; they delay it: the run was wanted."""
    for name, verdict, check in CHECKS:
        if name not in ("paused", "guard", "lock"):
            continue
        answer = check(look)
        if answer.event is not None:
            return Decision(
                verdict=answer.verdict or verdict,
                event=answer.event,
                code=answer.code,
                detail=answer.detail,
                checks=(answer.as_check(name),),
                recheck_at=answer.recheck_at,
                seen=answer.versions,
            )
    return None


def _decision(
    event: Event, verdict: Verdict, code: str, detail: Mapping[str, Any], *, recheck_at: Micros | None = None
) -> Decision:
    said = {name: value for name, value in detail.items() if value not in ("", None)}
    seen = said.get("holder", "")
    check = Check(name="lease", passed=event is Event.TAKEOVER, wanted="nobody holds it", seen=f"{code} {seen}".strip())
    return Decision(verdict=verdict, event=event, code=code, detail=said, checks=(check,), recheck_at=recheck_at)
