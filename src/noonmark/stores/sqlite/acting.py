"""The verb ``act``: carry out what a person asked for, with who and why on record.

Rule of the file: an act that comes too late is answered, not done.  A scheduled row that is still the frontier of its
series cannot be ended here, since only the engine can name its successor (I13): a cancel is noted on it and carried out
at its first look, a mark is refused.  One that a rollback holds was looked at, so it has none (``core.releasing``).
"""

from __future__ import annotations

import json
from dataclasses import replace

from noonmark.core import releasing, rollback
from noonmark.core.lifecycle import next_state
from noonmark.core.model import Act, Acted, AlertWrite, Event, JobRow, NewOccurrence, Origin, State
from noonmark.core.wellformed import MARKS
from noonmark.stores.sqlite import activating, adding, alerts, claims, ending, facts, ledger
from noonmark.stores.sqlite.ending import Line
from noonmark.stores.sqlite.transaction import Transaction

_RETRY = (
    "UPDATE occurrence SET state = 'PENDING', due_at = ?, ended_at = NULL, attempt = 0, takeovers = 0,"
    " cancel_requested = ?, not_before = NULL, not_after = NULL, expires_at = NULL, gated = 1, revision = ?,"
    " code = ?, detail = ?, actor = ?, note = ?, waits = 0 WHERE id = ?"
)
_WITH_KEY = "SELECT id FROM occurrence INDEXED BY occurrence_key WHERE key = ? AND key <> '' ORDER BY id"


def act(tx: Transaction, request_id: str, wish: Act) -> Acted:
    """Carry out one act; see the port."""
    acted = _act(tx, request_id, wish)
    claims.pass_slots_on(tx)
    return acted


def _act(tx: Transaction, request_id: str, wish: Act) -> Acted:
    if wish.kind == "cancel":
        return _cancel(tx, request_id, wish)
    if wish.kind == "release":
        return _release(tx, wish)
    if wish.kind == "retry":
        return _retry(tx, wish)
    if wish.kind in MARKS:
        return _mark(tx, wish)
    job = activating.find_job(tx.connection, wish.job or "")
    if job is None:
        return Acted(outcome="not_found")
    return _end_job(tx, job, wish) if wish.kind == "end_job" else _pause(tx, job, wish)


def _said(wish: Act) -> str:
    return json.dumps({"by": wish.actor, "reason": wish.reason}, ensure_ascii=False)


def _named(tx: Transaction, wish: Act) -> Line | None:
    if wish.occurrence_id is not None:
        return ending.load(tx, wish.occurrence_id)
    holder = claims.holder(tx, wish.key) if wish.key else None
    return None if holder is None else ending.load(tx, holder)


def _end_by(
    tx: Transaction, line: Line, state: State, event: Event, code: str, wish: Act, verdict: str | None = None
) -> None:
    ending.end(tx, line, state, verdict=verdict, code=code, detail=_said(wish), actor=wish.actor, note=wish.reason)
    ledger.append_row(tx, line.row.id, event, actor=wish.actor)
    alerts.close_for(tx, line.row.id)


# --- cancel ----------------------------------------------------------------------------------------


def _cancel(tx: Transaction, request_id: str, wish: Act) -> Acted:
    targets = [line for line in _candidates(tx, wish) if next_state(line.row.state, Event.CANCEL) is not None]
    if targets:
        requested = [_cancel_row(tx, line, wish) for line in targets]
        first = ending.load(tx, targets[0].row.id)
        assert first is not None, "changed a moment ago in this transaction"
        ids = tuple(line.row.id for line in targets)
        return Acted(outcome="requested" if any(requested) else "done", ids=ids, state=first.row.state)
    ended = _named(tx, wish)
    if ended is not None:
        return Acted(outcome="already_done", ids=(ended.row.id,), state=ended.row.state)
    if not wish.key:
        return Acted(outcome="not_found")
    return _hold_unknown_key(tx, request_id, wish, wish.key)


def _candidates(tx: Transaction, wish: Act) -> list[Line]:
    if wish.occurrence_id is not None:
        ids = [wish.occurrence_id]
    else:
        ids = [row[0] for row in tx.execute(_WITH_KEY, (wish.key or "",)).fetchall()]
    lines = [ending.load(tx, occurrence_id) for occurrence_id in ids]
    return [line for line in lines if line is not None]


def _cancel_row(tx: Transaction, line: Line, wish: Act) -> bool:
    """End the row, or leave word for whoever can (True): only the holder of a run knows what it has done so far."""
    row = line.row
    ending.claim_if_free(tx, row)  # a cancel claims, too: a later create of the same thing must find it
    if not releasing.is_ours_to_end(row):
        tx.execute("UPDATE occurrence SET cancel_requested = 1 WHERE id = ?", (row.id,))
        if row.frontier:  # it has no other actor, and the look that ends it will say whose wish it was
            tx.execute("UPDATE occurrence SET actor = ?, note = ? WHERE id = ?", (wish.actor, wish.reason, row.id))
        ledger.append(
            tx, row.id, row.job, "cancel_requested", code="cancel_requested", detail=_said(wish), fence=row.fence,
            revision=row.revision, actor=wish.actor,
        )  # fmt: skip
        return True
    _end_by(tx, line, State.CANCELLED, Event.CANCEL, "cancelled", wish)
    return False


def _hold_unknown_key(tx: Transaction, request_id: str, wish: Act, key: str) -> Acted:
    new = NewOccurrence(
        job=wish.job or "",
        identity=f"x:{request_id}",
        key=key,
        scheduled_for=tx.now,
        due_at=tx.now,
        origin=Origin.CANCEL,
        claim=True,
        actor=wish.actor,
        note=wish.reason,
    )
    line = ending.load(tx, adding.insert(tx, new).id)
    assert line is not None, "added a moment ago in this transaction"
    _end_by(tx, line, State.CANCELLED, Event.CANCEL, "cancelled_before_create", wish)
    return Acted(outcome="done", ids=(line.row.id,), state=State.CANCELLED)


