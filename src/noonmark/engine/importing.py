"""The outcomes of another ledger, or of the workers' journals, entered into a store; and those of a store, to be written.

Promises: an import never overwrites a SUCCESS (I6), and what it marks as done says where it comes from; what a trial run
says is what is done, as long as nobody else acts in between; it may be repeated.

Rule of the file: only verbs of the port; every change is a person's act, one transaction each.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from noonmark.core import releasing
from noonmark.core.lifecycle import ASKED_BY_A_PERSON, YIELDING
from noonmark.core.model import DAY, Act, Micros, NewOccurrence, Occurrence, Query, State
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
    ``kept`` (it, or the row that has its key, ended otherwise, runs, is next of its series or was asked for again on
    purpose) · ``no_success``.
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
        return Counter(self._carried_out(self._step(outcome), new_request, actor) for outcome in outcomes)

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
        if not (_is_open(row) or (row.state is State.FAILED_MANUAL and not row.frontier and not row.holder)):
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

    # -- doing it -------------------------------------------------------------------------------------------

    def _carried_out(self, step: Step, new_request: Callable[[], str], actor: str) -> str:
        if step.what not in ("mark", "make"):
            return step.what
        outcome, store, row_id = step.outcome, self._store, step.row.id if step.row is not None else 0
        reason = f"imported: done as r{outcome.occurrence} at fence {outcome.fence}, as {self._source(outcome)} has it"
        if step.row is None:
            added = store.add(new_request(), [_row_for(store, outcome, actor, reason)])[0]
            if added.outcome == "duplicate_key":
                return "kept"
            row_id = added.id
        acted = store.act(new_request(), Act(kind="mark_done", actor=actor, reason=reason, occurrence_id=row_id))
        return step.what if acted.outcome in ("done", "already_done") else "kept"

    def _source(self, outcome: Outcome) -> str:
        source = f"the journal of {outcome.writer}" if outcome.writer else "the ledger"
        return f"{source} of store {self._origin}"


def _is_open(row: Occurrence) -> bool:
    """Return True for a row that waits or is held, under no lease, and does not carry its series on."""
    if row.holder or (row.frontier and not releasing.is_let_be(row)):
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
    )
