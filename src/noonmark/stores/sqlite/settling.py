"""The verb ``settle``: apply outcomes, each guarded by its fence and judged by itself.

Rule of the file: a plain success, which is what happens ten thousand times, is one UPDATE whose WHERE is the guard.
Every other outcome is read, compared with ``core.lifecycle`` and its gates, and only then written.
"""

from __future__ import annotations

from collections.abc import Sequence

from noonmark.core import rollback
from noonmark.core.lifecycle import ATTEMPT_ENDS, CANCEL_WITHIN, effective_event, gives_slot_up, is_end, next_state
from noonmark.core.model import Event, Occurrence, Settled, Settlement, State, Verdict
from noonmark.core.wellformed import STARTS, derives
from noonmark.stores.sqlite import adding, alerts, attempts, claims, ending, facts, ledger
from noonmark.stores.sqlite.ending import Line
from noonmark.stores.sqlite.transaction import Transaction

SUCCEED = (
    "UPDATE occurrence SET state = 'SUCCESS', due_at = NULL, ended_at = ?1, holder = '', answered = fence,"
    " verdict = iif(?2 = '', verdict, ?2), code = iif(?3 = '', code, ?3), detail = iif(?3 = '', detail, ?4),"
    " result = ?5, error = ?6 WHERE id = ?7 AND fence = ?8 AND state = 'RUNNING' AND looking = 0 AND holder <> ''"
    " AND slot = '' RETURNING id, fence"
)
_BEGIN = (
    "UPDATE occurrence SET state = 'RUNNING', due_at = ?1, looking = 0, frontier = 0, attempt = attempt + 1,"
    " started_at = ?2, first_started_at = coalesce(first_started_at, ?2), revision = ?3, slot = ?4, run_fence = fence,"
    " run_worker = holder, verdict = ?5, code = ?6, detail = ?7, gated = max(gated, ?8) WHERE id = ?9"
)
_WAIT = (
    "UPDATE occurrence SET state = ?, due_at = ?, holder = '', looking = 0, frontier = ?, attempt = ?, verdict = ?,"
    " code = ?, detail = ?, result = ?, error = ?, waits = ?, answered = ?,"
    " gated = max(gated, ?), slot = ? WHERE id = ?"
)


def settle(tx: Transaction, worker: str, items: Sequence[Settlement]) -> list[Settled]:
    """Apply outcomes; see the port."""
    done = _succeed_plainly(tx, worker, items)
    answers: list[Settled] = []
    same: Settled | None = None
    for item in items:
        if item.event is Event.SUCCEED and done.get(item.occurrence_id) == item.fence:
            if same is None or same.fence != item.fence:
                same = Settled(outcome="applied", fence=item.fence, state=State.SUCCESS)
            answers.append(same)
        else:
            answers.append(_judge(tx, worker, item))
    claims.pass_slots_on(tx)
    return answers


def _is_plain(item: Settlement) -> bool:
    return item.event is Event.SUCCEED and not (item.adds or item.facts or item.alerts)


def _succeed_plainly(tx: Transaction, worker: str, items: Sequence[Settlement]) -> dict[int, int]:
    """Apply the plain successes that their guard lets through; return their fences by id."""
    now = tx.now
    plain = [item for item in items if _is_plain(item)]
    if not plain:
        return {}
    bindings = [
        (now, item.verdict, item.code, item.detail, item.result, item.error, item.occurrence_id, item.fence)
        for item in plain
    ]
    applied = {row[0]: row[1] for row in tx.many(SUCCEED, bindings)}
    if not applied:
        return {}
    tx.moved(State.RUNNING, State.SUCCESS, len(applied))
    for item in plain:
        if item.ledger and applied.get(item.occurrence_id) == item.fence:
            ledger.append_row(tx, item.occurrence_id, Event.SUCCEED, checks=item.checks, worker=worker)
    return applied