# --- retry and marks -------------------------------------------------------------------------------


def _retry(tx: Transaction, wish: Act) -> Acted:
    line = _named(tx, wish)
    if line is None:
        return Acted(outcome="not_found")
    row = line.row
    state = next_state(row.state, Event.RETRY)
    if state is None:
        return Acted(outcome="refused", ids=(row.id,), state=row.state)
    return _take_up(tx, line, state, Event.RETRY, "retried", wish)


def _release(tx: Transaction, wish: Act) -> Acted:
    """Let a row go that a rollback held, or (no row named) let rollbacks go and close their alert once all are over."""
    value = facts.read(tx.connection, rollback.FACT).value
    if wish.occurrence_id is None:
        gone = releasing.let_go(value, wish, tx.now)
        if gone.value is not None:
            facts.write(tx, rollback.FACT, gone.value, wish.actor)
        if gone.is_over:
            alerts.write(tx, AlertWrite(job="", kind=rollback.ALERT, level=0, code="", clear=True))
        return Acted(outcome=gone.outcome)
    line = _named(tx, wish)
    if line is None:
        return Acted(outcome="not_found")
    row = line.row
    state = next_state(row.state, Event.RELEASE)
    if state is None or not releasing.is_let_be(row) or not releasing.may_go(row, value, wish):
        return Acted(outcome="refused", ids=(row.id,), state=row.state)
    return _take_up(tx, line, state, Event.RELEASE, "released", wish)


def _take_up(tx: Transaction, line: Line, state: State, event: Event, code: str, wish: Act) -> Acted:
    row = line.row
    if line.waits:
        facts.forget_waiting(tx, row.id)
    job = activating.find_job(tx.connection, row.job)
    # Judged like a manual run: by today's rule and window, which whoever looks at it compiles anew.
    revision = job.revision if job is not None else row.revision
    # Whoever lets a row go does not take back what was cancelled: the look ends it, and says whose wish that was.
    is_cancelled = row.cancel_requested and event is Event.RELEASE
    actor, note = (row.actor, row.note) if is_cancelled else (wish.actor, wish.reason)
    tx.execute(_RETRY, (tx.now, int(is_cancelled), revision, code, _said(wish), actor, note, row.id))
    tx.moved(row.state, state)
    tx.due(tx.now, row.worker)
    ledger.append_row(tx, row.id, event, actor=wish.actor)
    return Acted(outcome="done", ids=(row.id,), state=state)


def _mark(tx: Transaction, wish: Act) -> Acted:
    line = _named(tx, wish)
    if line is None:
        return Acted(outcome="not_found")
    row = line.row
    event, code = MARKS[wish.kind]
    state = releasing.marked(row, event)
    if state is None or not releasing.may_go(row, facts.read(tx.connection, rollback.FACT).value, wish):
        done = event is Event.MARK_DONE and row.state is State.SUCCESS
        return Acted(outcome="already_done" if done else "refused", ids=(row.id,), state=row.state)
    other = ending.claim_if_free(tx, row)
    if state is State.SUCCESS:
        if other is not None:
            return Acted(outcome="refused", ids=(other,), state=_state_of(tx, other))
        facts.write(tx, f"success:{row.job}:{row.subject}:{row.business_date}", True, wish.actor)
    # A superseded one would give its key back.
    _end_by(tx, line, state, event, code, wish, "" if row.state is State.SKIPPED else None)
    return Acted(outcome="done", ids=(row.id,), state=state)


def _state_of(tx: Transaction, holder: int) -> State:
    """Return the state of the row that holds a key; a claim outlives its row, once that succeeded."""
    line = ending.load(tx, holder)
    return line.row.state if line is not None else State.SUCCESS


# --- whole jobs ------------------------------------------------------------------------------------


def _pause(tx: Transaction, job: JobRow, wish: Act) -> Acted:
    pause = wish.kind == "pause"
    if job.paused is pause:
        return Acted(outcome="already_done")
    if pause:
        tx.execute(
            "UPDATE job SET paused = 1, pause_version = pause_version + 1, paused_at = ?, resumed_at = NULL,"
            " pause_reason = ? WHERE name = ?",
            (tx.now, wish.reason, job.name),
        )
    else:
        tx.execute(
            "UPDATE job SET paused = 0, pause_version = pause_version + 1, resumed_at = ? WHERE name = ?",
            (tx.now, job.name),
        )
    tx.count("rules_version")
    facts.wake(tx, f"pause:{job.name}")
    _log_job(tx, job, wish)
    return Acted(outcome="done")


def _end_job(tx: Transaction, job: JobRow, wish: Act) -> Acted:
    if not job.rule:
        return Acted(outcome="already_done")
    if not activating.are_frontiers(tx, wish.passed):
        return Acted(outcome="refused")
    until = tx.now if wish.effective_at is None else min(wish.effective_at, tx.now)
    ended = replace(job, rule="", digest="", revision=job.revision + 1, effective_at=until, event="")
    activating.put(tx, ended, wish.actor)
    activating.leave(tx, ended, wish.passed, [replace(new, gated=True) for new in wish.adds], wish.actor)
    activating.meet(tx, ended, (), workers=None, actor=wish.actor)
    _log_job(tx, ended, wish)
    return Acted(outcome="done")


def _log_job(tx: Transaction, job: JobRow, wish: Act) -> None:
    ledger.append(tx, 0, job.name, wish.kind, detail=_said(wish), revision=job.revision, actor=wish.actor)
