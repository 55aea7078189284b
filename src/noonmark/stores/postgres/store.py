"""The PostgreSQL store's door: the port, verb by verb, over a server that any number of hosts share.

Rule of the file: a verb is one transaction, two round trips long: look the request up, lock and read; then write and
commit.  What a verb does stands in the module named after it.  Renewals and heartbeats have a connection of their own, so
no lease waits for a long batch of the same process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from noonmark.core import remembered, wellformed
from noonmark.core.lifecycle import KEPT
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
from noonmark.ports.clock import Clock
from noonmark.ports.doctor import Finding, StoreAbsent
from noonmark.ports.store import Capability
from noonmark.stores.postgres import (
    acting,
    activating,
    adding,
    archive,
    caller,
    clock,
    durability,
    facts,
    health,
    leases,
    proving,
    reading,
    requests,
    schema,
    settling,
    taking,
    waking,
    writing,
)
from noonmark.stores.postgres.address import Address
from noonmark.stores.postgres.desk import Desk, Wanted, sit_down
from noonmark.stores.postgres.link import URGENT_PATIENCE, Pool, Session
from noonmark.stores.postgres.listening import Ear
from noonmark.stores.postgres.transaction import NOW, ClockStep, Transaction

Answer = TypeVar("Answer")


class PostgresStore:
    """A store in one schema of a PostgreSQL database.

    Args:
        address: where it is, see ``address.parse``.
        clock: replaces the server's clock, for tests only.
        create: make the schema where there is none.

    Raises:
        StoreUnusable, StoreUnreachable, StoreAbsent: a person must act, the server is away, there is none to open.
    """

    def __init__(self, address: Address, *, clock: Clock | None = None, create: bool = True) -> None:
        self._address = address
        self._clock = clock
        try:
            opened = schema.prepare(address, create=create)
        except StoreAbsent as nothing:
            nothing.findings, nothing.promises = health.before_there_is_a_store(address)
            raise
        self._pool = Pool(address, address.pool_size, first=opened)
        self._urgent = Pool(address, 1, patience=URGENT_PATIENCE)
        self._ear = Ear(address)
        self._idle = remembered.IdleTakes()
        self._serving = ""
        try:
            self._durability = self._pool.run(durability.read)
            self._ours = caller.Ours(self.store_id)
        except BaseException:
            self._pool.close()
            raise

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._address.shown

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can promise as opened; whether it can notify changes with its connection."""
        promises = {Capability.SHARED, Capability.CALLER_TRANSACTION, Capability.PROVES, *self._durability.capabilities}
        if self._ear.works:
            promises.add(Capability.NOTIFY)
        return frozenset(promises)

    def now(self) -> Micros:
        """Return the store's time, UTC microseconds."""
        fixed = self._fixed(None)
        if fixed is not None:
            return fixed
        [[(now,)]] = self._pool.run(lambda session: session.ask((f"SELECT {NOW}", (None,))))
        return int(now)

    # -- the verbs ----------------------------------------------------------------------------

    def add(self, request_id: str, rows: Sequence[NewOccurrence], *, at: Micros | None = None) -> list[Added]:
        """Insert occurrences; see the port."""
        wellformed.check_rows(rows, request_id)
        return self._once(
            f"add:{request_id}",
            at,
            adding.wanted(rows),
            lambda desk: adding.add(desk, rows),
            remembered.added_to_plain,
            lambda _session, plain: remembered.added_from_plain(plain),
        )

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
        name, fixed = f"take:{request_id}", self._fixed(at)
        idle = self._idle.get(name)
        if idle is not None:
            return idle

        def work(session: Session) -> Taken:
            is_repeat = self._idle.is_repeat(name)
            begun = taking.begin(session, name, worker, limit, fixed, link)
            if begun.tx.first is not None:
                return taking.again(session, worker, begun.tx.first)
            if begun.outlook.must_wake or begun.outlook.must_cancel:
                session.drop_transaction()
                if begun.outlook.must_wake:
                    waking.wake(session, fixed)
                if begun.outlook.must_cancel:
                    waking.cancel_rows_of_the_gone(session, fixed)
                begun = taking.begin(session, name, worker, limit, fixed, link)
            if not begun.due and not is_repeat:
                session.drop_transaction()
                # Kept here and not in the database: whoever repeats a request does so through this object.
                return self._idle.keep(name, begun.outlook.nothing())
            return taking.lease(begun, name, worker, runnable, look_lease, link)

        return self._run(self._pool, lambda session: _ended(session, work))

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
        name, fixed = f"settle:{request_id}", self._fixed(at)

        def work(session: Session) -> list[Settled]:
            plain = [item for item in items if settling.is_plain(item)]
            statements = settling.succeeding(plain, fixed) if plain else []
            tx, found = Transaction.begin(session, name, fixed, *statements, *proving.checking(link), kept=KEPT)
            if tx.first is not None:
                return remembered.settled_from_plain(json.loads(tx.first))
            proving.check(link, found[-1] if link is not None else [])
            done = frozenset((row[0], row[1]) for row in found[1]) if plain else frozenset()
            if done:
                settling.record(tx, worker, plain, done)
            answers = settling.answers(tx, worker, items, done)
            requests.remember(tx, name, remembered.settled_to_plain(answers))
            proving.append(tx, link)
            tx.finish()
            return answers

        return self._run(self._pool, lambda session: _ended(session, work))

    def renew(self, worker: str, leases_: Sequence[Renewal], *, at: Micros | None = None) -> Renewed:
        """Extend leases; see the port."""
        wellformed.check_leases(worker, leases_)
        fixed = self._fixed(at)
        return self._run(self._urgent, lambda session: leases.renew(session, worker, leases_, fixed))

    def signal(self, request_id: str, facts_: Sequence[Fact], *, at: Micros | None = None) -> list[int]:
        """Set or clear facts; see the port."""
        wellformed.check_facts(facts_, request_id)
        return self._once(
            f"signal:{request_id}",
            at,
            Wanted(written_facts={fact.name for fact in facts_}),
            lambda desk: [facts.write(desk, fact.name, fact.value, fact.actor) for fact in facts_],
            list,
            lambda _session, plain: list(plain),
        )

    def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
        """Record that the worker lives; see the port."""
        wellformed.check_worker(worker)
        fixed = self._fixed(at)
        return self._run(self._urgent, lambda session: leases.heartbeat(session, worker, ttl, fixed))

    def activate(
        self, request_id: str, changes: Sequence[Activation], *, actor: str, at: Micros | None = None
    ) -> list[JobRow]:
        """Put rules in force; see the port."""
        wellformed.check_changes(changes, actor, request_id)
        return self._once(
            f"activate:{request_id}",
            at,
            activating.wanted(changes),
            lambda desk: activating.activate(desk, changes, actor),
            activating.answer_to_plain,
            activating.answer_from_plain,
        )

    def act(self, request_id: str, act: Act, *, at: Micros | None = None) -> Acted:
        """Carry out a person's act; see the port."""
        wellformed.check_act(act, request_id)
        return self._once(
            f"act:{request_id}",
            at,
            acting.wanted(act),
            lambda desk: acting.act(desk, request_id, act),
            remembered.acted_to_plain,
            lambda _session, plain: remembered.acted_from_plain(plain),
        )

    def note_if_held(
        self, worker: str, occurrence_id: int, fence: int, note: Note, *, at: Micros | None = None
    ) -> bool:
        """Write a remark of a run; see the port."""
        wellformed.check_note(note, worker)
        fixed = self._fixed(at)
        return self._run(
            self._pool, lambda session: leases.note_if_held(session, worker, occurrence_id, fence, note, fixed)
        )

    # -- the reads ----------------------------------------------------------------------------

    def facts(self, names: Collection[str]) -> dict[str, Fact]:
        """Return a fact for every name; see the port."""
        return self._pool.run(lambda session: facts.read(session, names))

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Read occurrences."""
        return self._pool.run(lambda session: reading.occurrences(session, query))

    def story(self, occurrence_id: int) -> Story | None:
        """Read everything about one occurrence."""
        return self._pool.run(lambda session: reading.story(session, occurrence_id))

    def jobs(self, names: Collection[str] | None = None, *, event: str | None = None) -> list[JobRow]:
        """Read the jobs, by name order."""
        return self._pool.run(lambda session: reading.jobs(session, names, event))

    def workers(self) -> list[WorkerInfo]:
        """Read every worker ever heard of, newest first."""
        return self._pool.run(reading.workers)

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        """Count, for backlog and overview."""
        fixed = self._fixed(None)
        return self._pool.run(lambda session: reading.tallies(session, fixed, revisions=revisions))

    def add_within(self, connection: object, request_id: str, rows: Sequence[NewOccurrence]) -> list[Added]:
        """Add rows inside the open transaction of ``connection``; see ``ports.store.CallerTransactions``.

        Raises:
            ValueError: no psycopg connection (or SQLAlchemy's over psycopg) to this store's database.
        """
        wellformed.check_rows(rows, request_id)
        return caller.add_within(self._address, self._ours, connection, request_id, rows, self._fixed(None))

    # -- the guard (see ports.rollback) --------------------------------------------------------

    def identity(self) -> str:
        """Return which server the last proof was given before; a link that was made for another one is refused."""
        return self._serving

    def prove(self, claim: Claim, *, at: Micros | None = None) -> Proof:
        """Judge what a writer remembers; see ``ports/rollback.py``."""
        wellformed.check_claim(claim)
        proof = self._run(self._pool, lambda session: proving.prove(session, claim, self._fixed(at)))
        self._serving = proof.serving.identity
        return proof

    def writers(self) -> list[Writer]:
        """Read every writer, the one that proved itself last first."""
        return self._pool.run(proving.writers)

    # -- the archive (see ports.archive) -------------------------------------------------------

    def store_id(self) -> str:
        """Return the name that this namespace was given when it was made."""
        return self._pool.run(archive.store_id)

    def export_page(self, cursor: str, limit: int) -> Page:
        """Read a page of everything."""
        return self._pool.run(lambda session: archive.export_page(session, cursor, limit))

    def import_page(self, source: str, page: Page) -> None:
        """Write a page of another store."""
        now = self.now()
        self._pool.run(lambda session: archive.import_page(session, source, page, now))

    def import_state(self) -> Import | None:
        """Return how far an import has come."""
        return self._pool.run(archive.import_state)

    def count_records(self) -> Mapping[str, int]:
        """Count the records of each kind."""
        return self._pool.run(archive.count_records)

    # -- the rest ------------------------------------------------------------------------------

    def diagnose(self) -> list[Finding]:
        """Look at the server as it is now; see ``ports.doctor``."""
        return self._pool.run(lambda session: health.diagnose(session, durability.read(session)))

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when something became due earlier than known, in this process or another."""
        return self._ear.listen(callback)

    def close(self) -> None:
        """Give back sockets and threads."""
        self._ear.close()
        self._pool.close()
        self._urgent.close()

    def _fixed(self, at: Micros | None) -> Micros | None:
        """Return the instant that stands for the server's clock, in tests."""
        return self._clock.wall() if at is None and self._clock is not None else at

    def _run(self, pool: Pool, work: Callable[[Session], Answer]) -> Answer:
        while True:
            try:
                return pool.run(work)
            except ClockStep:
                pool.run(clock.step)

    def _once(
        self,
        name: str,
        at: Micros | None,
        wanted: Wanted,
        run: Callable[[Desk], Answer],
        to_plain: Callable[[Answer], Any],
        from_plain: Callable[[Session, Any], Answer],
    ) -> Answer:
        """Run a verb, or return its first answer."""
        fixed = self._fixed(at)

        def work(session: Session) -> Answer:
            desk = sit_down(session, name, fixed, wanted)
            if desk.tx.first is not None:
                return from_plain(session, json.loads(desk.tx.first))
            answer = run(desk)
            writing.write(desk)
            requests.remember(desk.tx, name, to_plain(answer))
            desk.tx.finish()
            return answer

        return self._run(self._pool, lambda session: _ended(session, work))


def _ended(session: Session, work: Callable[[Session], Answer]) -> Answer:
    """Run work that may leave its transaction open when it found that there is nothing to write."""
    answer = work(session)
    if session.in_transaction:
        session.drop_transaction()
    return answer
