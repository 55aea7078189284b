"""Two stores in lock-step: the same operations, chosen by Hypothesis, give the same answers and the same rows.

The memory store is the model; whatever another store answers differently is a bug in one of the two.  Needs the package
``hypothesis``.  Usage::

    class MyStoreAgrees(Lockstep):
        def make_stores(self, folder, clock):
            return MemoryStore(clock), MyStore(folder / "my.db", clock=clock)

    TestMyStore = MyStoreAgrees.TestCase

Rule of the file: an operation may be senseless (an old fence, a wrong revision), but never malformed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    LOOK_LEASE,
    OPEN_STATES,
    SECOND,
    Act,
    Activation,
    AlertWrite,
    Event,
    Fact,
    FactWrite,
    Gates,
    NewOccurrence,
    Note,
    Occurrence,
    Origin,
    Renewal,
    Settlement,
    State,
)
from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.testing.builders import LEASE, make_worker
from noonmark.testing.clock import VirtualClock
from noonmark.testing.twins import Spot, Twin, assert_same

JOBS, WORKERS, KEYS = ("job", "other"), ("w1", "w2", "w3"), ("k1", "k2", "k3")
FLAGS = ("flag:a", "flag:b", "success:job::2026-11-28")
SLOTS = ("", "slot:job:", "slot:other:")
LATE = st.sampled_from((-60, 0, 0, 5, 30, 90))  # seconds from now


class Lockstep(RuleBasedStateMachine):
    """A model and another store, fed with the same operations; subclasses say which two."""

    def make_stores(self, folder: Path, clock: Clock) -> tuple[Store, Store]:
        """Return the model and the store that is compared with it, both new and living by this clock."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="noonmark-")
        self.clock = VirtualClock()
        model, other = self.make_stores(Path(self.folder.name), self.clock)
        self.twins = (Twin(model), Twin(other))
        self.requests = 0
        self.last: Callable[[Twin], Any] | None = None
        self.old: dict[Spot, list[tuple[int, int]]] = {}
        for job in JOBS:
            self._activate(job, (), "d0", 0)

    def teardown(self) -> None:
        if hasattr(self, "twins"):
            for twin in self.twins:
                twin.store.close()
            self.folder.cleanup()

    # -- the operations ------------------------------------------------------------------------

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        rows = [self._new(data) for _ in range(data.draw(st.integers(1, 3)))]
        request = self._request()
        self._both(lambda twin: twin.store.add(request, rows, at=self.now))

    @rule(data=st.data(), job=st.sampled_from(JOBS), digest=st.sampled_from("abc"), wrong=st.booleans())
    def activate(self, data: st.DataObject, job: str, digest: str, wrong: bool) -> None:
        expected = 99 if wrong and data.draw(st.booleans()) else self._job(job).revision
        worker = data.draw(st.sampled_from(("", "", "w1", "w2")))
        frontiers = tuple(
            self._new(data, job=job, frontier=True, subject=worker or subject, worker=worker, later=True)
            for subject in data.draw(st.sampled_from(((), ("",), ("", "s"))))
        )
        self._activate(job, frontiers, digest, expected)

    @rule(
        data=st.data(),
        worker=st.sampled_from(WORKERS),
        limit=st.sampled_from((1, 2, 10)),
        runnable=st.sampled_from((("job", "other"), ("job",), ())),
    )
    def take(self, data: st.DataObject, worker: str, limit: int, runnable: tuple[str, ...]) -> None:  # noqa: ARG002
        self._take(worker, limit, runnable)

    def _take(self, worker: str, limit: int, runnable: tuple[str, ...]) -> None:
        request = self._request()
        leases = dict.fromkeys(runnable, LEASE)
        self._both(
            lambda twin: twin.store.take(
                request, worker, limit=limit, runnable=leases, look_lease=LOOK_LEASE, at=self.now
            )
        )
        for spot, row in self.twins[0].rows.items():
            if row.fence:
                fences = (row.fence, self.twins[1].rows[spot].fence)
                known = self.old.setdefault(spot, [])
                if fences not in known:
                    known.append(fences)

    @rule(data=st.data(), worker=st.sampled_from(WORKERS), count=st.integers(1, 3))
    def settle_held(self, data: st.DataObject, worker: str, count: int) -> None:
        """Settle leases that are held, with outcomes that fit the state more often than not."""
        held = sorted(spot for spot, row in self.twins[0].rows.items() if row.holder and row.state in OPEN_STATES)
        if not held:
            self._take(worker, 10, JOBS)
            return
        spots = data.draw(st.lists(st.sampled_from(held), min_size=1, max_size=count, unique=True))
        self._settle(worker, [(spot, None, self._outcome(data, self.twins[0].rows[spot])) for spot in spots])

    @rule(data=st.data(), worker=st.sampled_from(WORKERS))
    def settle_with_an_old_fence(self, data: st.DataObject, worker: str) -> None:
        spots = sorted(spot for spot in self.old if len(self.old[spot]) > 1)
        if not spots:
            return
        spot = data.draw(st.sampled_from(spots))
        if any(line.event == Event.PARK for line in self._story(spot).ledger):
            return  # whether an answered park is remembered after the next look is a store's own affair
        fences = data.draw(st.sampled_from(self.old[spot][:-1]))
        self._settle(worker, [(spot, fences, self._outcome(data, self.twins[0].rows[spot]))])

    @rule(data=st.data(), worker=st.sampled_from(WORKERS))
    def renew(self, data: st.DataObject, worker: str) -> None:
        spots = self._some_spots(data)
        self._both(
            lambda twin: twin.store.renew(
                worker,
                [Renewal(occurrence_id=twin.rows[spot].id, fence=twin.rows[spot].fence, lease=LEASE) for spot in spots],
                at=self.now,
            )
        )

    @rule(name=st.sampled_from(FLAGS), value=st.sampled_from((None, 1, 2, {"a": 1})))
    def signal(self, name: str, value: Any) -> None:
        request = self._request()
        self._both(lambda twin: twin.store.signal(request, [Fact(name=name, value=value, actor="ada")], at=self.now))

    @rule(worker=st.sampled_from(WORKERS), ends=st.sampled_from((False, False, True)))
    def heartbeat(self, worker: str, ends: bool) -> None:
        card = make_worker(worker, ended_at=self.now if ends else None)
        self._both(lambda twin: twin.store.heartbeat(card, 60 * SECOND, at=self.now))

    @rule(
        data=st.data(),
        kind=st.sampled_from(("retry", "cancel", "mark_done", "mark_skip", "mark_handled")),
        by_key=st.booleans(),
    )
    def act_on_a_row(self, data: st.DataObject, kind: str, by_key: bool) -> None:
        request = self._request()
        if by_key and kind == "cancel":
            key = data.draw(st.sampled_from((*KEYS, "k9")))
            self._both(lambda twin: twin.store.act(request, Act(kind=kind, actor="ada", key=key), at=self.now))
            return
        spot = self._some_spot(data)
        if spot is not None:
            self._both(
                lambda twin: twin.store.act(
                    request, Act(kind=kind, actor="ada", reason="why", occurrence_id=twin.rows[spot].id), at=self.now
                )
            )

    @rule(kind=st.sampled_from(("pause", "resume")), job=st.sampled_from((*JOBS, "nobody")))
    def act_on_a_job(self, kind: str, job: str) -> None:
        request = self._request()
        self._both(lambda twin: twin.store.act(request, Act(kind=kind, actor="ada", job=job), at=self.now))

    @rule(data=st.data(), kind=st.sampled_from(("step", "progress", "intent")), value=st.sampled_from("12"))
    def note(self, data: st.DataObject, kind: str, value: str) -> None:
        note = Note(kind=kind, name="n", value=value)
        spot = self._some_spot(data)
        if spot is not None:
            self._both(
                lambda twin: twin.store.note_if_held(
                    twin.rows[spot].holder or "w1", twin.rows[spot].id, twin.rows[spot].fence, note, at=self.now
                )
            )

    @rule()
    def say_it_again(self) -> None:
        """Repeat the last verb with its request id."""
        if self.last is not None:
            self._both(self.last)

    @rule(seconds=st.sampled_from((0.000001, 1, 6, 31, 61)))
    def wait(self, seconds: float) -> None:
        self.clock.advance(round(seconds * SECOND))
        self.last = None

    # -- what must be equal after each of them ----------------------------------------------------

    @invariant()
    def rows_and_stories_are_equal(self) -> None:
        if not hasattr(self, "twins"):
            return
        ours, theirs = self.twins
        assert set(ours.rows) == set(theirs.rows)
        for spot, row in ours.rows.items():
            assert_same(ours.plain(row), theirs.plain(theirs.rows[spot]), f"row {spot}")
            assert_same(self._telling(ours, spot), self._telling(theirs, spot), f"story of {spot}")

    @invariant()
    def jobs_facts_and_counts_are_equal(self) -> None:
        if not hasattr(self, "twins"):
            return
        names = [*FLAGS, *(f"key:{key}" for key in KEYS), *SLOTS[1:], *(f"worker:{worker}" for worker in WORKERS)]
        self._compare(lambda twin: sorted(map(str, twin.store.jobs())), "jobs")
        self._compare(lambda twin: self._facts(twin, names), "facts")
        self._compare(lambda twin: self._counts(twin), "tallies")

    @invariant()
    def one_success_per_key_and_generation(self) -> None:
        if not hasattr(self, "twins"):
            return
        done = [(row.key, row.generation) for row in self.twins[0].rows.values() if row.state is State.SUCCESS]
        assert len(done) == len(set(done)), done

    # -- the rest -----------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.clock.wall()

    def _request(self) -> str:
        self.requests += 1
        return f"request-{self.requests}"

    def _both(self, verb: Callable[[Twin], Any]) -> None:
        self.last = verb
        ours, theirs = (verb(twin) for twin in self.twins)
        for twin in self.twins:
            twin.read()
        assert_same(self.twins[0].plain(ours), self.twins[1].plain(theirs), "answer")

    def _compare(self, look: Callable[[Twin], Any], what: str) -> None:
        ours, theirs = (look(twin) for twin in self.twins)
        assert_same(ours, theirs, what)

    def _job(self, name: str) -> Any:
        return self.twins[0].store.jobs([name])[0]

    def _story(self, spot: Spot) -> Any:
        return self.twins[0].store.story(self.twins[0].rows[spot].id)

    def _some_spots(self, data: st.DataObject) -> list[Spot]:
        spots = sorted(self.twins[0].rows)
        return data.draw(st.lists(st.sampled_from(spots), min_size=1, max_size=3, unique=True)) if spots else []

    def _some_spot(self, data: st.DataObject) -> Spot | None:
        spots = sorted(self.twins[0].rows)
        return data.draw(st.sampled_from(spots)) if spots else None

    def _activate(self, job: str, frontiers: tuple[NewOccurrence, ...], digest: str, expected: int) -> None:
        request = self._request()
        change = Activation(
            name=job, rule=f'{{"v": "{digest}"}}', digest=digest, expected_revision=expected, effective_at=self.now,
            frontiers=frontiers,
        )  # fmt: skip
        self._both(lambda twin: twin.store.activate(request, [change], actor="ada", at=self.now))

    def _new(self, data: st.DataObject, *, later: bool = False, **fixed: Any) -> NewOccurrence:
        """Draw a row; its identity stands for its moment, as in life."""
        job = fixed.get("job") or data.draw(st.sampled_from(JOBS))
        moment = self.now + SECOND * data.draw(st.sampled_from((5, 30, 90)) if later else LATE)
        origin = Origin.SCHEDULE if later else data.draw(st.sampled_from(tuple(Origin)[:5]))
        scheduled = origin is Origin.SCHEDULE
        closes = data.draw(st.sampled_from((None, None, 20, 40)))
        drawn: dict[str, Any] = {
            "job": job,
            "identity": f"t:{moment}" if scheduled else f"i:{data.draw(st.integers(1, 4))}",
            "key": data.draw(st.sampled_from(KEYS)),
            "scheduled_for": moment,
            "due_at": moment,
            "origin": origin,
            "gated": scheduled or data.draw(st.booleans()),
            "claim": not scheduled,
            "again": origin is Origin.MANUAL and data.draw(st.booleans()),
            "not_after": None if closes is None else moment + closes * SECOND,
            "expires_at": data.draw(st.sampled_from((None, None, moment + 10 * SECOND))),
            "revision": self._job(job).revision,
            "worker": data.draw(st.sampled_from(("", "", "", "w1"))),
        }
        return NewOccurrence(**(drawn | fixed))

    def _outcome(self, data: st.DataObject, row: Occurrence) -> dict[str, Any]:
        """Draw what a worker says about a row."""
        fitting = [event for event in Event if next_state(row.state, event) is not None and not _is_a_persons(event)]
        event = data.draw(st.sampled_from(fitting or [Event.SUCCEED]))
        job = self._job(row.job) if row.job in JOBS else None
        seen = data.draw(st.lists(st.sampled_from((*FLAGS, f"pause:{row.job}")), max_size=2, unique=True))
        versions: dict[str, int] = {name: self.twins[0].store.facts([name])[name].version for name in seen}
        if versions and data.draw(st.integers(0, 3)) == 0:
            versions[seen[0]] += 1
        verdicts = {Event.SKIP: ("skip_guard", "skip_duplicated", "skip_superseded"), Event.PARK: ("skip_dep",)}
        adds = [self._new(data)] if data.draw(st.sampled_from((False, False, True))) else []
        if data.draw(st.booleans()):
            frontier = {"job": row.job, "subject": row.subject, "worker": row.worker, "frontier": True}
            adds.append(self._new(data, later=True, **frontier) if row.job in JOBS else self._new(data))
        alert = AlertWrite(
            job=row.job, kind="failing", level=data.draw(st.integers(1, 3)), code="x", clear=event is Event.SUCCEED
        )
        return {
            "event": event,
            "due_at": self.now + SECOND * data.draw(st.sampled_from((0, 5, 30))),
            "lease": LEASE,
            "gates": Gates(
                revision=(job.revision if job else 0) - data.draw(st.sampled_from((0, 0, 0, 1))),
                pause_version=job.pause_version if job else 0,
                facts=versions,
                slot=data.draw(st.sampled_from(SLOTS)),
                ignore_window=data.draw(st.sampled_from((False, False, True))),
            ),
            "verdict": data.draw(st.sampled_from(verdicts.get(event, ("",)))),
            "code": str(event),
            "adds": tuple(adds),
            "facts": (FactWrite(name=FLAGS[2], value=data.draw(st.integers(1, 2))),) if event is Event.SUCCEED else (),
            "alerts": (alert,) if data.draw(st.booleans()) else (),
            "error": "boom" if event in (Event.FAIL_RETRY, Event.FAIL_MANUAL) else None,
            "result": "1" if event is Event.SUCCEED else None,
        }

    def _settle(self, worker: str, outcomes: list[tuple[Spot, tuple[int, int] | None, dict[str, Any]]]) -> None:
        request = self._request()
        leases = [[(twin.rows[spot].id, twin.rows[spot].fence) for spot, _, _ in outcomes] for twin in self.twins]

        def items(twin: Twin) -> Iterable[Settlement]:
            side = self.twins.index(twin)
            for (row_id, fence), (_, old, outcome) in zip(leases[side], outcomes, strict=True):
                yield Settlement(occurrence_id=row_id, fence=fence if old is None else old[side], **outcome)

        self._both(lambda twin: twin.store.settle(request, worker, list(items(twin)), at=self.now))

    def _telling(self, twin: Twin, spot: Spot) -> Any:
        story = twin.store.story(twin.rows[spot].id)
        assert story is not None
        return twin.plain([story.attempts, sorted(story.notes, key=str), story.ledger])

    def _facts(self, twin: Twin, names: list[str]) -> Any:
        found = twin.store.facts(names)
        assert list(found) == names
        plain = {}
        for name, fact in found.items():
            value = fact.value
            if isinstance(value, dict) and "occurrence_id" in value:
                value = {**value, "occurrence_id": twin.spots[value["occurrence_id"]], "run": ""}
            plain[name] = (value, fact.version if name in FLAGS else 0)
        return plain

    def _counts(self, twin: Twin) -> Any:
        tallies = twin.store.tallies(revisions=True)
        by_state = {str(state): count for state, count in tallies.by_state.items() if count}
        alerts = sorted((alert.job, alert.kind, alert.level, alert.count) for alert in tallies.open_alerts)
        revisions = [(job.name, job.revision, job.digest, job.rule, job.effective_at) for job in tallies.revisions]
        return (
            tallies.now, by_state, tallies.due_now, tallies.delayed, tallies.waiting, tallies.earliest_due,
            tallies.stale_refused, tallies.duplicates_refused, alerts, revisions,
        )  # fmt: skip


def _is_a_persons(event: Event) -> bool:
    return event in (Event.RETRY, Event.MARK_DONE, Event.MARK_SKIP, Event.MARK_HANDLED, Event.REOPEN)
