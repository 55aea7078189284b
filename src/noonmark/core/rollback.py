"""Did the store lose what it acknowledged, and which rows may have run in what it lost?

Promise: every store judges a receipt by ``judge`` and every look holds a row by ``held``, so that all of them mean the
same by a rollback.  Rule of the file: pure; a rollback is told only by an acknowledged write that is gone, never by a
gap in any other sequence, by pruning, or by a write that nobody acknowledged.

The rollbacks of a namespace are one fact, ``FACT``, versioned like every other, so parked rows wake when a person
releases them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from noonmark.core.values import dataclass
from noonmark.core.model import (
    DAY,
    SECOND,
    Check,
    Decision,
    Event,
    Fact,
    Gates,
    Job,
    Micros,
    Occurrence,
    Settlement,
    Verdict,
    WorkerInfo,
)
from noonmark.core.model.rollback import LET_RUN, Claim, Epoch, Receipt, Serving, Writer

FACT = "rollback"
"""Name of the fact that lists the rollbacks of a namespace."""
ALERT = "rollback"
"""Kind of the alert; it belongs to no job."""
LINKS_KEPT = 1024
"""How many links of a writer are kept; a receipt from before them is pruned, not absent."""
BEATS_BORNE: Micros = 30 * SECOND
"""Heartbeats are not waited for as outcomes are (disks, replicas), so only the loss of several is a rollback."""
COMING_BACK: Micros = SECOND // 2
"""How long a living worker takes at most to find a store again that is back (``engine/gate.py``)."""
EPOCHS_KEPT = 20
HELD_RECHECK: Micros = DAY
"""A held row wakes when its fact moves; this is only so that it has a next look, as every waiting row has."""


# -- the chain ------------------------------------------------------------------------------------------


def genesis(store: str, writer: str) -> str:
    """Return the hash before the first link of a writer."""
    return _digest(store, writer)


def hash_of(before: str, request: str, items: Sequence[Settlement] = ()) -> str:
    """Return the hash of the link that follows ``before``: over what is asked, so both sides know it beforehand."""
    # One text for all items: five hundred parts would cost more than their hash.
    return _digest(before, request, ",".join([f"{each.occurrence_id}:{each.fence}:{each.event}" for each in items]))


def _rebased(receipt: Receipt, epoch: int) -> str:
    """Return the hash with which a chain goes on behind a rollback."""
    return _digest(receipt.hash, f"epoch {epoch}")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


# -- judging a claim --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store has about a claim: the writer's head, the link at the receipt's number, the heartbeat, the fact.

    ``link`` and ``beat`` None: not kept.  ``as_of`` is the latest heartbeat of anybody.
    """

    store: str
    head: Writer | None
    link: str | None
    beat: Micros | None
    as_of: Micros
    rollbacks: Any
    serving: Serving | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What becomes of a claim: the writer's row as it is to be, the fact where it changes, and what to hold.

    ``hold_before``: open rows with an earlier moment are to be gated, and decisions from before to fail.
    """

    outcome: str
    writer: Writer
    serving: Serving
    epochs: tuple[Epoch, ...]
    rollbacks: Any = None  # the fact's new value; None: it stays as it is
    opened: Epoch | None = None
    hold_before: Micros | None = None
    worker: str = ""  # who was heard of, and when, as far as that still proves something
    beat: Micros = 0


def judge(claim: Claim, known: Known, identity: str, now: Micros) -> Judged:
    """Judge a claim.

    Args:
        claim: the writer's, as it asks.
        known: what the store has.
        identity: of the server that is asked.
        now: the store's time.
    """
    epochs = epochs_of(known.rollbacks)
    newest = max((epoch.number for epoch in epochs), default=0)
    serving = known.serving
    if serving is None or serving.identity != identity:
        serving = Serving(identity=identity, since=now, as_of=known.as_of)
    receipt, head, value, opened, hold_before = claim.receipt, known.head, None, None, None
    seq = 0 if head is None else head.seq
    hash_ = genesis(known.store, claim.writer) if head is None else head.hash
    at = now if head is None else head.at
    if receipt is None:
        outcome = "new"
    elif receipt.store != known.store:
        outcome = "other"
    elif is_there(receipt, known):
        outcome = "present"
    elif head is not None and receipt.epoch < head.epoch and head.hash == _rebased(receipt, head.epoch):
        # Its answer was lost, and it asks again.  Of what was found since it hears by its next proof.
        newest = head.epoch
        outcome = "lost" if any(e.number == newest and e.writers[:1] == (claim.writer,) for e in epochs) else "joined"
    else:
        epochs, opened, hold_before = _recorded(receipt, epochs, known, now)
        outcome, newest = "lost" if opened is not None else "joined", epochs[-1].number
        value = to_plain(epochs)
        # The chain goes on from where the writer was, so no number is used twice; repeating the claim gives the same.
        seq, hash_, at = max(seq, receipt.seq), _rebased(receipt, newest), now
    writer = Writer(
        id=claim.writer,
        worker=claim.worker,
        seq=seq,
        hash=hash_,
        at=at,
        epoch=newest,
        blind=claim.blind,
        proved_at=now,
        proved_for=identity,
    )
    return Judged(
        outcome=outcome,
        writer=writer,
        serving=serving,
        epochs=epochs_of(value) if value is not None else epochs,
        rollbacks=value,
        opened=opened,
        hold_before=hold_before,
        worker=receipt.worker if receipt is not None and outcome != "other" else "",
        beat=receipt.beat if receipt is not None and outcome == "present" else 0,
    )


def _recorded(
    receipt: Receipt, epochs: tuple[Epoch, ...], known: Known, now: Micros
) -> tuple[tuple[Epoch, ...], Epoch | None, Micros | None]:
    """Return the rollbacks with this loss, the one that was opened for it, and before which moment rows are to be held."""
    lost_from, last_word = survived_until(known), _last_lost(receipt, known)
    if _is_of(receipt, epochs, last_word):
        was, epochs = epochs[-1].lost_until, _joined(epochs, receipt.writer, lost_from, last_word)
        return epochs, None, epochs[-1].lost_until if epochs[-1].lost_until > was else None
    number = max([receipt.epoch, *(epoch.number for epoch in epochs)]) + 1
    until = max(now, last_word)  # the clock of the server that was lost may have been ahead
    opened = Epoch(number=number, lost_from=lost_from, lost_until=until, detected_at=now, writers=(receipt.writer,))
    return (*epochs, opened), opened, until


def _last_lost(receipt: Receipt, known: Known) -> Micros:
    """Return when the last of what is gone was acknowledged; a heartbeat that is there may have come since."""
    is_heard = known.beat is not None and known.beat >= receipt.beat
    return receipt.at if is_heard else max(receipt.at, receipt.beat)


def _is_of(receipt: Receipt, epochs: Sequence[Epoch], last_word: Micros) -> bool:
    """May the writer have lost its last word in the newest rollback, and does that one still hold what it holds?

    What a person let go holds nothing and alerts nobody; and what was acknowledged after a detection was lost later.
    """
    if not epochs:
        return False
    newest = epochs[-1]
    is_whole = newest.released_at is None and not newest.released_jobs
    return is_whole and receipt.epoch < newest.number and last_word <= newest.detected_at


def is_there(receipt: Receipt, known: Known) -> bool:
    """Return False when something that was acknowledged to the writer is gone."""
    if receipt.beat and (known.beat is None or known.beat < receipt.beat - BEATS_BORNE):
        return False
    head = known.head
    if head is None or head.seq < receipt.seq:
        return False
    if head.seq == receipt.seq:
        return head.hash == receipt.hash
    return known.link is None or known.link == receipt.hash  # None: pruned, so nothing speaks against it


def unseen(version: int, now: Micros) -> int:
    """Return the next number of a counter, one that nobody can have seen before the store lost what it lost."""
    return max(version + 1, now)


def survived_until(known: Known) -> Micros:
    """Return the last moment of which the store still has something of the writer."""
    moments = [at for at in (known.head.at if known.head is not None else None, known.beat) if at is not None]
    return max(moments, default=known.as_of)


def _joined(epochs: tuple[Epoch, ...], writer: str, since: Micros, until: Micros) -> tuple[Epoch, ...]:
    """Widen the newest rollback by what another writer lost in it."""
    newest = epochs[-1]
    wider = replace(
        newest,
        lost_from=min(newest.lost_from, since),
        lost_until=max(newest.lost_until, until),
        writers=newest.writers if writer in newest.writers else (*newest.writers, writer),
    )
    return (*epochs[:-1], wider)


def receipt_of(judged: Judged, store: str) -> Receipt:
    """Return where the writer's chain goes on; a heartbeat that is gone proves nothing a second time."""
    head = judged.writer
    return Receipt(
        store=store,
        writer=head.id,
        epoch=head.epoch,
        seq=head.seq,
        hash=head.hash,
        at=head.at,
        worker=judged.worker,
        beat=judged.beat,
    )


