"""From a finished run to the settlement that records it.

Promise: every way in which a run can end has exactly one outcome here; the policy (retry or ask a person, which alerts)
is core's.

Rule of the file: no waiting, no store; values in, values out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from noonmark.core.conditions import freed_fact, success_fact
from noonmark.core.escalate import alerts_for
from noonmark.core.model import AlertWrite, Event, FactWrite, Micros, Occurrence, Settlement, Verdict
from noonmark.core.retry import after_failure
from noonmark.core.values import dataclass
from noonmark.engine.rules import Rules
from noonmark.engine.runs import Finish, tail

_WHY = 300
"""How much is said of why a store refused something, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocked:
    """What an outcome may depend on besides the run itself."""

    now: Micros
    dice: Callable[[], float]


def settlement(finish: Finish, rules: Rules, clocked: Clocked) -> Settlement | None:
    """Return what to record; None for a run that is no longer ours, which the look at its lapsed row will judge.

    A success is offered even then, for a lapsed lease that nobody has looked at may still settle, and the fence alone
    decides; but what a job returns after it noticed that it must stop is no success, it only gave way.
    """
    run = finish.run
    if finish.ok and not run.saw_stop:
        return _success(finish, rules)
    if run.stop_reason == "handed_back":
        return hand_back(finish, clocked.now)
    if run.stop_reason == "cancelled":
        return _ended(finish, Event.CANCEL, "cancelled")
    if run.stop_reason == "lost" or (run.lost and run.stop_reason not in ("timed_out", "lock_lost")):
        return None
    return _failure(finish, clocked)


def hand_back(finish: Finish, now: Micros) -> Settlement:
    """Give the run back, due now, its attempt not counted; after effects began only a person may say so."""
    run = finish.run
    if run.effects:
        detail = {"handed_back": True}
        return _ended(finish, Event.FAIL_MANUAL, "effects_started", detail=detail)
    return Settlement(occurrence_id=run.row.id, fence=run.fence, event=Event.HAND_BACK, due_at=now, code="handed_back")


def plain_outcome(finish: Finish) -> Settlement:
    """Return the outcome without anything that has to be worked out: the last resort."""
    run = finish.run
    is_success = finish.ok and not run.saw_stop
    return Settlement(
        occurrence_id=run.row.id,
        fence=run.fence,
        event=Event.SUCCEED if is_success else Event.FAIL_MANUAL,
        verdict=Verdict.SHOULD_RUN,
        code="succeeded" if is_success else "failed_final",
        result=finish.result,
        error=finish.error,
    )


def lesser(finish: Finish, item: Settlement, why: str) -> tuple[Settlement, ...]:
    """Return what may still be recorded of an outcome that a store refused, from the most to the least."""
    is_success = item.event is Event.SUCCEED
    detail = json.dumps({"why" if is_success else "error": tail(why, _WHY)}, ensure_ascii=False)
    most = replace(item, result=None, error=_shortened(item.error), detail=detail, alerts=(), ledger=True)
    least = replace(plain_outcome(finish), result=None, error=_shortened(finish.error), detail=detail)
    if is_success:
        return replace(most, code="result_not_stored"), replace(least, code="result_not_stored")
    return most, least


def _shortened(error: str | None) -> str | None:
    return None if error is None else tail(error)


def _success(finish: Finish, rules: Rules) -> Settlement:
    run = finish.run
    row = run.row
    facts = _lock_freed(finish)
    if rules.raises_success(run.job):
        facts = (*facts, FactWrite(name=success_fact(run.job, row), value=True, actor=row.run_id))
    return Settlement(
        occurrence_id=row.id,
        fence=run.fence,
        event=Event.SUCCEED,
        verdict=Verdict.SHOULD_RUN,
        code=finish.code,
        detail=json.dumps(dict(finish.detail), ensure_ascii=False) if finish.detail else "{}",
        ledger=not run.quiet or finish.code != "succeeded",
        facts=facts,
        alerts=alerts_for(run.job, row, Event.SUCCEED, finish.code, {}),
        result=finish.result,
    )


def _failure(finish: Finish, clocked: Clocked) -> Settlement:
    run = finish.run
    code = run.stop_reason if run.stop_reason in ("timed_out", "lock_lost") else finish.code
    retryable = finish.retryable and not run.effects
    outcome = after_failure(
        run.job,
        run.row,
        retryable=retryable,
        retry_after=finish.retry_after,
        dice=clocked.dice(),
        now=clocked.now,
    )
    if run.effects and finish.retryable:
        code = "effects_started"
    if code == "timed_out" and run.abandoned:
        code = "timed_out_running"
    if outcome.event is Event.FAIL_RETRY or not code:
        code = outcome.code
    detail: dict[str, Any] = {**outcome.detail, **finish.detail}
    if run.stop_reason == "timed_out":
        detail["timeout"] = run.job.timeout
    if run.stop_reason == "lock_lost":
        detail |= {"lock": run.hold.name, "error": f"its outside lock {run.hold.name} was lost while it ran"}
    return _ended(finish, outcome.event, code, due_at=outcome.due_at, detail=detail)


def _ended(
    finish: Finish, event: Event, code: str, *, due_at: Micros | None = None, detail: dict[str, Any] | None = None
) -> Settlement:
    run = finish.run
    said = detail or {}
    return Settlement(
        occurrence_id=run.row.id,
        fence=run.fence,
        event=event,
        due_at=due_at,
        verdict=Verdict.SHOULD_RUN,
        code=code,
        detail=json.dumps(said, ensure_ascii=False, default=str),
        facts=_lock_freed(finish),
        alerts=alerts(finish, event, code, said),
        error=finish.error or f"it returned after it was told to stop ({run.stop_reason})",
    )


def _lock_freed(finish: Finish) -> tuple[FactWrite, ...]:
    """Return the fact that wakes who waits for this run's lock: it is given back as soon as the outcome is recorded."""
    hold, row = finish.run.hold, finish.run.row
    if hold is None or finish.run.abandoned:
        return ()
    return (FactWrite(name=freed_fact(hold.name), value=True, actor=row.run_id),)


def alerts(finish: Finish, event: Event, code: str, detail: dict[str, Any]) -> tuple[AlertWrite, ...]:
    """Return the alerts of a failure, each with the error in one line."""
    row: Occurrence = finish.run.row
    return alerts_for(finish.run.job, row, event, code, detail)
