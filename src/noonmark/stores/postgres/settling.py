"""The verb ``settle``: apply outcomes, each guarded by its fence and judged by itself.

Rule of the file: plain successes, which is what happens ten thousand times, are one UPDATE whose WHERE is the guard.
Every other outcome is laid on the desk, compared with ``core.lifecycle`` and its gates, and only then written.
"""

from __future__ import annotations

from collections.abc import Sequence

from noonmark.core import rollback
from noonmark.core.lifecycle import ATTEMPT_ENDS, CANCEL_WITHIN, effective_event, gives_slot_up, is_end, next_state
from noonmark.core.model import Event, Micros, Settled, Settlement, State, Verdict
from noonmark.core.wellformed import STARTS, derives
from noonmark.stores.postgres import adding, alerts, claims, ending, facts, writing
from noonmark.stores.postgres.arrays import numbers, texts
from noonmark.stores.postgres.desk import Desk, Wanted, is_stored, lay
from noonmark.stores.postgres.link import Statement
from noonmark.stores.postgres.rows import Line
from noonmark.stores.postgres.transaction import NOW, Transaction

_ABOUT_KEYS = frozenset({Verdict.SKIP_SUPERSEDED.value, Verdict.SKIP_DUPLICATED.value})
"""Verdicts after which somebody looks at a claim that the row has already."""

LOCK = "SELECT id FROM ~occurrence WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
SUCCEED = (
    "WITH done AS (UPDATE ~occurrence AS o SET state = 'SUCCESS', due_at = NULL, ended_at = "
    f"{NOW}, holder = '', answered = o.fence,"
    " verdict = CASE WHEN n.verdict = '' THEN o.verdict ELSE n.verdict END,"
    " code = CASE WHEN n.code = '' THEN o.code ELSE n.code END,"
    " detail = CASE WHEN n.code = '' THEN o.detail ELSE n.detail END, result = n.result, error = n.error"
    " FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])"
    " AS n (id, fence, verdict, code, detail, result, error)"
    " WHERE o.id = n.id AND o.id = ANY($2::bigint[]) AND o.fence = n.fence AND o.state = 'RUNNING' AND NOT o.looking"
    " AND o.holder <> ''"
    " AND o.slot = '' RETURNING o.id, o.fence),"
    " closed AS (DELETE FROM ~agenda WHERE occurrence_id = ANY(ARRAY(SELECT id FROM done)))"
    " SELECT id, fence FROM done"
)
_LEDGER = (
    "INSERT INTO ~ledger (occurrence_id, job, at, last_at, count, event, verdict, code, detail, checks, worker, fence,"
    " revision, actor) SELECT o.id, o.job, $1::bigint, $1::bigint, 1, 'succeed', o.verdict, o.code, o.detail, n.checks,"
    " $2::text, o.fence, o.revision, '' FROM unnest($3::bigint[], $4::text[]) WITH ORDINALITY AS n (id, checks, place)"
    " JOIN ~occurrence AS o ON o.id = n.id WHERE o.id = ANY($3::bigint[]) ORDER BY n.place"
)


def wanted(items: Sequence[Settlement]) -> Wanted:
    """Return what these outcomes are about."""
    adds = [new for item in items for new in item.adds]
    seen = {name for item in items if item.gates is not None for name in item.gates.facts}
    return Wanted(
        ids={item.occurrence_id for item in items},
        identities=adding.identities(adds),
        keys=adding.claimed_keys(adds) | set(facts.names_of(seen, "key")),
        may_release=any(item.verdict in _ABOUT_KEYS for item in items),
        jobs={new.job for new in adds} | set(facts.names_of(seen, "pause")),
        slots={item.gates.slot for item in items if item.gates is not None}
        | {n for n in seen if n.startswith("slot:")},
        facts=is_stored(seen),
        written_facts={fact.name for item in items for fact in item.facts},
        fences={(item.occurrence_id, item.fence) for item in items if item.fence},
        looked_at={item.occurrence_id for item in items if item.event is Event.PARK},
        new_rows=len(adds),
    )


# --- plain successes ------------------------------------------------------------------------------------------


def is_plain(item: Settlement) -> bool:
    """True for a success that carries nothing else."""
    return item.event is Event.SUCCEED and not (item.adds or item.facts or item.alerts)


def succeeding(plain: Sequence[Settlement], fixed: Micros | None) -> list[Statement]:
    """Return the statements that apply those of the plain successes whose guard lets them through."""
    ids = numbers(item.occurrence_id for item in plain)
    columns = (
        numbers(item.fence for item in plain), texts(item.verdict for item in plain), texts(item.code for item in plain),
        texts(item.detail for item in plain), texts(item.result for item in plain), texts(item.error for item in plain),
    )  # fmt: skip
    return [(LOCK, (ids,)), (SUCCEED, (fixed, ids, *columns))]


