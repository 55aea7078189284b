"""The verb ``act``: carry out what a person asked for, with who and why on record.

Rule of the file: an act that comes too late is answered, not done.  A scheduled row that is still the frontier of its
series cannot be ended here, since only the engine can name its successor (I13): a cancel is noted on it and carried out
at its first look, a mark is refused.  One that a rollback holds was looked at, so it has none (``core.releasing``).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from noonmark.core import releasing, rollback
from noonmark.core.lifecycle import next_state
from noonmark.core.model import Act, Acted, AlertWrite, Event, JobRow, NewOccurrence, Origin, State
from noonmark.core.wellformed import MARKS
from noonmark.stores.postgres import activating, adding, alerts, claims, ending, facts
from noonmark.stores.postgres.desk import Desk, Wanted, lay
from noonmark.stores.postgres.rows import Line


def wanted(wish: Act) -> Wanted:
    """Return what the act is about."""
    if wish.kind in ("pause", "resume", "end_job"):
        name = wish.job or ""
        ends = wish.kind == "end_job"
        return Wanted(
            ids={row.occurrence_id for row in wish.passed},
            identities=adding.identities(wish.adds),
            series_of={name} if ends else (),
            keys=adding.claimed_keys(wish.adds),
            may_release=ends,
            jobs={name},
            changes_jobs=True,
            new_rows=len(wish.adds),
        )
    by_id = wish.occurrence_id is not None
    fact = {rollback.FACT} if wish.kind == "release" or (wish.kind in MARKS and wish.epochs is not None) else ()
    return Wanted(
        ids={wish.occurrence_id} if wish.occurrence_id is not None else (),
        with_keys={wish.key} if wish.key and not by_id else (),
        may_release=True,
        facts=fact if by_id or wish.kind in MARKS else (),
        written_facts=() if by_id or wish.kind in MARKS else fact,
        new_rows=int(wish.kind == "cancel" and not by_id),
    )


def act(desk: Desk, request_id: str, wish: Act) -> Acted:
    """Carry out one act; see the port."""
    if wish.kind == "cancel":
        return _cancel(desk, request_id, wish)
    if wish.kind == "release":
        return _release(desk, wish)
    if wish.kind == "retry":
        return _retry(desk, wish)
    if wish.kind in MARKS:
        return _mark(desk, wish)
    job = desk.job(wish.job or "")
    if job is None:
        return Acted(outcome="not_found")
    return _end_job(desk, job, wish) if wish.kind == "end_job" else _pause(desk, job, wish)


def _said(wish: Act) -> str:
    return json.dumps({"by": wish.actor, "reason": wish.reason}, ensure_ascii=False)


def _named(desk: Desk, wish: Act) -> Line | None:
    if wish.occurrence_id is not None:
        return desk.lines.get(wish.occurrence_id)
    holder = claims.holder(desk, wish.key) if wish.key else None
    return None if holder is None else desk.line_of(holder)


def _end_by(desk: Desk, line: Line, state: State, event: Event, code: str, wish: Act) -> None:
    ending.end(desk, line, state, code=code, detail=_said(wish), actor=wish.actor, note=wish.reason)
    ending.log_row(desk, line, event, actor=wish.actor)
    alerts.close_for(desk.tx, line.row.id)


# --- cancel ----------------------------------------------------------------------------------------


def _cancel(desk: Desk, request_id: str, wish: Act) -> Acted:
    targets = [line for line in _candidates(desk, wish) if next_state(line.row.state, Event.CANCEL) is not None]
    if targets:
        requested = [_cancel_row(desk, line, wish) for line in targets]
        ids = tuple(line.row.id for line in targets)
        return Acted(outcome="requested" if any(requested) else "done", ids=ids, state=targets[0].row.state)
    ended = _named(desk, wish)
    if ended is not None:
        return Acted(outcome="already_done", ids=(ended.row.id,), state=ended.row.state)
    if not wish.key:
        return Acted(outcome="not_found")
    return _hold_unknown_key(desk, request_id, wish, wish.key)


def _candidates(desk: Desk, wish: Act) -> list[Line]:
    if wish.occurrence_id is not None:
        line = desk.lines.get(wish.occurrence_id)
        return [] if line is None else [line]
    found = [line for line in desk.lines.values() if wish.key and line.row.key == wish.key]
    return sorted(found, key=lambda line: line.row.id)


def _cancel_row(desk: Desk, line: Line, wish: Act) -> bool:
    """End the row, or leave word for whoever can (True): only the holder of a run knows what it has done so far."""
    row = line.row
    claims.claim_if_free(desk, line)  # a cancel claims, too: a later create of the same thing must find it
    if not releasing.is_ours_to_end(row):
        row.cancel_requested, line.is_changed = True, True
        if row.frontier:  # it has no other actor, and the look that ends it will say whose wish it was
            row.actor, row.note = wish.actor, wish.reason
        ending.log(
            desk, row.id, row.job, "cancel_requested", code="cancel_requested", detail=_said(wish), fence=row.fence,
            revision=row.revision, actor=wish.actor,
        )  # fmt: skip
        return True
    _end_by(desk, line, State.CANCELLED, Event.CANCEL, "cancelled", wish)
    return False


def _hold_unknown_key(desk: Desk, request_id: str, wish: Act, key: str) -> Acted:
    new = NewOccurrence(
        job=wish.job or "",
        identity=f"x:{request_id}",
        key=key,
        scheduled_for=desk.now,
        due_at=desk.now,
        origin=Origin.CANCEL,
        claim=True,
        actor=wish.actor,
        note=wish.reason,
    )
    line = desk.line_of(adding.insert(desk, new).id)
    _end_by(desk, line, State.CANCELLED, Event.CANCEL, "cancelled_before_create", wish)
    return Acted(outcome="done", ids=(line.row.id,), state=State.CANCELLED)


# --- retry and marks -------------------------------------------------------------------------------


def _retry(desk: Desk, wish: Act) -> Acted:
    line = _named(desk, wish)
    if line is None:
        return Acted(outcome="not_found")
    row = line.row
    state = next_state(row.state, Event.RETRY)
    if state is None:
        return Acted(outcome="refused", ids=(row.id,), state=row.state)
    return _take_up(desk, line, state, Event.RETRY, "retried", wish)


def _release(desk: Desk, wish: Act) -> Acted:
    """Let a row go that a rollback held, or (no row named) let rollbacks go and close their alert once all are over."""
    value = _rollbacks(desk)
    if wish.occurrence_id is None:
        gone = releasing.let_go(value, wish, desk.now)
        if gone.value is not None:
            facts.write(desk, rollback.FACT, gone.value, wish.actor)
        if gone.is_over:
            alerts.write(desk.tx, AlertWrite(job="", kind=rollback.ALERT, level=0, code="", clear=True))
        return Acted(outcome=gone.outcome)
    line = _named(desk, wish)
    if line is None:
        return Acted(outcome="not_found")
    row = line.row
    state = next_state(row.state, Event.RELEASE)
    if state is None or not releasing.is_let_be(row) or not releasing.may_go(row, value, wish):
        return Acted(outcome="refused", ids=(row.id,), state=row.state)
    return _take_up(desk, line, state, Event.RELEASE, "released", wish)


def _rollbacks(desk: Desk) -> Any:
    """Return the value of the fact that lists them; None where the act does not ask for it."""
    fact = desk.facts.get(rollback.FACT)
    return None if fact is None or fact.value is None else json.loads(fact.value)


def _take_up(desk: Desk, line: Line, state: State, event: Event, code: str, wish: Act) -> Acted:
    row = line.row
    ending.forget_waiting(desk, line)
    job = desk.job(row.job)
    # Judged like a manual run: by today's rule and window, which whoever looks at it compiles anew.
    row.revision = job.revision if job is not None else row.revision
    row.state, row.due_at, row.ended_at, row.attempt, row.takeovers = state, desk.now, None, 0, 0
    # Whoever lets a row go does not take back what was cancelled: the look ends it, and says whose wish that was.
    row.cancel_requested = row.cancel_requested and event is Event.RELEASE
    row.not_before, row.not_after, row.expires_at, row.gated = None, None, None, True
    row.code, row.detail = code, _said(wish)
    if not row.cancel_requested:
        row.actor, row.note = wish.actor, wish.reason
    line.is_changed = True
    ending.log_row(desk, line, event, actor=wish.actor)
    return Acted(outcome="done", ids=(row.id,), state=state)


def _mark(desk: Desk, wish: Act) -> Acted:
    line = _named(desk, wish)
    if line is None:
        return Acted(outcome="not_found")
    row = line.row
    event, code = MARKS[wish.kind]
    state = releasing.marked(row, event)
    if state is None or not releasing.may_go(row, _rollbacks(desk), wish):
        done = event is Event.MARK_DONE and row.state is State.SUCCESS
        return Acted(outcome="already_done" if done else "refused", ids=(row.id,), state=row.state)
    other = claims.claim_if_free(desk, line)
    if state is State.SUCCESS:
        if other is not None:
            return Acted(outcome="refused", ids=(other,), state=State(desk.state_of(other) or "SUCCESS"))
        name = f"success:{row.job}:{row.subject}:{row.business_date}"
        lay(desk, Wanted(written_facts={name}))
        facts.write(desk, name, True, wish.actor)
    if row.state is State.SKIPPED:
        row.verdict = ""  # else its end would give the key back
    _end_by(desk, line, state, event, code, wish)
    return Acted(outcome="done", ids=(row.id,), state=state)


# --- whole jobs ------------------------------------------------------------------------------------


def _pause(desk: Desk, job: JobRow, wish: Act) -> Acted:
    pause = wish.kind == "pause"
    if job.paused is pause:
        return Acted(outcome="already_done")
    job = replace(job, paused=pause, pause_version=job.pause_version + 1)
    if pause:
        job = replace(job, paused_at=desk.now, resumed_at=None, pause_reason=wish.reason)
    else:
        job = replace(job, resumed_at=desk.now)
    desk.changed_jobs[job.name] = job
    desk.tx.count("rules_version")
    desk.wakes.add(f"pause:{job.name}")
    _log_job(desk, job, wish)
    return Acted(outcome="done")


def _end_job(desk: Desk, job: JobRow, wish: Act) -> Acted:
    if not job.rule:
        return Acted(outcome="already_done")
    if not activating.are_frontiers(desk, wish.passed):
        return Acted(outcome="refused")
    until = desk.now if wish.effective_at is None else min(wish.effective_at, desk.now)
    ended = replace(job, rule="", digest="", revision=job.revision + 1, effective_at=until, event="")
    activating.put(desk, ended, wish.actor)
    activating.leave(desk, ended, wish.passed, [replace(new, gated=True) for new in wish.adds], wish.actor)
    activating.meet(desk, ended, (), workers=None, actor=wish.actor)
    _log_job(desk, ended, wish)
    return Acted(outcome="done")


def _log_job(desk: Desk, job: JobRow, wish: Act) -> None:
    ending.log(desk, 0, job.name, wish.kind, detail=_said(wish), revision=job.revision, actor=wish.actor)
