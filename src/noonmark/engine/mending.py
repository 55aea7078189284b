"""After a rollback: what is held, and letting it go.

Promise: a row that a worker may still be at is left alone and named; calling again goes on where the last call stopped.

Rule of the file: only verbs of the port; every change is a person's act, one transaction each, and may be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from noonmark.core import releasing, rollback
from noonmark.core.model import Act, Occurrence, Query, State
from noonmark.core.model.rollback import Epoch, Writer
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store

PAGE = 500
_OPEN = frozenset({State.PENDING, State.RUNNING, State.FAILED_RETRYING})


# -- what is held ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The rollbacks of a namespace, the rows that they hold, and its writers.

    ``unseen``: rows that may have run in a lost range and that no worker has looked at since; a look holds them.
    """

    epochs: tuple[Epoch, ...]
    held: tuple[Occurrence, ...]
    writers: tuple[Writer, ...]
    unseen: tuple[Occurrence, ...] = ()


def overview(store: Store) -> Overview:
    """Read what was lost, what is held, who proved and who is blind."""
    writers: Sequence[Writer] = ()
    if Capability.PROVES in store.capabilities:
        writers = cast("Guarded", store).writers()
    found = epochs(store)
    rows = _in_range(store, found, None) if any(epoch.released_at is None for epoch in found) else ()
    unseen = tuple(row for row in rows if row.code != "held_rollback")
    return Overview(epochs=found, held=tuple(held_rows(store)), writers=tuple(writers), unseen=unseen)


def epochs(store: Store) -> tuple[Epoch, ...]:
    """Read the rollbacks, oldest first."""
    return rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)


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
    while these were let go; what they hold is held.  ``rollbacks``: those that were let go, of one job or of all;
    ``over``: those that hold nothing of any job any more since this call.  ``is_all_over``: no rollback is open now, so the
    alert is closed.
    """

    rows: int
    left: tuple[int, ...]
    added: tuple[int, ...] = ()
    rollbacks: tuple[int, ...] = ()
    over: tuple[int, ...] = ()
    is_all_over: bool = False


def release(
    store: Store, new_request: Callable[[], str], *, actor: str, reason: str, job: str = "", as_done: bool = False
) -> Released | None:
    """Let go what the rollbacks hold, of one job or of all; None when no rollback holds anything of that.

    Rows come first and the fact last: whoever is stopped in between calls again and goes on.  Once the last job that
    they hold something of is let go, nothing is left to be decided: the rollbacks go as a whole, and their alert closes.

    Args:
        store: where.
        new_request: makes request ids.
        actor, reason: who, and why.
        job: "" = every job.
        as_done: mark the held rows as done instead of letting them run.
    """
    known = _unreleased(store)
    shown = tuple(epoch for epoch in known if not epoch.is_released(job))
    if not shown:
        is_over = _let_all_go(store, new_request, known, actor=actor, reason=reason)
        over = tuple(epoch.number for epoch in known)
        return Released(rows=0, left=(), over=over, is_all_over=True) if is_over else None
    named = releasing.shown(shown)
    done, left = 0, []
    for row in list(_concerned(store, shown, job or None, as_done=as_done)):
        act = Act(kind="release", actor=actor, reason=reason, occurrence_id=row.id, epochs=named)
        if as_done:
            act = Act(kind="mark_done", actor=actor, reason=reason, occurrence_id=row.id, epochs=named)
        if not row.holder and store.act(new_request(), act).outcome in ("done", "already_done"):
            done += 1
        else:
            left.append(row)
    added = _added(shown, _unreleased(store, job))
    left = [row for row in left if not any(epoch.holds(row) for epoch in added)]
    gone: tuple[int, ...] = ()
    if not left:
        store.act(new_request(), Act(kind="release", actor=actor, reason=reason, job=job or None, epochs=named))
        added = _added(shown, _unreleased(store, job))
        _let_all_go(store, new_request, known, actor=actor, reason=reason)
        still = {epoch.number for epoch in _unreleased(store, job)}
        gone = tuple(epoch.number for epoch in shown if epoch.number not in still)
    still = {epoch.number for epoch in _unreleased(store)}
    return Released(
        rows=done,
        left=tuple(row.id for row in left),
        added=tuple(epoch.number for epoch in added),
        rollbacks=gone,
        over=tuple(epoch.number for epoch in known if epoch.number not in still),
        is_all_over=not still,
    )


def _let_all_go(
    store: Store, new_request: Callable[[], str], known: Sequence[Epoch], *, actor: str, reason: str
) -> bool:
    """Let the rollbacks go for every job if they hold nothing of any job now, and nobody proved another meanwhile."""
    now = _unreleased(store)
    if not now or _added(known, now) or next(_in_range(store, now, None), None) is not None:
        return False
    act = Act(kind="release", actor=actor, reason=reason, epochs=releasing.shown(now))
    return store.act(new_request(), act).outcome in ("done", "already_done")


def _unreleased(store: Store, job: str = "") -> tuple[Epoch, ...]:
    return tuple(epoch for epoch in epochs(store) if not epoch.is_released(job))


def _added(shown: Sequence[Epoch], now: Sequence[Epoch]) -> tuple[Epoch, ...]:
    named = dict(releasing.shown(shown))
    return tuple(epoch for epoch in now if named.get(epoch.number) != epoch.lost_until)


def _concerned(store: Store, epochs: Sequence[Epoch], job: str | None, *, as_done: bool) -> Iterator[Occurrence]:
    """Yield the rows that these rollbacks hold; to be marked as done, also those that nobody has looked at yet."""
    rows = _in_range(store, epochs, job) if as_done else held_rows(store, job)
    return (row for row in rows if any(epoch.holds(row) for epoch in epochs))


def _in_range(store: Store, epochs: Sequence[Epoch], job: str | None) -> Iterator[Occurrence]:
    """Yield every open row that may have run in a lost range, held by now or not yet looked at."""
    runs_on = {row.name for row in store.jobs() if row.rule and json.loads(row.rule).get("on_rollback") == "run"}
    for row in _all(store, job=job, states=_OPEN):
        if row.job in runs_on or row.code == "released":
            continue
        if any(epoch.holds(row) and not epoch.is_released(row.job) for epoch in epochs):
            yield row
