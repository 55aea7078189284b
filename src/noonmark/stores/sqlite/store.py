"""The SQLite store's door: the port, verb by verb, over one file that several processes share.

Rule of the file: a verb is one writing transaction on the connection of its purpose, looked up by its request id first;
what a verb does stands in the module named after it.  Renewals and heartbeats have a connection of their own and go
first, reads another, so that no lease waits for a long batch of the same process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from noonmark.core import remembered, wellformed
from noonmark.core.model import (
    Act,
    Acted,
    Activation,
    Added,
    Fact,
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
    Story,
    Taken,
    Tallies,
    WorkerInfo,
)
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Writer
from noonmark.ports.archive import Import, Page
from noonmark.ports.clock import Clock, SystemClock
from noonmark.ports.doctor import Finding
from noonmark.ports.store import Capability
from noonmark.stores.sqlite import (
    acting,
    activating,
    adding,
    archive,
    caller,
    drivers,
    errors,
    health,
    proving,
    reading,
    requests,
    settling,
    taking,
)
from noonmark.stores.sqlite import facts as _facts
from noonmark.stores.sqlite import leases as _leases
from noonmark.stores.sqlite.clock import StoreClock
from noonmark.stores.sqlite.connection import Link
from noonmark.stores.sqlite.openfile import OpenFile
from noonmark.stores.sqlite.transaction import Transaction
from noonmark.stores.sqlite.wake import Wake

Answer = TypeVar("Answer")
SYNCHRONOUS = ("FULL", "NORMAL", "OFF")
ALWAYS = frozenset({Capability.SHARED, Capability.DURABLE_PROCESS, Capability.CALLER_TRANSACTION, Capability.PROVES})


class SqliteStore:
    """A store in one SQLite file, shared by any number of processes of one machine.

    Args:
        path: the file; it and its directories are created if need be.
        clock: the clocks to live by; default: this machine's.
        synchronous: ``FULL`` (what was acknowledged survives a power cut), ``NORMAL`` or ``OFF`` (it survives the end
            of a process).
        driver: ``apsw``, or ``sqlite3`` for Python's own SQLite; one process must not use both on one file, see
            ``drivers.py``.
        create: False = a file that holds no store is told, not made, and one that may only be read is looked at.

    Raises:
        StoreUnusable: a person must act first; the message says how.
        StoreAbsent: there is none, and none was to be made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        synchronous: str = "FULL",
        driver: str = drivers.APSW,
        create: bool = True,
    ) -> None:
        if driver not in drivers.DRIVERS:
            raise ValueError(f"driver must be one of {', '.join(drivers.DRIVERS)}, not {driver!r}")
        if synchronous not in SYNCHRONOUS:
            raise ValueError(f"synchronous must be one of {', '.join(SYNCHRONOUS)}, not {synchronous!r}")
        self._path = Path(path)
        self._synchronous = synchronous
        self._clock = StoreClock(clock or SystemClock(), str(self._path))
        self._driver = driver
        self._file = OpenFile(self._path, synchronous, self._clock, driver, create=create)
        self.only_looks = self._file.only_looks  # what is to be written is refused
        self.place = f"sqlite:///{self._file.place}"  # means the same in every folder
        self._wake = Wake(self._path)
        self._lookout = caller.Lookout(self._is_committed, self._wake.tell)
        self._idle = remembered.IdleTakes()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"sqlite:///{self._path}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can promise as opened."""
        durable = {Capability.DURABLE_HOST} if self._synchronous == "FULL" else set()
        return ALWAYS | durable | ({Capability.NOTIFY} if self._wake.works else set())

    def now(self) -> Micros:
        """Return the store's time, UTC microseconds."""
        with self._file.reader.read() as connection:
            now = (self._clock.look if self.only_looks else self._clock.read)(connection)
        if now is not None:
            return now
        with self._file.main.write() as tx:  # another boot: anchor anew
            return tx.now

    # -- the verbs ----------------------------------------------------------------------------

    def add(self, request_id: str, rows: Sequence[NewOccurrence], *, at: Micros | None = None) -> list[Added]:
        """Insert occurrences; see the port."""
        wellformed.check_rows(rows, request_id)
        return self._once(
            f"add:{request_id}",
            at,
            lambda tx: adding.add(tx, rows),
            remembered.added_to_plain,
            lambda _tx, plain: remembered.added_from_plain(plain),
        )

    def add_within(self, connection: object, request_id: str, rows: Sequence[NewOccurrence]) -> list[Added]:
        """Do what ``add`` does inside the caller's transaction; see ``ports.store.CallerTransactions``."""
        wellformed.check_rows(rows, request_id)
        name = f"add:{request_id}"
        if self._file.is_replaced:
            raise errors.unreachable(str(self._path), caller.STALE, caller.OPEN_ANEW)
        with errors.translating(str(self._path)), caller.joined(connection, self._path, self._driver) as own:
            tx = self._file.main.transaction(own)
            first = requests.recall(tx, name)
            if first is not None:
                return remembered.added_from_plain(first)
            answer = adding.add(tx, rows)
            requests.remember(tx, name, remembered.added_to_plain(answer))
            tx.finish()
        if tx.is_news:
            self._lookout.wait_for(name)
        return answer

    def _is_committed(self, name: str) -> bool:
        with self._file.reader.read() as connection:
            return requests.is_known(connection, name)

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
        name = f"take:{request_id}"
        idle = self._idle.get(name) or self._take_nothing(name, worker, at)
        if idle is not None:
            return idle
        with self._write(self._file.main, at) as tx:
            first = requests.recall(tx, name)
            if first is not None:
                return taking.again(tx, worker, first)
            if link is not None and limit > 0 and taking.is_due(tx.connection, worker, tx.now):
                proving.check(tx.connection, link)
            taken = taking.take(tx, worker, limit=limit, runnable=runnable, look_lease=look_lease)
            if any(not row.looking for row in taken.rows):
                proving.append(tx, link)
            requests.remember(tx, name, taking.to_plain(taken))
        return taken

    def _take_nothing(self, name: str, worker: str, at: Micros | None) -> Taken | None:
        """Answer a take when nothing is due, without a write; None when there is work, or an earlier answer."""
        with self._file.main.read() as connection:
            now = self._clock.read(connection) if at is None else at
            if now is None or requests.is_known(connection, name) or taking.has_work(connection, worker, now):
                return None
            return self._idle.keep(name, taking.nothing(connection, worker, now))

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
        return self._once(
            f"settle:{request_id}",
            at,
            lambda tx: proving.linked(tx, link, lambda: settling.settle(tx, worker, items)),
            remembered.settled_to_plain,
            lambda _tx, plain: remembered.settled_from_plain(plain),
        )

    def renew(self, worker: str, leases: Sequence[Renewal], *, at: Micros | None = None) -> Renewed:
        """Extend leases; see the port."""
        wellformed.check_leases(worker, leases)
        with self._write(self._file.urgent, at) as tx:
            return _leases.renew(tx, worker, leases)

    def signal(self, request_id: str, facts: Sequence[Fact], *, at: Micros | None = None) -> list[int]:
        """Set or clear facts; see the port."""
        wellformed.check_facts(facts, request_id)
        return self._once(
            f"signal:{request_id}",
            at,
            lambda tx: [_facts.write(tx, fact.name, fact.value, fact.actor) for fact in facts],
            list,
            lambda _tx, plain: list(plain),
        )

    def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
        """Record that the worker lives; see the port."""
        wellformed.check_worker(worker)
        with self._write(self._file.urgent, at) as tx:
            return _leases.heartbeat(tx, self._clock, worker, ttl)

    def activate(
        self, request_id: str, changes: Sequence[Activation], *, actor: str, at: Micros | None = None
    ) -> list[JobRow]:
        """Put rules in force; see the port."""
        wellformed.check_changes(changes, actor, request_id)
        return self._once(
            f"activate:{request_id}",
            at,
            lambda tx: activating.activate(tx, changes, actor),
            activating.answer_to_plain,
            activating.answer_from_plain,
        )

    def act(self, request_id: str, act: Act, *, at: Micros | None = None) -> Acted:
        """Carry out a person's act; see the port."""
        wellformed.check_act(act, request_id)
        return self._once(
            f"act:{request_id}",
            at,
            lambda tx: acting.act(tx, request_id, act),
            remembered.acted_to_plain,
            lambda _tx, plain: remembered.acted_from_plain(plain),
        )

    def note_if_held(
        self, worker: str, occurrence_id: int, fence: int, note: Note, *, at: Micros | None = None
    ) -> bool:
        """Write a remark of a run; see the port."""
        wellformed.check_note(note, worker)
        with self._write(self._file.main, at) as tx:
            return _leases.note_if_held(tx, worker, occurrence_id, fence, note)

    # -- the reads ----------------------------------------------------------------------------

    def facts(self, names: Collection[str]) -> dict[str, Fact]:
        """Return a fact for every name; see the port."""
        with self._file.reader.read() as connection:
            return {name: _facts.read(connection, name) for name in names}

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Read occurrences."""
        with self._file.reader.read() as connection:
            return reading.occurrences(connection, query)

    def story(self, occurrence_id: int) -> Story | None:
        """Read everything about one occurrence."""
        with self._file.reader.read() as connection:
            return reading.story(connection, occurrence_id)

    def jobs(self, names: Collection[str] | None = None, *, event: str | None = None) -> list[JobRow]:
        """Read the jobs, by name order."""
        with self._file.reader.read() as connection:
            return reading.jobs(connection, names, event)

    def workers(self) -> list[WorkerInfo]:
        """Read every worker ever heard of, newest first."""
        with self._file.reader.read() as connection:
            return reading.workers(connection)

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        """Count, for backlog and overview."""
        now = self.now()
        with self._file.reader.read() as connection:
            return reading.tallies(connection, now, revisions=revisions)

    # -- the guard (see ports.rollback) --------------------------------------------------------

    def identity(self) -> str:
        """Return which file is open, going over to the one that lies at the path now."""
        return self._file.identity

    def prove(self, claim: Claim, *, at: Micros | None = None) -> Proof:
        """Judge what a writer remembers; see ``ports/rollback.py``."""
        wellformed.check_claim(claim)
        main = self._file.main
        with self._write(main, at) as tx:
            return proving.prove(tx, archive.store_id(tx.connection), main.identity, claim)

    def writers(self) -> list[Writer]:
        """Read every writer, the one that proved itself last first."""
        with self._file.reader.read() as connection:
            return proving.writers(connection)

    # -- the archive and the doctor ------------------------------------------------------------

    def store_id(self) -> str:
        """Return the name that this file was given when it was made."""
        with self._file.reader.read() as connection:
            return archive.store_id(connection)

    def export_page(self, cursor: str, limit: int) -> Page:
        """Read records from the cursor on; see ``ports/archive.py``."""
        with self._file.reader.read() as connection:
            return archive.export_page(connection, cursor, limit)

    def import_page(self, source: str, page: Page) -> None:
        """Write a page of another store; see ``ports/archive.py``."""
        with self._write(self._file.main, None) as tx:
            archive.import_page(tx, str(self._path), source, page)

    def import_state(self) -> Import | None:
        """Return how far an import has come."""
        with self._file.reader.read() as connection:
            return archive.import_state(connection)

    def count_records(self) -> Mapping[str, int]:
        """Count the records of each kind."""
        with self._file.reader.read() as connection:
            return archive.count_records(connection)

    def diagnose(self) -> list[Finding]:
        """Look at the file and its disk; see ``ports/doctor.py``."""
        with self._file.reader.read() as connection:
            about = (self._path, self._synchronous, drivers.library(self._driver))
            found = health.diagnose(connection, *about, only_looks=self.only_looks)
        return [*found, *drivers.findings(self._driver)]

    # -- the rest ------------------------------------------------------------------------------

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when something became due earlier than known, in this process or another."""
        return self._wake.listen(callback)

    def close(self) -> None:
        """Give back files, sockets and threads."""
        self._lookout.close()
        self._wake.close()
        self._file.close()

    @contextmanager
    def _write(self, link: Link, at: Micros | None) -> Iterator[Transaction]:
        """Run the block as one transaction, and tell the listeners afterwards, when no lock is held any more."""
        with link.write(at) as tx:
            yield tx
        if tx.is_news:
            self._wake.tell()

    def _once(
        self,
        name: str,
        at: Micros | None,
        run: Callable[[Transaction], Answer],
        to_plain: Callable[[Answer], Any],
        from_plain: Callable[[Transaction, Any], Answer],
    ) -> Answer:
        """Run a verb, or return its first answer."""
        with self._write(self._file.main, at) as tx:
            first = requests.recall(tx, name)
            if first is not None:
                return from_plain(tx, first)
            answer = run(tx)
            requests.remember(tx, name, to_plain(answer))
            return answer