def _judge(tx: Transaction, worker: str, item: Settlement) -> Settled:
    """Apply one outcome, or say why not."""
    line = ending.load(tx, item.occurrence_id)
    if line is None:
        tx.count("stale_refused")
        return Settled(outcome="stale")
    row = line.row
    if _is_answered(tx, line, item):
        runs = row.state is State.RUNNING and row.fence == item.fence
        return Settled(
            outcome="applied", fence=item.fence, lease_until=(row.due_at or 0) if runs else 0, state=row.state
        )
    if row.fence != item.fence or not row.holder:
        tx.count("stale_refused")
        return Settled(outcome="stale", state=row.state)
    event = effective_event(item.event, cancel_requested=row.cancel_requested)
    state = next_state(row.state, event)
    if state is None or (event is Event.PARK and row.state is State.RUNNING and not row.looking):
        return Settled(outcome="changed", changed=("state",), state=row.state)
    if derives(item, row.job, row.subject) and not (row.frontier and _is_in_force(tx, row.job, item)):
        return Settled(outcome="changed", changed=(f"revision:{row.job}",), state=row.state)
    if event in STARTS:
        refusal = _refusal(tx, line, item)
        if refusal is not None:
            return refusal
        lease_until = _begin(tx, line, item)
    else:
        lease_until = 0
        _finish(tx, line, item, event, state)
    if item.ledger:
        ledger.append_row(tx, row.id, event, checks=item.checks, worker=worker)
    _carry(tx, row, item, overruled=event is not item.event)
    return Settled(outcome="applied", fence=item.fence, lease_until=lease_until, state=state)


def _is_answered(tx: Transaction, line: Line, item: Settlement) -> bool:
    """Has this fence had its outcome already?  A start is one, while the run that it began goes on under its fence."""
    row = line.row
    if row.fence == item.fence and row.holder:
        return item.event in STARTS and row.state is State.RUNNING and not row.looking
    if not item.fence:
        return False  # it was never taken
    return line.answered == item.fence or attempts.had_outcome(tx, row.id, item.fence)


def _passes_on(row: Occurrence, item: Settlement) -> bool:
    """Would the row hand the frontier over to a row that comes along?"""
    return row.frontier and any(new.frontier and (new.job, new.subject) == (row.job, row.subject) for new in item.adds)


def _is_in_force(tx: Transaction, job: str, item: Settlement) -> bool:
    """Is the revision that yields the successor still the one in force?  Else the series would end here."""
    found = tx.execute("SELECT revision FROM job WHERE name = ?", (job,)).fetchone()
    return item.gates is None or (found is not None and found[0] == item.gates.revision)


def _refusal(tx: Transaction, line: Line, item: Settlement) -> Settled | None:
    """Compare what the decision saw with what is; the look lease stays in place, so the caller may decide again."""
    row, gates = line.row, item.gates
    assert gates is not None, "checked before the first write"
    changed = _changed(tx, line, item)
    if changed:
        return Settled(outcome="changed", changed=changed, state=row.state)
    if not gates.ignore_window:
        if row.not_before is not None and tx.now < row.not_before:
            return Settled(outcome="changed", changed=("window",), state=row.state)
        if row.not_after is not None and tx.now >= row.not_after:
            return Settled(outcome="closed", state=row.state)
    if row.first_started_at is None and row.expires_at is not None and tx.now > row.expires_at:
        return Settled(outcome="closed", state=row.state)
    holder = ending.claim_if_free(tx, row)
    if holder is not None:
        tx.count("duplicates_refused")
        return Settled(outcome="duplicate", holder=holder, state=row.state)
    return None


def _changed(tx: Transaction, line: Line, item: Settlement) -> tuple[str, ...]:
    """Return the names of the gates that moved since the decision."""
    row, gates = line.row, item.gates
    assert gates is not None, "checked before the first write"
    job = tx.execute("SELECT revision, pause_version FROM job WHERE name = ?", (row.job,)).fetchone()
    changed = ["cancel"] if row.cancel_requested else []
    if job is None or job[0] != gates.revision:
        changed.append(f"revision:{row.job}")
    if job is not None and job[1] != gates.pause_version:
        changed.append(f"pause:{row.job}")
    changed += [name for name in facts.moved(tx, gates.facts) if name not in changed]
    if gates.slot and claims.occupant(tx, gates.slot) not in (None, row.id):
        changed.append(gates.slot)
    if gates.slot and line.slot not in ("", gates.slot):
        changed.append(line.slot)  # a slot is the occurrence's until that ends, so a second one is refused
    return tuple(changed)


