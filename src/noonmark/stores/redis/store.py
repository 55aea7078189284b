"""The Redis store's door: the port, verb by verb, one Lua script each.

Rule of the file: a verb is one script on the link of its purpose, with its request id; what it does stands in ``lua/``.
Renewals and heartbeats have a link of their own, so that no lease waits for other threads' batches.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from noonmark.core import remembered, rollback, wellformed
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
    State,
    Story,
    Taken,
    Tallies,
    WorkerInfo,
)
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Writer
from noonmark.ports.archive import Import, Page
from noonmark.ports.clock import Clock
from noonmark.ports.doctor import Finding
from noonmark.ports.store import Capability
from noonmark.stores.redis import archive, health, proving, reading, wire
from noonmark.stores.redis.address import Address
from noonmark.stores.redis.connection import Link, Wait
from noonmark.stores.redis.scripts import script
from noonmark.stores.redis.server import look
from noonmark.stores.redis.wake import Wake

READ_AT_ONCE = 500


class RedisStore:
    """A namespace in Redis or Valkey, shared by any number of processes of any number of machines.

    Use ``open_redis``, which looks at the server first.

    Args:
        address: where it is.
        clock: replaces the server's time, for tests; its boot-time hand is followed.
        promises: what the server, as found, can promise.
        sharded: the server is a cluster that knows sharded channels.
        wait: which disks are waited for before a caller is answered; renewals and heartbeats wait for none.
    """

    def __init__(
        self,
        address: Address,
        *,
        clock: Clock | None,
        promises: Collection[Capability],
        sharded: bool,
        wait: Wait | None,
    ) -> None:
        self._address = address
        self._promises = frozenset(promises)
        self._main = Link(address)
        self._main.wait = wait
        self._urgent = Link(address, timeout=min(address.timeout, 3.0), at_once=4)
        self._ear = Link(address, at_once=1, retries=0)  # what was said while it was away is made good, not skipped
        speaker = uuid.uuid4().hex
        self._voice = f"{'SPUBLISH' if sharded else 'PUBLISH'} {speaker}"
        self._wake = Wake(self._ear, f"{address.prefix}wake", speaker, sharded=sharded)
        self._idle = remembered.IdleTakes()
        self._serving = ""
        self._clock = clock
        if clock is not None:
            self._epoch, self._boot_id = clock.wall() - clock.boot(), clock.boot_id()

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._main.url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can promise as opened; NOTIFY only while hints are heard."""
        promises = self._promises | {Capability.PROVES}
        return promises | {Capability.NOTIFY} if self._wake.works else promises

    def now(self) -> Micros:
        """Return the store's time, UTC microseconds."""
        return int(self._at(None)) if self._clock is not None else int(self.read("now", []))

    # -- the verbs ----------------------------------------------------------------------------

    def add(self, request_id: str, rows: Sequence[NewOccurrence], *, at: Micros | None = None) -> list[Added]:
        """Insert occurrences; see the port."""
        wellformed.check_rows(rows, request_id)
        texts: list[str] = []
        answers = self._once("add", request_id, at, wire.new_rows(rows, texts), texts)
        return [wire.added(answer) for answer in answers]

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
        idle = self._idle.get(name)
        if idle is not None:
            return idle
        about = [worker, limit, dict(runnable), look_lease, proving.plain(link), self._idle.is_repeat(name)]
        reply = self._write("take", name, at, about, ())
        proving.check(link, reply)
        _, now, next_due, rules_version, rows = reply
        taken = Taken(
            rows=tuple(wire.occurrence(*row) for row in rows),
            now=now,
            next_due=next_due,
            rules_version=rules_version,
        )
        # A first idle take is not kept by the server, so that idling writes nothing; repeats come through this object.
        return taken if rows else self._idle.keep(name, taken)

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
        texts: list[str] = []
        about = [worker, [wire.settlement(item, texts) for item in items], proving.plain(link)]
        reply = self._write("settle", f"settle:{request_id}", at, about, texts)
        proving.check(link, reply)
        return wire.settled(reply[1], items)

    def renew(self, worker: str, leases: Sequence[Renewal], *, at: Micros | None = None) -> Renewed:
        """Extend leases; see the port."""
        wellformed.check_leases(worker, leases)
        about = [worker, [[lease.occurrence_id, lease.fence, lease.lease] for lease in leases]]
        _, now, lost, asked = self._write("renew", "", at, about, (), urgent=True)
        return Renewed(lost=frozenset(lost), cancel_requested=frozenset(asked), now=now)

    def signal(self, request_id: str, facts: Sequence[Fact], *, at: Micros | None = None) -> list[int]:
        """Set or clear facts; see the port."""
        wellformed.check_facts(facts, request_id)
        about = [[fact.name, wire.fact_text(fact.value), fact.actor] for fact in facts]
        return list(self._once("signal", request_id, at, about, ()))

    def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
        """Record that the worker lives; see the port."""
        wellformed.check_worker(worker)
        about = [worker.id, ttl, worker.started_at, int(worker.ended_at is not None)]
        return int(self._write("heartbeat", "", at, about, (wire.card(worker),), urgent=True)[1])

    def activate(
        self, request_id: str, changes: Sequence[Activation], *, actor: str, at: Micros | None = None
    ) -> list[JobRow]:
        """Put rules in force; see the port."""
        wellformed.check_changes(changes, actor, request_id)
        texts: list[str] = []
        about = [actor, [wire.activation(change, texts) for change in changes]]
        return [wire.job_row(answer) for answer in self._once("activate", request_id, at, about, texts)]

    def act(self, request_id: str, act: Act, *, at: Micros | None = None) -> Acted:
        """Carry out a person's act; see the port."""
        wellformed.check_act(act, request_id)
        if act.kind == "release" and act.occurrence_id is None:
            return proving.let_go(
                lambda: self.facts([rollback.FACT])[rollback.FACT],
                lambda about: wire.acted(self._once("act", request_id, at, about, ())),
                act,
                self.now() if at is None else at,
                self.url,
            )
        texts: list[str] = []
        return wire.acted(self._once("act", request_id, at, wire.act(request_id, act, texts), texts))

    def note_if_held(
        self, worker: str, occurrence_id: int, fence: int, note: Note, *, at: Micros | None = None
    ) -> bool:
        """Write a remark of a run; see the port."""
        wellformed.check_note(note, worker)
        about = [worker, occurrence_id, fence, note.kind, note.name]
        return bool(self._write("note", "", at, about, (note.value,))[1])

    # -- the reads ----------------------------------------------------------------------------

    def facts(self, names: Collection[str]) -> dict[str, Fact]:
        """Return a fact for every name; see the port."""
        wanted = list(names)
        return {
            name: wire.fact(name, answer)
            for some in _pages(wanted)
            for name, answer in zip(some, self.read("facts", some), strict=True)
        }

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Read occurrences."""
        return reading.occurrences(self, query)

    def story(self, occurrence_id: int) -> Story | None:
        """Read everything about one occurrence."""
        found = self.read("story", [occurrence_id])
        if not found:
            return None
        row, attempts, ledger, notes, alerts = found
        return Story(
            occurrence=wire.occurrence(*row),
            attempts=tuple(wire.attempt(occurrence_id, one) for one in attempts),
            ledger=tuple(wire.line(occurrence_id, one) for one in ledger),
            notes=tuple(wire.note(one) for one in notes),
            alerts=tuple(wire.alert(one) for one in alerts),
        )

    def jobs(self, names: Collection[str] | None = None, *, event: str | None = None) -> list[JobRow]:
        """Read the jobs, by name order."""
        if event:
            begin = f"{len(event.encode())}:{event}"
            members = self.ask("ZRANGEBYLEX", "event", f"[{begin}", f"[{begin}\U0010ffff")
            wanted = {member[len(begin) :] for member in members}
            wanted = wanted if names is None else wanted & set(names)
        else:
            wanted = set(self.ask("HKEYS", "job") if names is None else names)
        found = [wire.job_row(one) for some in _pages(sorted(wanted)) for one in self.read("jobs", some)]
        return [job for job in found if event is None or job.event == event]

    def workers(self) -> list[WorkerInfo]:
        """Read every worker ever heard of, newest first; one without a pid is known from a copied row only."""
        ids = self.ask("HKEYS", "worker")
        found = [wire.worker_info(one) for some in _pages(ids) for one in self.read("workers", some)]
        heard_of = (worker for worker in found if worker.pid)
        return sorted(heard_of, key=lambda worker: (worker.started_at, worker.id), reverse=True)

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        """Count, for backlog and overview."""
        now, counted, due_now, delayed, waiting, earliest, alerts = self.read("tallies", [])
        counts = dict(zip(counted[::2], map(int, counted[1::2]), strict=True))
        return Tallies(
            now=now,
            by_state={state: counts[f"state:{state}"] for state in State if counts.get(f"state:{state}")},
            due_now=due_now,
            delayed=delayed,
            waiting=waiting,
            earliest_due=earliest,
            stale_refused=counts.get("stale_refused", 0),
            duplicates_refused=counts.get("duplicates_refused", 0),
            open_alerts=tuple(wire.alert(one) for one in alerts),
            revisions=reading.revisions(self, None if isinstance(revisions, bool) else revisions) if revisions else (),
            acts=reading.acts(self) if revisions is True else (),
        )

    # -- the rest ------------------------------------------------------------------------------

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when something became due earlier than known, in this process or another."""
        return self._wake.listen(callback)

    # -- the guard (see ports.rollback) --------------------------------------------------------

    def identity(self) -> str:
        """Return which server the last proof was given before; a link that was made for another one is refused."""
        return self._serving

    def prove(self, claim: Claim, *, at: Micros | None = None) -> Proof:
        """Judge what a writer remembers; see ``ports/rollback.py``."""
        wellformed.check_claim(claim)
        proof = proving.prove(
            lambda about: self._main.run(script("proof"), self._at(at), "", "", wire.dump(about)),
            lambda about, serving: self._write("prove", "", at, about, (serving,)),
            lambda name: self.ask("HSETNX", "meta", "store_id", name),
            claim,
            self.url,
        )
        self._serving = proof.serving.identity
        return proof

    def writers(self) -> list[Writer]:
        """Read every writer, the one that proved itself last first."""
        return proving.writers(self.read("writers", []))

    # -- the archive and the doctor ------------------------------------------------------------

    def store_id(self) -> str:
        """Return the name that this namespace was given when it was made."""
        return str(self.ask("HGET", "meta", "store_id"))

    def export_page(self, cursor: str, limit: int) -> Page:
        """Read records from the cursor on; see ``ports/archive.py``."""
        return archive.export_page(self, cursor, limit)

    def import_page(self, source: str, page: Page) -> None:
        """Write a page of another store; see ``ports/archive.py``."""
        archive.check_written(self.url, self._write("import", "", None, archive.page_to_write(source, page), ()))

    def import_state(self) -> Import | None:
        """Return how far a copy into this namespace has come."""
        return archive.import_state(self)

    def count_records(self) -> Mapping[str, int]:
        """Count the records of each kind."""
        return archive.count_records(self)

    def diagnose(self) -> list[Finding]:
        """Look at the server as it is now."""
        return health.findings(look(self._main, self._address), self._address)

    def close(self) -> None:
        """Give back sockets and threads."""
        self._wake.close()
        for link in (self._main, self._urgent, self._ear):
            link.close()

    def ask(self, command: str, key: str, *args: Any) -> Any:
        """Run a plain reading command on a key of the namespace."""
        return self._main.ask(command, f"{self._address.prefix}{key}", *args)

    def any_of(self, *indexes: str) -> Any:
        """Return the members of several sorted sets of the namespace, as they are at one moment."""
        return self._main.ask("ZUNION", len(indexes), *(f"{self._address.prefix}{index}" for index in indexes))

    def both(self, first: str, second: str) -> Any:
        """Return the members that two sorted sets of the namespace have in common."""
        prefix = self._address.prefix
        return self._main.ask("ZINTER", 2, f"{prefix}{first}", f"{prefix}{second}")

    def read(self, name: str, about: object) -> Any:
        """Run a script that only reads."""
        return self._main.run(script(name), self._at(None), "", "", wire.dump(about))

    def _at(self, at: Micros | None) -> str:
        """Return the instant for a script: '' is the server's own time."""
        if at is not None:
            return str(wire.instant(at, "at"))
        if self._clock is None:
            return ""
        if self._clock.boot_id() != self._boot_id:  # another boot: its boot-time clock began anew
            self._epoch, self._boot_id = self._clock.wall() - self._clock.boot(), self._clock.boot_id()
        return str(self._epoch + self._clock.boot())

    def _once(self, verb: str, request_id: str, at: Micros | None, about: object, texts: Sequence[str]) -> Any:
        """Run a verb that is remembered, or get its first answer."""
        return self._write(verb, f"{verb}:{request_id}", at, about, texts)[1]

    def _write(
        self, verb: str, request: str, at: Micros | None, about: object, texts: Sequence[str], *, urgent: bool = False
    ) -> Any:
        link = self._urgent if urgent else self._main
        reply = link.run(script(verb), self._at(at), request, self._voice, wire.dump(about), *texts, durable=True)
        if reply[0] == 1:
            self._wake.call()
        return reply


def _pages(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[first : first + READ_AT_ONCE] for first in range(0, len(items), READ_AT_ONCE)]
