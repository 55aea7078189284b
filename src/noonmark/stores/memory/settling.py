"""``settle``: apply outcomes, each guarded by its fence and judged by itself."""

from __future__ import annotations

from noonmark.core import rollback
from noonmark.core.lifecycle import CANCEL_WITHIN, effective_event, gives_slot_up, is_end, next_state
from noonmark.core.model import Event, Micros, NewOccurrence, Occurrence, Settled, Settlement, State, Verdict
from noonmark.core.wellformed import derives
from noonmark.stores.memory import alerts
from noonmark.stores.memory.rows import stamped
from noonmark.stores.memory.tables import Tables
from noonmark.stores.memory.taking import begin_run

STARTS = frozenset({Event.START, Event.TAKEOVER})
OUTCOME_OF_ATTEMPT = {
    State.SUCCESS: "success",
    State.FAILED_RETRYING: "failed",
    State.FAILED_MANUAL: "failed",
    State.CANCELLED: "cancelled",
    State.PENDING: "handed_back",
}


def settle(tables: Tables, worker: str, item: Settlement, now: Micros) -> Settled:
    """Apply one outcome, or say why not."""
    row = tables.rows.get(item.occurrence_id)
    if row is None:
        tables.stale_refused += 1
        return Settled(outcome="stale")
    if _is_answered(tables, row, item):
        lease_until = row.due_at or 0 if row.state is State.RUNNING and row.fence == item.fence else 0
        return Settled(outcome="applied", fence=item.fence, lease_until=lease_until, state=row.state)
    if row.fence != item.fence or not row.holder:
        tables.stale_refused += 1
        return Settled(outcome="stale", state=row.state)
    event = effective_event(item.event, cancel_requested=row.cancel_requested)
    state = next_state(row.state, event)
    if state is None or (event is Event.PARK and row.state is State.RUNNING and not row.looking):
        return Settled(outcome="changed", changed=("state",), state=row.state)
    if derives(item, row.job, row.subject) and not (row.frontier and _is_in_force(tables, row.job, item)):
        return Settled(outcome="changed", changed=(f"revision:{row.job}",), state=row.state)
    if event in STARTS:
        refusal = _refusal(tables, row, item, now) or _claim_for_start(tables, row)
        if refusal is not None:
            return refusal
    answer = _apply(tables, row, item, event, state, worker, now)
    for new in item.adds:
        _add(tables, row, item, new, now)
    for fact in item.facts:
        tables.set_fact(fact, now)
    for alert in item.alerts:
        if alert.clear or event is item.event:  # a failure that a requested cancel overruled alarms nobody
            alerts.write(tables, alert, now)
    return answer


def _is_answered(tables: Tables, row: Occurrence, item: Settlement) -> bool:
    """Has this fence had its outcome already?  A start is one, while the run that it began goes on under its fence."""
    if item.event in STARTS and row.fence == item.fence and row.state is State.RUNNING and not row.looking:
        return True
    return item.fence in tables.answered.get(item.occurrence_id, ())


def _passes_on(row: Occurrence, item: Settlement) -> bool:
    """Would the row hand the frontier over to a row that comes along?"""
    return row.frontier and any(new.frontier and (new.job, new.subject) == (row.job, row.subject) for new in item.adds)


def _is_in_force(tables: Tables, job: str, item: Settlement) -> bool:
    """Is the revision that yields the successor still the one in force?  Else the series would end here."""
    found = tables.jobs.get(job)
    return item.gates is None or (found is not None and found.revision == item.gates.revision)


def _refusal(tables: Tables, row: Occurrence, item: Settlement, now: Micros) -> Settled | None:
    """Compare what the decision saw with what is; the look lease stays in place, so the caller may decide again."""
    gates, job = item.gates, tables.jobs.get(row.job)
    assert gates is not None, "a start carries the gates it was decided on"
    changed = ["cancel"] if row.cancel_requested else []
    if job is None or job.revision != gates.revision:
        changed.append(f"revision:{row.job}")
    if job is not None and job.pause_version != gates.pause_version:
        changed.append(f"pause:{row.job}")
    changed += [name for name in tables.moved(gates.facts.items()) if name not in changed]
    if gates.slot and tables.slots.get(gates.slot, (row.id, 0))[0] != row.id:
        changed.append(gates.slot)
    held = tables.slot_of(row.id)
    if gates.slot and held not in ("", gates.slot):
        changed.append(held)  # a slot is the occurrence's until that ends, so a second one is refused
    if changed:
        return Settled(outcome="changed", changed=tuple(changed), state=row.state)
    if not gates.ignore_window:
        if row.not_before is not None and now < row.not_before:
            return Settled(outcome="changed", changed=("window",), state=row.state)
        if row.not_after is not None and now >= row.not_after:
            return Settled(outcome="closed", state=row.state)
    if row.first_started_at is None and row.expires_at is not None and now > row.expires_at:
        return Settled(outcome="closed", state=row.state)
    return None


