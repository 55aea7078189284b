"""Which rows may have run in what the store lost, and what becomes of them.

Promise: every look holds a row by ``held``, and every store lists the rollbacks in one way.  Rule of the file: pure; it
asks of a row only when it was due, and of a rollback only which range was lost and what a person let go.  Whether there
was one is told by ``core/receipts.py``.

The rollbacks of a namespace are one fact, ``FACT``, versioned like every other, so parked rows wake when a person
releases them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from noonmark.core.model import DAY, Check, Decision, Event, Fact, Gates, Job, Micros, Occurrence, Verdict
from noonmark.core.model.rollback import LET_RUN, Epoch
from noonmark.core.stored import object_of

FACT = "rollback"
"""Name of the fact that lists the rollbacks of a namespace."""
ALERT = "rollback"
"""Kind of the alert; it belongs to no job."""
EPOCHS_KEPT = 20
HELD = "held_rollback"
"""Code of a row that a rollback holds."""
NUMBERS_LEFT_OUT = 1_000
"""The next row after a rollback has a number so much higher: that of a run that was lost is not soon another one's.

More would protect longer ranges, but a store that finds rows by counting (Redis) goes through every number.
"""
_WORD = "let_run"
"""In the detail of a row that waits: see ``is_let_run``.  A rollback that is proved later has a higher number."""
HELD_RECHECK: Micros = DAY
"""A held row wakes when its fact moves; this is only so that it has a next look, as every waiting row has."""


# -- the fact -------------------------------------------------------------------------------------------


def epochs_of(value: Any) -> tuple[Epoch, ...]:
    """Return the rollbacks that the fact's value lists, oldest first."""
    listed = value.get("epochs", ()) if isinstance(value, Mapping) else ()
    return tuple(
        Epoch(
            number=each["number"],
            lost_from=each["from"],
            lost_until=each["until"],
            detected_at=each["detected_at"],
            writers=tuple(each.get("writers", ())),
            released_at=each.get("released_at"),
            released_by=each.get("released_by", ""),
            reason=each.get("reason", ""),
            released_jobs=dict(each.get("jobs", {})),
        )
        for each in listed
    )


def to_plain(epochs: Sequence[Epoch]) -> dict[str, Any]:
    """Return the fact's value; of very many rollbacks the oldest that hold nothing any more are left out."""
    kept = list(epochs)
    for epoch in epochs:
        if len(kept) > EPOCHS_KEPT and epoch.released_at is not None:
            kept.remove(epoch)
    return {
        "epochs": [
            {
                "number": epoch.number,
                "from": epoch.lost_from,
                "until": epoch.lost_until,
                "detected_at": epoch.detected_at,
                "writers": list(epoch.writers),
                "released_at": epoch.released_at,
                "released_by": epoch.released_by,
                "reason": epoch.reason,
                "jobs": dict(epoch.released_jobs or {}),
            }
            for epoch in kept
        ]
    }


def lost_until(fact: Fact | None) -> Micros:
    """Return the end of the latest lost range, 0 when nothing was ever lost: later rows need not ask."""
    return max((epoch.lost_until for epoch in epochs_of(fact.value if fact is not None else None)), default=0)


def unseen(version: int, now: Micros) -> int:
    """Return the next number of a counter, one that nobody can have seen before the store lost what it lost."""
    return max(version + 1, now)


# -- what may have run before -------------------------------------------------------------------------------


def epoch_of(row: Occurrence, fact: Fact | None) -> Epoch | None:
    """Return the newest rollback in whose lost range the row may have run."""
    if fact is None:
        return None
    return next((epoch for epoch in reversed(epochs_of(fact.value)) if epoch.holds(row)), None)


def is_held(job: Job, row: Occurrence, fact: Fact | None) -> bool:
    """Return True when the row may have run in a lost range, and nobody has said yet that it may run again."""
    if fact is None or job.on_rollback == "run":
        return False
    return any(
        epoch.holds(row) and not epoch.is_released(job.name) and not is_let_run(row, epoch)
        for epoch in epochs_of(fact.value)
    )


