"""How a row ends, and what is written down about it: the same for a settlement, a person's act and a new revision.

Rule of the file: an end leaves nothing behind that could hold up another row: no due moment, no slot, no waiting; and
no key, where the rule itself took the moment back.  Ledger lines are never changed, except that a look which saw the same
as the one before it only counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from noonmark.core import escalate
from noonmark.core.lifecycle import ATTEMPT_ENDS, YIELDING
from noonmark.core.model import Event, Micros, State, Verdict
from noonmark.stores.postgres import alerts, claims
from noonmark.stores.postgres.desk import Desk
from noonmark.stores.postgres.rows import Line


@dataclass(slots=True)
class Entry:
    """A ledger line on its way; ``seq`` is set where it counts on a line that is there."""

    occurrence_id: int
    job: str
    event: str
    verdict: str
    code: str
    detail: str
    checks: str
    worker: str
    fence: int
    revision: int
    actor: str
    count: int = 1
    seq: int | None = None


def end(
    desk: Desk,
    line: Line,
    state: State,
    *,
    verdict: str | None = None,
    code: str,
    detail: str,
    said: tuple[str | None, str | None] | None = None,
    duplicate_of: int | None = None,
    actor: str | None = None,
    note: str | None = None,
    answered: int | None = None,
) -> None:
    """End the row in this state; what is left out stays as it is on the row (``said``: its result and error)."""
    row = line.row
    result, error = (row.result, row.error) if said is None else said
    if line.run_fence and state is not State.SUCCESS:
        archive(desk, line, ATTEMPT_ENDS[state], error)
    row.state, row.due_at, row.ended_at = state, None, desk.now
    row.holder, row.looking, row.frontier = "", False, False
    row.verdict = row.verdict if verdict is None else verdict
    row.code, row.detail, row.result, row.error = code, detail, result, error
    if duplicate_of is not None:
        row.duplicate_of = duplicate_of
    if actor is not None:
        row.actor = actor
    if note is not None:
        row.note = note
    if answered is not None:
        line.answered = answered
    claims.leave(desk, line.slot, row.id)
    forget_waiting(desk, line)
    line.slot, line.is_changed = "", True
    if row.verdict == Verdict.SKIP_SUPERSEDED and row.claimed:
        claims.release(desk, line)
    if state is State.FAILED_MANUAL:
        desk.tx.needs_a_person(row.id)
    if state in YIELDING and escalate.may_be_told(row):
        alerts.close_for(desk.tx, row.id)


def forget_waiting(desk: Desk, line: Line) -> None:
    """The row waits for nothing any more."""
    if line.waits:
        line.waits = False
        desk.waits_no_more.add(line.row.id)
        desk.waiting = [waiting for waiting in desk.waiting if waiting[2] != line.row.id]


def archive(desk: Desk, line: Line, outcome: str, error: str | None = None) -> None:
    """Record how the attempt under way ended; where none is under way nothing happens."""
    row = line.row
    if line.run_fence:
        desk.attempts.append(
            (row.id, line.run_fence, row.attempt, line.run_worker, row.started_at, desk.now, outcome, error)
        )
        if outcome not in ("lost", "cancelled"):
            desk.answered.add((row.id, line.run_fence))
        line.run_fence, line.is_changed = 0, True


def answer(desk: Desk, occurrence_id: int, fence: int) -> None:
    """Remember that a look had its outcome, for the row may be opened again."""
    desk.outcomes.append((occurrence_id, fence))
    desk.answered.add((occurrence_id, fence))


def log(
    desk: Desk,
    occurrence_id: int,
    job: str,
    event: str,
    *,
    verdict: str = "",
    code: str = "",
    detail: str = "{}",
    checks: str = "[]",
    worker: str = "",
    fence: int = 0,
    revision: int = 0,
    actor: str = "",
) -> None:
    """Write one line, or count it on the line before when it is the same "not yet" again."""
    event = str(event)
    if event == Event.PARK:
        last = desk.last_lines.get(occurrence_id)
        if isinstance(last, Entry):
            if (last.event, last.verdict, last.code, last.detail) == (event, verdict, code, detail):
                last.count, last.checks = last.count + 1, checks
                return
        elif last is not None and tuple(last[1]) == (event, verdict, code, detail):
            known = Entry(occurrence_id, job, event, verdict, code, detail, checks, worker, fence, revision, actor)
            known.seq = last[0]
            desk.ledger.append(known)
            desk.last_lines[occurrence_id] = known
            return
    line = Entry(occurrence_id, job, event, verdict, code, detail, checks, worker, fence, revision, actor)
    desk.ledger.append(line)
    desk.last_lines[occurrence_id] = line


def log_row(desk: Desk, line: Line, event: str, *, checks: str = "[]", worker: str = "", actor: str = "") -> None:
    """Write one line about an occurrence as it is now."""
    row = line.row
    log(
        desk,
        row.id,
        row.job,
        event,
        verdict=str(row.verdict),
        code=row.code,
        detail=row.detail,
        checks=checks,
        worker=worker,
        fence=row.fence,
        revision=row.revision,
        actor=actor,
    )


def wait(line: Line, due_at: Micros) -> None:
    """Let an open row be due at this moment, held by nobody."""
    line.row.due_at, line.row.holder, line.row.looking, line.is_changed = due_at, "", False, True
