"""After a rollback: what is held, letting it go, and outcomes as a file that one store writes and another one reads.

Promises: an export is a chain, so a line that was changed, left out or lost at the end is noticed before anything is
read in; an import never overwrites a SUCCESS (I6), and what it marks as done says where it comes from.

Rule of the file: only verbs of the port; every change is a person's act, one transaction each, and may be repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from noonmark.core import releasing, rollback
from noonmark.core.model import DAY, Act, Micros, NewOccurrence, Occurrence, Origin, Query, State
from noonmark.core.model.rollback import Epoch, Writer
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store

PAGE = 500
VERSION = 1
UNTIL_MARKED: Micros = 3650 * DAY
"""When a row that is being made for an imported outcome would be due, if nobody went on to mark it as done."""
_OPEN = frozenset({State.PENDING, State.RUNNING, State.FAILED_RETRYING})


# -- what is held ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The rollbacks of a namespace, the rows that they hold, and its writers."""

    epochs: tuple[Epoch, ...]
    held: tuple[Occurrence, ...]
    writers: tuple[Writer, ...]


def overview(store: Store) -> Overview:
    """Read what was lost, what is held, who proved and who is blind."""
    fact = store.facts([rollback.FACT])[rollback.FACT]
    writers: Sequence[Writer] = ()
    if Capability.PROVES in store.capabilities:
        writers = cast("Guarded", store).writers()
    return Overview(epochs=rollback.epochs_of(fact.value), held=tuple(held_rows(store)), writers=tuple(writers))


def held_rows(store: Store, job: str | None = None) -> Iterator[Occurrence]:
    """Yield the rows that a look has held, by id."""
    for row in _all(store, job=job, states=_OPEN):
        if row.code == "held_rollback":
            yield row


def _all(store: Store, *, job: str | None = None, states: frozenset[State]) -> Iterator[Occurrence]:
    last = 0
    while rows := store.occurrences(Query(after_id=last, job=job, states=states, limit=PAGE)):
        yield from rows
        last = rows[-1].id


# -- letting it go -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """How many rows were let go or marked, and what was not.

    ``left``: rows that a worker has to look at first (call again).  ``added``: rollbacks that were proved, or that grew,
    while these were let go; what they hold is held.
    """

    rows: int
    left: tuple[int, ...]
    added: tuple[int, ...] = ()


def release(
    store: Store, new_request: Callable[[], str], *, actor: str, reason: str, job: str = "", as_done: bool = False
) -> Released | None:
    """Let go what the rollbacks hold, of one job or of all; None when no rollback holds anything of that.

    Rows come first and the fact last: whoever is stopped in between calls again and goes on.

    Args:
        store: where.
        new_request: makes request ids.
        actor, reason: who, and why.
        job: "" = every job.
        as_done: mark the held rows as done instead of letting them run.
    """
    shown = _unreleased(store, job)
    if not shown:
        return None
    named = releasing.shown(shown)
    done, left = 0, []
    for row in list(_concerned(store, shown, job or None, as_done=as_done)):
        act = Act(kind="release", actor=actor, reason=reason, occurrence_id=row.id, epochs=named)
        if as_done:
            act = Act(kind="mark_done", actor=actor, reason=reason, occurrence_id=row.id)
        if not row.holder and store.act(new_request(), act).outcome in ("done", "already_done"):
            done += 1
        else:
            left.append(row)
    added = _added(shown, _unreleased(store, job))
    left = [row for row in left if not any(epoch.concerns(row) for epoch in added)]
    if not left:
        store.act(new_request(), Act(kind="release", actor=actor, reason=reason, job=job or None, epochs=named))
        added = _added(shown, _unreleased(store, job))
    return Released(rows=done, left=tuple(row.id for row in left), added=tuple(epoch.number for epoch in added))


def _unreleased(store: Store, job: str) -> tuple[Epoch, ...]:
    epochs = rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)
    return tuple(epoch for epoch in epochs if not epoch.is_released(job))


def _added(shown: Sequence[Epoch], now: Sequence[Epoch]) -> tuple[Epoch, ...]:
    named = dict(releasing.shown(shown))
    return tuple(epoch for epoch in now if named.get(epoch.number) != epoch.lost_until)


def _concerned(store: Store, epochs: Sequence[Epoch], job: str | None, *, as_done: bool) -> Iterator[Occurrence]:
    """Yield the rows that these rollbacks hold; to be marked as done, also those that nobody has looked at yet."""
    rows = _in_range(store, epochs, job) if as_done else held_rows(store, job)
    return (row for row in rows if any(epoch.concerns(row) for epoch in epochs))


def _in_range(store: Store, epochs: Sequence[Epoch], job: str | None) -> Iterator[Occurrence]:
    """Yield every open row that may have run in a lost range, held by now or not yet looked at."""
    runs_on = {row.name for row in store.jobs() if row.rule and json.loads(row.rule).get("on_rollback") == "run"}
    for row in _all(store, job=job, states=_OPEN):
        if row.job in runs_on or row.code == "released":
            continue
        if any(epoch.concerns(row) and not epoch.is_released(row.job) for epoch in epochs):
            yield row


# -- out -----------------------------------------------------------------------------------------------------


def exported(store: str, outcomes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of an export: a head, the outcomes, an end; each with a hash over all before it."""
    before = ""
    for plain in _framed(store, outcomes):
        before = _hash(before, plain)
        yield json.dumps({**plain, "hash": before}, ensure_ascii=False, sort_keys=True)


