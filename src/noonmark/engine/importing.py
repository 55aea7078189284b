"""The outcomes of another ledger, or of the workers' journals, entered into a store; and those of a store, to be written.

Promises: an import never overwrites a SUCCESS (I6), and what it marks as done says where it comes from; what a trial run
says is what is done, as long as nobody else acts in between; it may be repeated, and one that was stopped is ended by
repeating it.  A series goes on behind what was entered, and no moment that nobody knows of is left out (I13).

Rule of the file: only verbs of the port; every change is a person's act, one transaction each.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from typing import Any

from noonmark.core import releasing, series
from noonmark.core.lifecycle import ASKED_BY_A_PERSON, YIELDING
from noonmark.core.model import DAY, Act, Job, JobRow, Micros, NewOccurrence, Occurrence, Origin, Query, State
from noonmark.core.run_errors_zh import IMPORTED
from noonmark.core.values import dataclass
from noonmark.engine import passing
from noonmark.engine.exports import SUCCESS, Outcome
from noonmark.ports.store import Store

PAGE = 500
UNTIL_MARKED: Micros = 3650 * DAY
"""When a row that is being made for an imported outcome would be due, if nobody went on to mark it as done."""


def of_store(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the successes of a store, by id."""
    last = 0
    while rows := store.occurrences(Query(after_id=last, states=frozenset({State.SUCCESS}), limit=PAGE)):
        yield from map(_plain, rows)
        last = rows[-1].id