def _claim_for_start(tables: Tables, row: Occurrence) -> Settled | None:
    """Claim the key if the row has not; say who holds it otherwise."""
    holder = tables.claim(row)
    if holder is None:
        return None
    tables.duplicates_refused += 1
    return Settled(outcome="duplicate", holder=holder, state=row.state)


def _apply(
    tables: Tables, row: Occurrence, item: Settlement, event: Event, state: State, worker: str, now: Micros
) -> Settled:
    if event in STARTS:
        row = _begin(tables, row, item, now)
        lease_until = row.due_at or 0
    else:
        _finish(tables, row, item, event, state, now)
        lease_until = 0
    if item.ledger:
        tables.log(row.id, now, event=event, checks=item.checks, worker=worker)
    return Settled(outcome="applied", fence=item.fence, lease_until=lease_until, state=state)


def _begin(tables: Tables, row: Occurrence, item: Settlement, now: Micros) -> Occurrence:
    assert item.gates is not None
    if item.gates.slot:
        tables.slots.setdefault(item.gates.slot, (row.id, now))
    tables.change(row.id, revision=item.gates.revision, due_at=now + item.lease)
    row = begin_run(tables, tables.rows[row.id], now)
    words = _words(row, item, event=item.event)
    return tables.change(row.id, gated=row.gated or rollback.needs_look(item.code, item.gates), **words)


def _finish(tables: Tables, row: Occurrence, item: Settlement, event: Event, state: State, now: Micros) -> None:
    """Leave the lease: the row waits, is tried again later, or ends."""
    tables.answer(row.id, item.fence, parked=event is Event.PARK)
    fields = _words(row, item, event=event)
    if event is not Event.PARK:
        tables.end_attempt(row.id, OUTCOME_OF_ATTEMPT.get(state, "failed"), now, item.error)
        fields |= {"result": item.result, "error": item.error}
    if not row.claimed and fields["verdict"] not in (Verdict.SKIP_DUPLICATED, Verdict.SKIP_SUPERSEDED):
        tables.claim(row)  # the first due look claims; where another row holds the key, a later look will say so
    if is_end(state):
        if fields["verdict"] == Verdict.SKIP_DUPLICATED:
            holder = tables.holder(row.key)
            fields["duplicate_of"] = holder.id if holder is not None else None
        tables.end(row.id, state, now, **fields)
        return
    due_at = now if item.due_at is None else item.due_at
    if event is Event.HAND_BACK and not row.looking:  # a lost attempt stays counted
        fields["attempt"] = row.attempt - 1
    if _passes_on(row, item):
        fields["frontier"] = False  # its successor takes the flag over
    if event is Event.PARK and item.gates is not None:
        if tables.moved(item.gates.facts.items()):
            due_at = now  # no wake-up is lost between the decision and this park
        else:
            tables.wait(row.id, dict(item.gates.facts))
    if event is Event.PARK and gives_slot_up(row):
        tables.leave_slots(row.id)
    if rollback.needs_look(str(fields["code"]), item.gates):
        fields["gated"] = True
    if event is Event.PARK and row.cancel_requested:
        due_at = min(due_at, now + CANCEL_WITHIN)
    tables.change(row.id, state=state, due_at=due_at, holder="", looking=False, **fields)


def _words(row: Occurrence, item: Settlement, *, event: Event) -> dict[str, object]:
    if event is not item.event:  # the requested cancel won over what the holder had to say
        return {"verdict": row.verdict, "code": "cancelled", "detail": "{}"}
    return {
        "verdict": item.verdict or row.verdict,
        "code": item.code or row.code,
        "detail": item.detail if item.code else row.detail,
    }


def _add(tables: Tables, row: Occurrence, item: Settlement, new: NewOccurrence, now: Micros) -> None:
    """Insert a follow-up; a frontier only while the rule that yielded it is still in force."""
    if new.frontier:
        job = tables.jobs.get(new.job)
        revision = item.gates.revision if item.gates is not None else new.revision
        if job is None or job.revision != revision:
            return
    known = tables.known(new)
    if known is None:
        tables.insert(new, now)
    elif known.id != row.id and (new.scheduled_for > now or _is_ruled(tables, new, known)):
        reopen(tables, known, new, now)


def _is_ruled(tables: Tables, new: NewOccurrence, known: Occurrence) -> bool:
    """Was it a revision that ended this moment, although one in force yields it?  A late look must not lose it."""
    job = tables.jobs.get(new.job)
    is_ours = job is not None and job.revision == new.revision and job.effective_at < new.scheduled_for
    return is_ours and known.code == "revision_superseded"


def reopen(tables: Tables, row: Occurrence, new: NewOccurrence, now: Micros) -> bool:
    """Open a superseded row again because its moment is yielded again; False where it ended otherwise or is open."""
    if row.verdict != Verdict.SKIP_SUPERSEDED or next_state(row.state, Event.REOPEN) is None:
        return False
    tables.change(row.id, state=State.PENDING, ended_at=None, verdict="", code="", detail="{}", **stamped(new))
    tables.log(row.id, now, event=Event.REOPEN)
    return True
