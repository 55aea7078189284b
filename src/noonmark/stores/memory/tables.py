"""What the memory store remembers, and the small moves that every verb is made of.

Rule of the file: each method keeps one promise about one kind of record (a claim, a slot, a fact, an attempt); policy
about *when* to do so belongs to the verbs.  The caller holds the store's lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from noonmark.core import escalate
from noonmark.core.lifecycle import ASKED_BY_A_PERSON, YIELDING, is_end, waits_under
from noonmark.core.model import (
    Added,
    Alert,
    Attempt,
    Fact,
    FactWrite,
    JobRow,
    LedgerLine,
    Micros,
    NewOccurrence,
    Note,
    Occurrence,
    Origin,
    State,
    Verdict,
    WorkerInfo,
    changed,
)
from noonmark.core.model.rollback import Serving, Writer
from noonmark.ports.archive import Import
from noonmark.stores.memory import alerts
from noonmark.stores.memory.rows import made


@dataclass(slots=True)
class Tables:
    """All records of one memory store."""

    rows: dict[int, Occurrence] = field(default_factory=dict)
    open_ids: dict[int, None] = field(default_factory=dict)
    by_identity: dict[tuple[str, str, str], int] = field(default_factory=dict)
    claims: dict[str, list[int]] = field(default_factory=dict)  # key -> claimants, the newest generation last
    facts: dict[str, Fact] = field(default_factory=dict)
    # fact -> parked row -> number under which it waits, see core.lifecycle.waits_under
    waits: dict[str, dict[int, int]] = field(default_factory=dict)
    waits_of: dict[int, tuple[str, ...]] = field(default_factory=dict)
    wakes: dict[str, None] = field(default_factory=dict)  # facts that moved and whose waiters may still sleep
    slots: dict[str, tuple[int, Micros]] = field(default_factory=dict)
    freed: set[str] = field(default_factory=set)  # slots that the verb under way has freed
    attempts: dict[int, list[Attempt]] = field(default_factory=dict)
    ledger: dict[int, list[LedgerLine]] = field(default_factory=dict)
    notes: dict[int, dict[tuple[str, str], Note]] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    jobs: dict[str, JobRow] = field(default_factory=dict)
    revisions: list[JobRow] = field(default_factory=list)
    revised: list[tuple[str, Micros]] = field(default_factory=list)  # by whom and when, one per revision
    workers: dict[str, WorkerInfo] = field(default_factory=dict)
    answered: dict[int, set[int]] = field(default_factory=dict)  # occurrence -> fences that had their outcome
    looked: dict[int, set[int]] = field(default_factory=dict)  # those of them that no attempt tells, parks left out
    writers: dict[str, Writer] = field(default_factory=dict)
    links: dict[str, dict[int, str]] = field(default_factory=dict)  # writer -> number -> hash, the newest ones
    serving: Serving | None = None
    imported: Import | None = None
    rules_version: int = 0
    stale_refused: int = 0
    duplicates_refused: int = 0
    last_seq: int = 0
    last_id: int = 0
    puts: int = 0  # grows with every row that is kept anew
    _seen: int = field(default=-1, compare=False)  # after so many puts the outlook was looked up
    _outlook: tuple[Micros | None, bool] = field(default=(None, False), compare=False)

    # -- rows ---------------------------------------------------------------------------------

    def put(self, row: Occurrence) -> Occurrence:
        """Keep the row as it is now."""
        self.puts += 1
        self.rows[row.id] = row
        if is_end(row.state):
            self.open_ids.pop(row.id, None)
        else:
            self.open_ids[row.id] = None
        return row

    def change(self, row_id: int, **fields: Any) -> Occurrence:
        """Change some fields of a row."""
        return self.put(changed(self.rows[row_id], **fields))

    def open_rows(self) -> Iterable[Occurrence]:
        """Return every row that is not ended."""
        return [self.rows[row_id] for row_id in self.open_ids]

    def outlook(self) -> tuple[Micros | None, bool]:
        """Return when the first open row is due, and whether one is for one worker only; most calls change neither."""
        if self._seen != self.puts:
            rows = self.open_rows()
            soonest = min((row.due_at for row in rows if row.due_at is not None), default=None)
            self._outlook = soonest, any(row.worker for row in rows)
            self._seen = self.puts
        return self._outlook

    def known(self, new: NewOccurrence) -> Occurrence | None:
        """Return the row that has this identity already."""
        row_id = self.by_identity.get((new.job, new.subject, new.identity))
        return None if row_id is None else self.rows[row_id]

    def insert(self, new: NewOccurrence, now: Micros) -> Added:
        """Insert a row whose identity is new; where its key is held it is recorded as a duplicate."""
        self.last_id += 1
        row = self.put(made(self.last_id, new, now))
        self.by_identity[(new.job, new.subject, new.identity)] = row.id
        if not new.claim or is_end(row.state):
            return Added(outcome="added", id=row.id)
        holder = self.claim(row, again=new.again)
        if holder is None:
            return Added(outcome="added", id=row.id)
        self.duplicates_refused += 1
        self.end(
            row.id,
            State.SKIPPED,
            now,
            verdict=Verdict.SKIP_DUPLICATED,
            code="key_held",
            detail=json.dumps({"key": row.key, "holder": holder, "state": self.rows[holder].state}),
            duplicate_of=holder,
        )
        self.log(row.id, now, event="skip", actor=new.actor)
        return Added(outcome="duplicate_key", id=row.id, duplicate_of=holder)

    def end(self, row_id: int, state: State, now: Micros, **fields: Any) -> Occurrence:
        """End a row: nothing is due any more, its slot is free, and its key too if it was superseded."""
        row = self.change(
            row_id, state=state, due_at=None, ended_at=now, holder="", looking=False, frontier=False, **fields
        )
        self.stop_waiting(row_id)
        self.leave_slots(row_id)
        if row.verdict == Verdict.SKIP_SUPERSEDED:
            row = self.release_key(row)
        if state in YIELDING and escalate.may_be_told(row):
            alerts.close(self, row_id, now)
        return row

    def slot_of(self, row_id: int) -> str:
        """Return the overlap slot that the row occupies, "" when it has none."""
        return next((name for name, held in self.slots.items() if held[0] == row_id), "")

    def leave_slots(self, row_id: int) -> None:
        """Free what the row occupies; the verb's end passes it on."""
        for name in [name for name, held in self.slots.items() if held[0] == row_id]:
            del self.slots[name]
            self.freed.add(name)

    # -- keys ---------------------------------------------------------------------------------

    def holder(self, key: str) -> Occurrence | None:
        """Return the row of the newest generation that claims the key."""
        claimants = self.claims.get(key)
        return self.rows[claimants[-1]] if claimants else None

    def claim(self, row: Occurrence, *, again: bool = False) -> int | None:
        """Claim the row's key for it; return None, or the id of the row that holds it against this one."""
        if row.claimed or not row.key:
            return None
        holder, generation = self.holder(row.key), 0
        if holder is not None:
            if not _gives_way(holder, row.origin, again=again):
                return holder.id
            generation = holder.generation + 1
        self.claims.setdefault(row.key, []).append(row.id)
        self.change(row.id, claimed=True, generation=generation)
        return None

    def release_key(self, row: Occurrence) -> Occurrence:
        """Give the key back, so that whoever held it before holds it again."""
        if not row.claimed:
            return row
        self.claims[row.key].remove(row.id)
        return self.change(row.id, claimed=False, generation=0)

    # -- facts and those who wait for them ----------------------------------------------------------

    def version(self, name: str) -> int:
        """Return the version of a fact; the pause of a job is one too, and so is a slot: 1 while it is occupied."""
        kind, _, rest = name.partition(":")
        if kind == "slot":
            return int(name in self.slots)
        if kind == "pause":
            job = self.jobs.get(rest)
            return job.pause_version if job is not None else 0
        fact = self.facts.get(name)
        return fact.version if fact is not None else 0

    def moved(self, seen: Iterable[tuple[str, int]]) -> tuple[str, ...]:
        """Return the names of the facts whose version is no longer the one that was seen."""
        return tuple(name for name, version in seen if self.version(name) != version)

    def set_fact(self, write: FactWrite, now: Micros) -> int:
        """Set or clear a fact and return its version; the value it has already changes nothing."""
        old = self.facts.get(write.name, Fact(name=write.name))
        if old.value == write.value:
            return old.version
        fact = Fact(name=write.name, version=old.version + 1, value=write.value, set_at=now, actor=write.actor)
        self.facts[write.name] = fact
        self.wakes[write.name] = None
        return fact.version

    def wait(self, row_id: int, seen: dict[str, int]) -> None:
        """Remember what a parked row waits for, and the versions it saw."""
        for name, version in seen.items():
            self.waits.setdefault(name, {})[row_id] = waits_under(name, version, self.rows[row_id])
        self.waits_of[row_id] = tuple(seen)

    def stop_waiting(self, row_id: int) -> None:
        """Forget what a row waited for."""
        for name in self.waits_of.pop(row_id, ()):
            waiting = self.waits[name]
            waiting.pop(row_id, None)
            if not waiting:
                del self.waits[name]

    def wake(self, now: Micros, limit: int) -> None:
        """Make due what waits for facts that moved, at most ``limit`` rows.

        A row that parked after the fact moved saw the new version and sleeps on: otherwise rows which park again would
        be woken for ever.
        """
        for name in list(self.wakes):
            version = self.version(name)
            for row_id in [row for row, seen in self.waits.get(name, {}).items() if seen != version]:
                if limit == 0:
                    return
                limit -= 1
                self.stop_waiting(row_id)
                row = self.rows[row_id]
                if not row.holder and row.due_at is not None and row.due_at > now:
                    self.change(row_id, due_at=now)
            del self.wakes[name]

    def pass_slots_on(self, now: Micros) -> None:
        """Give each slot that was freed and is free still to the row with the oldest scheduled time that waits for it."""
        for name in sorted(self.freed - set(self.slots)):
            waiting = [self.rows[row_id] for row_id in self.waits.get(name, {})]
            if waiting := [row for row in waiting if not row.holder and row.due_at is not None]:
                row = min(waiting, key=lambda row: (row.scheduled_for, row.id))
                self.stop_waiting(row.id)
                self.slots[name] = (row.id, now)
                self.change(row.id, due_at=min(row.due_at or now, now))
        self.freed.clear()

    # -- attempts, ledger ------------------------------------------------------------------------

    def begin_attempt(self, row: Occurrence, now: Micros) -> None:
        """Record that the row's current attempt runs."""
        attempt = Attempt(
            occurrence_id=row.id,
            fence=row.fence,
            number=row.attempt,
            worker=row.holder,
            started_at=now,
            ended_at=None,
            outcome="running",
        )
        self.attempts.setdefault(row.id, []).append(attempt)

    def answer(self, row_id: int, fence: int, *, parked: bool) -> None:
        """Remember that this fence had its outcome; called before the attempt it may have run is ended."""
        self.answered.setdefault(row_id, set()).add(fence)
        tries = self.attempts.get(row_id)
        if not parked and not (tries and tries[-1].outcome == "running"):
            self.looked.setdefault(row_id, set()).add(fence)

    def end_attempt(self, row_id: int, outcome: str, now: Micros, error: str | None = None) -> None:
        """Record how the running attempt ended; where none runs (a lost one was looked at) nothing happens."""
        tries = self.attempts.get(row_id)
        if tries and tries[-1].outcome == "running":
            tries[-1] = changed(tries[-1], outcome=outcome, ended_at=now, error=error)

    def log(
        self,
        row_id: int,
        now: Micros,
        *,
        event: str,
        checks: str = "[]",
        worker: str = "",
        actor: str = "",
        said: dict[str, str] | None = None,
    ) -> None:
        """Append a ledger line about the row as it is now; equal consecutive parks are folded into one line.

        ``said`` replaces the verdict, code and detail of the row, where the line is about something else.
        """
        row = self.rows[row_id]
        said = said or {"verdict": row.verdict, "code": row.code, "detail": row.detail}
        self.last_seq += 1
        line = LedgerLine(
            seq=self.last_seq,
            occurrence_id=row_id,
            job=row.job,
            at=now,
            last_at=now,
            count=1,
            event=event,
            checks=checks,
            worker=worker,
            fence=row.fence,
            revision=row.revision,
            actor=actor,
            **said,
        )
        lines = self.ledger.setdefault(row_id, [])
        if lines and event == "park" and _says_the_same(lines[-1], line):
            lines[-1] = changed(lines[-1], count=lines[-1].count + 1, last_at=now, checks=checks)
        else:
            lines.append(line)

    def log_job(self, job: JobRow, now: Micros, *, event: str, detail: str, actor: str) -> None:
        """Append a ledger line about a whole job; it stands under no occurrence (0)."""
        self.last_seq += 1
        line = LedgerLine(
            seq=self.last_seq, occurrence_id=0, job=job.name, at=now, last_at=now, count=1, event=event, verdict="",
            code="", detail=detail, checks="[]", worker="", fence=0, revision=job.revision, actor=actor,
        )  # fmt: skip
        self.ledger.setdefault(0, []).append(line)


def _gives_way(holder: Occurrence, origin: Origin, *, again: bool) -> bool:
    """Does the holder of a key yield it to a row of this origin (as the next generation)?"""
    if again:
        return is_end(holder.state)
    return holder.state in YIELDING and origin in ASKED_BY_A_PERSON


def _says_the_same(last: LedgerLine, line: LedgerLine) -> bool:
    return (last.event, last.verdict, last.code, last.detail) == (line.event, line.verdict, line.code, line.detail)
