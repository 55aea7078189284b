"""The memory store's door: one lock, the store's clock, and the memory of request ids.

Rule of the file: every verb is taken under the lock as a whole, so it is one transaction; what a verb does stands in
the module named after it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

from noonmark.core import wellformed
from noonmark.core.lifecycle import KEPT
from noonmark.core.model import (
    Act,
    Acted,
    Activation,
    Added,
    Fact,
    FactWrite,
    JobRow,
    Micros,
    NewOccurrence,
    Note,
    Occurrence,
    Query,
    Renewal,
    Renewed,
    Settled,
    Settlement,
    State,
    Story,
    Taken,
    Tallies,
    WorkerInfo,
    changed,
)
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Writer
from noonmark.ports.archive import Import, Page
from noonmark.ports.clock import Clock, SystemClock
from noonmark.ports.doctor import Finding
from noonmark.ports.store import Capability
from noonmark.stores.memory import acting, activating, archive, proving, reading, settling, taking
from noonmark.stores.memory.tables import Tables

Answer = TypeVar("Answer")


class MemoryStore:
    """A store in this process's memory; it ends with the process.

    Args:
        clock: the clocks to live by; default: this machine's.  After the start only the boot-time clock is followed, so
            a wall clock that jumps does not move what is due.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._epoch = self._clock.wall() - self._clock.boot()
        self._boot_id = self._clock.boot_id()
        self._lock = threading.RLock()
        self._tables = Tables()
        self._id = uuid.uuid4().hex
        self._serving = ""
        self._answers: dict[tuple[str, str], tuple[Micros, Any]] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return "memory:"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """It tells listeners at once, and survives nothing."""
        return frozenset({Capability.NOTIFY, Capability.PROVES})

    def now(self) -> Micros:
        """Return the store's time, UTC microseconds."""
        if self._clock.boot_id() != self._boot_id:  # another boot: its boot-time clock began anew
            self._boot_id = self._clock.boot_id()
            self._epoch = self._clock.wall() - self._clock.boot()
        return self._epoch + self._clock.boot()

    # -- the verbs ----------------------------------------------------------------------------

    def add(self, request_id: str, rows: Sequence[NewOccurrence], *, at: Micros | None = None) -> list[Added]:
        """Insert occurrences; see the port."""
        wellformed.check_rows(rows, request_id)
        return self._once("add", request_id, at, lambda now: [self._add(new, now) for new in rows])

    def _add(self, new: NewOccurrence, now: Micros) -> Added:
        known = self._tables.known(new)
        if known is None:
            return self._tables.insert(new, now)
        self._tables.duplicates_refused += 1
        return Added(outcome="duplicate_identity", id=known.id, duplicate_of=known.id)

    def take(
        self,
        request_id: str,
        worker: str,
        *,
        limit: int,
        runnable: Mapping[str, Micros],
        look_lease: Micros,
        at: Micros | None = None,
        link: ChainLink | None = None,
    ) -> Taken:
        """Lease what is due; see the port."""
        wellformed.check_take(request_id, worker, runnable, link)

        def run(now: Micros) -> Taken:
            if link is not None and taking.has_due(self._tables, worker, limit, now):
                proving.check(self._tables, link, self.identity())
            taken = taking.take(self._tables, worker, limit=limit, runnable=runnable, look_lease=look_lease, now=now)
            if any(not row.looking for row in taken.rows):
                proving.append(self._tables, link, now)
            return taken

        return self._once("take", request_id, at, run)

    def settle(
        self,
        request_id: str,
        worker: str,
        items: Sequence[Settlement],
        *,
        at: Micros | None = None,
        link: ChainLink | None = None,
    ) -> list[Settled]:
        """Apply outcomes; see the port."""
        wellformed.check_settlements(items, request_id, worker, link)

        def run(now: Micros) -> list[Settled]:
            proving.check(self._tables, link, self.identity())
            answers = [settling.settle(self._tables, worker, item, now) for item in items]
            proving.append(self._tables, link, now)
            return answers

        return self._once("settle", request_id, at, run)

    def renew(self, worker: str, leases: Sequence[Renewal], *, at: Micros | None = None) -> Renewed:
        """Extend leases; see the port."""
        wellformed.check_leases(worker, leases)
        with self._lock:
            now = self.now() if at is None else at
            ours = {lease.occurrence_id for lease in leases if self._holds(worker, lease.occurrence_id, lease.fence)}
            for lease in leases:
                if lease.occurrence_id in ours:
                    self._tables.change(lease.occurrence_id, due_at=now + lease.lease)
            return Renewed(
                lost=frozenset(lease.occurrence_id for lease in leases) - ours,
                cancel_requested=frozenset(row_id for row_id in ours if self._tables.rows[row_id].cancel_requested),
                now=now,
            )

    def signal(self, request_id: str, facts: Sequence[Fact], *, at: Micros | None = None) -> list[int]:
        """Set or clear facts; see the port."""
        wellformed.check_facts(facts, request_id)
        writes = [FactWrite(name=fact.name, value=fact.value, actor=fact.actor) for fact in facts]
        return self._once("signal", request_id, at, lambda now: [self._tables.set_fact(write, now) for write in writes])

    def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
        """Record that the worker lives; see the port."""
        wellformed.check_worker(worker)
        with self._lock:
            now = self.now() if at is None else at
            known = self._tables.workers.get(worker.id)
            started_at = known.started_at if known is not None else worker.started_at or now
            ended_at = now if worker.ended_at is not None else None
            self._tables.workers[worker.id] = changed(
                worker, started_at=started_at, seen_at=now, until=now + ttl, ended_at=ended_at
            )
            return now

    def activate(
        self, request_id: str, changes: Sequence[Activation], *, actor: str, at: Micros | None = None
    ) -> list[JobRow]:
        """Put rules in force; see the port."""
        wellformed.check_changes(changes, actor, request_id)
        return self._once(
            "activate",
            request_id,
            at,
            lambda now: [activating.activate(self._tables, change, actor, now) for change in changes],
        )

    def act(self, request_id: str, act: Act, *, at: Micros | None = None) -> Acted:
        """Carry out a person's act; see the port."""
        wellformed.check_act(act, request_id)
        return self._once("act", request_id, at, lambda now: acting.act(self._tables, request_id, act, now))

    def note_if_held(
        self, worker: str, occurrence_id: int, fence: int, note: Note, *, at: Micros | None = None
    ) -> bool:
        """Write a remark of a run; see the port."""
        wellformed.check_note(note, worker)
        with self._lock:
            now = self.now() if at is None else at
            if not self._holds(worker, occurrence_id, fence):
                self._tables.stale_refused += 1
                return False
            notes = self._tables.notes.setdefault(occurrence_id, {})
            if note.kind == "progress" or (note.kind, note.name) not in notes:
                notes[(note.kind, note.name)] = changed(note, fence=fence, at=now)
            return True

    # -- the reads ----------------------------------------------------------------------------

    def facts(self, names: Collection[str]) -> dict[str, Fact]:
        """Return a fact for every name; see the port."""
        with self._lock:
            return {name: reading.fact(self._tables, name) for name in names}

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Read occurrences."""
        with self._lock:
            return reading.occurrences(self._tables, query)

    def story(self, occurrence_id: int) -> Story | None:
        """Read everything about one occurrence."""
        with self._lock:
            return reading.story(self._tables, occurrence_id)

    def jobs(self, names: Collection[str] | None = None, *, event: str | None = None) -> list[JobRow]:
        """Read the jobs, by name order."""
        with self._lock:
            return [
                job
                for name, job in sorted(self._tables.jobs.items())
                if (names is None or name in names) and event in (None, job.event)
            ]

    def workers(self) -> list[WorkerInfo]:
        """Read every worker ever heard of, newest first; one without a pid is known from a copied row only."""
        with self._lock:
            heard_of = (info for info in self._tables.workers.values() if info.pid)
            return sorted(heard_of, key=lambda info: info.started_at, reverse=True)

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        """Count, for backlog and overview."""
        with self._lock:
            return reading.tallies(self._tables, self.now(), revisions=revisions)

    # -- the guard (see ports.rollback) ----------------------------------------------------------

    def identity(self) -> str:
        """Return who serves it: nobody else ever does, but in a simulated failover."""
        return self._serving or proving.SERVING

    def prove(self, claim: Claim, *, at: Micros | None = None) -> Proof:
        """Judge what a writer remembers; see ``ports/rollback.py``."""
        wellformed.check_claim(claim)
        with self._lock:
            proof = proving.prove(self._tables, self._id, claim, self.now() if at is None else at, self.identity())
            listeners = list(self._listeners) if self._tables.wakes else []
        for tell in listeners:
            tell()
        return proof

    def writers(self) -> list[Writer]:
        """Read every writer, the one that proved itself last first."""
        with self._lock:
            return sorted(self._tables.writers.values(), key=lambda writer: (-writer.proved_at, writer.id))

    # -- the archive and the doctor --------------------------------------------------------------

    def store_id(self) -> str:
        """Return the name that this store was given when it was made."""
        return self._id

    def export_page(self, cursor: str, limit: int) -> Page:
        """Read records from the cursor on; see ``ports/archive.py``."""
        with self._lock:
            return archive.export_page(self._tables, cursor, limit)

    def import_page(self, source: str, page: Page) -> None:
        """Write a page of another store; see ``ports/archive.py``."""
        with self._lock:
            archive.import_page(self._tables, source, page, self.now())
            listeners = list(self._listeners)
        for tell in listeners:
            tell()

    def import_state(self) -> Import | None:
        """Return how far an import has come."""
        with self._lock:
            return self._tables.imported

    def count_records(self) -> Mapping[str, int]:
        """Count the records of each kind."""
        with self._lock:
            return archive.count_records(self._tables)

    def diagnose(self) -> list[Finding]:
        """Say the one thing there is to say."""
        return [
            Finding(
                code="memory_forgets",
                level="warn",
                about="durability",
                sentence="The store is in this process's memory: whatever it holds is gone when the process ends.",
                remedy="Use sqlite:///PATH for a store that stays.",
            )
        ]

    # -- the rest ------------------------------------------------------------------------------

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after every write that may have made something due earlier."""
        with self._lock:
            self._listeners.append(callback)

        def stop() -> None:
            with self._lock:
                if callback in self._listeners:
                    self._listeners.remove(callback)

        return stop

    def close(self) -> None:
        """Forget the listeners; the rows stay readable."""
        with self._lock:
            self._listeners.clear()

    def _holds(self, worker: str, row_id: int, fence: int) -> bool:
        row = self._tables.rows.get(row_id)
        return (
            row is not None
            and row.state is State.RUNNING
            and not row.looking
            and row.fence == fence
            and row.holder == worker
        )

    def _once(self, verb: str, request_id: str, at: Micros | None, run: Callable[[Micros], Answer]) -> Answer:
        """Run a verb, or return its first answer; tell the listeners outside the lock when something became due."""
        with self._lock:
            now = self.now() if at is None else at
            known = self._answers.get((verb, request_id))
            if known is not None and now - known[0] < KEPT:
                return cast(Answer, known[1])
            before, _ = self._tables.outlook()
            answer = run(now)
            self._tables.pass_slots_on(now)
            self._answers[(verb, request_id)] = (now, answer)
            self._forget(now)
            after, _ = self._tables.outlook()
            sooner = bool(self._tables.wakes) or (after is not None and (before is None or after < before))
            listeners = list(self._listeners) if sooner else []
        for tell in listeners:
            tell()
        return answer

    def _forget(self, now: Micros) -> None:
        """Answers are kept for an hour; dicts keep their order, so the old ones are in front."""
        while self._answers:
            oldest = next(iter(self._answers))
            if now - self._answers[oldest][0] < KEPT:
                return
            del self._answers[oldest]
