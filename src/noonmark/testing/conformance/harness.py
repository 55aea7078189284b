"""What a conformance case gets: a fresh store, instants counted from its clock, and short forms of the verbs.

Rule of the file: a short form adds defaults, never meaning; a case that is about an argument passes it.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from noonmark.core.model import (
    LOOK_LEASE,
    SECOND,
    Act,
    Acted,
    Added,
    AlertWrite,
    Event,
    Fact,
    JobRow,
    Micros,
    NewOccurrence,
    Occurrence,
    Query,
    Settled,
    Settlement,
    Story,
    Taken,
)
from noonmark.ports.store import Store
from noonmark.testing.builders import (
    LEASE,
    make_activation,
    make_caller_row,
    make_end,
    make_frontier,
    make_series_row,
    make_start,
)


class Harness:
    """A store under test; seconds count from the store's time at the beginning of the case."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.t0 = store.now()
        self._numbers = itertools.count(1)

    # -- time and names -----------------------------------------------------------------------

    def at(self, seconds: float = 0) -> Micros:
        """Return the instant so many seconds after the beginning, UTC microseconds."""
        return self.t0 + round(seconds * SECOND)

    def request(self) -> str:
        """Return a request id that was not used before."""
        return f"request-{next(self._numbers)}"

    # -- rows to add --------------------------------------------------------------------------

    def caller_row(self, name: str = "a", *, at: float = 0, **fields: Any) -> NewOccurrence:
        """Make a row as ``later`` adds it: claims its key, needs no look."""
        return make_caller_row(name, at=self.at(at), **fields)

    def series_row(self, name: str = "a", *, at: float = 0, **fields: Any) -> NewOccurrence:
        """Make a row as a schedule yields it: no claim yet, needs a look."""
        return make_series_row(name, at=self.at(at), **fields)

    def frontier_row(self, name: str = "a", *, at: float = 0, **fields: Any) -> NewOccurrence:
        """Make the frontier row of a series."""
        return make_frontier(name, at=self.at(at), **fields)

    # -- the verbs ----------------------------------------------------------------------------

    def activate(self, *frontiers: NewOccurrence, job: str = "job", at: float = 0, **fields: Any) -> JobRow:
        """Put a rule in force (first revision unless fields say otherwise)."""
        defaults: dict[str, Any] = {"effective_at": self.at(at), "frontiers": frontiers}
        change = make_activation(job, **(defaults | fields))
        return self.store.activate(self.request(), [change], actor="ada", at=self.at(at))[0]

    def add(self, *rows: NewOccurrence, at: float = 0) -> list[Added]:
        """Add rows."""
        return self.store.add(self.request(), rows, at=self.at(at))

    def add_one(self, row: NewOccurrence, *, at: float = 0) -> int:
        """Add a row that must be new, and return its id."""
        added = self.add(row, at=at)[0]
        assert added.outcome == "added", added
        return added.id

    def take(
        self,
        worker: str = "w1",
        *,
        at: float = 0,
        limit: int = 100,
        runnable: Mapping[str, Micros] | None = None,
        look_lease: Micros = LOOK_LEASE,
    ) -> Taken:
        """Take what is due; the job "job" is runnable unless told otherwise."""
        return self.store.take(
            self.request(),
            worker,
            limit=limit,
            runnable={"job": LEASE} if runnable is None else runnable,
            look_lease=look_lease,
            at=self.at(at),
        )

    def take_ids(self, worker: str = "w1", *, at: float = 0, **fields: Any) -> list[int]:
        """Take, and return the ids of the rows in order."""
        return [row.id for row in self.take(worker, at=at, **fields).rows]

    def take_one(self, worker: str = "w1", *, at: float = 0, **fields: Any) -> Occurrence:
        """Take what must be exactly one row."""
        rows = self.take(worker, at=at, **fields).rows
        assert len(rows) == 1, f"expected one row, got {[row.id for row in rows]}"
        return rows[0]

    def settle(self, *items: Settlement, worker: str = "w1", at: float = 0) -> list[Settled]:
        """Settle."""
        return self.store.settle(self.request(), worker, items, at=self.at(at))

    def start(self, row: Occurrence, *, worker: str = "w1", at: float = 0, **gates: Any) -> Settled:
        """Start a row that was looked at."""
        return self.settle(make_start(row, **gates), worker=worker, at=at)[0]

    def end(
        self, row: Occurrence, event: Event = Event.SUCCEED, *, worker: str = "w1", at: float = 0, **fields: Any
    ) -> Settled:
        """Settle a row that was taken."""
        return self.settle(make_end(row, event, **fields), worker=worker, at=at)[0]

    def signal(self, name: str, value: Any = True, *, at: float = 0) -> int:
        """Set (or clear) one fact and return its version."""
        return self.store.signal(self.request(), [Fact(name=name, value=value, actor="ada")], at=self.at(at))[0]

    def act(self, kind: str, *, at: float = 0, **fields: Any) -> Acted:
        """Carry out a person's act."""
        act = Act(kind=kind, **({"actor": "ada", "reason": "because"} | fields))
        return self.store.act(self.request(), act, at=self.at(at))

    # -- ready-made situations ------------------------------------------------------------------

    def running(self, name: str = "a", *, at: float = 0, worker: str = "w1", **fields: Any) -> Occurrence:
        """Bring a caller's row to RUNNING (the job must be active) and return it as taken."""
        row_id = self.add_one(self.caller_row(name, at=at, **fields), at=at)
        row = next(row for row in self.take(worker, at=at).rows if row.id == row_id)
        assert row.state == "RUNNING", row
        return row

    def looked_at(self, name: str = "a", *, at: float = 0, worker: str = "w1", **fields: Any) -> Occurrence:
        """Bring a schedule's row under a look lease and return it as taken."""
        row_id = self.add_one(self.series_row(name, at=at, **fields), at=at)
        row = next(row for row in self.take(worker, at=at).rows if row.id == row_id)
        assert row.looking, row
        return row

    def ended(self, event: Event, name: str = "a", *, at: float = 0, **fields: Any) -> Occurrence:
        """Bring a caller's row to an end and return it: SUCCEED, FAIL_MANUAL, SKIP, MISS or CANCEL."""
        if event in (Event.SKIP, Event.MISS):
            fields = {"gated": True} | fields
        row_id = self.add_one(self.caller_row(name, at=at, **fields), at=at)
        row = next(row for row in self.take(at=at).rows if row.id == row_id)
        settled = self.end(row, event, at=at, verdict="skip_guard" if event is Event.SKIP else "")
        assert settled.outcome == "applied", settled
        return self.row(row_id)

    def urgent_among_others(self, count: int) -> Occurrence:
        """Bring a run to need a person, with its alert; ``count`` other rows of the job need one for another reason."""
        self.activate()
        self.add(*(self.caller_row(f"missed-{n}", at=n, due_at=self.at(), gated=True) for n in range(count)))
        missed = self.take(limit=count).rows
        self.settle(*(make_end(row, Event.MISS, verdict="skip_window", code="missed") for row in missed))
        run = self.running("failed")
        alert = AlertWrite(job="job", kind="failing", level=3, code="failed", occurrence_id=run.id)
        self.end(run, Event.FAIL_MANUAL, verdict="should_run", code="failed", alerts=(alert,))
        return self.row(run.id)

    # -- reads --------------------------------------------------------------------------------

    def row(self, occurrence_id: int) -> Occurrence:
        """Read one row."""
        (row,) = self.store.occurrences(Query(ids=(occurrence_id,)))
        return row

    def story(self, occurrence_id: int) -> Story:
        """Read one row with everything about it."""
        story = self.store.story(occurrence_id)
        assert story is not None, f"no story of {occurrence_id}"
        return story

    def version(self, name: str) -> int:
        """Read the version of a fact."""
        return self.store.facts([name])[name].version


@dataclass(frozen=True, slots=True)
class Case:
    """One promise of the port, and the function that tries it with a ``Harness`` (the archive's: with ``Archives``)."""

    topic: str
    name: str
    run: Callable[[Any], None]

    def __str__(self) -> str:
        return f"{self.topic}: {self.name.replace('_', ' ')}"


def collect(topic: ModuleType, argument: str = "harness") -> Iterable[Case]:
    """Return the cases of a module: its own public functions that take just this argument, in file order."""
    name = topic.__name__.rpartition(".")[2]
    for function_name, function in vars(topic).items():
        if function_name.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__ == topic.__name__ and list(inspect.signature(function).parameters) == [argument]:
            yield Case(topic=name, name=function_name, run=function)


def is_refused(verb: Callable[[], object]) -> bool:
    """Return True when the verb is told to make no sense."""
    try:
        verb()
    except ValueError:
        return True
    return False