def _begin(tx: Transaction, line: Line, item: Settlement) -> int:
    """Start or take over the run; return until when it is ours."""
    row, gates = line.row, item.gates
    assert gates is not None, "checked before the first write"
    if gates.slot:
        claims.occupy(tx, gates.slot, row.id)
    until = tx.now + item.lease
    tx.execute(
        _BEGIN,
        (
            until,
            tx.now,
            gates.revision,
            gates.slot or line.slot,
            item.verdict or Verdict.SHOULD_RUN.value,
            item.code or "started",
            item.detail if item.code else "{}",
            int(rollback.needs_look(item.code, gates)),
            row.id,
        ),
    )
    tx.moved(row.state, State.RUNNING)
    return until


def _finish(tx: Transaction, line: Line, item: Settlement, event: Event, state: State) -> None:
    """Leave the lease: the row ends, is tried again later, or waits."""
    row = line.row
    if event is item.event:
        verdict, code = item.verdict or row.verdict, item.code or row.code
        detail = item.detail if item.code else row.detail
    else:  # the requested cancel won over what the holder had to say
        verdict, code, detail = row.verdict, "cancelled", "{}"
    if verdict not in (Verdict.SKIP_DUPLICATED, Verdict.SKIP_SUPERSEDED):
        ending.claim_if_free(tx, row)  # the first due look claims; where another holds it, a later look will say so
    if not line.run_fence and event is not Event.PARK:
        attempts.answer(tx, row.id, item.fence)
    if not is_end(state):
        _wait(tx, line, item, state, (verdict, code, detail))
        return
    duplicate_of = claims.holder(tx, row.key) if verdict == Verdict.SKIP_DUPLICATED else None
    ending.end(
        tx,
        line,
        state,
        verdict=verdict,
        code=code,
        detail=detail,
        said=(item.result, item.error),
        duplicate_of=duplicate_of,
        answered=item.fence,
    )


def _wait(tx: Transaction, line: Line, item: Settlement, state: State, words: tuple[str, str, str]) -> None:
    row, due_at = line.row, item.due_at
    assert due_at is not None, "checked before the first write"
    attempt, waits, result, error, slot = row.attempt, False, row.result, row.error, line.slot
    if item.event is Event.PARK:
        if item.gates is not None and item.gates.facts:
            if facts.moved(tx, item.gates.facts):
                due_at = tx.now  # no wake-up is lost between the decision and this park
            else:
                facts.wait_for(tx, row, item.gates.facts)
                waits = True
        if gives_slot_up(row):
            claims.leave(tx, slot, row.id)
            slot = ""
        if row.cancel_requested:
            due_at = min(due_at, tx.now + CANCEL_WITHIN)
    else:
        result, error = item.result, item.error
        attempts.archive(tx, row.id, ATTEMPT_ENDS[state], item.error)
        if item.event is Event.HAND_BACK and not row.looking:  # a lost attempt stays counted
            attempt -= 1
    frontier = row.frontier and not _passes_on(row, item)  # its successor takes the flag over
    tx.execute(
        _WAIT,
        (
            state.value, due_at, int(frontier), attempt, *words, result, error, int(waits), item.fence,
            int(rollback.needs_look(words[1], item.gates)), slot, row.id,
        ),
    )  # fmt: skip
    tx.moved(row.state, state)
    tx.due(due_at, row.worker)


def _carry(tx: Transaction, row: Occurrence, item: Settlement, *, overruled: bool) -> None:
    """Apply what the outcome carries; an alert about a failure is dropped when a requested cancel overruled it."""
    for new in item.adds:
        if new.frontier:  # only while the rule that yielded it is still in force
            job = tx.execute("SELECT revision FROM job WHERE name = ?", (new.job,)).fetchone()
            wanted = item.gates.revision if item.gates is not None else new.revision
            if job is None or job[0] != wanted:
                continue
        adding.follow_up(tx, new, own=row.id)
    for fact in item.facts:
        facts.write(tx, fact.name, fact.value, fact.actor)
    for alert in item.alerts:
        if alert.clear or not overruled:
            alerts.write(tx, alert)
