"""What proves that a store still holds what it acknowledged: links, receipts, writers, and what a proof says.

A *writer* is a worker's memory: it outlives the process in a state folder, or it is the incarnation itself and *blind*
after a restart.  Each batch that a writer has a store decide is a *link* of its own gap-free chain, written in the same
transaction; the last acknowledged link is its *receipt*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noonmark.core.model.base import HOUR, Micros, Origin
from noonmark.core.model.occurrence import Occurrence
from noonmark.core.model.quick import changed, quick
from noonmark.core.values import dataclass

ASKED_LATE: Micros = HOUR
"""How long after a release somebody who asks for a key may still be asking again for what was lost: producers retry late."""
LET_RUN = frozenset({"released", "retried"})
"""Codes of rows of which a person said that they may run again; a rollback that is proved later takes the word back."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """The next link of a writer's chain: the store appends it only to the link whose hash is ``before``.

    ``serving`` is the server for which the writer proved itself, "" = any.
    """

    writer: str
    seq: int
    before: str
    hash: str
    serving: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a writer was last told: that ``seq`` with ``hash`` is kept, and that ``worker`` was heard of at ``beat``.

    ``epoch`` is the number of the newest rollback that the writer knew of.  Instants are the store's, UTC microseconds.
    """

    store: str
    writer: str
    epoch: int = 0
    seq: int = 0
    hash: str = ""
    at: Micros = 0
    worker: str = ""
    beat: Micros = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A writer that asks whether its last acknowledged writes are still there; ``receipt`` None: it remembers nothing.

    ``before``: the store that lay here when the writer, or its machine, was here last, "" when that was this one.
    """

    writer: str
    worker: str
    receipt: Receipt | None
    blind: bool = False
    before: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A writer as the store keeps it: the head of its chain, and when and before which server it proved itself."""

    id: str
    worker: str
    seq: int
    hash: str
    at: Micros
    epoch: int = 0
    blind: bool = False
    proved_at: Micros = 0
    proved_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Which server serves the store, since when, and how far the data reached when it began: its last heartbeat."""

    identity: str
    since: Micros
    as_of: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One rollback: what the store held between ``lost_from`` and ``lost_until`` is gone.

    ``released_by`` non-empty: a person let go what was held; ``released_jobs`` are jobs let go before that.
    """

    number: int
    lost_from: Micros
    lost_until: Micros
    detected_at: Micros
    writers: tuple[str, ...] = ()
    released_at: Micros | None = None
    released_by: str = ""
    reason: str = ""
    released_jobs: Mapping[str, Mapping[str, Any]] | None = None

    def concerns(self, row: Occurrence) -> bool:
        """True for a row that may have run in the lost range: its moment had come, and it was not added since."""
        due = row.scheduled_for < self.lost_until
        return due and (row.created_at < self.detected_at or row.origin is Origin.SCHEDULE)

    def may_repeat(self, row: Occurrence) -> bool:
        """True for a row whose key somebody asked for since the rollback was known, until an hour after its release.

        Who asks again for what was lost is a new row to the store, and the lost range may have had that key.
        """
        if not row.key or row.origin is Origin.SCHEDULE or row.created_at < self.detected_at:
            return False
        ends = [(self.released_jobs or {}).get(row.job, {}).get("at"), self.released_at]
        return all(end is None or row.created_at < end + ASKED_LATE for end in ends)

    def holds(self, row: Occurrence) -> bool:
        """True for a row that it concerns, and for one that was asked for again and is held since its key is known."""
        return self.concerns(row) or (row.code == "held_rollback" and self.may_repeat(row))

    def is_released(self, job: str) -> bool:
        """True once a person let the job's rows go."""
        return self.released_at is not None or job in (self.released_jobs or {})


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Answer to a claim.

    ``outcome``: ``new`` (nothing was remembered) · ``present`` · ``other`` (the receipt is another store's) · ``lost``
    (acknowledged writes are gone: a rollback, recorded now) · ``joined`` (gone by a rollback that is on record already).
    ``receipt`` is where the chain goes on.
    """

    outcome: str
    receipt: Receipt
    serving: Serving
    epochs: tuple[Epoch, ...]
    now: Micros

    def receipt_after(self, receipt: Receipt | None) -> Receipt:
        """Return the receipt after this; what was acknowledged while the proof was under way is not forgotten for it."""
        if self.outcome != "present" or receipt is None:
            return self.receipt
        further = changed(receipt, epoch=self.receipt.epoch) if receipt.seq > self.receipt.seq else self.receipt
        return changed(further, worker=receipt.worker, beat=receipt.beat)