def record(tx: Transaction, worker: str, plain: Sequence[Settlement], done: frozenset[tuple[int, int]]) -> None:
    """Count the plain successes that went through, and write the ledger lines that are wanted."""
    tx.count(f"state:{State.SUCCESS}", len(done))
    told = [item for item in plain if item.ledger and (item.occurrence_id, item.fence) in done]
    if told:
        ids, checks = numbers(item.occurrence_id for item in told), texts(item.checks for item in told)
        tx.later(_LEDGER, tx.now, worker, ids, checks)


# --- everything else --------------------------------------------------------------------------------------------


def judge(desk: Desk, worker: str, item: Settlement) -> Settled:
    """Apply one outcome, or say why not."""
    line = desk.lines.get(item.occurrence_id)
    if line is None:
        desk.tx.count("stale_refused")
        return Settled(outcome="stale")
    row = line.row
    if _is_answered(desk, line, item):
        runs = row.state is State.RUNNING and row.fence == item.fence
        return Settled(
            outcome="applied", fence=item.fence, lease_until=(row.due_at or 0) if runs else 0, state=row.state
        )
    if row.fence != item.fence or not row.holder:
        desk.tx.count("stale_refused")
        return Settled(outcome="stale", state=row.state)
    event = effective_event(item.event, cancel_requested=row.cancel_requested)
    state = next_state(row.state, event)
    if state is None or (event is Event.PARK and row.state is State.RUNNING and not row.looking):
        return Settled(outcome="changed", changed=("state",), state=row.state)
    if derives(item, row.job, row.subject) and not (row.frontier and _is_in_force(desk, row.job, item)):
        return Settled(outcome="changed", changed=(f"revision:{row.job}",), state=row.state)
    if event in STARTS:
        refusal = _refusal(desk, line, item)
        if refusal is not None:
            return refusal
        lease_until = _begin(desk, line, item)
    else:
        lease_until = 0
        _finish(desk, line, item, event, state)
    if item.ledger:
        ending.log_row(desk, line, event, checks=item.checks, worker=worker)
    _carry(desk, line, item, overruled=event is not item.event)
    return Settled(outcome="applied", fence=item.fence, lease_until=lease_until, state=state)


def _is_answered(desk: Desk, line: Line, item: Settlement) -> bool:
    """Has this fence had its outcome already?  A start is one, while the run that it began goes on under its fence."""
    row = line.row
    if row.fence == item.fence and row.holder:
        return item.event in STARTS and row.state is State.RUNNING and not row.looking
    if not item.fence:
        return False  # it was never taken
    return line.answered == item.fence or (row.id, item.fence) in desk.answered


def _passes_on(line: Line, item: Settlement) -> bool:
    """Would the row hand the frontier over to a row that comes along?"""
    row = line.row
    return row.frontier and any(new.frontier and (new.job, new.subject) == (row.job, row.subject) for new in item.adds)


def _is_in_force(desk: Desk, name: str, item: Settlement) -> bool:
    """Is the revision that yields the successor still the one in force?  Else the series would end here."""
    job = desk.job(name)
    return item.gates is None or (job is not None and job.revision == item.gates.revision)


def _refusal(desk: Desk, line: Line, item: Settlement) -> Settled | None:
    """Compare what the decision saw with what is; the look lease stays in place, so the caller may decide again."""
    row, gates = line.row, item.gates
    assert gates is not None, "checked before the first write"
    changed = _changed(desk, line, item)
    if changed:
        return Settled(outcome="changed", changed=changed, state=row.state)
    if not gates.ignore_window:
        if row.not_before is not None and desk.now < row.not_before:
            return Settled(outcome="changed", changed=("window",), state=row.state)
        if row.not_after is not None and desk.now >= row.not_after:
            return Settled(outcome="closed", state=row.state)
    if row.first_started_at is None and row.expires_at is not None and desk.now > row.expires_at:
        return Settled(outcome="closed", state=row.state)
    holder = claims.claim_if_free(desk, line)
    if holder is not None:
        desk.tx.count("duplicates_refused")
        return Settled(outcome="duplicate", holder=holder, state=row.state)
    return None


def _changed(desk: Desk, line: Line, item: Settlement) -> tuple[str, ...]:
    """Return the names of the gates that moved since the decision."""
    row, gates = line.row, item.gates
    assert gates is not None, "checked before the first write"
    job = desk.job(row.job)
    changed = ["cancel"] if row.cancel_requested else []
    if job is None or job.revision != gates.revision:
        changed.append(f"revision:{row.job}")
    if job is not None and job.pause_version != gates.pause_version:
        changed.append(f"pause:{row.job}")
    changed += [name for name in facts.moved(desk, gates.facts) if name not in changed]
    if gates.slot and claims.occupant(desk, gates.slot) not in (None, row.id):
        changed.append(gates.slot)
    if gates.slot and line.slot not in ("", gates.slot):
        changed.append(line.slot)  # a slot is the occurrence's until that ends, so a second one is refused
    return tuple(changed)


