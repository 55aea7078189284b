"""``act``: carry out what a person asked for, with who and why on record.

Rule of the file: a scheduled row that is still the frontier of its series is not ended here, since only the engine can
name its successor (I13): a cancel is noted on it and carried out at its first look, a mark is refused.  One that a
rollback holds was looked at, so it has none (``core.releasing``).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from noonmark.core import releasing, rollback
from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    Act,
    Acted,
    AlertWrite,
    Event,
    FactWrite,
    JobRow,
    Micros,
    NewOccurrence,
    Occurrence,
    Origin,
    State,
)
from noonmark.core.wellformed import MARKS
from noonmark.stores.memory import alerts
from noonmark.stores.memory.activating import are_frontiers, leave, meet, put
from noonmark.stores.memory.tables import Tables


def act(tables: Tables, request_id: str, wish: Act, now: Micros) -> Acted:
    """Carry out one act."""
    if wish.kind == "cancel":
        return _cancel(tables, request_id, wish, now)
    if wish.kind == "retry":
        return _retry(tables, wish, now)
    if wish.kind == "release":
        return _release(tables, wish, now)
    if wish.kind in MARKS:
        return _mark(tables, wish, now)
    job = tables.jobs.get(wish.job or "")
    if job is None:
        return Acted(outcome="not_found")
    if wish.kind in ("pause", "resume"):
        return _pause(tables, job, wish, now)
    return _end_job(tables, job, wish, now)


# --- cancel ----------------------------------------------------------------------------------------


def _cancel(tables: Tables, request_id: str, wish: Act, now: Micros) -> Acted:
    targets = _targets(tables, wish)
    if targets:
        requested = [_cancel_row(tables, row, wish, now) for row in targets]
        ids = tuple(row.id for row in targets)
        return Acted(outcome="requested" if any(requested) else "done", ids=ids, state=tables.rows[ids[0]].state)
    ended = _named(tables, wish)
    if ended is not None:
        return Acted(outcome="already_done", ids=(ended.id,), state=ended.state)
    if not wish.key:
        return Acted(outcome="not_found")
    return _hold_unknown_key(tables, request_id, wish, wish.key, now)


def _targets(tables: Tables, wish: Act) -> list[Occurrence]:
    """Return the rows that a cancel can still end: every open one with the key, and failed ones awaiting a person."""
    if wish.occurrence_id is not None:
        candidates = [tables.rows[wish.occurrence_id]] if wish.occurrence_id in tables.rows else []
    else:
        candidates = [row for row in tables.rows.values() if wish.key and row.key == wish.key]
    return [row for row in candidates if next_state(row.state, Event.CANCEL) is not None]


def _cancel_row(tables: Tables, row: Occurrence, wish: Act, now: Micros) -> bool:
    """End the row, or leave word for whoever can (True): only the holder of a run knows what it has done so far."""
    tables.claim(row)  # a cancel claims, too: a later create of the same thing must find it
    if not releasing.is_ours_to_end(row):
        tables.change(row.id, cancel_requested=True)
        if row.frontier:  # it has no other actor, and the look that ends it will say whose wish it was
            tables.change(row.id, actor=wish.actor, note=wish.reason)
        said = {"verdict": "", "code": "cancel_requested", "detail": _said("", wish)["detail"]}
        tables.log(row.id, now, event="cancel_requested", actor=wish.actor, said=said)
        return True
    _end_by(tables, row, State.CANCELLED, Event.CANCEL, "cancelled", wish, now)
    return False


def _hold_unknown_key(tables: Tables, request_id: str, wish: Act, key: str, now: Micros) -> Acted:
    new = NewOccurrence(
        job=wish.job or "",
        identity=f"x:{request_id}",
        key=key,
        scheduled_for=now,
        due_at=now,
        origin=Origin.CANCEL,
        claim=True,
        actor=wish.actor,
        note=wish.reason,
    )
    row = tables.rows[tables.insert(new, now).id]
    _end_by(tables, row, State.CANCELLED, Event.CANCEL, "cancelled_before_create", wish, now)
    return Acted(outcome="done", ids=(row.id,), state=State.CANCELLED)


# --- retry and marks -------------------------------------------------------------------------------


def _retry(tables: Tables, wish: Act, now: Micros) -> Acted:
    row = _named(tables, wish)
    if row is None:
        return Acted(outcome="not_found")
    state = next_state(row.state, Event.RETRY)
    if state is None:
        return Acted(outcome="refused", ids=(row.id,), state=row.state)
    return _take_up(tables, row, state, Event.RETRY, "retried", wish, now)


def _release(tables: Tables, wish: Act, now: Micros) -> Acted:
    """Let a row go that a rollback held, or (no row named) let rollbacks go and close their alert once all are over."""
    fact = tables.facts.get(rollback.FACT)
    value = fact.value if fact is not None else None
    if wish.occurrence_id is None:
        gone = releasing.let_go(value, wish, now)
        if gone.value is not None:
            tables.set_fact(FactWrite(name=rollback.FACT, value=gone.value, actor=wish.actor), now)
        if gone.is_over:
            alerts.write(tables, AlertWrite(job="", kind=rollback.ALERT, level=0, code="", clear=True), now)
        return Acted(outcome=gone.outcome)
    row = _named(tables, wish)
    if row is None:
        return Acted(outcome="not_found")
    state = next_state(row.state, Event.RELEASE)
    if state is None or not releasing.is_let_be(row) or not releasing.may_go(row, value, wish):
        return Acted(outcome="refused", ids=(row.id,), state=row.state)
    return _take_up(tables, row, state, Event.RELEASE, "released", wish, now)


def _take_up(tables: Tables, row: Occurrence, state: State, event: Event, code: str, wish: Act, now: Micros) -> Acted:
    tables.stop_waiting(row.id)
    job = tables.jobs.get(row.job)
    said: dict[str, Any] = _said(code, wish)
    # Whoever lets a row go does not take back what was cancelled: the look ends it, and says whose wish that was.
    is_cancelled = row.cancel_requested and event is Event.RELEASE
    if is_cancelled:
        said |= {"actor": row.actor, "note": row.note}
    tables.change(
        row.id,
        state=state,
        due_at=now,
        ended_at=None,
        attempt=0,
        takeovers=0,
        cancel_requested=is_cancelled,
        # Judged like a manual run: by today's rule and window, which whoever looks at it compiles anew.
        not_before=None,
        not_after=None,
        expires_at=None,
        gated=True,
        revision=job.revision if job is not None else row.revision,
        **said,
    )
    tables.log(row.id, now, event=event, actor=wish.actor)
    return Acted(outcome="done", ids=(row.id,), state=state)


def _mark(tables: Tables, wish: Act, now: Micros) -> Acted:
    row = _named(tables, wish)
    if row is None:
        return Acted(outcome="not_found")
    event, code = MARKS[wish.kind]
    lost = tables.facts.get(rollback.FACT)
    state = releasing.marked(row, event)
    if state is None or not releasing.may_go(row, lost.value if lost is not None else None, wish):
        done = event is Event.MARK_DONE and row.state is State.SUCCESS
        return Acted(outcome="already_done" if done else "refused", ids=(row.id,), state=row.state)
    held_by_another = tables.claim(row)
    if state is State.SUCCESS:
        if held_by_another is not None:
            return Acted(outcome="refused", ids=(held_by_another,), state=tables.rows[held_by_another].state)
        fact = FactWrite(name=f"success:{row.job}:{row.subject}:{row.business_date}", value=True, actor=wish.actor)
        tables.set_fact(fact, now)
    if row.state is State.SKIPPED:
        row = tables.change(row.id, verdict="")  # else its end would give the key back
    _end_by(tables, row, state, event, code, wish, now)
    return Acted(outcome="done", ids=(row.id,), state=state)


def _named(tables: Tables, wish: Act) -> Occurrence | None:
    if wish.occurrence_id is not None:
        return tables.rows.get(wish.occurrence_id)
    return tables.holder(wish.key) if wish.key is not None else None


def _end_by(tables: Tables, row: Occurrence, state: State, event: Event, code: str, wish: Act, now: Micros) -> None:
    tables.end(row.id, state, now, **_said(code, wish))
    tables.log(row.id, now, event=event, actor=wish.actor)
    alerts.close(tables, row.id, now)


def _said(code: str, wish: Act) -> dict[str, str]:
    detail = json.dumps({"by": wish.actor, "reason": wish.reason}, ensure_ascii=False)
    return {"code": code, "detail": detail, "actor": wish.actor, "note": wish.reason}


# --- whole jobs ------------------------------------------------------------------------------------


def _pause(tables: Tables, job: JobRow, wish: Act, now: Micros) -> Acted:
    pause = wish.kind == "pause"
    if job.paused is pause:
        return Acted(outcome="already_done")
    tables.jobs[job.name] = replace(
        job,
        paused=pause,
        pause_version=job.pause_version + 1,
        pause_reason=wish.reason if pause else job.pause_reason,
        paused_at=now if pause else job.paused_at,
        resumed_at=None if pause else now,
    )
    tables.rules_version += 1
    tables.wakes[f"pause:{job.name}"] = None
    _log_job(tables, job, wish, now)
    return Acted(outcome="done")


def _end_job(tables: Tables, job: JobRow, wish: Act, now: Micros) -> Acted:
    if not job.rule:
        return Acted(outcome="already_done")
    if not are_frontiers(tables, wish.passed):
        return Acted(outcome="refused")
    until = now if wish.effective_at is None else min(wish.effective_at, now)
    ended = replace(job, rule="", digest="", revision=job.revision + 1, effective_at=until, event="")
    put(tables, ended, actor=wish.actor, now=now)
    adds = [replace(new, gated=True) for new in wish.adds]
    leave(tables, ended, wish.passed, adds, actor=wish.actor, now=now)
    meet(tables, ended, (), workers=None, actor=wish.actor, now=now)
    _log_job(tables, ended, wish, now)
    return Acted(outcome="done")


def _log_job(tables: Tables, job: JobRow, wish: Act, now: Micros) -> None:
    tables.log_job(job, now, event=wish.kind, detail=_said("", wish)["detail"], actor=wish.actor)
