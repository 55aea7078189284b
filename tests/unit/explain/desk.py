"""A desk with a memory store, a virtual clock and a rule: enough engine to make every story that ``why`` can tell.

Rule of the file: rows come about through the port's verbs, as the engine makes them; nothing goes behind its back.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from noonmark.core import codec, series
from noonmark.core.decide import decide, slot_name
from noonmark.core.model import (
    LOOK_LEASE,
    MINUTE,
    SECOND,
    Act,
    Activation,
    CatchUp,
    Cron,
    Event,
    Fact,
    FlagSet,
    Gates,
    Job,
    Micros,
    NewOccurrence,
    Occurrence,
    Query,
    Settlement,
    Window,
)
from noonmark.core.times import parse_instant
from noonmark.explain.evidence import pause_fact
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_worker
from noonmark.testing.clock import VirtualClock

ZONE = "Asia/Shanghai"
LEASE = 30 * SECOND


def at(text: str, zone: str = ZONE) -> Micros:
    """Read a local time."""
    return parse_instant(text, zone)


DIGEST = Job(
    name="digest",
    trigger=Cron(expression="30 18 * * *", tz=ZONE),
    window=Window(start="18:30", end="20:00"),
    depends_on=(FlagSet(flag="corpus:{business_date}", reason="the digest quotes the corpus"),),
    key="digest:{business_date}",
    reason="Ops reads it at 19:00.",
)
TICK = Job(
    name="tick",
    trigger=Cron(expression="*/5 * * * *", tz=ZONE),
    key="tick:{scheduled_for}",
    catch_up=CatchUp(missed="all"),
    overlap="allow",
    reason="Keep it fresh.",
)


class Desk:
    """One store and its people."""

    def __init__(self, start: str = "2026-11-27T12:00:00") -> None:
        self.clock = VirtualClock(at(start))
        self.store = MemoryStore(self.clock)
        self.jobs: dict[str, Job] = {}
        self._number = 0

    @property
    def now(self) -> Micros:
        """Store time."""
        return self.store.now()

    def request(self) -> str:
        """A new request id."""
        self._number += 1
        return f"q{self._number}"

    def until(self, text: str) -> None:
        """Let time pass until a local time."""
        self.clock.advance_to(at(text))

    def later(self, length: Micros) -> None:
        """Let time pass."""
        self.clock.advance(length)

    def register(self, *jobs: Job) -> None:
        """Activate rules now."""
        for job in jobs:
            self.jobs[job.name] = job
            known = self.store.jobs([job.name])
            revision = known[0].revision if known else 0
            frontiers = series.frontier_rows(job, self.now, revision=revision + 1) if job.is_series else ()
            change = Activation(
                name=job.name,
                rule=codec.canonical(codec.job_to_plain(job)),
                digest=codec.digest(job),
                expected_revision=revision,
                effective_at=self.now,
                frontiers=frontiers,
            )
            self.store.activate(self.request(), [change], actor="test")

    def beat(self, worker: str = "w1", *, ttl: Micros = 30 * SECOND, ended: bool = False, **fields: Any) -> None:
        """Let a worker be heard of."""
        card = make_worker(worker, jobs=tuple(self.jobs), **fields)
        if ended:
            card = replace(card, ended_at=self.now)
        self.store.heartbeat(card, ttl)

    def take(self, worker: str = "w1", *, runnable: bool = True) -> tuple[Occurrence, ...]:
        """Take what is due."""
        can = dict.fromkeys(self.jobs, LEASE) if runnable else {}
        return self.store.take(self.request(), worker, limit=10, runnable=can, look_lease=LOOK_LEASE).rows

    def look(self, worker: str = "w1", *, lease: Micros = LEASE) -> Occurrence:
        """Take the one row that is due and settle it as the engine would: start, park, skip or miss."""
        (row,) = self.take(worker)
        if not row.looking:
            return row
        job = self.jobs[row.job]
        job_row = self.store.jobs([row.job])[0]
        facts = {f"pause:{row.job}": pause_fact(row.job, job_row)}
        decision = decide(job, row, facts, self.now)
        while decision.needs:
            facts.update(self.store.facts(decision.needs))
            decision = decide(job, row, facts, self.now)
        adds: tuple[NewOccurrence, ...] = ()
        if row.frontier:
            coming = series.next_moment(job, row.scheduled_for)
            if coming is not None:
                adds = (series.row_for_moment(job, coming, revision=job_row.revision, subject=row.subject),)
        item = Settlement(
            occurrence_id=row.id,
            fence=row.fence,
            event=decision.event,
            due_at=decision.recheck_at,
            lease=lease,
            gates=Gates(
                revision=job_row.revision,
                pause_version=job_row.pause_version,
                facts=_stored(decision.seen),
                slot=slot_name(job, row) if job.one_at_a_time else "",
            ),
            verdict=decision.verdict.value,
            code=decision.code,
            detail=json.dumps(dict(decision.detail)),
            checks=codec.checks_to_json(decision.checks),
            adds=adds,
        )
        answer = self.store.settle(self.request(), worker, [item])[0]
        assert answer.outcome == "applied", answer
        return self.row(row.id)

    def finish(self, row: Occurrence, event: Event = Event.SUCCEED, worker: str = "w1", **fields: Any) -> Occurrence:
        """End a run."""
        item = Settlement(occurrence_id=row.id, fence=row.fence, event=event, **fields)
        answer = self.store.settle(self.request(), worker, [item])[0]
        assert answer.outcome == "applied", answer
        return self.row(row.id)

    def fail(self, row: Occurrence, *, wait: Micros = SECOND, error: str = "TimeoutError: after 120 s") -> Occurrence:
        """End an attempt in an error, another one is due."""
        return self.finish(row, Event.FAIL_RETRY, due_at=self.now + wait, code="failed_retry", detail="{}", error=error)

    def take_over(self, worker: str = "w2") -> Occurrence:
        """Look at a lapsed run and start it again."""
        (row,) = self.take(worker)
        assert row.is_lapsed
        revision = self.store.jobs([row.job])[0].revision
        item = Settlement(
            occurrence_id=row.id,
            fence=row.fence,
            event=Event.TAKEOVER,
            lease=LEASE,
            gates=Gates(revision=revision),
            verdict="should_run",
            code="taken_over",
        )
        answer = self.store.settle(self.request(), worker, [item])[0]
        assert answer.outcome == "applied", answer
        return self.row(row.id)

    def signal(self, name: str) -> None:
        """Set a flag."""
        self.store.signal(self.request(), [Fact(name=f"flag:{name}", value=True)])

    def act(self, kind: str, **fields: Any) -> None:
        """Do what a person does."""
        answer = self.store.act(self.request(), Act(kind=kind, actor="ann", **fields))
        assert answer.outcome in ("done", "requested"), answer

    def row(self, number: int) -> Occurrence:
        """Read a row."""
        return self.store.occurrences(Query(ids=(number,)))[0]

    def ran(self, when: str, *, took: Micros = MINUTE) -> Occurrence:
        """Let the digest of a day run through on time: data ready, one attempt."""
        self.until(when)
        self.beat()
        row = self.look()
        self.later(took)
        self.beat()
        return self.finish(row, code="succeeded")


def _stored(seen: Any) -> dict[str, int]:
    return {name: version for name, version in seen.items() if name.startswith(("flag:", "success:"))}