def _begin(desk: Desk, line: Line, item: Settlement) -> int:
    """Start or take over the run; return until when it is ours."""
    row, gates = line.row, item.gates
    assert gates is not None, "checked before the first write"
    if gates.slot:
        claims.occupy(desk, gates.slot, row.id)
        line.slot = gates.slot
    until = desk.now + item.lease
    row.state, row.due_at, row.looking, row.frontier = State.RUNNING, until, False, False
    row.attempt += 1
    row.started_at = desk.now
    if row.first_started_at is None:
        row.first_started_at = desk.now
    row.revision = gates.revision
    line.run_fence, line.run_worker, line.is_changed = row.fence, row.holder, True
    row.verdict = item.verdict or Verdict.SHOULD_RUN.value
    row.code, row.detail = item.code or "started", item.detail if item.code else "{}"
    row.gated = row.gated or rollback.needs_look(row.code, item.gates)
    return until


def _finish(desk: Desk, line: Line, item: Settlement, event: Event, state: State) -> None:
    """Leave the lease: the row ends, is tried again later, or waits."""
    row = line.row
    if event is item.event:
        verdict, code = item.verdict or row.verdict, item.code or row.code
        detail = item.detail if item.code else row.detail
    else:  # the requested cancel won over what the holder had to say
        verdict, code, detail = row.verdict, "cancelled", "{}"
    if verdict not in (Verdict.SKIP_DUPLICATED, Verdict.SKIP_SUPERSEDED):
        claims.claim_if_free(desk, line)  # the first due look claims; where another holds it, a later look says so
    if not line.run_fence and event is not Event.PARK:
        ending.answer(desk, row.id, item.fence)
    if not is_end(state):
        _wait(desk, line, item, state, (verdict, code, detail))
        return
    duplicate_of = claims.holder(desk, row.key) if verdict == Verdict.SKIP_DUPLICATED else None
    ending.end(
        desk,
        line,
        state,
        verdict=verdict,
        code=code,
        detail=detail,
        said=(item.result, item.error),
        duplicate_of=duplicate_of,
        answered=item.fence,
    )


def _wait(desk: Desk, line: Line, item: Settlement, state: State, words: tuple[str, str, str]) -> None:
    row, due_at = line.row, item.due_at
    assert due_at is not None, "checked before the first write"
    if item.event is Event.PARK:
        if item.gates is not None and item.gates.facts:
            if facts.moved(desk, item.gates.facts):
                due_at = desk.now  # no wake-up is lost between the decision and this park
            else:
                facts.wait_for(desk, line, item.gates.facts)
        if gives_slot_up(row):
            claims.leave(desk, line.slot, row.id)
            line.slot = ""
        if row.cancel_requested:
            due_at = min(due_at, desk.now + CANCEL_WITHIN)
    else:
        row.result, row.error = item.result, item.error
        ending.archive(desk, line, ATTEMPT_ENDS[state], item.error)
        if item.event is Event.HAND_BACK and not row.looking:  # a lost attempt stays counted
            row.attempt -= 1
    row.frontier = row.frontier and not _passes_on(line, item)  # its successor takes the flag over
    row.state, line.answered = state, item.fence
    row.verdict, row.code, row.detail = words
    row.gated = row.gated or rollback.needs_look(row.code, item.gates)
    ending.wait(line, due_at)


def _carry(desk: Desk, line: Line, item: Settlement, *, overruled: bool) -> None:
    """Apply what the outcome carries; an alert about a failure is dropped when a requested cancel overruled it."""
    for new in item.adds:
        if new.frontier:  # only while the rule that yielded it is still in force
            job = desk.job(new.job)
            wanted_revision = item.gates.revision if item.gates is not None else new.revision
            if job is None or job.revision != wanted_revision:
                continue
        adding.follow_up(desk, new, own=line.row.id)
    for fact in item.facts:
        facts.write(desk, fact.name, fact.value, fact.actor)
    for alert in item.alerts:
        if alert.clear or not overruled:
            alerts.write(desk.tx, alert)


def answers(
    tx: Transaction, worker: str, items: Sequence[Settlement], done: frozenset[tuple[int, int]]
) -> list[Settled]:
    """Answer the plain successes that went through, and judge the rest on a desk."""
    left = [item for item in items if not (is_plain(item) and (item.occurrence_id, item.fence) in done)]
    desk = Desk(tx)
    if left:
        lay(desk, wanted(left))
    said: list[Settled] = []
    same: Settled | None = None
    for item in items:
        if item.event is Event.SUCCEED and (item.occurrence_id, item.fence) in done and is_plain(item):
            if same is None or same.fence != item.fence:
                same = Settled(outcome="applied", fence=item.fence, state=State.SUCCESS)
            said.append(same)
        else:
            said.append(judge(desk, worker, item))
    writing.write(desk)
    return said