def unproved(
    writers: Iterable[Writer], workers: Iterable[WorkerInfo], serving: Serving, now: Micros
) -> tuple[str, ...]:
    """Return the writers that live and have not proved themselves before the new server.

    Judged by the data, which may be old: alive is who was so at its last moment.  Who has not been heard of since, for
    longer than a living worker takes to come back, is not waited for: it may be gone, and work must not stand still.
    """
    is_early = now < serving.since + COMING_BACK
    alive = {
        info.id
        for info in workers
        if info.ended_at is None and info.until > serving.as_of and (is_early or info.seen_at >= serving.since)
    }
    return tuple(writer.id for writer in writers if writer.worker in alive and writer.proved_for != serving.identity)


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


# -- what may have run before -------------------------------------------------------------------------------


def epoch_of(row: Occurrence, fact: Fact | None) -> Epoch | None:
    """Return the newest rollback in whose lost range the row may have run."""
    if fact is None:
        return None
    return next((epoch for epoch in reversed(epochs_of(fact.value)) if epoch.holds(row)), None)


def is_held(job: Job, row: Occurrence, fact: Fact | None) -> bool:
    """Return True when the row may have run in a lost range, and nobody has said yet that it may run again."""
    if fact is None or job.on_rollback == "run" or row.code in LET_RUN:
        return False
    return any(epoch.holds(row) and not epoch.is_released(job.name) for epoch in epochs_of(fact.value))


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
        code="held_rollback",
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
    return code in ("held_rollback", "restored_epoch") or (gates is not None and FACT in gates.facts)


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
