"""Did the store lose what it acknowledged?  What a writer's receipt proves, and what becomes of its claim.

Promise: every store judges a receipt by ``judge``, so that all of them mean the same by a rollback.  Rule of the file:
pure; a rollback is told only by an acknowledged write that is gone, never by a gap in any other sequence, by pruning, or
by a write that nobody acknowledged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from noonmark.core import former
from noonmark.core.model import SECOND, AlertWrite, JobRow, Micros, Settlement, WorkerInfo
from noonmark.core.model.quick import quick
from noonmark.core.model.rollback import Claim, Epoch, Receipt, Serving, Writer
from noonmark.core.rollback import epochs_of, to_plain
from noonmark.core.values import dataclass

LINKS_KEPT = 1024
"""How many links of a writer are kept; a receipt from before them is pruned, not absent."""
BEATS_BORNE: Micros = 30 * SECOND
"""Heartbeats are not waited for as outcomes are (disks, replicas), so only the loss of several is a rollback."""
COMING_BACK: Micros = SECOND // 2
"""How long a living worker takes at most to find a store again that is back (``engine/gate.py``)."""


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


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store has about a claim: the writer's head, the link at the receipt's number, the heartbeat, the facts.

    ``link`` and ``beat`` None: not kept.  ``as_of`` is the latest heartbeat of anybody, wanted only where ``serving`` is not
    of the server that is asked.  ``earlier``: where the writer is
    gone as a whole, the latest moment in the store that lies before its last word (``latest_before``).  ``former`` None:
    nobody has told this store of one before it; False: a person took that away, and the alert may be open still.
    """

    store: str
    head: Writer | None
    link: str | None
    beat: Micros | None
    as_of: Micros
    rollbacks: Any
    serving: Serving | None
    former: bool | None = None
    earlier: Micros = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What becomes of a claim: the writer's row as it is to be, the fact where it changes, and what to hold.

    ``hold_before``: open rows with an earlier moment are to be gated, and decisions from before to fail.  ``former``: the
    store before this one, where that is news; ``alert`` says so, or is over since a person took it away.
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
    former: str = ""
    alert: AlertWrite | None = None


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
        # Who asked about another store goes on here under another name, so this one is never waited for.
        worker="" if outcome == "other" else claim.worker,
        seq=seq,
        hash=hash_,
        at=at,
        epoch=newest,
        blind=claim.blind,
        proved_at=now,
        proved_for=identity,
    )
    told = claim.before if receipt is None and known.former is None else ""
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
        former=told,
        alert=former.alert(told) if told or known.former is False else None,
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


def survived_until(known: Known) -> Micros:
    """Return a moment up to which the store still has what the writer was told; the truth may lie a little later.

    Its own last link or proof, for neither of them gets into a store that has lost something of the writer.  All else may
    have been written since the store came back: heartbeats are, and so is what those do who lost nothing.
    """
    return known.earlier if known.head is None else max(known.head.at, known.head.proved_at)


def latest_before(
    word: Micros, workers: Iterable[WorkerInfo], writers: Iterable[Writer], jobs: Iterable[JobRow]
) -> Micros:
    """Return the latest moment before ``word`` that the store tells of anybody, 0 if of none.

    What was written since the store came back is later than what it had acknowledged, by the clock that it goes by.
    """
    moments = [at for info in workers for at in (info.started_at, info.seen_at)]
    moments += [at for writer in writers for at in (writer.at, writer.proved_at)]
    moments += [job.effective_at for job in jobs]
    return max((at for at in moments if at < word), default=0)


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