def _plain(row: Occurrence) -> dict[str, Any]:
    return {
        "occurrence": row.id,
        "job": row.job,
        "subject": row.subject,
        "identity": row.identity,
        "key": row.key,
        "scheduled_for": row.scheduled_for,
        "business_date": row.business_date,
        "origin": row.origin.value,
        "outcome": SUCCESS,
        "fence": row.fence,
        "at": row.ended_at,
        "writer": "",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What an import does, or would do, with one outcome.

    ``what``: ``mark`` (the row is there, or one that was asked for with its key, and becomes SUCCESS) · ``make`` (it is
    not, and is made) · ``there`` (SUCCESS already) · ``twice`` (SUCCESS by another run of that key, so it ran twice) ·
    ``kept`` (it, or the row that has its key, ended otherwise, runs or was asked for again on purpose) · ``no_success``.
    """

    what: str
    outcome: Outcome
    row: Occurrence | None = None


class Importer:
    """One import into one store; a file may say a thing twice, for a trial run remembers what it would have done.

    Args:
        store: into which.
        origin: the id of the store whose outcomes they are, for the ledger.
    """

    def __init__(self, store: Store, origin: str) -> None:
        self._store = store
        self._origin = origin
        self._done: Container[int] = ()  # hashes of what would stand as SUCCESS by now: identities and keys
        self._rules: dict[str, tuple[Job, JobRow] | None] = {}
        self._upto: dict[
            tuple[str, str], Micros
        ] = {}  # the last moment of each series of which it is known that it ran

    def plan(self, outcomes: Iterable[Outcome]) -> Counter[str]:
        """Return how many outcomes would end how; nothing is written."""
        with closing(_Remembered()) as done:
            self._done = done
            try:
                return Counter(self._planned(outcome, done) for outcome in outcomes)
            finally:
                self._done = ()

    def carry_out(self, outcomes: Iterable[Outcome], new_request: Callable[[], str], *, actor: str) -> Counter[str]:
        """Enter the outcomes, and return how many ended how (``kept``: somebody else was faster, too)."""
        counts: Counter[str] = Counter()
        next_of_series: list[Outcome] = []  # last, so that no row of a moment is raised that the file has, too
        for outcome in outcomes:
            step = self._step(outcome)
            if step.what == "mark" and step.row is not None and _carries_series(step.row):
                next_of_series.append(outcome)
            else:
                counts[self._carried_out(step, new_request, actor)] += 1
        for outcome in next_of_series:
            counts[self._carried_out(self._step(outcome), new_request, actor)] += 1
        for (job, subject), until in self._upto.items():
            passing.pass_by(self._store, job, subject, until, new_request, actor=actor)
        self._upto.clear()
        return counts

    # -- what is to be done -------------------------------------------------------------------------------

    def _planned(self, outcome: Outcome, done: _Remembered) -> str:
        step = self._step(outcome)
        if step.what in ("mark", "make"):
            one: Outcome | Occurrence = outcome if step.row is None else step.row
            done.add(hash((one.job, one.subject, one.identity)), hash(one.key))
        return step.what

    def _step(self, outcome: Outcome) -> Step:
        if outcome.outcome != SUCCESS:
            return Step(what="no_success", outcome=outcome)
        identity = hash((outcome.job, outcome.subject, outcome.identity))
        if identity in self._done:
            return Step(what="there", outcome=outcome)
        query = Query(job=outcome.job, subject=outcome.subject, identity=outcome.identity, limit=1)
        row = next(iter(self._store.occurrences(query)), None)
        what, row = self._for_new(outcome) if row is None else self._for_known(outcome, row)
        return Step(what=what, outcome=outcome, row=row)

    def _for_new(self, outcome: Outcome) -> tuple[str, Occurrence | None]:
        if outcome.key and hash(outcome.key) in self._done:
            return "there", None
        holder = self._holder(outcome.key)
        if holder is None or (holder.state in YIELDING and outcome.origin in ASKED_BY_A_PERSON):
            return "make", None
        return self._for_holder(outcome, holder)

    def _for_known(self, outcome: Outcome, row: Occurrence) -> tuple[str, Occurrence | None]:
        if row.state is State.SUCCESS:
            return "twice" if _is_another_run(outcome, row) else "there", row
        is_failed = row.state is State.FAILED_MANUAL and not row.frontier and not row.holder
        if not (_is_open(row) or is_failed or releasing.is_passed_over(row) or self._can_be_overtaken(row)):
            return "kept", row
        if row.claimed:
            return "mark", row
        if row.key and hash(row.key) in self._done:
            return "kept", row
        holder = self._holder(row.key)
        gives_way = holder is None or (holder.state in YIELDING and row.origin in ASKED_BY_A_PERSON)
        return ("mark" if gives_way else "kept"), row

    def _for_holder(self, outcome: Outcome, holder: Occurrence) -> tuple[str, Occurrence | None]:
        """One key has one outcome: what was asked for again with it, and has none yet, is done."""
        if holder.state is State.SUCCESS:
            return "twice" if _is_another_run(outcome, holder) else "there", holder
        is_of_it = holder.job == outcome.job and not holder.generation
        return ("mark" if is_of_it and _is_open(holder) else "kept"), holder

    def _holder(self, key: str) -> Occurrence | None:
        """Return the row that holds a key, None when nobody does."""
        if not key:
            return None
        name = f"key:{key}"
        holder = self._store.facts([name])[name].value
        return next(iter(self._store.occurrences(Query(ids=(int(holder["occurrence_id"]),)))), None) if holder else None

    # -- the series ----

    def _can_be_overtaken(self, row: Occurrence) -> bool:
        """Return True for the next row of a series that can go on without it."""
        is_next = row.frontier and row.state is State.PENDING and not row.holder and not row.worker
        return is_next and self._rule_of(row.job) is not None

    def _rule_of(self, name: str) -> tuple[Job, JobRow] | None:
        if name not in self._rules:
            if len(self._rules) >= PAGE:
                self._rules.clear()
            self._rules[name] = passing.series_of(self._store, name)
        return self._rules[name]

    def _note_moment(self, outcome: Outcome) -> None:
        """Remember how far a series is known, where the rule in force yields that moment."""
        found = self._rule_of(outcome.job) if outcome.origin is Origin.SCHEDULE else None
        if found is None:
            return
        at = outcome.scheduled_for
        if any(each.identity == outcome.identity for each in series.moments_between(found[0], at - 1, at, limit=1)):
            name = outcome.job, outcome.subject
            self._upto[name] = max(at, self._upto.get(name, at))

    # -- doing it -------------------------------------------------------------------------------------------

    def _carried_out(self, step: Step, new_request: Callable[[], str], actor: str) -> str:
        if step.what in ("mark", "make", "there"):
            self._note_moment(step.outcome)
        if step.what not in ("mark", "make"):
            return step.what
        outcome, store, row = step.outcome, self._store, step.row
        reason = f"{IMPORTED}{outcome.occurrence} at fence {outcome.fence}, as {self._source(outcome)} has it"
        if row is None:
            added = store.add(new_request(), [_row_for(store, outcome, actor, reason)])[0]
            if added.outcome == "duplicate_key":
                return "kept"
            row_id = added.id
        else:
            row_id = row.id
            if _carries_series(row) and not passing.overtake(store, row, new_request(), actor=actor):
                return "kept"
        acted = store.act(new_request(), Act(kind="mark_done", actor=actor, reason=reason, occurrence_id=row_id))
        return step.what if acted.outcome in ("done", "already_done") else "kept"

    def _source(self, outcome: Outcome) -> str:
        source = f"the journal of {outcome.writer}" if outcome.writer else "the ledger"
        return f"{source} of store {self._origin}"


def _carries_series(row: Occurrence) -> bool:
    return row.frontier and not releasing.is_let_be(row)


def _is_open(row: Occurrence) -> bool:
    """Return True for a row that waits or is held, under no lease, and does not carry its series on."""
    if row.holder or _carries_series(row):
        return False
    is_held = row.state is State.RUNNING and row.code == "held_rollback"
    return is_held or row.state in (State.PENDING, State.FAILED_RETRYING)


def _is_another_run(outcome: Outcome, row: Occurrence) -> bool:
    """Return True when a row succeeded by a run of its own, beside the one that a worker's journal has."""
    is_by_a_person = row.code == "marked_done" or row.generation > 0
    return bool(outcome.writer) and not is_by_a_person and row.started_at is not None and row.fence != outcome.fence


class _Remembered(Container[int]):
    """Numbers in a temporary file that has no name: a ledger may have more of them than there is memory."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE number (value INTEGER PRIMARY KEY); BEGIN"
        )

    def add(self, *numbers: int) -> None:
        self._file.executemany("INSERT OR IGNORE INTO number VALUES (?)", [(number,) for number in numbers])

    def __contains__(self, number: object) -> bool:
        return self._file.execute("SELECT 1 FROM number WHERE value = ?", (number,)).fetchone() is not None

    def close(self) -> None:
        self._file.close()


def _row_for(store: Store, outcome: Outcome, actor: str, reason: str) -> NewOccurrence:
    return NewOccurrence(
        job=outcome.job,
        subject=outcome.subject,
        identity=outcome.identity,
        key=outcome.key,
        scheduled_for=outcome.scheduled_for,
        due_at=store.now() + UNTIL_MARKED,
        business_date=outcome.business_date,
        origin=outcome.origin,
        gated=True,
        claim=True,
        actor=actor,
        note=reason,
        code=passing.HALFWAY,
    )