def _framed(store: str, outcomes: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    yield {"noonmark": "ledger", "v": VERSION, "store": store}
    count = 0
    for outcome in outcomes:
        yield dict(outcome)
        count += 1
    yield {"end": count}


def of_store(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the successes of a store, by id."""
    for row in _all(store, states=frozenset({State.SUCCESS})):
        yield {
            "occurrence": row.id,
            "job": row.job,
            "subject": row.subject,
            "identity": row.identity,
            "key": row.key,
            "scheduled_for": row.scheduled_for,
            "business_date": row.business_date,
            "origin": row.origin.value,
            "outcome": "success",
            "fence": row.fence,
            "at": row.ended_at,
            "writer": "",
        }


def _hash(before: str, plain: Mapping[str, Any]) -> str:
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode("utf-8", "backslashreplace")).hexdigest()


# -- in ------------------------------------------------------------------------------------------------------


class LedgerBroken(ValueError):
    """The file is no export, or not as it was written; the text says which line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export that was read and whose hashes fit."""

    store: str
    outcomes: tuple[dict[str, Any], ...]


def read(lines: Iterable[str]) -> Export:
    """Read an export.

    Raises:
        LedgerBroken: a line is missing, changed or no line of an export.
    """
    before, number, found = "", 0, []
    for number, text in enumerate(lines, start=1):
        try:
            plain = json.loads(text)
            said = plain.pop("hash")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise LedgerBroken(f"line {number} is no line of a ledger") from None
        before = _hash(before, plain)
        if said != before:
            raise LedgerBroken(f"line {number} is not as it was written, or a line before it is missing")
        found.append(plain)
    if not found or found[0].get("noonmark") != "ledger" or found[0].get("v") != VERSION:
        raise LedgerBroken("it does not begin as a ledger of this version does")
    if found[-1].get("end") != len(found) - 2:
        raise LedgerBroken("its end is missing")
    return Export(store=str(found[0].get("store", "")), outcomes=tuple(found[1:-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What an import does, or would do, with one outcome.

    ``what``: ``mark`` (the row is there and becomes SUCCESS) · ``make`` (it is not, and is made) · ``there`` (SUCCESS
    already) · ``kept`` (ended otherwise, running, or the next of its series: left as it is) · ``no_success``.
    """

    what: str
    outcome: Mapping[str, Any]
    row: Occurrence | None = None


def plan(store: Store, export: Export) -> Iterator[Step]:
    """Yield what an import would do with each outcome."""
    for outcome in export.outcomes:
        if outcome.get("outcome") != "success":
            yield Step(what="no_success", outcome=outcome)
            continue
        query = Query(job=outcome["job"], subject=outcome["subject"], identity=outcome["identity"], limit=1)
        rows = store.occurrences(query)
        if not rows:
            name = f"key:{outcome['key']}"
            holder = store.facts([name])[name].value if outcome["key"] else None
            state = holder["state"] if holder else ""
            what = "there" if state == State.SUCCESS else "kept" if state in _OPEN else "make"
            yield Step(what=what, outcome=outcome)
        elif rows[0].state is State.SUCCESS:
            yield Step(what="there", outcome=outcome, row=rows[0])
        elif _can_be_marked(rows[0]):
            yield Step(what="mark", outcome=outcome, row=rows[0])
        else:
            yield Step(what="kept", outcome=outcome, row=rows[0])


def _can_be_marked(row: Occurrence) -> bool:
    if row.frontier or row.holder:
        return False
    if row.state is State.RUNNING:
        return row.code == "held_rollback"
    return row.state in (State.PENDING, State.FAILED_RETRYING, State.FAILED_MANUAL)


def carry_out(store: Store, steps: Iterable[Step], new_request: Callable[[], str], *, actor: str) -> Counter[str]:
    """Do what the steps say; return how many ended how (``kept``: somebody else was faster)."""
    counts: Counter[str] = Counter()
    for step in steps:
        counts[_carried_out(store, step, new_request, actor)] += 1
    return counts


def _carried_out(store: Store, step: Step, new_request: Callable[[], str], actor: str) -> str:
    if step.what not in ("mark", "make"):
        return step.what
    outcome, row_id = step.outcome, step.row.id if step.row is not None else 0
    reason = f"imported: done as r{outcome['occurrence']} at fence {outcome['fence']}, as {_source(outcome)} has it"
    if step.row is None:
        added = store.add(new_request(), [_row_for(store, outcome, actor, reason)])[0]
        if added.outcome == "duplicate_key":
            return "kept"
        row_id = added.id
    acted = store.act(new_request(), Act(kind="mark_done", actor=actor, reason=reason, occurrence_id=row_id))
    return step.what if acted.outcome in ("done", "already_done") else "kept"


def _source(outcome: Mapping[str, Any]) -> str:
    return f"the journal of {outcome['writer']}" if outcome.get("writer") else "another ledger"


def _row_for(store: Store, outcome: Mapping[str, Any], actor: str, reason: str) -> NewOccurrence:
    return NewOccurrence(
        job=outcome["job"],
        subject=outcome["subject"],
        identity=outcome["identity"],
        key=outcome["key"],
        scheduled_for=outcome["scheduled_for"],
        due_at=store.now() + UNTIL_MARKED,
        business_date=outcome["business_date"],
        origin=Origin(outcome["origin"]),
        gated=True,
        claim=True,
        actor=actor,
        note=reason,
    )
