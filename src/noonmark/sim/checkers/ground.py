"""What the store has said so far, read once for all checkers: rows, leases, fences, rules, pauses and facts.

Promise: everything here comes from the verbs that crossed the wire and from the rows as anybody may read them; no table
of the store is looked into.

Rule of the file: it reads, others judge.  A request that arrived a second time is a repeat: it has no events.
A failover takes back what it lost: rows, leases, rules and facts are read anew, answers and notes of lost writes are
forgotten.  What was granted, begun or noted ever stays known, for whoever asks about the outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.core.model import (
    HOUR,
    MINUTE,
    OPEN_STATES,
    Act,
    Event,
    Fact,
    Micros,
    Note,
    Occurrence,
    Query,
    Renewed,
    Settled,
    Settlement,
    State,
    Taken,
    changed,
)
from noonmark.sim.checkers.events import Begun, Extended, Judged, Lease, Leased
from noonmark.sim.checkers.rulebook import Rulebook
from noonmark.sim.history import Call

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

ASKED_ONCE = frozenset({"add", "take", "settle", "signal", "activate", "act"})
"""Verbs whose first argument is a request id."""
OFTEN_IDLE = frozenset({"take", "heartbeat", "renew", "prove"})
EVERYTHING = 1_000_000
STARTS = frozenset({Event.START, Event.TAKEOVER})


class Ground:
    """One world's store, as told."""

    def __init__(self, world: SimWorld) -> None:
        self._world = world
        self.rules = Rulebook()
        self.rows: dict[int, Occurrence] = {}
        self.leases: dict[int, Lease] = {}
        self.newest: dict[int, int] = {}  # occurrence -> newest fence ever granted
        self.standing: dict[int, int] = {}  # ... of those that no failover took back
        self.answered: dict[tuple[int, int], int] = {}  # occurrence, fence -> number of the write
        self.began: dict[tuple[int, int], Begun] = {}
        self.ends: dict[tuple[int, int], Micros] = {}  # run -> end of its lease on the world's clock, which never leaps
        self.told_lost: dict[tuple[int, int], Micros] = {}  # run -> when its worker heard that its lease was lost
        self.facts: dict[str, object] = {}
        self.notes: dict[tuple[int, str, str], int] = {}  # occurrence, kind, name of a note -> fence that wrote it
        self.ever_noted: set[tuple[int, str, str]] = set()  # ... those that a failover lost, too
        self.workers: dict[str, Micros] = {}  # incarnation -> until when it counts as alive
        self.is_repeat = False
        self.is_same_answer = True  # ... of a repeat
        self.changed: list[tuple[Occurrence | None, Occurrence]] = []
        self.leased: list[Leased] = []
        self.begun: list[Begun] = []
        self.judged: list[Judged] = []
        self.extended: list[Extended] = []
        self.open: set[int] = set()  # rows that have not ended
        self._last_id = 0
        self._noted_at: dict[tuple[int, str, str], int] = {}
        self._asked: dict[tuple[str, str], tuple[Micros, object, int]] = {}
        self._number = 0
        self._era = len(world.cluster.emptied)

    # -- when it reads ------------------------------------------------------------------------

    def on_call(self, call: Call) -> None:
        """Read a verb."""
        self.changed, self.leased, self.begun, self.judged, self.extended = [], [], [], [], []
        self._number = self._world.cluster.written
        self.is_repeat = self._is_repeat(call)
        if self.is_repeat:
            self._compare(whole=call.verb != "take")
            return
        read = _READERS.get(call.verb)
        if read is not None:
            read(self, call)

    def has_news(self, call: Call) -> bool:
        """Return False when the verb that was read last changed nothing: of these there are many."""
        return call.verb not in OFTEN_IDLE or bool(self.changed or self.leased or self.extended or self.is_repeat)

    def at_end(self) -> None:
        """Read everything once more."""
        self.changed = []
        self._compare(whole=True)

    # -- what they ask ----------------------------------------------------------------------------------

    @property
    def peace_at(self) -> Micros:
        """The store's time at which the quiet time began; only at the end, when no clock leaps any more."""
        return self._world.store.now() - (self._world.clock.boot() - self._world.begins - self._world.plan.length)

    @property
    def had_quiet(self) -> bool:
        """True when the world ended in quiet, so that whatever must happen in the end can be asked for."""
        return self._world.store.now() - self.peace_at >= 10 * MINUTE

    @property
    def is_former(self) -> bool:
        """True when another store has come to lie there since."""
        return len(self._world.cluster.emptied) > self._era

    @property
    def is_quiet(self) -> bool:
        """True when nothing goes wrong any more."""
        return self._world.clock.boot() >= self._world.begins + self._world.plan.length

    def has_settled(self, length: Micros) -> bool:
        """Return True when the last failover, if there was one, is so long ago, and so is an empty store's coming."""
        cluster = self._world.cluster
        struck = [*(failover.at for failover in cluster.failovers[-1:]), *cluster.emptied[-1:]]
        return self._world.store.now() >= max(struck, default=0) + length

    def is_set(self, fact: str) -> bool:
        """Return True when a fact holds, as far as signals and settlements told."""
        value = self.facts.get(fact)
        return value is not None and value is not False

    # -- reading ------------------------------------------------------------------------------------------

    def _is_repeat(self, call: Call) -> bool:
        if call.verb not in ASKED_ONCE:
            return False
        asked = (call.verb, str(call.args[0]))
        known = self._asked.get(asked)
        if known is not None and call.at - known[0] < HOUR:
            self.is_same_answer = call.answer == known[1]
            return True
        self._asked[asked] = (call.at, call.answer, self._number)
        return False

    def on_failover(self) -> None:
        """Take back what was lost."""
        cluster, is_lost = self._world.cluster, self._world.cluster.is_lost
        self.changed, self.leased, self.begun, self.judged, self.extended = [], [], [], [], []
        self.rows = {row.id: row for row in cluster.occurrences(Query(after_id=0, limit=EVERYTHING))}
        self.open = {row.id for row in self.rows.values() if row.state in OPEN_STATES}
        self._last_id = max(self.rows, default=0)
        self.standing = {row.id: row.fence for row in self.rows.values() if row.fence}
        self.leases = {
            row.id: Lease(
                fence=row.fence,
                worker=row.holder,
                until=row.due_at,
                is_run=row.state is State.RUNNING and not row.looking,
                taken_at=cluster.now(),
            )
            for row in self.rows.values()
            if row.holder and row.due_at is not None
        }
        self.answered = {run: number for run, number in self.answered.items() if not is_lost(number)}
        self._asked = {asked: known for asked, known in self._asked.items() if not is_lost(known[2])}
        self._noted_at = {note: number for note, number in self._noted_at.items() if not is_lost(number)}
        self.notes = {note: fence for note, fence in self.notes.items() if note in self._noted_at}
        self.facts = {name: fact.value for name, fact in cluster.facts(list(self.facts)).items() if fact.is_set}
        self.workers = {info.id: info.ended_at or info.until for info in cluster.workers()}
        for job in list(self.rules.rules):
            self.rules.take_back(job, next(iter(cluster.jobs([job])), None))

    def _compare(self, *, whole: bool = False) -> None:
        """Find the rows that changed; most verbs touch none that has ended."""
        read = self._world.cluster.occurrences
        if whole:
            found = read(Query(after_id=0, limit=EVERYTHING))
        else:
            found = read(Query(open_only=True, after_id=0, limit=EVERYTHING))
            there = {row.id for row in found}
            gone = self.open - there
            newest = max(there, default=0)
            if newest > self._last_id:  # rows that ended as they were made stand between them
                gone.update(range(self._last_id + 1, newest))
            gone -= there
            if gone:
                found += read(Query(ids=tuple(sorted(gone)), after_id=0, limit=EVERYTHING))
        self._see(found)

    def _see(self, found: list[Occurrence]) -> None:
        for row in found:
            before = self.rows.get(row.id)
            if before is row:
                continue
            self.rows[row.id] = row
            self.changed.append((before, row))
            if row.state in OPEN_STATES:
                self.open.add(row.id)
            else:
                self.open.discard(row.id)
            self._last_id = max(self._last_id, row.id)

    def _read_take(self, call: Call) -> None:
        taken: Taken = call.answer
        if not taken.rows:
            return
        before = {row.id: self.rows.get(row.id) for row in taken.rows}
        self._compare()
        for row in taken.rows:
            self.leased.append(
                Leased(
                    at=call.at,
                    who=call.who,
                    row=row,
                    before=before[row.id],
                    lease=self.leases.get(row.id),
                    fence=self.newest.get(row.id, 0),
                )
            )
            assert row.due_at is not None
            is_run = row.state is State.RUNNING and not row.looking
            self.leases[row.id] = Lease(
                fence=row.fence,
                worker=call.args[1],
                until=row.due_at,
                is_run=is_run,
                taken_at=call.at,
            )
            self.newest[row.id] = max(row.fence, self.newest.get(row.id, 0))
            self.standing[row.id] = row.fence
            if is_run:
                began = Begun(
                    at=call.at,
                    who=call.args[1],
                    before=before[row.id],
                    row=row,
                    event=Event.START,
                    number=self._number,
                )
                self._begin(began, row.due_at - call.at)

    def _begin(self, began: Begun, lease: Micros) -> None:
        self.begun.append(began)
        self.began[(began.row.id, began.row.fence)] = began
        self.ends[(began.row.id, began.row.fence)] = self._world.clock.boot() + lease

    def _read_settle(self, call: Call) -> None:
        _, worker, items = call.args[:3]
        before = {item.occurrence_id: self.rows.get(item.occurrence_id) for item in items}
        self._compare()
        for item, answer in zip(items, call.answer, strict=True):
            self._read_settlement(call, worker, item, answer, before[item.occurrence_id])

    def _read_settlement(
        self, call: Call, worker: str, item: Settlement, answer: Settled, before: Occurrence | None
    ) -> None:
        row_id, told = item.occurrence_id, (item.occurrence_id, item.fence)
        lease, after = self.leases.get(row_id), self.rows.get(row_id)
        judged = Judged(
            at=call.at,
            who=worker,
            item=item,
            answer=answer,
            before=before,
            after=after,
            newest=self.standing.get(row_id, 0),
            was_answered=told in self.answered or (item.event in STARTS and told in self.began),
            taken_at=lease.taken_at if lease is not None and lease.fence == item.fence else call.at,
        )
        self.judged.append(judged)
        if answer.outcome != "applied" or judged.was_answered:
            return
        for fact in item.facts:
            self.facts[fact.name] = fact.value
        if item.event in STARTS and answer.state is State.RUNNING:
            if lease is not None:
                self.leases[row_id] = changed(lease, until=answer.lease_until, is_run=True)
            assert after is not None
            began = Begun(
                at=call.at,
                who=worker,
                before=before,
                row=after,
                event=item.event,
                number=self._number,
                settlement=item,
            )
            self._begin(began, answer.lease_until - call.at)
            return
        self.answered[told] = self._number
        if lease is not None and lease.fence == item.fence:
            del self.leases[row_id]

    def _read_renew(self, call: Call) -> None:
        worker, renewals = call.args[:2]
        answer: Renewed = call.answer
        for renewal in renewals:
            row_id = renewal.occurrence_id
            if row_id in answer.lost:
                if self._is_heard(call):
                    self.told_lost.setdefault((row_id, renewal.fence), self._world.clock.boot())
                continue
            lease = self.leases.get(row_id)
            self.extended.append(Extended(at=call.at, who=worker, renewal=renewal, lease=lease))
            if lease is not None and lease.fence == renewal.fence:
                self.leases[row_id] = changed(lease, until=call.at + renewal.lease)
                self.ends[(row_id, renewal.fence)] = self._world.clock.boot() + renewal.lease
        ids = tuple(renewal.occurrence_id for renewal in renewals)
        self._see(self._world.cluster.occurrences(Query(ids=ids, after_id=0, limit=EVERYTHING)) if ids else [])

    def _is_heard(self, call: Call) -> bool:
        """False where the answer gets lost, on the wire or by an error that is about to strike right behind the call."""
        return call.told and not self._world.machines[int(call.who[1:].partition(".")[0])].misses_renewals

    def _read_note(self, call: Call) -> None:
        _, row_id, fence, note = call.args[:4]
        assert isinstance(note, Note)
        if call.answer:
            name = (row_id, note.kind, note.name)
            self.notes.setdefault(name, fence)
            self._noted_at.setdefault(name, self._number)
            self.ever_noted.add(name)

    def _read_signal(self, call: Call) -> None:
        for fact in call.args[1]:
            assert isinstance(fact, Fact)
            self.facts[fact.name] = fact.value

    def _read_activate(self, call: Call) -> None:
        for row in call.answer:
            self.rules.read(row, call.at)
        self._compare(whole=True)

    def _read_act(self, call: Call) -> None:
        act: Act = call.args[1]
        if act.kind in ("pause", "resume") and call.answer.outcome == "done":
            self.rules.pause(act.job or "", call.at, is_pause=act.kind == "pause")
        self._compare(whole=True)

    def _read_add(self, call: Call) -> None:
        del call
        self._compare(whole=True)

    def _read_prove(self, call: Call) -> None:
        if call.answer.outcome in ("lost", "joined"):  # what may have run was gated by it
            self._compare(whole=True)

    def _read_heartbeat(self, call: Call) -> None:
        worker, ttl = call.args[:2]
        self.workers[worker.id] = call.at if worker.ended_at is not None else call.at + ttl


_READERS = {
    "take": Ground._read_take,
    "settle": Ground._read_settle,
    "renew": Ground._read_renew,
    "note_if_held": Ground._read_note,
    "signal": Ground._read_signal,
    "activate": Ground._read_activate,
    "act": Ground._read_act,
    "add": Ground._read_add,
    "heartbeat": Ground._read_heartbeat,
    "prove": Ground._read_prove,
}
