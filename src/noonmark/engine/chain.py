"""The worker's way to its store, with a link on every batch: whoever settles or takes here has proved itself first.

Promise: nothing is started on a store that lost what it acknowledged to this worker, and after another server began to
serve the store nothing is started before every living writer has proved itself, or one heartbeat's ttl is over.

Rule of the file: runs in the store thread (and, for heartbeats, in the keeper's); what is absent is judged by the store,
and what becomes of it by the engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from noonmark.core import receipts, rollback
from noonmark.core.model import SECOND, Micros, Occurrence, Settled, Settlement, Taken, WorkerInfo, changed
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Receipt, Serving
from noonmark.engine import findings
from noonmark.engine.endings import endings
from noonmark.engine.former import Former
from noonmark.engine.places import place_of
from noonmark.engine.recalled import Recalled
from noonmark.engine.statefolder import StateFolder, Witness
from noonmark.ports.rollback import ChainBroken, Guarded
from noonmark.ports.store import Capability, Store, StoreUnreachable

ASK_AGAIN: Micros = SECOND // 10
"""While others are waited for: how often they are asked about."""
PROOFS_BORNE = 5
SENT_REMEMBERED = 64


class ChainedStore:
    """A store as one worker uses it; everything that is not said here is the store's own.

    Args:
        store: the store; one that cannot prove anything is passed through.
        worker: the incarnation.
        boot: the boot-time clock, µs.
        ttl: heartbeat ttl, µs: how long others are waited for at most.
        row_of: the row of a run under our lease, for the journal.
        folder: where to remember beyond this process.
        wake: is called when another store lies there, from whichever thread found it.
    """

    def __init__(
        self,
        store: Store,
        worker: str,
        *,
        boot: Callable[[], Micros],
        ttl: Micros,
        row_of: Callable[[int], Occurrence | None],
        folder: StateFolder | None = None,
        wake: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._wake = wake
        self._is_another = False
        self._guard = cast("Guarded", store)
        self._worker = worker
        self._boot = boot
        self._ttl = ttl
        self._row_of = row_of
        self._folder = folder or StateFolder(None)
        self._proves = Capability.PROVES in store.capabilities
        self._lock = threading.Lock()  # one proof at a time
        self._memory = threading.Lock()  # held while the receipt is changed, never while the store is asked
        self._witness: Witness | None = None
        self._asking: Witness | None = None  # who asked last, while the store has not answered
        self._former = Former(self._folder, place_of(store))
        self._identity = ""
        self._serving: Serving | None = None
        self._awaits = False
        self._asked_at: Micros = 0
        self._epoch_at: Micros = 0
        self._offset: Micros = 0
        self._answered: Micros = 0  # by the latest answer, and never too little
        self._proved_at: Micros = 0
        self._rolled_back = False
        self._recalled = Recalled(self._folder)
        self._sent: dict[str, ChainLink] = {}  # by request: a repeat goes with the link of the first time

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def store(self) -> str:
        """Return the id of the store that we have proved ourselves to, "" where none can tell."""
        return "" if self._witness is None or self._witness.receipt is None else self._witness.receipt.store

    @property
    def is_older(self) -> bool:
        """True while nobody has asked ``came_back_older`` about a rollback, our own or another writer's."""
        return self._rolled_back

    def came_back_older(self) -> bool:
        """True once after a rollback was found: what was declared may be lost, too."""
        rolled_back, self._rolled_back = self._rolled_back, False
        return rolled_back

    @property
    def is_another(self) -> bool:
        """True while nobody has asked ``came_to_another``: nothing is taken, and no run ends in what is not its store."""
        return self._is_another

    def came_to_another(self) -> bool:
        """True once after another store was found where ours was, one made anew as a rule: nothing of ours is in it."""
        is_another, self._is_another = self._is_another, False
        return is_another

    @property
    def is_quiet(self) -> bool:
        """True when no batch has proved anything for a third of the ttl: others may be waiting for us, or all be lost."""
        return self._proves and self._boot() - self._proved_at >= self._ttl // 3

    def prove(self) -> None:
        """Ask whether what was acknowledged is still there."""
        if self._proves:
            self._prove()

    def recall(self) -> Micros:
        """Read the rollbacks, and what the journals of this host have of those that nobody has released.

        Returns:
            The end of the latest lost range (``core.rollback.lost_until``).
        """
        fact = self._store.facts([rollback.FACT])[rollback.FACT]
        unreleased = tuple(epoch for epoch in rollback.epochs_of(fact.value) if epoch.released_at is None)
        if self._proves:
            self._recalled.read(self._guard.store_id(), unreleased)
        return rollback.lost_until(fact)

    def has_run(self, row: Occurrence) -> bool:
        """True for a row whose key succeeded in what the store lost, unless a person has let it run."""
        return self._recalled.has_run(row)

    def close_memory(self) -> None:
        """Let another process be this writer."""
        for memory in (self._asking, self._witness, self._former):
            if memory is not None:
                memory.close()

    def remember_former(self, runs: Sequence[tuple[Occurrence, int]]) -> None:
        """Write down that these rows of the store that lay here before ran to a success, by fence."""
        self._former.record(runs, self._store_now())

    # -- the verbs that go with a link ------------------------------------------------------------

    def take(
        self, request_id: str, worker: str, *, limit: int, runnable: Mapping[str, Micros], look_lease: Micros
    ) -> Taken:
        """Take, unless others have to prove themselves first; see the port."""
        if not self._proves:
            return self._store.take(request_id, worker, limit=limit, runnable=runnable, look_lease=look_lease)
        self._ensure()
        for _ in range(PROOFS_BORNE):
            limit = 0 if self._is_another else limit
            if limit and self._waits():
                # What was asked for before may have been granted: under its own name it is heard of, and nothing is granted.
                name = request_id if request_id in self._sent else f"{request_id}w"
                idle = self._store.take(name, worker, limit=0, runnable=runnable, look_lease=look_lease)
                return changed(idle, next_due=idle.now + ASK_AGAIN)
            link = self._link(request_id)
            asked = self._boot()
            try:
                taken = self._store.take(
                    request_id, worker, limit=limit, runnable=runnable, look_lease=look_lease, link=link
                )
            except ChainBroken:
                self._prove_anew(request_id)
                continue
            self._answered = taken.now - asked
            if any(not row.looking for row in taken.rows):
                self._acknowledge(link, taken.now)
            if taken.rows:
                self._recalled.listen(self._receipt.store)
            return taken
        raise StoreUnreachable("the chain of this worker kept breaking; it asks again")

    def settle(self, request_id: str, worker: str, items: Sequence[Settlement]) -> list[Settled]:
        """Settle; see the port."""
        if not self._proves:
            return self._store.settle(request_id, worker, items)
        self._ensure()
        for _ in range(PROOFS_BORNE):
            if self._is_another:
                return [Settled(outcome="stale") for _ in items]
            link = self._link(request_id, items)
            try:
                answers = self._store.settle(request_id, worker, items, link=link)
            except ChainBroken:
                self._prove_anew(request_id)
                continue
            at = self._acknowledge(link, 0)
            self._record(link, at, items, answers)
            return answers
        raise StoreUnreachable("the chain of this worker kept breaking; it asks again")

    def heartbeat(self, worker: WorkerInfo, ttl: Micros) -> Micros:
        """Say that we live, and remember that we were heard; a heartbeat before the proof would hide what is gone."""
        if not self._proves:
            return self._store.heartbeat(worker, ttl)
        self._ensure()
        before = self._receipt
        now = self._store.heartbeat(worker, ttl)

        def heard(receipt: Receipt) -> Receipt:
            if (receipt.store, receipt.epoch) != (before.store, before.epoch):
                return receipt  # proved anew meanwhile: what the heartbeat reached may be gone
            return changed(receipt, worker=worker.id, beat=now)

        self._keep(heard)
        return now

    # -- the chain --------------------------------------------------------------------------------

    def _link(self, request_id: str, items: Sequence[Settlement] = ()) -> ChainLink:
        sent = self._sent.get(request_id)
        if sent is not None:
            return changed(sent, serving=self._identity)
        receipt = self._receipt
        link = ChainLink(
            writer=receipt.writer,
            seq=receipt.seq + 1,
            before=receipt.hash,
            hash=receipts.hash_of(receipt.hash, request_id, items),
            serving=self._identity,
        )
        self._sent[request_id] = link
        while len(self._sent) > SENT_REMEMBERED:
            self._sent.pop(next(iter(self._sent)))
        return link

    def _prove_anew(self, request_id: str) -> None:
        self._sent.pop(request_id, None)
        self._prove()

    @property
    def _receipt(self) -> Receipt:
        assert self._witness is not None, "proved before the first verb"
        assert self._witness.receipt is not None, "proved before the first verb"
        return self._witness.receipt

    def _acknowledge(self, link: ChainLink, now: Micros) -> Micros:
        """The store has this link: remember it (``now`` 0: reckoned, and never too early to lie in a lost range)."""
        at = now or self._answered + self._boot()

        def follow(receipt: Receipt) -> Receipt:
            if link.before != receipt.hash:
                return receipt  # proved anew meanwhile: the store knows better than an answer that comes late
            return changed(receipt, seq=link.seq, hash=link.hash, at=at)

        kept = self._keep(follow)
        if kept.hash == link.hash:
            self._proved_at = self._boot()
        return kept.at

    def _keep(self, change: Callable[[Receipt], Receipt]) -> Receipt:
        """Change the receipt in one step, for the store thread and the keeper's both do; return what it is then."""
        with self._memory:
            assert self._witness is not None, "proved before the first verb"
            receipt = change(self._receipt)
            if receipt != self._witness.receipt:
                self._witness.keep(receipt)
            return receipt

    def _store_now(self) -> Micros:
        return self._offset + self._boot()

    def _record(self, link: ChainLink, at: Micros, items: Sequence[Settlement], answers: Sequence[Settled]) -> None:
        """Write down how runs ended; one that ended over a rollback was refused, and ended all the same."""
        assert self._witness is not None
        if self._witness.is_blind:
            return
        applied, over = endings(items, answers, self._row_of, self._epoch_at)
        for said, begun in over:
            self._witness.record(link.seq, link.hash, at, [said], begun=begun)
        self._witness.record(link.seq, link.hash, at, applied)

    # -- proving ------------------------------------------------------------------------------------

    def _ensure(self) -> None:
        is_between = self._asking not in (None, self._witness)  # two stores
        if is_between or self._witness is None or self._guard.identity() != self._identity:
            self._prove()

    def _prove(self) -> None:
        with self._lock:
            witness = self._asking = self._who_asks()
            began = self._boot()
            asked, proof = self._ask(witness)
            if proof.outcome == "other" or proof.receipt.store != witness.store:  # what we know is about the one before
                if witness is not self._witness:
                    witness.close()
                witness = self._asking = self._remember("" if self._witness is None else self._witness.store)
                began = self._boot()
                asked, proof = self._ask(witness)
            is_first, self._asking = self._witness is None, None
            if witness is not self._witness:
                self._go_over(proof.receipt.store)
            self._proved_at = self._boot()
            self._offset, self._answered = proof.now - self._proved_at, proof.now - began
            with self._memory:
                self._witness = witness
                witness.keep(proof.receipt_after(witness.receipt))
            self._note(proof, asked, witness.writer)
            if is_first:
                self._prove_others(proof.receipt.store)
            self._identity, self._serving = proof.serving.identity, proof.serving
            self._awaits = proof.now - proof.serving.since < self._ttl
            self._asked_at = 0
        if self._is_another:
            self._wake()

    def _who_asks(self) -> Witness:
        """Return whose memory is asked about: ours, and before that the one that was opened and has had no answer yet, for
        its receipt may be the one that is missed; but not where another store lies by now than the one that it is of.
        """
        asking = self._asking
        if asking is not None and asking is not self._witness:
            if not asking.is_closed and asking.store == str(self._guard.store_id()):
                return asking
            asking.close()
        return self._witness or self._remember()

    def _go_over(self, store: str) -> None:
        """Another store than before has answered us: what was known is about the one before.

        Not before the answer: who dies without it leaves the news to others, and the store before may be there again.
        """
        self._former.is_told_to(store)
        if self._witness is None:
            return
        self._former.keep(self._witness)  # runs of it may end well yet
        self._recalled.forget()
        self._epoch_at = 0
        self._sent.clear()
        self._is_another = True

    def _remember(self, told: str = "") -> Witness:
        store = str(self._guard.store_id())
        self._former.look(store, told)
        witness = self._former.give_back(store) or self._folder.open(store, self._worker)
        if witness.is_blind:
            findings.tell_blind(witness.why_blind)
        return witness

    def _ask(self, witness: Witness) -> tuple[Receipt | None, Proof]:
        asked, before = witness.receipt if self._is_of_now(witness) else None, self._former.before
        claim = Claim(writer=witness.writer, worker=self._worker, receipt=asked, blind=witness.is_blind, before=before)
        return asked, self._guard.prove(claim)

    def _is_of_now(self, witness: Witness) -> bool:
        """False for a receipt out of the journal from before a rollback that the store knows of this writer.

        Behind a rollback the numbers of a chain mean other links, so such a line would be found gone, falsely.
        """
        if not witness.is_recovered or witness.receipt is None:
            return True
        head = next((writer for writer in self._guard.writers() if writer.id == witness.writer), None)
        return head is None or head.epoch <= witness.receipt.epoch

    def _prove_others(self, store: str) -> None:
        """Ask for the writers of this host that nobody is now: their processes may never come back to ask."""
        for other in self._folder.others(store):
            try:
                if other.receipt is not None and self._is_of_now(other):
                    claim = Claim(writer=other.writer, worker=other.receipt.worker, receipt=other.receipt)
                    proof = self._guard.prove(claim)
                    self._note(proof, other.receipt, other.writer)
                    other.keep(proof.receipt)
            finally:
                other.close()

    def _note(self, proof: Proof, asked: Receipt | None, writer: str) -> None:
        """Remember that the store went back, whoever lost something: what we have read of it may be of a lost range."""
        number = proof.receipt.epoch
        if proof.outcome not in ("lost", "joined"):
            if asked is not None and number > asked.epoch:
                self._rolled_back = True
            return
        self._rolled_back = True
        self._epoch_at = next((epoch.detected_at for epoch in proof.epochs if epoch.number == number), proof.now)
        findings.tell_lost(writer, number)

    def _waits(self) -> bool:
        """True while a writer that was heard of until the server changed has not proved itself before the new one."""
        if not self._awaits or self._serving is None:
            return False
        boot = self._boot()
        if self._asked_at and boot - self._asked_at < ASK_AGAIN:
            return True
        self._asked_at = boot
        now = self._store_now()
        workers = self._store.workers() if now < self._serving.since + self._ttl else []
        self._awaits = bool(receipts.unproved(self._guard.writers(), workers, self._serving, now))
        return self._awaits