def is_let_run(row: Occurrence, epoch: Epoch) -> bool:
    """Return True for a row that a person let run since the rollback was known, whatever became of it or it waits for.

    What a rollback holds is started by nobody, so a start since then is by such a word, too: it is tried again, or taken
    over, as usual.  What is held all the same has a success that became known later.
    """
    if row.code in LET_RUN:
        return True
    if row.code == HELD:
        return False
    # Not since it was detected: the clock of the server that was lost may have been ahead.
    return (row.started_at or 0) > epoch.lost_until or _word(row) >= epoch.number


def _word(row: Occurrence) -> int:
    """Return the number of the newest rollback that was known when a person let the row run, 0 when nobody did."""
    word = object_of(row.detail).get(_WORD)
    return word if isinstance(word, int) else 0


def detail_of(decision: Decision, row: Occurrence, fact: Fact | None) -> Mapping[str, Any]:
    """Return a decision's detail; where it lets a row wait that a person let run, with that word."""
    if fact is None or decision.event is not Event.PARK or decision.code == HELD:
        return decision.detail
    known = [epoch.number for epoch in epochs_of(fact.value) if epoch.holds(row)]
    word = max(known, default=0) if row.code in LET_RUN else _word(row)
    return {**decision.detail, _WORD: word} if known and word else decision.detail


def held(job: Job, row: Occurrence, fact: Fact | None, now: Micros) -> Decision | None:
    """Return the decision that holds the row for a person, None when it may be judged as usual.

    It waits without end: neither its window nor its limit may end it, for it may well have run in time.
    """
    if fact is None or not is_held(job, row, fact):
        return None
    epoch = epoch_of(row, fact)
    assert epoch is not None, "it is held for one"
    return Decision(
        verdict=Verdict.SKIP_LEASE,
        event=Event.PARK,
        code=HELD,
        detail=_said(epoch),
        checks=(check(job, row, fact),),
        recheck_at=now + HELD_RECHECK,
        seen={fact.name: fact.version},
    )


def flagged(decision: Decision, job: Job, row: Occurrence, fact: Fact | None) -> Decision:
    """Return the decision to start, saying that this may be a repeat where the row may have run in a lost range."""
    epoch = epoch_of(row, fact)
    if epoch is None or fact is None:
        return decision
    return replace(
        decision,
        code="restored_epoch",
        detail=_said(epoch),
        checks=(check(job, row, fact), *decision.checks),
        seen={**decision.seen, fact.name: fact.version},
    )


def needs_look(code: str, gates: Gates | None) -> bool:
    """Return True for what a decision about a row of a lost range says: ``take`` must not start that row by itself.

    A held one wakes whenever a rollback is written; one that waits for something else, and a retry of one that was
    started, may be a repeat, too; but take knows nothing of rollbacks.
    """
    return code in (HELD, "restored_epoch") or (gates is not None and FACT in gates.facts)


def check(job: Job, row: Occurrence, fact: Fact) -> Check:
    """Return the line of the decision's list of checks."""
    epoch = epoch_of(row, fact)
    assert epoch is not None, "asked only of rows in a lost range"
    is_waiting = is_held(job, row, fact)
    seen = f"may have run before: rollback {epoch.number}"
    return Check(name="rollback", passed=not is_waiting, wanted="not run in what the store lost", seen=seen)


def _said(epoch: Epoch) -> dict[str, Any]:
    return {"epoch": epoch.number, "from": epoch.lost_from, "until": epoch.lost_until}


def alert_detail(epoch: Epoch) -> dict[str, Any]:
    """Return the arguments of the alert's sentence."""
    return {**_said(epoch), "writer": epoch.writers[0] if epoch.writers else ""}


def detail_text(detail: Mapping[str, Any]) -> str:
    """Return the detail as the ledger keeps it."""
    return json.dumps(dict(detail), ensure_ascii=False)
