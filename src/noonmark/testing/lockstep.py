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

import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from noonmark.core import rollback
from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    LOOK_LEASE,
    OPEN_STATES,
    SECOND,
    Act,
    Activation,
    Event,
    Fact,
    NewOccurrence,
    Note,
    Occurrence,
    Renewal,
    Settlement,
    State,
)
from noonmark.ports.clock import Clock
from noonmark.ports.store import Capability, Store
from noonmark.testing import draws
from noonmark.testing.builders import LEASE, make_worker
from noonmark.testing.clock import VirtualClock
from noonmark.testing.draws import FLAGS, JOBS, KEYS, SLOTS, WORKERS, Leaving, draw_leaving, draw_outcome, draw_row
from noonmark.testing.twins import Spot, Twin, assert_same, counts_of, facts_of, proof_of

ACTS = {
    "retry": Event.RETRY,
    "release": Event.RELEASE,
    "cancel": Event.CANCEL,
    "mark_done": Event.MARK_DONE,
    "mark_skip": Event.MARK_SKIP,
    "mark_handled": Event.MARK_HANDLED,
}
DICE = st.integers(0, 2**20).map(random.Random)
"""One number per operation: a draw per field would leave Hypothesis no room for long histories."""


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

    @rule(dice=DICE)
    def add(self, dice: random.Random) -> None:
        rows = [draw_row(dice, self.now, self.twins[0].store) for _ in range(dice.randint(1, 3))]
        request = self._request()
        self._both(lambda twin: twin.store.add(request, rows, at=self.now))

    @rule(dice=DICE, job=st.sampled_from(JOBS), digest=st.sampled_from("abc"), wrong=st.booleans())
    def activate(self, dice: random.Random, job: str, digest: str, wrong: bool) -> None:
        expected = 99 if wrong and dice.choice((True, False)) else self._job(job).revision
        left = self._leaving(dice, job, is_step=digest == self._job(job).digest)
        worker = dice.choice(("", "", "w1", "w2"))
        frontiers = tuple(
            draw_row(
                dice,
                self.now,
                self.twins[0].store,
                job=job,
                frontier=True,
                subject=worker or subject,
                worker=worker,
                later=True,
            )
            for subject in dice.choice(((), ("",), ("", "s")))
        )
        self._activate(job, frontiers, digest, expected, left)

    @rule(
        worker=st.sampled_from(WORKERS),
        limit=st.sampled_from((1, 2, 10)),
        runnable=st.sampled_from((("job", "other"), ("job",), ())),
    )
    def take(self, worker: str, limit: int, runnable: tuple[str, ...]) -> None:
        self._take(worker, limit, runnable)

    @rule(dice=DICE, worker=st.sampled_from(WORKERS))
    def work(self, dice: random.Random, worker: str) -> None:
        """Wait until something is due, take it, and settle most of it: the round that a worker goes."""
        due = [row.due_at for row in self.twins[0].rows.values() if row.due_at is not None]
        if due and min(due) > self.now:
            self.clock.advance(min(due) - self.now)
        self._take(worker, 10, JOBS)
        self.settle_held(dice, worker)
        self.settle_held(dice, worker)

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

    @rule(dice=DICE, worker=st.sampled_from(WORKERS), fails=st.sampled_from((False, False, True)))
    def settle_held(self, dice: random.Random, worker: str, fails: bool = False) -> None:
        """Settle leases that are held, with outcomes that fit more often than not, or so that all of them need a person."""
        held = sorted(spot for spot, row in self.twins[0].rows.items() if row.holder and row.state in OPEN_STATES)
        if not held:
            self._take(worker, 10, JOBS)
            return
        model = self.twins[0]
        spots = held if fails else dice.sample(held, min(len(held), dice.randint(1, 3)))
        outcomes = [(spot, None, draw_outcome(dice, self.now, model.store, model.rows[spot])) for spot in spots]
        worse = [(spot, None, said | draws.failing(model.rows[spot])) for spot, _, said in outcomes]
        self._settle(worker, worse if fails else outcomes)

    @rule(dice=DICE, worker=st.sampled_from(WORKERS))
    def settle_with_an_old_fence(self, dice: random.Random, worker: str) -> None:
        spots = sorted(spot for spot in self.old if len(self.old[spot]) > 1)
        if not spots:
            return
        spot = dice.choice(spots)
        if any(line.event == Event.PARK for line in self._story(spot).ledger):
            return  # whether an answered park is remembered after the next look is a store's own affair
        fences = dice.choice(self.old[spot][:-1])
        self._settle(
            worker, [(spot, fences, draw_outcome(dice, self.now, self.twins[0].store, self.twins[0].rows[spot]))]
        )

    @rule(dice=DICE, worker=st.sampled_from(WORKERS))
    def renew(self, dice: random.Random, worker: str) -> None:
        spots = self._some_spots(dice)
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

    @rule(dice=DICE, kind=st.sampled_from(sorted(ACTS)), by_key=st.booleans())
    def act_on_a_row(self, dice: random.Random, kind: str, by_key: bool) -> None:
        request = self._request()
        if by_key and kind == "cancel":
            key = dice.choice((*KEYS, "k9"))
            self._both(lambda twin: twin.store.act(request, Act(kind=kind, actor="ada", key=key), at=self.now))
            return
        held = kind == "release"
        spot = self._some_spot(
            dice, lambda row: row.code == "held_rollback" if held else next_state(row.state, ACTS[kind]) is not None
        )
        if spot is not None:
            shown = draws.draw_release(dice, self.twins[0].store).epochs if held else None
            act = Act(kind=kind, actor="ada", reason="why", epochs=shown)
            self._both(
                lambda twin: twin.store.act(request, replace(act, occurrence_id=twin.rows[spot].id), at=self.now)
            )

    @rule(dice=DICE)
    def hold(self, dice: random.Random) -> None:
        """Let a worker's look park what it has as held for a rollback."""
        spot = self._some_spot(dice, lambda row: row.holder != "")
        if spot is not None:
            self._settle(
                self.twins[0].rows[spot].holder or "w1", [(spot, None, draws.held_until(self.now + 90 * SECOND))]
            )

    @rule(dice=DICE, writer=st.sampled_from(("p1", "p2")), worker=st.sampled_from(WORKERS))
    def prove(self, dice: random.Random, writer: str, worker: str) -> None:
        """Let a writer prove itself; now and then it remembers a link that the store does not hold."""
        is_lost, epoch = not dice.randint(0, 3), dice.randint(0, 1)
        if all(Capability.PROVES in twin.store.capabilities for twin in self.twins):
            self._both(lambda twin: proof_of(twin, writer, worker, is_lost=is_lost, epoch=epoch, now=self.now))

    @rule(dice=DICE, job=st.sampled_from(("", "", *JOBS)))
    def let_rollbacks_go(self, dice: random.Random, job: str) -> None:
        request, act = self._request(), draws.draw_release(dice, self.twins[0].store, job=job)
        if all(Capability.PROVES in twin.store.capabilities for twin in self.twins):
            self._both(lambda twin: twin.store.act(request, act, at=self.now))

    @rule(dice=DICE, job=st.sampled_from(JOBS), since=st.sampled_from((None, 0, 45, -5)))
    def end_a_job(self, dice: random.Random, job: str, since: int | None) -> None:
        """Take a rule back as of some seconds ago (None: as the store sees it), with what it leaves behind."""
        has_series = any(row.job == job and row.frontier for row in self.twins[0].rows.values())
        if not has_series and dice.randint(0, 4):
            return  # too often, and no job would have a rule for long
        left = self._leaving(dice, job, is_step=False)
        request = self._request()
        until = None if since is None else self.now - since * SECOND
        acts = [
            Act(kind="end_job", actor="ada", reason="why", job=job, effective_at=until, passed=passed, adds=left.adds)
            for passed in left.passed
        ]
        self._both(lambda twin: twin.store.act(request, acts[self.twins.index(twin)], at=self.now))

    @rule(kind=st.sampled_from(("pause", "resume")), job=st.sampled_from((*JOBS, "nobody")))
    def act_on_a_job(self, kind: str, job: str) -> None:
        request = self._request()
        self._both(lambda twin: twin.store.act(request, Act(kind=kind, actor="ada", job=job), at=self.now))

    @rule(dice=DICE, kind=st.sampled_from(("step", "progress", "intent")), value=st.sampled_from("12"))
    def write_note(self, dice: random.Random, kind: str, value: str) -> None:
        remark = Note(kind=kind, name="n", value=value)
        spot = self._some_spot(dice, lambda row: row.holder != "" and not row.looking)
        if spot is not None:
            self._both(
                lambda twin: twin.store.note_if_held(
                    twin.rows[spot].holder or "w1", twin.rows[spot].id, twin.rows[spot].fence, remark, at=self.now
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
        names = [
            *FLAGS,
            rollback.FACT,
            *(f"key:{key}" for key in KEYS),
            *SLOTS[1:],
            *(f"worker:{worker}" for worker in WORKERS),
        ]
        self._compare(lambda twin: sorted(map(str, twin.store.jobs())), "jobs")
        self._compare(lambda twin: facts_of(twin, names, versioned=FLAGS), "facts")
        self._compare(counts_of, "tallies")

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
        ours, theirs = self.twins[0].plain(ours), self.twins[1].plain(theirs)
        note(f"answer: {ours}")
        assert_same(ours, theirs, "answer")

    def _compare(self, look: Callable[[Twin], Any], what: str) -> None:
        ours, theirs = (look(twin) for twin in self.twins)
        assert_same(ours, theirs, what)

    def _job(self, name: str) -> Any:
        return self.twins[0].store.jobs([name])[0]

    def _story(self, spot: Spot) -> Any:
        return self.twins[0].store.story(self.twins[0].rows[spot].id)

    def _some_spots(self, dice: random.Random) -> list[Spot]:
        spots = sorted(self.twins[0].rows)
        return dice.sample(spots, min(len(spots), dice.randint(1, 3)))

    def _some_spot(self, dice: random.Random, fits: Callable[[Occurrence], bool]) -> Spot | None:
        """Return a row, three times out of four one that fits, where there is such a row."""
        spots = sorted(self.twins[0].rows)
        fitting = [spot for spot in spots if fits(self.twins[0].rows[spot])]
        if fitting and dice.randint(0, 3):
            return dice.choice(fitting)
        return dice.choice(spots) if spots else None

    def _activate(
        self, job: str, frontiers: tuple[NewOccurrence, ...], digest: str, expected: int, left: Leaving | None = None
    ) -> None:
        request = self._request()
        change = Activation(
            name=job, rule=f'{{"v": "{digest}"}}', digest=digest, expected_revision=expected, effective_at=self.now,
            frontiers=frontiers, adds=left.adds if left else (),
        )  # fmt: skip
        changes = [replace(change, passed=passed) for passed in (left.passed if left else ((), ()))]
        self._both(
            lambda twin: twin.store.activate(request, [changes[self.twins.index(twin)]], actor="ada", at=self.now)
        )

    def _leaving(self, dice: random.Random, job: str, *, is_step: bool) -> Leaving:
        """Draw what a rule leaves behind; half the time nobody was awake until its frontier was overdue."""
        due = [row.due_at for row in self.twins[0].rows.values() if row.job == job and row.frontier and row.due_at]
        if due and dice.randint(0, 1):
            self.clock.advance(max(0, min(due) - self.now) + dice.choice((0, 1, 40)) * SECOND)
        return draw_leaving(dice, self.now, self.twins, job, is_step=is_step)

    def _settle(self, worker: str, outcomes: Sequence[tuple[Spot, tuple[int, int] | None, dict[str, Any]]]) -> None:
        request = self._request()
        leases = [[(twin.rows[spot].id, twin.rows[spot].fence) for spot, _, _ in outcomes] for twin in self.twins]

        def items(twin: Twin) -> Iterable[Settlement]:
            side = self.twins.index(twin)
            for (row_id, fence), (_, old, outcome) in zip(leases[side], outcomes, strict=True):
                said = outcome | {"alerts": tuple(draws.of_row(each, row_id) for each in outcome.get("alerts", ()))}
                yield Settlement(occurrence_id=row_id, fence=fence if old is None else old[side], **said)

        self._both(lambda twin: twin.store.settle(request, worker, list(items(twin)), at=self.now))

    def _telling(self, twin: Twin, spot: Spot) -> Any:
        story = twin.store.story(twin.rows[spot].id)
        assert story is not None
        return twin.plain([story.attempts, sorted(story.notes, key=str), story.ledger])
