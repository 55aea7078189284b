"""After a rollback: what is held, and letting it go.

Promise: a row that a worker may still be at is left alone and named; calling again goes on where the last call stopped.

Rule of the file: only verbs of the port; every change is a person's act, one transaction each, and may be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from typing import cast

from noonmark.core import releasing, rollback
from noonmark.core.model import OPEN_STATES, Act, JobRow, Occurrence, Query, State
from noonmark.core.model.rollback import LET_RUN, Epoch, Writer
from noonmark.core.values import dataclass
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store

PAGE = 500


# -- what is held ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The rollbacks of a namespace, the rows that they hold, and its writers.

    ``unseen``: rows that may have run in a lost range and that no worker has looked at since; a look holds them.
    ``rules``: of the jobs whose rule was put in force, or ended, since the first of those that are open was found.
    """

    epochs: tuple[Epoch, ...]
    held: tuple[Occurrence, ...]
    writers: tuple[Writer, ...]
    unseen: tuple[Occurrence, ...] = ()
    rules: tuple[JobRow, ...] = ()


def overview(store: Store) -> Overview:
    """Read what was lost, what is held, who proved and who is blind."""
    writers: Sequence[Writer] = ()
    if Capability.PROVES in store.capabilities:
        writers = cast("Guarded", store).writers()
    found = epochs(store)
    since = min((epoch.detected_at for epoch in found if epoch.released_at is None), default=None)
    rows = _in_range(store, found, None) if since is not None else ()
    unseen = tuple(row for row in rows if row.code != "held_rollback")
    rules = () if since is None else tuple(row for row in store.jobs() if row.effective_at >= since)
    return Overview(epochs=found, held=tuple(held_rows(store)), writers=tuple(writers), unseen=unseen, rules=rules)


def epochs(store: Store) -> tuple[Epoch, ...]:
    """Read the rollbacks, oldest first."""
    return rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)


def runs_on_rollback(store: Store) -> frozenset[str]:
    """Return the jobs whose repeats do no harm, as their rules say."""
    said = {row.name: json.loads(row.rule) for row in store.jobs() if row.rule}
    return frozenset(name for name, rule in said.items() if rule.get("on_rollback") == "run")


def held_rows(store: Store, job: str | None = None) -> Iterator[Occurrence]:
    """Yield the rows that a look has held, by id."""
    for row in _all(store, job=job, states=OPEN_STATES):
        if row.code == "held_rollback":
            yield row


def known_rows(store: Store, known: Container[tuple[str, str]], job: str = "") -> list[Occurrence]:
    """Return the rows that a release would let run, or leave to run, although their key is known to have run.

    Whatever they wait for: once nothing holds them any more, no look asks whether they ran.

    Args:
        store: where.
        known: the jobs and keys that succeeded in what the store lost.
        job: "" = every job.
    """
    found = tuple(epoch for epoch in epochs(store) if epoch.released_at is None)
    return [
        row
        for row in _open_rows(store, found, job or None, _may_start_again)
        if row.key and (row.job, row.key) in known
    ]


def _may_start_again(epoch: Epoch, row: Occurrence) -> bool:
    """True for a row that the rollback concerns in any way, unless it runs, by a start since then."""
    runs = row.holder and not row.looking and (row.started_at or 0) >= epoch.detected_at
    return not runs and (epoch.holds(row) or epoch.may_repeat(row))


def _all(store: Store, *, job: str | None = None, states: frozenset[State]) -> Iterator[Occurrence]:
    last = 0
    while rows := store.occurrences(Query(after_id=last, job=job, states=states, limit=PAGE)):
        yield from rows
        last = rows[-1].id


# -- letting it go -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """How many rows were let go or marked, and what was not.

    ``left``: rows that stay (call again): a worker has to look at them first, or (``behind``: each with that one) another
    row has their key and has not ended.  ``skipped``: those of ``rows`` that will not run
    because another one has their key for good, and has ended.  ``added``: rollbacks that were proved, or that grew,
    while these were let go; what they hold is held.  ``rollbacks``: those that were let go, of one job or of all;
    ``over``: those that hold nothing of any job any more since this call.  ``is_all_over``: no rollback is open now, so the
    alert is closed.
    """

    rows: int
    left: tuple[int, ...]
    behind: tuple[tuple[int, int], ...] = ()
    skipped: tuple[int, ...] = ()
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
    word = Act(kind="mark_done" if as_done else "release", actor=actor, reason=reason, epochs=named)
    rows = list(_concerned(store, shown, job or None, as_done=as_done))
    ends = {row.id: _let_row_go(store, new_request, row, word) for row in rows}
    for row in rows:  # whoever stood in its way may be done by now
        if ends[row.id].behind:
            ends[row.id] = _let_row_go(store, new_request, row, word)
    added = _added(shown, _unreleased(store, job))
    stays = [row for row in rows if not ends[row.id].is_done and not any(epoch.holds(row) for epoch in added)]
    gone: tuple[int, ...] = ()
    if not stays:
        store.act(new_request(), Act(kind="release", actor=actor, reason=reason, job=job or None, epochs=named))
        added = _added(shown, _unreleased(store, job))
        _let_all_go(store, new_request, known, actor=actor, reason=reason)
        still = {epoch.number for epoch in _unreleased(store, job)}
        gone = tuple(epoch.number for epoch in shown if epoch.number not in still)
    still = {epoch.number for epoch in _unreleased(store)}
    return Released(
        rows=sum(end.is_done for end in ends.values()),
        left=tuple(row.id for row in stays),
        behind=tuple((row.id, ends[row.id].behind) for row in stays if ends[row.id].behind),
        skipped=tuple(row.id for row in rows if ends[row.id].is_skipped),
        added=tuple(epoch.number for epoch in added),
        rollbacks=gone,
        over=tuple(epoch.number for epoch in known if epoch.number not in still),
        is_all_over=not still,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """What became of one row; ``behind``: the row that has its key and has not ended."""

    is_done: bool = False
    is_skipped: bool = False
    behind: int = 0


def _let_row_go(store: Store, new_request: Callable[[], str], row: Occurrence, word: Act) -> _End:
    """Let one row go by a person's word; one whose key another row has for good will not run any more."""
    if row.holder:
        return _End()
    answer = store.act(new_request(), replace(word, occurrence_id=row.id))
    if answer.outcome in ("done", "already_done"):
        return _End(is_done=True)
    other = next((number for number in answer.ids if number != row.id), 0)
    if not other or answer.state in OPEN_STATES:
        return _End(behind=other)
    skip = replace(word, kind="mark_skip", occurrence_id=row.id, reason=f"{word.reason} (its key is that of r{other})")
    is_skipped = store.act(new_request(), skip).outcome == "done"
    return _End(is_done=is_skipped, is_skipped=is_skipped)


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
    return _open_rows(store, epochs, job, lambda epoch, row: epoch.holds(row) and not rollback.is_let_run(row, epoch))


def _open_rows(
    store: Store, epochs: Sequence[Epoch], job: str | None, is_of: Callable[[Epoch, Occurrence], bool]
) -> Iterator[Occurrence]:
    """Yield every open row that is of one of these rollbacks, unless its rule or a person lets it run."""
    runs_on = runs_on_rollback(store)
    for row in _all(store, job=job, states=OPEN_STATES):
        if row.job in runs_on or row.code in LET_RUN:
            continue
        if any(is_of(epoch, row) and not epoch.is_released(row.job) for epoch in epochs):
            yield row
